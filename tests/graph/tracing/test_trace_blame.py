"""Looking into a traced function while it runs: errors that name the line, the NaN trap, probes, prints."""

from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import AnomalyError, GraphError, SingularError
from tests.support.other_processes import output_of

SINGULAR = np.array([[1.0, 1.0], [1.0, 3.0]])  # once 1 is taken from it


def here(word):
    """The line of this file that ends in the word."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"# {word}"))


@mg.function
def straight(x):
    y = x - 1
    return mg.linalg.inv(y).sum()  # straight


@mg.function
def branching(x):
    y = mg.print(x - 1, "once")
    if x.sum() > 0:
        z = mg.print(y, "inside")
        z = mg.linalg.inv(z)  # branching
    else:
        z = y
    return z.sum()


@mg.function
def looping(x):
    i, total = mg.tensor(0), 0 * x
    while i < 3:
        y = mg.print(x, "inside") - i
        y = mg.linalg.inv(y)  # looping
        total, i = total + y, i + 1
    return total.sum()


FAILING = [(straight, "straight"), (branching, "branching"), (looping, "looping")]


@pytest.mark.parametrize(("f", "word"), FAILING)
@pytest.mark.parametrize("learns", [False, True])
def test_an_error_in_a_run_names_the_line_and_the_values_that_met(f, word, learns, capsys):
    x = mg.tensor(SINGULAR, requires_grad=learns)
    with pytest.raises(SingularError) as error:
        f(x)

    text = str(error.value)
    assert f"Inverse, built at {__file__}:{here(word)}, in {f.__name__}, of " in text
    assert text.count("f64[2, 2] from 0 to 2 failed: ") == 1
    said = [line.split()[-1] for line in capsys.readouterr().out.splitlines() if not line.endswith("]")]
    assert said == {"straight": [], "branching": ["once", "inside"], "looping": ["inside", "inside"]}[word]


def test_looking_for_an_error_repeats_no_effect_of_a_branch_before_it(capsys):
    @mg.function
    def f(x):
        if x.sum() > 0:
            x = mg.print(x, "before")
        return mg.linalg.inv(x - 1)

    with pytest.raises(SingularError):
        f(mg.tensor(SINGULAR))
    assert capsys.readouterr().out.count("before") == 1


def test_an_error_on_the_way_back_says_what_it_reads():
    @mg.function
    def f(x):
        return x.sqrt().sum()  # back

    y = f(mg.tensor([0.0, 4.0], requires_grad=True))
    with mg.graph.trap_nan(), pytest.raises(AnomalyError, match=r"made .* 1 infinite of finite numbers") as error:
        y.backward()
    assert f"Div, which reads what was built at {__file__}:{here('back')}" in str(error.value)


def test_what_numpy_was_asked_to_raise_is_raised_as_such_with_the_line():
    @mg.function
    def f(x):
        return 1 / x  # dividing

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match=f"{here('dividing')}, in f, of .*= 0"):
        f(mg.tensor(0.0))


def test_an_error_of_a_python_function_in_a_trace_is_a_graph_error_with_its_cause():
    def whole(a):
        return np.asarray(1 // int(a))

    f = mg.function(lambda x: mg.graph.py_func(whole, [x]) + 1)
    with pytest.raises(GraphError, match=r"py_func\(whole\).* failed") as error:
        f(mg.tensor(0))
    assert isinstance(error.value.__cause__, ZeroDivisionError)


# -- the trap -----------------------------------------------------------------------------------------------


@mg.function
def masked(x):
    y = (x - 1).log() * 0  # masked
    return mg.where(x > 1, y + x, 0.0).sum()


@mg.function
def chosen(x):
    if x.min() < 1:
        x = (x - 1).log()  # chosen
    return x.sum()


@mg.function
def again(x):
    i = mg.tensor(0)
    while i < 3:
        x = (x - 0.3).log() + 1  # again
        i = i + 1
    return x.sum()


@pytest.mark.parametrize(("f", "word"), [(masked, "masked"), (chosen, "chosen"), (again, "again")])
@pytest.mark.parametrize("learns", [False, True])
def test_the_trap_names_the_first_op_that_makes_no_number_of_numbers(f, word, learns):
    x = mg.tensor([3.0, 2.0, 0.5], requires_grad=learns)
    with mg.graph.trap_nan(), pytest.raises(AnomalyError, match=r"NaN of finite numbers$") as error:
        f(x)
    assert f"Log, built at {__file__}:{here(word)}, in {f.__name__}, of Sub" in str(error.value)


def test_a_step_in_the_trap_moves_its_parameters_or_leaves_them_all():
    w = mg.tensor([4.0, 1.0], requires_grad=True)
    sgd = mg.optim.SGD([w], lr=0.5)

    @mg.function
    def step():
        sgd.zero_grad()
        w.sqrt().sum().backward()
        sgd.step()

    with mg.graph.trap_nan():
        step()
    assert w.tolist() == [3.875, 0.75]
    w.data = [4.0, 0.0]
    with mg.graph.trap_nan(), pytest.raises(AnomalyError):
        step()
    assert w.tolist() == [4, 0]


def test_a_nan_that_was_given_is_nobodys_fault():
    with mg.graph.trap_nan():
        assert masked(mg.tensor([3.0, 2.0, np.nan])).item() == 5


# -- probes -------------------------------------------------------------------------------------------------


def test_probes_keep_what_passed_in_a_trace_a_branch_and_a_loop():
    probes = {}

    def keep(x, name):
        probes[name] = mg.graph.probe(x, name)

    @mg.function
    def f(x):
        keep(x * 2, "twice")
        y = -x
        if x.sum() > 0:
            keep(x * 3, "thrice")
            y = x
        i = mg.tensor(0)
        while i < 2:
            y, i = y + 1, i + 1
            keep(y, "y")
        return (y * y).sum()

    f(mg.tensor([1.0, 2.0]))
    f(mg.tensor([-1.0, -2.0]))
    assert [v.tolist() for v in probes["twice"].values] == [[2, 4], [-2, -4]]
    assert [v.tolist() for v in probes["thrice"].values] == [[3, 6]]
    assert [v.tolist() for v in probes["y"].values] == [[2, 3], [3, 4], [2, 3], [3, 4]]

    f(mg.tensor([1.0, 2.0], requires_grad=True)).backward()  # another trace, and other probes
    assert [len(p.values) for p in probes.values()] == [1, 1, 2]


def test_in_a_notebook_the_line_is_named_as_a_traceback_names_it():
    """A cell's code is in a file that nobody has seen: /tmp/ipykernel_17/2387.py, where Jupyter says Cell In[2]."""
    cell = "import minigrad as mg\\nf = mg.function(lambda x: mg.log(x - 1), autograph=False)"
    run = "with mg.graph.trap_nan():\\n    f(mg.tensor(1.0))"
    code = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(history_length=0)
shell.run_cell("{cell}", store_history=True)
print(shell.run_cell("{run}", store_history=True).error_in_exec)
print(shell.run_cell("print(f.source)", store_history=True).error_in_exec)
"""
    said = output_of(code)

    assert "Log, built at Cell In[1], line 2, in <lambda>, of Sub: f64[] = 0 made 1 infinite of finite numbers" in said
    assert "# f64[] Log, Cell In[1], line 2" in said


def test_a_cell_is_one_whatever_its_kernel_calls_its_file():
    """A listing said `line 3 of <ipython-input-2-ab12…>` in a browser: it knew the names of ipykernel alone."""
    imports = "from minigrad.engine.core.node import place\\nfrom minigrad.draw.listing_readers import line_of"
    cell = imports + "\\nprint(line_of(place()))"
    code = f"""
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance(history_length=0).run_cell("{cell}", store_history=True)
"""
    said = output_of(code)

    assert said == "line 3 of a cell, in <module>: print(line_of(place()))\n"
