"""mg.function: one trace for each kind of call, and what a run of it does."""

import gc
import threading
import warnings
import weakref

import numpy as np
import pytest

import minigrad as mg
from minigrad import graph as G
from minigrad.engine.base.errors import DTypeError, GraphError, ShapeError
from minigrad.graph import RetracingWarning, TensorSpec, run_functions_eagerly
from tests.support.other_processes import run_in_threads
from tests.support.python_calls import count_calls
from tests.support.table import table

X = np.arange(6.0).reshape(2, 3)


def counted(f, **options):
    """f, traced, and the list that grows whenever Python runs it."""
    runs = []

    def called(*args, **named):
        runs.append(args)
        return f(*args, **named)

    return mg.function(called, **options), runs


# -- when it traces ---------------------------------------------------------------------------------


def test_python_runs_once_for_each_kind_of_call():
    f, runs = counted(lambda x, y=1: x * y)

    assert f(mg.tensor(X)).tolist() == X.tolist()
    assert f(mg.tensor(X + 1)).tolist() == (X + 1).tolist()
    assert len(runs) == f.trace_count == 1


@table("other", [
    lambda: mg.tensor(X[0]), lambda: mg.tensor(X.astype("f4")), lambda: mg.tensor(X, requires_grad=True),
    lambda: [mg.tensor(X)], lambda: (mg.tensor(X), 1), lambda: {"a": mg.tensor(X)}, lambda: 2, lambda: 2.0,
    lambda: True, lambda: "text", lambda: None, lambda: slice(0, 1), lambda: {1, 2}, lambda: np.float32(2), lambda: len,
    lambda: mg.float32,
])  # fmt: skip
def test_another_spec_structure_or_value_is_another_trace(other):
    f, runs = counted(lambda x: 0)
    f(mg.tensor(X))
    f(other())
    f(other())
    f(mg.tensor(X))

    assert len(runs) == 2


def test_a_value_tells_by_its_type_and_its_sign_and_nan_is_nan():
    f, runs = counted(lambda x: 0)
    for value in (1, 1.0, True, 0.0, -0.0, float("nan")):
        f(value)
        f(value)
    for value in (1, 1.0, -0.0, float("nan")):
        f(value)

    assert [str(args[0]) for args in runs] == ["1", "1.0", "True", "0.0", "-0.0", "nan"]


def test_a_dictionary_tells_by_its_names():
    f, runs = counted(lambda parts: parts)
    for name in "aba":
        assert list(f({name: X})) == [name]

    assert len(runs) == 2


def test_arrays_are_tensors():
    f, runs = counted(lambda x: x + 1)

    assert f(X).tolist() == (X + 1).tolist()
    assert f(X * 2).tolist() == (X * 2 + 1).tolist()
    assert f(mg.tensor(X)).tolist() == (X + 1).tolist()
    assert len(runs) == 1


def test_names_and_defaults_are_put_in_their_places():
    runs = []

    @mg.function
    def f(x, y=2):
        runs.append(1)
        return x * y

    for y in (f(X, 2), f(X, y=2), f(x=X, y=2), f(y=2, x=X), f(X)):
        assert y.tolist() == (X * 2).tolist()
    assert len(runs) == 1


def test_options_of_any_name_reach_the_function():
    f = mg.function(lambda *xs, **named: sum(xs) + named["b"])

    assert f(mg.tensor(X), mg.tensor(X), b=mg.tensor(X), a=1).tolist() == (3 * X).tolist()


def test_modules_tell_by_being_themselves():
    f, runs = counted(lambda net, x: net(x))
    nets = mg.nn.Linear(3, 2), mg.nn.Linear(3, 2)
    for net in nets * 2:
        np.testing.assert_allclose(f(net, X).detach().numpy(), net(mg.tensor(X)).detach().numpy())

    assert len(runs) == 2


@table("make, f", [
    (lambda: mg.nn.Linear(3, 2), lambda net, x: net(x)), (lambda: Held(2.0), lambda held, x: x * held.factor),
    (lambda: mg.tensor(X), lambda y, x: y.exp() * x),
])  # fmt: skip
def test_an_argument_is_not_kept_alive_and_the_traces_of_an_object_that_is_gone_are_forgotten(make, f):
    traced, held = mg.function(f), make()
    traced(held, X)
    gone = [weakref.ref(held), *map(weakref.ref, getattr(held, "parameters", list)())]
    is_tensor = isinstance(held, mg.Tensor)
    del held
    gc.collect()

    assert not any(each() is not None for each in gone)
    assert bool(traced.traces) == is_tensor


class Held:
    def __init__(self, factor):
        self.factor = factor


