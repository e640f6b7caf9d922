"""What AutoGraph refuses, it refuses with the line, the variable and the way out."""

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import ConversionError, ShapeError
from minigrad.graph import Graph, placeholder
from minigrad.graph.autograph import code, convert
from tests.support.autograph_programs import line
from tests.support.refusals import Refusals

X, XS = np.array(1.0), np.array([1.0, 2.0])
OPEN = mg.TensorSpec((None,), "float64")  # rows of unknown number
history = []


def in_graph(f, *arrays):
    """What f gives on symbols, converted."""
    with Graph().as_default():
        return convert(f)(*(placeholder(x.dtype, x.shape) * 1 for x in arrays))


refused = Refusals(in_graph, X)


# -- branches ------------------------------------------------------------------------------------------


@refused(
    "{return y}: `y` is used",
    "only the if branch of the `if` over tensors at {if x}",
    "give it one in both branches, or before them",
)
def a_variable_of_one_branch_only_is_refused_where_it_is_used(x):
    if x > 0:
        y = x
    z = x * 2
    return y + z


def test_a_variable_of_one_branch_only_that_nobody_uses_is_fine():
    def f(x):
        if x > 0:
            y = x
            x = y * 2
        else:
            z = x - 1
            x = z * 2
        return x

    assert in_graph(f, X).shape == ()


@refused("{if x}: after this `if` over tensors `y` is float64 after one branch and bool", "x.to(dtype)")
def a_variable_of_two_dtypes(x):
    if x > 0:
        y = x
    else:
        y = x > 3
    return y


@refused("`y` is a tuple of 3 (f64[], f64[], f64[]) after one branch and a tuple of 2")
def a_variable_of_two_structures(x):
    y = (x, x)
    if x > 0:
        y = (x, x, x)
    return y[0]


@refused("`mode` is 'down' after one branch and 'up' after the other")
def a_variable_that_is_no_tensor_is_refused_where_the_branches_differ(x):
    mode = "up"
    if x > 0:
        mode = "down"
    return x if mode == "up" else -x


@refused(
    "what is returned is f64[] after one branch and None after the other",
    "Let every way through the function return a tensor",
)
def a_return_in_one_branch_only_is_refused_unless_all_ways_return(x):
    if x > 0:
        return x
    history.clear()
    return None


@refused("after this `if` expression over tensors the value is float64")
def an_expression_of_two_dtypes(x):
    return x if x > 0 else x > 3


@refused("the condition of this `if` is one bool, and got bool[2]: say x.any() or x.all()", of=(XS,), error=ShapeError)
def a_condition_of_several_elements(xs):
    if xs > 0:
        return xs
    return -xs


refused("the condition of this `not`", of=(XS,), error=ShapeError)(lambda xs: not xs)


class Box:
    pass


@refused("`box.content` is assigned, and only the if branch")
def an_attribute_of_one_branch_only(x):
    box = Box()
    if x > 0:
        box.content = x
    return x


def test_an_error_raised_in_a_branch_says_why_it_is_raised():
    def f(x):
        if x > 0:
            raise ValueError("too large")
        return x

    with pytest.raises(ValueError, match="too large") as raised:
        in_graph(f, X)

    (note,) = raised.value.__notes__
    assert note.startswith(f"{line(f, 'if x')}: both branches of this `if` are written down")
    assert "write `assert`" in note


@refused(
    "{if x}: after this `if` over tensors `seen` is a list of 2 (f64[], f64[]) after",
    "Append in both branches, or in none",
)
def a_list_that_grows_in_one_branch_only(x):
    seen = [x]
    if x > 0:
        seen.append(x)
    return seen


@refused("`seen` is a Python set, and grows in a branch over tensors")
def a_set_that_changes_in_a_branch(x):
    seen = set()
    if x > 0:
        seen.add("positive")
    return x


# -- loops ---------------------------------------------------------------------------------------------


class Recorder:
    def __init__(self):
        self.rows = []

    def record(self, xs):
        for x in xs:
            self.rows.append(x)
        return xs


refused("`self.rows` is a Python list, and grows", of=(XS,))(Recorder().record)


@refused(
    "{for x}: in this `for` over tensors `out` is a list of 0 before a turn and a list", "mg.lax.scan",
    "at most 256 rows", of=(OPEN,),
)  # fmt: skip
def a_list_that_grows_in_a_loop(xs):
    out = []
    for x in xs:
        out.append(x * 2)
    return out


def beside(rows):
    @refused("`rows` is a Python list, and grows", of=(XS,))
    def a_list_of_the_function_around_it(xs):
        for x in xs:
            rows.append(x)
        return xs


beside([])


@refused("`history` is a Python list, and grows", of=(XS,))
def a_list_of_the_module(xs):
    for x in xs:
        history.append(x)
    return xs


