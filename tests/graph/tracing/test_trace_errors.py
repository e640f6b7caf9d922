"""What goes wrong in a trace is said where it is wrong, and leaves nothing half done."""

from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.engine.base.errors import GraphError, NoGradientError, NoValueError
from minigrad.engine.core.modes import current
from tests.support.table import table

X = np.arange(6.0).reshape(2, 3)


def here(word):
    """The line of this file in which the word stands last."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return max(i for i, line in enumerate(lines, 1) if f"# {word}" in line)


kept = []


@table("use", [
    lambda y: y + 1, lambda y: mg.tensor(X) * y, lambda y: y.max(), lambda y: mg.function(lambda x: x + y)(X),
    mg.function(lambda x: x), lambda y: y.backward(),
])  # fmt: skip
def test_a_symbol_that_was_kept_says_where_it_was_built(use):
    @mg.function
    def f(x):
        kept[:] = [x.exp().sum()]  # leaks

    f(X)
    with pytest.raises(GraphError, match=rf"test_trace_errors.py:{here('leaks')}, in "):
        use(kept[0])


@table("ask", [float, int, lambda y: y.numpy(), lambda y: y.item(), np.asarray, lambda y: y.tolist()])
def test_a_value_is_not_to_be_had_while_tracing(ask):
    f = mg.function(lambda x: ask(x.sum()), autograph=False)
    with pytest.raises(NoValueError, match=r"it is symbolic.*Return it from the function"):
        f(X)


class Remembers(mg.nn.Module):
    """y = buffer + parameter + x, after one of them was changed."""

    def __init__(self, change):
        super().__init__()
        self.register_buffer("buf", mg.zeros(2))
        self.w, self.change = mg.nn.Parameter(mg.ones(2)), change

    def forward(self, x):
        with mg.no_grad():
            self.change(self, x)
        return self.buf + self.w + x


@pytest.mark.parametrize("change", [
    lambda m, x: setattr(m.buf, "data", m.buf.data + x), lambda m, x: setattr(m.buf, "data", x),
    lambda m, x: setattr(m.buf, "data", np.full(2, 3.0)),  # was done once, in silence, and not by later calls
    lambda m, x: setattr(m.buf, "data", mg.ones(2)), lambda m, x: setattr(m.w, "data", m.w.data * 0.5),
    lambda m, x: setattr(x, "data", np.ones(2)), lambda m, x: setattr(x * 2, "data", x),
])  # fmt: skip
@pytest.mark.parametrize("traced", [mg.function, mg.jit])
def test_data_that_is_replaced_in_a_trace_is_refused_with_the_way_out(change, traced):
    module = Remembers(change)

    with pytest.raises(
        GraphError, match=r"runs of the graph would not repeat that: write x\.copy_\(…\) inside .*self\.buf = "
    ):
        traced(module)(mg.ones(2))

    assert (module.buf.tolist(), module.w.tolist()) == ([0.0, 0.0], [1.0, 1.0])


@table("change", [
    lambda m, x: setattr(m, "buf", m.buf + x), lambda m, x: m.buf.copy_(m.buf + x),
    lambda m, x: m.register_buffer("buf", m.buf + x), lambda m, x: m.w.copy_(m.w * 0.5 + x),
    lambda m, x: setattr(mg.zeros(2), "data", np.ones(2)),
])  # fmt: skip
def test_the_ways_out_do_in_a_trace_what_they_do_eagerly(change):
    eager, module = Remembers(change), Remembers(change)
    f = mg.function(module)

    for i in (1.0, 2.0, 3.0):
        assert f(mg.full((2,), i)).tolist() == eager(mg.full((2,), i)).tolist()
    assert (module.buf.tolist(), module.w.tolist()) == (eager.buf.tolist(), eager.w.tolist())


def test_a_parameter_of_a_symbol_is_refused_with_the_way_out():
    with pytest.raises(GraphError, match=r"a Parameter needs a value, and this f64\[2, 3\] has none"):
        mg.function(lambda x: mg.nn.Parameter(x * 2))(X)


def test_a_branch_on_a_value_needs_autograph():
    def f(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(NoValueError, match="symbolic"):
        mg.function(f, autograph=False)(X)
    assert mg.function(f)(X).tolist() == X.tolist()
    assert mg.function(f)(X * -1).tolist() == X.tolist()


def test_a_trace_that_fails_leaves_everything_as_it_was():
    w = mg.tensor(X, requires_grad=True)
    count = mg.tensor(0.0)
    fail = [True]

    @mg.function
    def step(x):
        (x * w).sum().backward()
        count.add_(1)
        with mg.no_grad():
            w.sub_(w.grad)
        if fail:
            raise ArithmeticError("on purpose")

    x = mg.tensor(X)
    with pytest.raises(ArithmeticError, match="on purpose"):
        step(x)

    assert w.grad is None
    assert w.tolist() == X.tolist()
    assert count.item() == 0
    assert step.trace_count == 0
    assert current.mode.builder is None
    fail.clear()
    step(x)
    assert w.grad.tolist() == X.tolist()
    assert count.item() == 1


def test_a_function_that_calls_itself_for_ever_is_stopped_at_once():
    @mg.function
    def f(x):
        return f(x) + 1

    with pytest.raises(GraphError, match="f calls itself while it is traced, with arguments of the same kind"):
        f(X)
    assert not f.traces


def test_an_error_in_a_shape_is_raised_while_tracing_in_the_users_line():
    @mg.function
    def f(x):
        return x @ x

    with pytest.raises(ValueError, match=r"matmul needs .* and got f64\[2, 3\] @ f64\[2, 3\]"):
        f(X)


def test_a_tensor_made_in_inference_mode_is_refused_by_a_recorded_run():
    with mg.inference_mode():
        x = mg.tensor(X)
    w = mg.tensor(X, requires_grad=True)
    with pytest.raises(NoGradientError, match=r"made in inference_mode.*x\.clone"):
        mg.function(lambda x: x * w)(x)


def test_only_what_can_be_called_is_traced():
    with pytest.raises(TypeError, match="something that can be called, and got 3"):
        mg.function(3)


def test_source_and_explanation_before_the_first_call():
    f = mg.function(lambda x: x)
    assert "traced 0 times" in f.explain()
    with pytest.raises(GraphError, match="was not traced yet"):
        assert f.source
