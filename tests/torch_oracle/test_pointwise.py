"""Functions of each element against PyTorch: values, first and second gradients, and the corners."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad import functional as F
from tests.support.table import table

from .oracle import agree, agree_twice, array, torch

rng = np.random.default_rng(11)
X, Y = rng.normal(size=(4, 3)) * 1.5, rng.normal(size=(4, 3)) * 1.5
ROW = rng.uniform(0.5, 2, 3)
P, Q = rng.uniform(0.5, 2, (4, 3)), rng.uniform(0.5, 2, (4, 3))
UNIT = rng.uniform(-0.9, 0.9, (4, 3))


silently = np.errstate(all="ignore")  # as PyTorch is about logs of 0, ∞ − ∞ and their like


def each(names, *calls):
    return dict.fromkeys(names.split(), calls)


# A name that both have, and what it is called with: arrays, then numbers.
SAME_NAME = {
    **each("exp exp2 expm1 sin cos tan atan sinh cosh tanh asinh erf erfc sigmoid relu", (X,)),
    **each("abs neg sign floor ceil trunc round frac square reciprocal", (X,)),
    **each("sinc deg2rad rad2deg sgn", (X,)), **each("copysign fmax fmin logaddexp2 ldexp", (X, Y), (X, ROW)),
    "float_power": [(P, Y), (X, 2), (P, -1.5)], **each("log log2 log10 log1p sqrt rsqrt", (P,)),
    **each("asin acos atanh", (UNIT,)),
    **each("add sub mul div maximum minimum hypot atan2 logaddexp", (X, Y), (X, ROW)),
    **each("remainder fmod", (X, P), (X, ROW)), "acosh": [(P + 1,)], "logit": [(P / 3,), (P / 3, 0.3)],
    "pow": [(P, Y), (X, 2), (X, 3), (P, -1.5), (P, 0.5), (X, 0)], "xlogy": [(X, P), (P, ROW)],
    "lerp": [(X, Y, 0.3), (X, Y, P)], "addcmul": [(X, Y, P)], "addcdiv": [(X, Y, P)],
    "clamp": [(X, -0.5, 0.7), (X, None, 0.7), (X, -0.5), (X, Y, P), (X, ROW - 1.5, ROW)], "nan_to_num": [(X,)],
}  # fmt: skip
ACTIVATIONS = {
    **each("relu sigmoid tanh logsigmoid gelu silu mish leaky_relu elu selu celu relu6", ()),
    **each("hardtanh hardsigmoid hardswish softsign tanhshrink hardshrink softshrink glu", ()),
    "softplus": [(), (2.0, 1.0), (0.5,)], "gelu": [(), ("tanh",)], "leaky_relu": [(), (0.3,), (1.7,)],
    "elu": [(), (0.4,)], "celu": [(), (0.4,)], "hardtanh": [(), (-0.3, 0.8)], "threshold": [(0.2, -3.0)],
    "hardshrink": [(), (0.9,)], "softshrink": [(), (0.9,)],
}  # fmt: skip


def ours(name):
    """The function of that name, or the method: not every method is a function too."""
    return getattr(mg, name, None) or getattr(mg.Tensor, name)


def cases():
    for name, calls in SAME_NAME.items():
        for i, arguments in enumerate(calls):
            yield pytest.param(ours(name), getattr(torch, name), arguments, id=f"{name} {i}")
    for name, calls in ACTIVATIONS.items():
        theirs = getattr(torch.nn.functional, name)
        for i, options in enumerate(calls):
            called = theirs if options != ("tanh",) else lambda x, how, f=theirs: f(x, approximate=how)
            yield pytest.param(getattr(F, name), called, (rng.normal(size=(5, 4)) * 3, *options), id=f"F.{name} {i}")
    yield pytest.param(F.prelu, torch.nn.functional.prelu, (X, ROW), id="F.prelu")
    for name, arguments in {"xlog1py": (X, P), "entr": (P,), "ndtr": (X * 2,), "expit": (X,), "xlogy": (X, P)}.items():
        yield pytest.param(getattr(mg.special, name), getattr(torch.special, name), arguments, id=f"special.{name}")


# PyTorch holds these constants in float32, also beside float64: 1/6, and 1/0.4.
SINGLE = {"hardsigmoid", "hardswish", "celu"}
ONCE = {"hardsigmoid"}  # PyTorch has no second derivative of it


@table("called, theirs, arguments", list(cases()))
def test_values_and_two_gradients_are_pytorchs(called, theirs, arguments):
    name = getattr(theirs, "__name__", "")
    single = 1e-6 if name in SINGLE else 0
    tolerances = [(1e-14, 1e-15), (max(single, 1e-11), 1e-13), (max(single, 1e-10), 1e-12)]
    agree_twice(called, theirs, arguments, *tolerances[: 2 if name in ONCE else 3])


FINITE = [0.0, -0.0, 1.0, -1.0, 2.0, -3.0, 3.0, 0.5, 6.0, 1e-300, -2000.0, 2000.0, 25.0]
CORNERS = np.array([*FINITE, np.inf, -np.inf, np.nan])
CORNER_FUNCTIONS = {
    name: (ours(name), getattr(torch, name))
    for name in each(
        "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
        "erf erfc signbit isneginf isposinf "
        "sigmoid relu abs sign floor ceil trunc round reciprocal square frac isnan isinf isfinite nan_to_num"
    )
} | {
    f"F.{name}": (getattr(F, name), getattr(torch.nn.functional, name))
    for name in each(
        "logsigmoid softplus gelu silu mish leaky_relu elu selu celu relu6 hardtanh hardsigmoid hardswish softsign "
        "tanhshrink hardshrink softshrink"
    )
}


# rtol; atol of values, where they vanish; atol of slopes, which are differences such as 1 − y²
TOLERANCES = {"f8": (1e-13, 1e-300, 1e-15), "f4": (4e-6, 1e-37, 1e-6)}


@pytest.mark.parametrize("dtype", TOLERANCES)
@table("name", CORNER_FUNCTIONS)
@silently
def test_corners_are_pytorchs(name, dtype):
    """In float32 too they are held against PyTorch's float64: its own float32 gelu(−3) is wrong in the fourth digit."""
    called, theirs = CORNER_FUNCTIONS[name]
    corners = CORNERS[np.abs(CORNERS) != 2000] if name in ("sin", "cos", "tan") else CORNERS
    corners = corners.astype(dtype)
    if name == "nan_to_num" and dtype == "f4":
        corners = corners[~np.isinf(corners)]  # the largest number of a dtype is its own
    x = mg.tensor(corners, requires_grad=True)
    t = torch.tensor(corners.astype("f8"), requires_grad=True)
    rtol, value_atol, slope_atol = TOLERANCES[dtype]
    slope_rtol = 1e-6 if theirs.__name__ in SINGLE else rtol

    y, u = called(x), theirs(t)

    assert y.dtype == (dtype if u.requires_grad else bool)
    there = ~np.isnan(corners) if name == "sign" else slice(None)  # PyTorch's sign of NaN is 0, NumPy's NaN
    np.testing.assert_allclose(array(y)[there], array(u)[there], rtol=rtol, atol=value_atol)
    if u.requires_grad:
        y.sum().backward()
        u.sum().backward()
        # Which slope a NaN has, PyTorch answers differently in float32 and float64.
        slopes = (array(leaf.grad)[~np.isnan(corners)] for leaf in (x, t))
        np.testing.assert_allclose(*slopes, rtol=max(rtol, slope_rtol), atol=slope_atol)