def test_a_trace_is_used_only_while_training_is_what_it_was():
    net = mg.nn.Sequential(mg.nn.Linear(3, 3), mg.nn.Dropout(0.5))
    f, runs = counted(net)
    f(X)
    net.eval()
    for _ in range(2):
        np.testing.assert_array_equal(f(X).detach().numpy(), net[0](mg.tensor(X)).detach().numpy())
    net.train()
    f(X)

    assert len(runs) == 2


def test_a_parameter_of_another_dtype_is_another_trace():
    net = mg.nn.Linear(3, 2)
    f, runs = counted(lambda: net.weight * 2)
    assert f().dtype == np.float64
    net.float()

    assert f().dtype == f().dtype == np.float32
    assert len(runs) == 2


def test_too_many_traces_in_a_row_are_worth_a_warning_that_says_what_changed():
    f, _ = counted(lambda x, n: x * n)
    for n in range(4):
        f(X, n)
    with pytest.warns(RetracingWarning, match=r"traced 5 times in a row.*args\[1\] was 3 and is 4"):
        f(X, 4)


def test_a_call_that_needs_no_trace_calms():
    f, _ = counted(lambda x, n: x * n)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(8):
            f(X, n)
            f(X, n)


def test_no_more_traces_are_kept_than_64():
    f, _ = counted(lambda n: n)
    for n in range(70):
        f(n)
        f(n)

    assert len(f.traces) == 64
    assert f.trace_count == 70


# -- lengths that are not known ------------------------------------------------------------------------


def test_one_trace_serves_every_length_that_the_signature_leaves_open():
    w = mg.tensor(np.ones((3, 2)), requires_grad=True)

    @mg.function(input_signature=[TensorSpec((None, 3))])
    def f(x):
        h = x.reshape(x.shape[0] * 3) * 2
        return (h.reshape(x.shape) @ w).mean()

    for n in (1, 2, 5):
        x = np.random.default_rng(n).normal(size=(n, 3))
        w.grad = None
        y = f(mg.tensor(x))
        y.backward()
        np.testing.assert_allclose(y.item(), (2 * x @ np.ones((3, 2))).mean())
        np.testing.assert_allclose(w.grad.numpy(), np.repeat(2 * x.sum(0)[:, None], 2, 1) / (2 * n))
    assert f.trace_count == 1


@pytest.mark.parametrize(("x", "error", "sentence"), [
    (np.ones((2, 4)), ValueError, r"argument x has shape \(None, 3\) in input_signature, and came as f64\[2, 4\]"),
    (mg.tensor(np.ones((2, 3), "f4")), TypeError, r"argument x is float64 in input_signature, and came as f32"),
    ([np.ones((2, 3))], ValueError, "wanted the structure of"),
])  # fmt: skip
def test_what_does_not_fit_the_signature_is_refused(x, error, sentence):
    f = mg.function(lambda x: x, input_signature=[TensorSpec((None, 3))])
    with pytest.raises(error, match=sentence):
        f(x)


def test_a_length_may_have_any_name():
    """A loop has a length of its own, how many steps it takes, and once its name could be taken by a user's."""

    @mg.function(input_signature=[TensorSpec(("steps",), "float64")])
    def f(x):
        def body(i, y):
            return i + 1, (y * G.py_func(lambda a: 2 * a, [y])).sin()

        (gx,) = mg.gradients(mg.while_loop(lambda i, y: i < 3, body, (0, x))[1].sum(), [x])
        return gx

    assert f(mg.ones(5, dtype=mg.float64)).shape == (5,)


def test_a_signature_says_how_many_arguments_there_are():
    with pytest.raises(TypeError, match="has 1 arguments in input_signature"):
        mg.function(lambda x, y=1: x, input_signature=[TensorSpec((3,))])(X[0], X[0])


@pytest.mark.parametrize("shape", [None, 3])
def test_a_shape_that_lost_its_comma_is_told_so_where_it_is_written(shape):
    with pytest.raises(ShapeError, match=rf"a shape is a tuple, and this is {shape}: .*\({shape},\)"):
        TensorSpec(shape)


@pytest.mark.parametrize("said", [None, (None,), 1.0])
def test_a_signature_holds_specs_and_says_so_where_it_is_written(said):
    with pytest.raises(TypeError, match="input_signature holds a TensorSpec for each argument"):
        mg.function(lambda x, rate: x * rate, input_signature=[TensorSpec((None,)), said])


def test_reduce_retracing_leaves_lengths_open_that_have_changed():
    f, runs = counted(lambda x, y: (x + y).sum(0) * x.shape[0], reduce_retracing=True)
    for n in (2, 3, 4, 5):
        x = np.ones((n, 3))
        assert f(x, x).tolist() == [2.0 * n * n] * 3
    assert len(runs) == 2
    assert f(np.ones((4, 3)), np.ones((1, 3))).tolist() == [32.0] * 3  # of which two lengths cannot be left open
    assert f.trace_count == 3


