"""Elementwise ops on shapes and dtypes that nobody chose: NumPy says what comes out, the laws say the rest."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import minigrad as mg
from minigrad import functional as F
from minigrad import laws, ops
from minigrad.engine.base import errors
from minigrad.engine.tensor.tensor import Tensor
from tests.support.table import table

DTYPES = ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "?")
UNARY = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square")},
    **{name: getattr(np, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "abs", "sign", "negative")},
    **{name: getattr(np, name) for name in ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")},
    **{name: getattr(np, name) for name in ("floor", "ceil", "trunc", "isnan", "isinf", "isfinite", "logical_not")},
    "bitwise_not": np.invert,
}
BINARY = {
    **{name: getattr(np, name) for name in ("add", "subtract", "multiply", "divide", "remainder", "fmod")},
    **{name: getattr(np, name) for name in ("maximum", "minimum", "hypot", "arctan2", "logaddexp", "heaviside")},
    **{name: getattr(np, name) for name in ("greater", "greater_equal", "less", "less_equal", "not_equal")},
    **{name: getattr(np, name) for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: getattr(np, name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")}, "eq": np.equal,
    "floor_divide": np.floor_divide,
}  # fmt: skip
MODEST = st.floats(-2, 2, width=16)
quietly = partial(np.errstate, all="ignore")


def filled(shape, dtype):
    elements = {"f": MODEST, "i": st.integers(-9, 9), "u": st.integers(0, 9), "b": st.booleans()}
    return arrays.arrays(dtype, shape, elements=elements[np.dtype(dtype).kind])


@st.composite
def operands(draw, count=2, dtypes=DTYPES):
    """Arrays that broadcast against each other, 0-d and empty ones among them."""
    shapes = draw(arrays.mutually_broadcastable_shapes(num_shapes=count, min_side=0, max_dims=3, max_side=3))
    return [draw(filled(shape, draw(st.sampled_from(dtypes)))) for shape in shapes.input_shapes]


def agree(ours, theirs, *xs):
    """ours does on tensors what NumPy does on arrays; where NumPy has no loop for the dtypes, it is a DTypeError."""
    with quietly():
        try:
            expected = np.asarray(theirs(*xs))
        except TypeError:
            with pytest.raises(errors.DTypeError):
                ours(*map(Tensor, xs))
            return
        y = ours(*map(Tensor, xs))
    assert (y.shape, y.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(y.numpy(), expected)


@given(operands(1), st.sampled_from(sorted(UNARY)))
@settings(max_examples=300)
def test_functions_of_one_tensor_are_numpys(xs, name):
    agree(getattr(mg, name), UNARY[name], *xs)


@given(operands(2), st.sampled_from(sorted(BINARY)))
@settings(max_examples=500)
def test_functions_of_two_tensors_are_numpys(xs, name):
    agree(getattr(mg, name), BINARY[name], *xs)


@given(operands(3), st.booleans())
def test_choices_are_numpys(xs, known):
    condition = xs[0] > 0 if known else xs[0].astype(bool)

    y = mg.where(condition, Tensor(xs[1]), Tensor(xs[2]))

    expected = np.where(condition, xs[1], xs[2])
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y.numpy(), expected)


@given(operands(1, ("f2", "f4", "f8")), st.sampled_from([2, 0.3, -1, True]))
def test_a_python_number_leaves_the_width_of_a_float_alone(xs, number):
    x = Tensor(xs[0])
    with quietly():
        made = [
            x + number, number - x, x * number, x / number, number / x, x**number, number**x, x // number, x % number,
        ]  # fmt: skip
        made += [mg.maximum(x, number), mg.maximum(number, x), x.clamp(-number, number), x.where(x > number, number)]

    assert {y.dtype for y in made} == {x.dtype}


ACTIVATIONS = ("relu", "sigmoid", "logsigmoid", "softplus", "gelu", "silu", "mish", "leaky_relu", "elu", "selu", "celu")
ACTIVATIONS += ("relu6", "hardtanh", "hardsigmoid", "hardswish", "softsign", "tanhshrink", "hardshrink", "softshrink")


@given(operands(1), st.sampled_from(ACTIVATIONS))
@settings(max_examples=200)
def test_activations_keep_shape_and_width_and_make_floats_of_integers(xs, name):
    x = xs[0]

    y = getattr(F, name)(x)

    assert y.shape == x.shape
    if x.dtype.kind == "f":
        assert y.dtype == x.dtype
        wide = getattr(F, name)(x.astype("f8")).numpy()
        np.testing.assert_allclose(y.numpy(), wide, rtol=4e-3, atol=4e-3)  # float16 has 3 digits
    elif name not in ("relu", "tanhshrink"):
        assert y.dtype == np.float64
        np.testing.assert_array_equal(y.numpy(), getattr(F, name)(x.astype("f8")).numpy())


SMOOTH = (ops.Add(), ops.Sub(), ops.Mul(), ops.Hypot(), ops.LogAddExp(), ops.Maximum(), ops.Minimum(), ops.Atan2())
POSITIVE = (ops.Div(), ops.Power(), ops.XLogY())


@given(operands(2, ("f8",)), st.sampled_from(SMOOTH + POSITIVE))
@settings(max_examples=200)
def test_every_broadcast_obeys_the_laws(xs, op):
    rng = np.random.default_rng(0)  # away from kinks and from each other, whatever the shapes
    x, y = (Tensor(rng.uniform(low, low + 1, a.shape)) for low, a in zip((0.5, 1.7), xs))

    laws.obeys(op, x, y)


@given(st.floats(allow_nan=False))
@settings(max_examples=500)
def test_erf_and_erfc_are_the_c_librarys(number):
    x = np.array(number)

    np.testing.assert_allclose(mg.erf(x).numpy(), math.erf(number), rtol=5e-16, atol=5e-324)
    np.testing.assert_allclose(
        mg.erfc(x).numpy(), math.erfc(number), rtol=1e-15, atol=1e-307
    )  # below: few digits exist


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_erf_is_exact_in_narrow_floats_too(dtype):
    x = np.linspace(-5, 5, 2001).astype(dtype)

    for ours, exact in ((mg.erf, math.erf), (mg.erfc, math.erfc)):
        y = ours(x)

        assert y.dtype == dtype
        np.testing.assert_allclose(y.numpy(), [exact(n) for n in x], rtol=3 * np.finfo(dtype).eps, atol=1e-7)


def test_erf_falls_as_steep_as_it_should_near_0_and_far_out():
    x = np.concatenate([np.linspace(-7, 27, 50001), np.logspace(-300, 0, 500)])

    np.testing.assert_allclose(mg.erf(x).numpy(), [math.erf(n) for n in x], rtol=5e-16)
    near = x[x < 26]
    np.testing.assert_allclose(mg.erfc(near).numpy(), [math.erfc(n) for n in near], rtol=1e-15)


def test_what_has_no_meaning_says_so():
    truth, whole = mg.tensor([True, False]), mg.tensor([1, 2])
    mistakes = {
        "a minus sign before a boolean": lambda: -truth, "booleans subtracted": lambda: truth - truth,
        "bits of a float": lambda: mg.tensor([1.0]) & 1, "an integer to a negative power": lambda: whole**-1,
    }  # fmt: skip
    for mistake in mistakes.values():
        with pytest.raises(errors.DTypeError):
            mistake()
    with pytest.raises(ValueError, match="neither"):
        whole.clamp()
    with pytest.raises(ValueError, match="tanh"):
        whole.gelu("erf")
    with pytest.raises(ValueError, match="trunc"):
        whole.div(2, rounding_mode="up")


def test_one_answer_and_an_answer_for_each_element():
    x = mg.tensor([1.0, 2.0])

    assert mg.equal(x, x + 0) is True
    assert mg.equal(x, x.reshape(2, 1)) is False
    assert mg.allclose(x, x + 1e-12) is True
    assert x.eq(mg.tensor([1.0, 3.0])).numpy().tolist() == [True, False]


@table(
    "name, width",
    [("half", "f2"), ("float", "f4"), ("double", "f8"), ("short", "i2"), ("int", "i4"), ("long", "i8"), ("bool", "?")],
)
def test_dtypes_have_short_names(name, width):
    x = mg.tensor([0.0, 1.5, -2.0], requires_grad=True)

    y = getattr(x, name)()

    assert y.dtype == width
    assert y.is_floating_point() is mg.is_floating_point(y) is (width[0] == "f")
    assert y.requires_grad is (width[0] == "f")


@pytest.mark.parametrize("name", ["erf", "erfc", "gelu"])
def test_a_large_array_is_done_in_blocks_as_a_small_one_is(name):
    x = np.random.default_rng(0).normal(size=(3, 7001)).astype("f4")
    f = getattr(mg.Tensor, name)

    rows = [f(Tensor(row)).numpy() for row in x]

    np.testing.assert_allclose(f(Tensor(x)).numpy(), rows, rtol=1e-6)  # exp differs by a digit with the alignment
    assert f(Tensor(x.T)).numpy().T.tolist() == f(Tensor(x.T.copy())).numpy().T.tolist()