PAIRS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.5, 0.5]
A, B = (a.ravel() for a in np.meshgrid(PAIRS, PAIRS))


@pytest.mark.parametrize(
    "name",
    each("pow maximum minimum remainder fmod xlogy atan2 hypot div logaddexp copysign fmax fmin float_power ldexp"),
)
@silently
def test_pairs_of_corners_are_pytorchs(name):
    """Both gradients of 0 ** 0 are 0, as are those of x log y where x is 0."""
    agree(lambda m, x, y: (ours if m is mg else partial(getattr, torch))(name)(x, y), A, B, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("name", each("sigmoid logsigmoid softplus gelu silu mish elu selu celu tanh softsign"))
def test_an_activation_of_large_numbers_is_right_without_a_warning(name, dtype):
    """An exponential overflows on the way, as it is meant to, and nobody is told: warnings are errors here."""
    large = np.array([-2000.0, -90, -12, 15, 90, 2000], dtype)
    x, t = mg.tensor(large, requires_grad=True), torch.tensor(large.astype("f8"), requires_grad=True)

    y, u = getattr(F, name)(x), getattr(torch.nn.functional, name)(t)
    y.sum().backward()
    u.sum().backward()

    rtol, atol = {"f2": (2e-3, 2e-6), "f4": (1e-5, 1e-37), "f8": (1e-10, 1e-300)}[dtype]
    lost = 1e-30 if name == "gelu" else 0  # in PyTorch's 1 + erf, where erfc keeps its digits
    np.testing.assert_allclose(y.numpy(), array(u), rtol=rtol, atol=max(atol, lost))
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=rtol, atol=max(atol, 1e-6))


