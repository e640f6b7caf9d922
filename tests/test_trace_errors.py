"""What goes wrong in a trace is said where it is wrong, and leaves nothing half done."""

from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.base.errors import GraphError, NoGradientError, NoValueError
from minigrad.core.modes import current

X = np.arange(6.0).reshape(2, 3)


def here(word):
    """The line of this file in which the word stands last."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return max(i for i, line in enumerate(lines, 1) if f"# {word}" in line)


kept = []


@pytest.mark.parametrize(
    "use",
    [
        lambda y: y + 1,
        lambda y: mg.tensor(X) * y,
        lambda y: y.max(),
        lambda y: mg.function(lambda x: x + y)(X),
        mg.function(lambda x: x),
        lambda y: y.backward(),
    ],
)
def test_a_symbol_that_was_kept_says_where_it_was_built(use):
    @mg.function
    def f(x):
        kept[:] = [x.exp().sum()]  # leaks

    f(X)
    with pytest.raises(GraphError, match=rf"test_trace_errors.py:{here('leaks')}, in "):
        use(kept[0])


@pytest.mark.parametrize("ask", [float, int, lambda y: y.numpy(), lambda y: y.item(), np.asarray, lambda y: y.tolist()])
def test_a_value_is_not_to_be_had_while_tracing(ask):
    f = mg.function(lambda x: ask(x.sum()), autograph=False)
    with pytest.raises(NoValueError, match=r"it is symbolic.*Return it from the function"):
        f(X)


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