@refused("`out` is a list of 0 before a turn and a list of 1 (f64[]) after it", "mg.lax.scan", of=(OPEN,))
def a_list_that_is_longer_after_each_turn(xs):
    out = []
    for x in xs:
        out = [*out, x]
    return out


def test_a_list_may_grow_in_a_loop_that_python_runs():
    def f(x):
        out = []
        for i in range(3):
            out.append(x * i)
        return out

    assert len(in_graph(f, X)) == 3


@refused(
    "{for x}: in this `for` over tensors `y` is float64 before a turn and bool after",
    "Begin with dtype bool, or end the turn with .to(float64)",
    of=(XS,),
)
def a_variable_that_changes_its_dtype(xs):
    y = xs.sum()
    for x in xs:
        y = y > x
    return y


@refused(
    "{while}: in this `while` over tensors `y` has shape () before a turn and (2,)", "mg.zeros", "shape_invariants",
    of=(X, XS),
)  # fmt: skip
def a_variable_that_changes_its_shape(x, xs):
    y = 0.0
    while x > 0:
        y = y + xs
        x = x - 1
    return y


@refused("`best` is None before a turn and f64[] after it", of=(OPEN,))
def a_variable_that_begins_as_none(xs):
    best = None
    for x in xs:
        best = x if best is None else best
    return best


@refused(
    "{return y}: `y` is used, and only the body of the `for` over tensors", "give it one before the loop", of=(OPEN,)
)
def a_variable_of_the_body_is_refused_where_it_is_used_after_the_loop(xs):
    for x in xs:
        y = x * 2
    return y


@refused("`y` goes on to the next turn, and is deleted", of=(XS,))
def a_variable_without_a_value_for_the_next_turn(xs):
    y = xs[0]
    for x in xs:
        x = x + y
        del y
    return x


@refused("`box.content` is assigned, and only the body", of=(OPEN,))
def an_attribute_that_begins_in_a_loop(xs):
    box = Box()
    for x in xs:
        box.content = x
    return xs


@refused("edits f64[] in place", "y = x.clone()", of=(XS,))
def a_tensor_edited_in_place_under_two_names(xs):
    y = xs.sum()
    same = y
    for x in xs:
        y += x * same
    return y


@refused("a loop over a tensor goes over its first axis, and f64[] has none", error=TypeError)
def a_loop_over_a_number(x):
    for row in x:
        x = row
    return x


def test_a_list_beside_rows_of_unknown_number_is_refused():
    def f(xs):
        for x, name in zip(xs, "ab"):
            xs = xs + x * len(name)
        return xs

    assert in_graph(f, XS).shape == (2,)
    with Graph().as_default(), pytest.raises(ConversionError, match="known only when the graph runs"):
        convert(f)(placeholder("float64", (None,)))


test_a_refusal_names_the_line_the_variable_and_the_way_out = refused.test()


# -- Python's own errors stay Python's -----------------------------------------------------------------


def test_a_variable_without_a_value_is_python_s_error_where_python_decides():
    def f(x):
        if x > 0:
            y = x
        return y

    with pytest.raises(UnboundLocalError) as wanted:
        f(-1)
    with pytest.raises(UnboundLocalError) as got:
        convert(f)(-1)

    assert str(got.value) == str(wanted.value)
    assert convert(f)(1) == 1


def test_assert_is_python_s_where_python_decides():
    def f(x):
        assert x > 0, f"got {x}"
        return x

    assert convert(f)(1) == 1
    with pytest.raises(AssertionError, match="got -1"):
        convert(f)(-1)


def test_code_is_shown_of_functions_that_are_converted():
    with pytest.raises(ConversionError, match=r"code\(\) shows what is generated for a Python function, and got 3"):
        code(3)
    with pytest.raises(ConversionError, match=r"is not converted: .*generator"):
        code(lambda: (yield))


def test_a_conversion_error_is_a_type_error_and_minigrad_s():
    assert issubclass(ConversionError, TypeError)
    assert issubclass(ConversionError, mg.errors.MinigradError)


def test_in_a_notebook_a_line_is_called_as_ipython_calls_it():
    """The file of a cell is a temporary one, of which nobody has heard."""
    interactiveshell = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactiveshell.InteractiveShell.instance()
    try:
        lines = ("import minigrad as mg", "@mg.function", "def f(x):", "    if x > 0:", "        y = x", "    return y")
        done = shell.run_cell("\n".join([*lines, "f(mg.tensor(1.0))"]), store_history=True)
    finally:
        interactiveshell.InteractiveShell.clear_instance()

    assert str(done.error_in_exec).startswith("Cell In[1], line 6: `y` is used, and only the if branch of the `if`")