@pytest.mark.parametrize("x", [[1.0, 2.0], 0.5])
def test_an_infinite_gradient_stays_on_its_side_of_a_choice(x):
    for library in (mg, torch):
        a = library.tensor(x, requires_grad=True)
        b = library.tensor(x, requires_grad=True)
        library.where(a > 0, a, b).backward(library.tensor(np.full(np.shape(x), np.inf)))

        assert np.isinf(array(a.grad)).all()
        assert not array(b.grad).any()


def test_bounds_that_are_tensors_take_the_gradient_where_they_bind():
    x, low, high = np.array([0.0, 1.0, 2.0, 3.0, 1.0]), np.array([1.0, 1, 1, 1, 4]), np.array([2.0, 2, 2, 2, 2])
    agree(lambda m, *xs: m.clamp(*xs), x, low, high, rtol=0)


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
@pytest.mark.parametrize("kind", [int, float])
def test_quotients_round_as_pytorchs(mode, kind):
    x, y = np.array([7, -7, 7, -7, 6, -6, 0], kind), np.array([2, 2, -2, -2, 3, 3, 5], kind)

    ours = mg.div(mg.tensor(x), mg.tensor(y), rounding_mode=mode)
    theirs = torch.div(torch.tensor(x), torch.tensor(y), rounding_mode=mode)

    np.testing.assert_allclose(array(ours), array(theirs), rtol=1e-7)  # PyTorch divides integers in float32
    assert (ours.dtype.kind == "i") == (theirs.dtype == torch.int64)


@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod", "bitwise_and", "bitwise_or", "bitwise_xor"])
def test_integers_give_integers_as_in_pytorch(name):
    x, y = np.array([7, -7, 7, -7, 6]), np.array([2, 2, -2, -2, 3])

    z = getattr(mg, name)(mg.tensor(x), mg.tensor(y))

    assert z.dtype == np.int64
    np.testing.assert_array_equal(array(z), array(getattr(torch, name)(torch.tensor(x), torch.tensor(y))))


@pytest.mark.parametrize(
    "name", ["gt", "ge", "lt", "le", "eq", "ne", "logical_and", "logical_or", "logical_xor", "isclose"]
)
def test_answers_are_pytorchs(name):
    z = getattr(mg, name)(mg.tensor(A), mg.tensor(B))

    np.testing.assert_array_equal(array(z), array(getattr(torch, name)(torch.tensor(A), torch.tensor(B))))


@pytest.mark.parametrize("nans", [False, True])
@pytest.mark.parametrize("other", [[1.0, np.inf, np.nan], [1.0 + 1e-9, np.inf, 1.0], [1.1, -np.inf, np.nan]])
@silently
def test_closeness_is_pytorchs(other, nans):
    x = [1.0, np.inf, np.nan]
    pairs = [[library.tensor(np.array(v)) for v in (x, other)] for library in (mg, torch)]
    ours, theirs = (library.isclose(*pair, equal_nan=nans) for library, pair in zip((mg, torch), pairs))

    assert array(ours).tolist() == array(theirs).tolist()


@pytest.mark.parametrize("width", ["f2", "f4", "f8"])
def test_a_python_number_takes_the_width_of_its_tensor_as_in_pytorch(width):
    x, t = mg.tensor(np.array([0.5, 2], width)), torch.tensor(np.array([0.5, 2], width))

    for f in (
        lambda x: 2 * x, lambda x: x**2.5, lambda x: 2.0**x, lambda x: x % 0.3, lambda x: 1 / x, lambda x: x // 2,
    ):  # fmt: skip
        assert f(x).dtype == array(f(t)).dtype