# -- methods, modules, functions in functions ---------------------------------------------------------------


class Counter:
    def __init__(self, start):
        self.total = mg.tensor([float(start)])
        self.traced = 0

    @mg.function
    def add(self, x):
        """Add x."""
        self.traced += 1
        self.total.add_(x)
        return self.total * 1


def test_a_method_is_traced_for_each_instance_and_keeps_none_alive():
    a, b = Counter(1), Counter(10)

    assert [a.add(mg.tensor(1.0)).item(), a.add(mg.tensor(2.0)).item()] == [2, 4]
    assert b.add(mg.tensor(1.0)).item() == 11
    assert (a.traced, b.traced, a.add.trace_count) == (1, 1, 1)
    assert Counter.add.__doc__ == "Add x."
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None
    assert len(Counter.add.instances) == 1


def test_a_module_is_a_function_and_still_has_what_a_module_has():
    net = mg.nn.Sequential(mg.nn.Linear(3, 2), mg.nn.Tanh())
    f = mg.function(net)

    np.testing.assert_allclose(f(X).detach().numpy(), net(mg.tensor(X)).detach().numpy(), 1e-15)
    assert f.python_function is net


def test_a_traced_function_inside_another_becomes_a_part_of_it():
    inner, runs = counted(lambda x: x.exp())
    outer = mg.function(lambda x: inner(x) + inner(x * 2))

    np.testing.assert_allclose(outer(X).numpy(), np.exp(X) + np.exp(2 * X))
    assert len(runs) == 2
    assert inner.trace_count == 0


def test_recursion_ends_where_a_python_number_says_so():
    @mg.function
    def power(x, n):
        return x if n == 1 else x * power(x, n - 1)

    assert power(mg.tensor(3.0), 4).item() == 81


def test_functions_run_eagerly_where_it_is_asked():
    f, runs = counted(lambda x: x + 1)
    with run_functions_eagerly(True):
        f(X), f(X)
        assert mg.graph.functions_run_eagerly()
    f(X), f(X)

    assert len(runs) == 3
    run_functions_eagerly(True)
    f(mg.tensor(X))
    run_functions_eagerly(False)
    assert len(runs) == 4


def test_two_threads_trace_once():
    started = threading.Barrier(4)
    f, runs = counted(lambda x: (x * 2).exp().sum())
    found = []

    def call(_):
        started.wait()
        for _ in range(50):
            found.append(f(mg.tensor(X)).item())

    run_in_threads(call, range(4))

    assert len(runs) == 1
    assert set(found) == {np.exp(2 * X).sum()}


# -- looking into it ----------------------------------------------------------------------------------


def test_it_explains_why_it_traced_what_it_captured_and_what_became_of_the_graph():
    net = mg.nn.Linear(3, 2)
    seen = mg.tensor(0.0)

    @mg.function
    def step(x, scale):
        seen.add_(1)
        mg.print("loss", x.sum())
        return (net(x) * scale).tanh()

    step(X, 1.0)
    step(X, 2.0)
    text = step.explain()

    assert "step: traced 2 times" in text
    assert "because it is the first call" in text
    assert "because scale was 1.0 and is 2.0" in text
    assert "captured    seen f64[], net.weight f64[2, 3], net.bias f64[2]" in text
    assert "changes     seen" in text
    assert "Print" in text
    assert "bytes moved" in text
    assert step.graph_for(X, 3.0).inputs[0].spec.shape == (2, 3)
    assert step.trace_count == 3
    assert "def " in step.source


def test_the_reason_is_what_differs_from_the_nearest_trace_and_not_from_the_latest():
    f = mg.function(lambda x, scale: x * scale)
    for x, scale in [(X, 1.0), (X[:1], 2.0), (X, 3.0)]:
        f(x, scale)

    assert "trace 3: retraced because scale was 1.0 and is 3.0\n" in f.explain()


def test_tensors_in_a_list_are_called_by_the_list_and_their_place_in_it():
    weights, rate, rates = [mg.ones(2), mg.ones(3)], 0.5, {"b": 3}

    @mg.function
    def f(x):
        return x * rate + weights[0].sum() + weights[1].sum() * rates["b"]

    f(mg.tensor(1.0))

    assert "captured    weights[0] f64[2], weights[1] f64[3]" in f.explain()
    assert "constants   rate = 0.5, what is in rates\n" in f.explain()


def test_a_step_is_explained_by_the_names_that_python_has_for_its_state():
    net = mg.nn.Linear(3, 1)
    adam = mg.optim.Adam(net.parameters(), lr=0.1)

    @mg.function
    def step(x):
        adam.zero_grad()
        net(x).sum().backward()
        adam.step()

    step(X)
    text = " ".join(step.explain().split())

    assert "lr f64[], step i64[], net.weight.exp_avg f64[1, 3], net.weight.exp_avg_sq f64[1, 3]" in text
    assert "changes net.weight, net.bias, step, net.weight.exp_avg" in text
    assert "net.weight.grad, net.bias.grad" in text


