"""The seed: Value, on one page."""

import gc
import math

import numpy as np
import pytest

import minigrad as mg
from minigrad.scalar.value import Value, history
from tests.support.other_processes import output_of
from tests.support.table import table


def test_every_operation_has_the_slope_that_nudging_finds():
    operations = [
        lambda x, y: x + y, lambda x, y: x - y, lambda x, y: x * y, lambda x, y: x / y,
        lambda x, y: x**3 + y**-2 + x**0, lambda x, y: x.exp() + y.log() + x.tanh() + x.relu() + (-y).relu(),
        lambda x, y: 2 + x, lambda x, y: 2 - x, lambda x, y: 2 * x, lambda x, y: 2 / x, lambda x, y: -x,
    ]  # fmt: skip
    h = 1e-6
    for f in operations:
        x, y = Value(0.8), Value(1.7)
        f(x, y).backward()

        by_x = (f(Value(0.8 + h), y).data - f(Value(0.8 - h), y).data) / (2 * h)
        by_y = (f(x, Value(1.7 + h)).data - f(x, Value(1.7 - h)).data) / (2 * h)
        assert x.grad == pytest.approx(by_x, rel=1e-8)
        assert y.grad == pytest.approx(by_y, rel=1e-8)


def test_a_second_backward_of_a_cube_at_3_gives_27_again():
    """Where gradients of inner nodes stay from one pass to the next, the second pass gives 45."""
    x = Value(3.0)
    y = x * x * x
    y.backward()
    first, x.grad = x.grad, 0.0
    y.backward()

    assert first == x.grad == 27


def test_gradients_add_up_from_one_backward_to_the_next():
    x = Value(3.0)
    y = x * x * x
    y.backward()
    y.backward()

    assert (x.grad, y.grad) == (54, 2)


def test_60_diamonds_take_a_step_each_and_not_two_to_the_60():
    x = y = Value(1.0)
    for _ in range(60):
        y = y + y
    y.backward()

    assert x.grad == 2.0**60
    assert len(history(y)) == 61


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_parents_are_the_pairs_that_were_given(n):
    pairs = tuple((Value(float(i)), i + 0.5) for i in range(n))
    made, rewritten = Value(1.0, pairs, "sum"), Value(1.0) + 2
    rewritten.parents = pairs
    made.backward()

    assert made.parents == rewritten.parents == pairs
    assert [x.grad for x, _ in pairs] == [slope for _, slope in pairs]


def test_an_operation_on_two_values_is_one_object_to_the_garbage_collector():
    """It was four, three of them tuples. The collector walks all of a growing graph, and took most of a step's time."""
    x, y = Value(2.0), Value(3.0)

    assert not any(isinstance(held, tuple) for held in gc.get_referents(x * y))


def test_a_power_s_sign_has_all_its_digits():
    x = Value(2.0)

    assert [(x**p).op for p in (2, 0.5, -1.0, 1 / 3)] == ["^2", "^0.5", "^-1", "^0.3333333333333333"]


def test_a_chain_of_100_000_meets_no_recursion_limit():
    x = y = Value(1.0)
    for _ in range(100_000):
        y = y + 1
    y.backward()

    assert x.grad == 1


def test_a_cycle_is_refused_with_a_clear_sentence():
    x = Value(1.0)
    y = x + x
    x.parents = ((y, 1.0),)

    with pytest.raises(ValueError, match="no cycle"):
        y.backward()


@pytest.mark.parametrize("wrong", ["2", None, [1.0]])
def test_what_is_no_number_is_refused_with_its_type(wrong):
    with pytest.raises(TypeError, match=type(wrong).__name__):
        Value(1.0) + wrong


def test_a_value_for_the_number_of_a_new_value_is_refused_with_the_way_to_its_number():
    with pytest.raises(TypeError, match=r"Value\(2, grad=0\) is a Value already; its number is x\.data"):
        Value(Value(2.0))


def test_a_value_for_an_exponent_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"p \* x\.log"):
        Value(2.0) ** Value(3.0)


def test_it_runs_without_numpy():
    """The scalar lessons run where NumPy cannot be had: in a browser, say."""
    code = """
import sys, minigrad as mg
from minigrad.course import Predict, Quiz, check, dashboard, reveal, solution
from minigrad.course.widgets import ChainRule
y = mg.Value(2.0) * 3
y.backward()
mg.draw(y)._repr_mimebundle_(), ChainRule(y)._repr_mimebundle_()
assert 'numpy' not in sys.modules"""
    output_of(code)


@table("x, p", [(0.0, 0.5), (1e200, 2), (-1e200, 3), (-1e200, 2), (0.0, -1), (-0.0, -3), (0.0, 1), (-2.0, 3)])
def test_a_power_and_its_slope_are_infinite_where_an_array_has_them_infinite(x, p):
    """Value(0.0)**0.5 was a ZeroDivisionError, for its slope; Value(1e200)**2 an OverflowError."""
    with np.errstate(all="ignore"):
        by_array = mg.tensor(x, requires_grad=True)
        z = by_array**p
        z.backward()
    v = Value(x)
    y = v**p
    y.backward()

    assert y.data == z.item()
    assert v.grad == by_array.grad.item()


def test_relu_of_what_is_no_number_is_no_number():
    """It gave 0, and the training went on as if nothing had happened."""
    x = Value(math.nan)
    y = x.relu()
    y.backward()

    assert math.isnan(y.data)
    assert x.grad == 1