def test_there_is_nothing_wrong_with_nothing():
    agree(lambda m, x: m.nn.functional.gelu(x.exp() * x).erf().clamp(0, 1), np.empty((0, 3)))


@pytest.mark.parametrize("bounds", [(-1.0, 2.0), (None, 2.0), (-1.0, None), (2.0, -1.0)])
def test_the_gradient_passes_at_the_bounds_themselves(bounds):
    agree(lambda m, x: x.clamp(*bounds), np.array([-2.0, -1.0, 0.0, 2.0, 3.0]), rtol=0)


COUNTS = (-70, -1, 0, 1, 6, 7, 8, 31, 32, 62, 63, 64, 1000)
MODES = {"function": {}, "compiled": {"jit_compile": True}, "native": {"jit_compile": "native"}}


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8"])
def test_shifts_are_pytorchs_for_every_count_in_every_mode(dtype):
    """x >> 1 was a TypeError, and bitwise_right_shift refused a negative count."""
    ends = np.iinfo(dtype)
    x = np.array([ends.min, ends.min + 1, 0, 1, 3, 77, 100, ends.max - 1, ends.max], dtype)
    numbers, counts = np.meshgrid(x, np.array([-128, -1, 0, 1, 6, 7, 8, 31, 32, 62, 63, 64, 127], "int8"))

    def shifts(x, y, n):
        mixed = [y << n, y >> n, y << n.long(), y >> n.long(), 3 << n, 100 >> n, n << y, n >> y]
        return [z for k in COUNTS for z in (x << k, x >> k)] + mixed

    expected = shifts(*(torch.tensor(a) for a in (x, numbers, counts)))
    ours = [mg.tensor(a) for a in (x, numbers, counts)]
    for found in (shifts(*ours), *(mg.function(shifts, **mode)(*ours) for mode in MODES.values())):
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(array(a), array(b), strict=True)


def test_a_shift_in_place_keeps_the_dtype_as_in_pytorch():
    for library in (mg, torch):
        x, y = (library.tensor(np.array([5, -9], "int32")) for _ in range(2))
        x <<= library.tensor(np.array([3, 40]))
        y >>= 1
        assert (array(x).tolist(), array(y).tolist(), array(x).dtype) == ([40, 0], [2, -5], np.int32)


REFUSED = [
    lambda m, x: x << 1, lambda m, x: x.long() >> 1.0, lambda m, x: (x > 1) << (x > 1),
    lambda m, x: m.bitwise_left_shift(x, 1), lambda m, x: m.bitwise_right_shift(m.tensor([1]), x),
]  # fmt: skip


@table("shift", REFUSED)
def test_a_shift_of_floats_or_of_booleans_is_refused_as_in_pytorch(shift):
    for library, error in ((mg, mg.errors.DTypeError), (torch, NotImplementedError)):
        with pytest.raises(error, match=r"a shift moves the bits of integers|not implemented for"):
            shift(library, library.tensor([1.0, 2.0]))


STRANGERS = [None, "a", b"a", object(), {}, {1}, ..., int, np.dtype("f4"), slice(1), [None], ["a", 1], (None, 2)]


@table("other", STRANGERS, ids=repr)
def test_a_tensor_does_not_equal_what_holds_no_numbers_as_in_pytorch(other):
    """x == None was a DTypeError, so that `x in [None, x]` and `if x == None:` failed."""

    def answers(x):
        return [x == other, x != other, other == x, other != x, [other].count(x), x if x != other else None]

    for x in (torch.tensor(2.0), mg.tensor(2.0)):
        assert answers(x)[:5] == [False, True, False, True, 0]
    assert float(mg.function(answers)(mg.tensor(2.0))[5]) == float(mg.jit(lambda x: answers(x)[5])(mg.tensor(2.0))) == 2
    with mg.Graph().as_default():
        assert answers(mg.placeholder("f8", (None,)))[:4] == [False, True, False, True]


def test_a_number_beyond_the_reals_is_compared_by_nobody():
    """x == 2 + 0j is [False, True] in PyTorch: False would be a wrong answer."""
    for other in (1j, 2 + 0j, np.array([1j])):
        with pytest.raises(mg.errors.DTypeError, match="real numbers"):
            mg.tensor([1.0, 2.0]) == other  # noqa: B015
    with pytest.raises(mg.errors.DTypeError, match="real numbers"):
        None in mg.tensor([1.0])  # noqa: B015