def test_bytes_of_loops_that_nobody_counted_yet_are_left_out():
    @mg.function
    def powers(x, n):
        i = mg.tensor(0)
        y = x
        while i < n:
            y, i = mg.print((y * x).sin(), "y"), i + 1
        return mg.autograd.grad(y.sum(), x)[0]

    powers.trace_for(mg.tensor([1.0, 2.0], requires_grad=True), mg.tensor(3))
    text = powers.explain()

    assert "control     While(" in text
    assert "effects     Print at line" in text
    assert "bytes leave out arrays whose length is known only at run time" in text
    rows = [line for line in text.splitlines() if line.startswith("    ") and line[4:14].strip().isalpha()]
    assert all(int(n.replace(",", "")) < 10_000 for row in rows for n in row.split() if n[0].isdigit())


def test_a_call_of_a_small_traced_function_costs_little():
    f = mg.function(lambda x, y: x + y)
    x, y = mg.tensor([1.0]), mg.tensor([2.0])
    f(x, y)
    assert count_calls(f, x, y) < 40  # functions of Python; 20 when this was written


def test_a_tensor_made_in_a_trace_begins_anew_at_each_call():
    """It was captured as others are, and what was done to it in one call was there in the next."""

    @mg.function
    def total(x):
        s = mg.zeros(2)
        for row in x:
            s += row
        s[0] = 5.0
        return s

    @mg.function
    def zeros(x):
        return mg.zeros(2)

    for _ in range(3):
        assert total(mg.ones(3, 2)).tolist() == [5, 3]
    first = zeros(mg.ones(1))
    first += 1
    assert zeros(mg.ones(1)).tolist() == [0, 0]


def test_a_hook_on_a_leaf_sees_the_gradient_of_a_backward_in_a_trace():
    w = mg.ones(2, requires_grad=True)
    w.register_hook(lambda g: g * 10)

    @mg.function
    def step(x):
        (w * x).sum().backward()

    step(mg.ones(2))
    assert w.grad.tolist() == [10, 10]


def test_an_integer_that_is_edited_keeps_no_part_of_a_float():
    @mg.function
    def bad(x):
        s = mg.tensor(0)
        s += x
        return s

    with pytest.raises(DTypeError, match="does not fit into"):
        bad(mg.tensor(1.5))


def test_a_scheduler_is_no_part_of_a_graph_and_says_so():
    w = mg.ones(2, requires_grad=True)
    optimizer = mg.optim.SGD([w], lr=0.1)
    scheduler = mg.optim.lr_scheduler.StepLR(optimizer, 1, 0.1)

    @mg.function
    def step():
        optimizer.zero_grad()
        w.sum().backward()
        optimizer.step()
        scheduler.step()

    with pytest.raises(GraphError, match="outside the traced function"):
        step()


def test_ever_new_lengths_do_not_make_a_trace_grow_for_ever(monkeypatch):
    monkeypatch.setattr("minigrad.graph.compiled_graph.MOST_VARIANTS", 3)
    double = mg.function(lambda x: (x * 2).sum(), input_signature=[mg.TensorSpec((None,), np.float64)])
    for n in range(1, 9):
        assert double(mg.ones(n)).item() == 2 * n
    ((trace,),) = double.traces.values()
    assert len(trace.run.variants) == 3
    assert double(mg.ones(1)).item() == 2


# -- constants --------------------------------------------------------------------------------------


def test_a_constant_is_part_of_the_trace_also_in_a_branch_of_it():
    def f(x):
        return mg.cond(x.sum() > 0, lambda: x * mg.constant([2.0, 3.0]), lambda: x) + mg.constant(1, "float64", (2,))

    traced = mg.function(f)

    assert traced(mg.ones(2)).tolist() == [3.0, 4.0]
    assert traced(-mg.ones(2)).tolist() == [0.0, 0.0]
    assert [x.op.name for x in traced.graph_for(mg.ones(2)).inputs] == ["x"]


def test_what_only_a_run_can_tell_is_no_constant_of_a_trace():
    with pytest.raises(GraphError, match="known when the graph is built"):
        mg.function(mg.constant)(mg.ones(2))


def test_what_a_signature_does_not_name_has_its_default():
    """Dropout has a `key` that is given by name alone: it could not be saved."""
    f = mg.function(lambda x, scale=2.0, *, shift=1.0: x * scale + shift, input_signature=[mg.TensorSpec((3,))])
    assert f(mg.ones(3)).numpy().tolist() == [3.0] * 3
    with pytest.raises(TypeError, match="1 arguments in input_signature"):
        f(mg.ones(3), shift=2.0)
