"""Reductions, scans and sorting against PyTorch: values, first and second gradients, and the corners."""

from functools import partial
from math import inf, nan

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

from .oracle import agree, agree_exactly, agree_twice, answers, flat, torch

rng = np.random.default_rng(5)
X = rng.normal(size=(4, 3, 2))
TIED = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0], [-1.0, -1.0, -1.0]])
ZEROS = np.array([[2.0, 0.0, -3.0], [0.0, 0.5, 0.0], [1.5, -2.0, 3.0], [0.0, 0.0, 0.0]])
OVER = [{}, {"dim": 0}, {"dim": -1}, {"dim": (0, 2)}, {"dim": (-1, 1), "keepdim": True}]
ONE = [{"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True}]
ALONG = [{"dim": 0}, {"dim": -1}]

# Method → the arguments it is called with, on X or on the operand named after it.
METHODS = {
    ("sum", "x"): OVER, ("mean", "x"): OVER, ("var", "x"): [*OVER, {"dim": 1, "correction": 0}, {"unbiased": False}],
    ("std", "x"): [*OVER, {"dim": 1, "correction": 0}, {"unbiased": False}], ("amax", "x"): OVER, ("amin", "x"): OVER,
    ("amax", "tied"): [{}, {"dim": 0}, {"dim": 1}], ("amin", "tied"): [{}, {"dim": 0}, {"dim": 1}],
    ("logsumexp", "x"): OVER[1:], ("prod", "x"): [{}, *ONE], ("prod", "zeros"): [{}, {"dim": 0}, {"dim": 1}],
    ("max", "tied"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("min", "tied"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("aminmax", "tied"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("var_mean", "x"): [{}, {"dim": 1}, {"dim": (0, 1), "keepdim": True, "correction": 0}],
    ("std_mean", "x"): [{}, {"dim": 1}],
    ("norm", "x"): [{"p": p, **over} for p in (1, 2, 3, 0.5, inf, -inf) for over in OVER[:4]] + [{}],
    ("norm", "tied"): [{"p": p, "dim": 1} for p in (inf, -inf)], ("cumsum", "x"): ALONG, ("cumprod", "x"): ALONG,
    ("cumprod", "zeros"): ALONG, ("logcumsumexp", "x"): ALONG, ("cummax", "tied"): ALONG, ("cummin", "tied"): ALONG,
    ("diff", "x"): [{}, {"n": 2, "dim": 0}, {"n": 0}, {"n": 5}], ("sort", "x"): [{}, {"dim": 0, "descending": True}],
    ("sort", "tied"): [{"stable": True, "descending": True}, {"stable": True, "dim": 0}], ("msort", "x"): [{}],
    ("topk", "x"): [{"k": 2, "dim": 0}, {"k": 1}, {"k": 2, "dim": 1, "largest": False}, {"k": 0}],
    ("kthvalue", "x"): [{"k": 2, "dim": 0}, {"k": 1, "keepdim": True}],
    ("median", "x"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("quantile", "x"): [{"q": q, **over} for q in (0, 0.3, 0.5, 1) for over in ({}, *ONE)]
    + [{"q": 0.4, "dim": 0, "interpolation": i} for i in ("lower", "higher", "nearest", "midpoint")],
    ("argmax", "tied"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("argmin", "x"): [{}, {"dim": 0}, {"dim": -1, "keepdim": True}],
    ("argsort", "x"): [{}, {"dim": 0, "descending": True}],
    ("all", "zeros"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("any", "zeros"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("count_nonzero", "zeros"): [{}, {"dim": 0}, {"dim": (0, 1)}],
}  # fmt: skip
OPERANDS = {"x": X, "tied": TIED, "zeros": ZEROS}
CASES = [(name, on, options) for (name, on), calls in METHODS.items() for options in calls]


@table("name, on, options", CASES)
def test_values_and_two_gradients_are_pytorchs(name, on, options):
    ours = getattr(mg.Tensor, name)
    theirs = getattr(torch if name.endswith("_mean") else torch.Tensor, name)
    agree_twice(
        partial(ours, **options), partial(theirs, **options), [OPERANDS[on]], (1e-12, 1e-14), (1e-10, 1e-12),
        (1e-9, 1e-10),
    )  # fmt: skip


WHOLE = ["sum", "prod", "cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "all", "any", "count_nonzero", "sort"]
REFUSED = {("argmax", "bool"), ("argmin", "bool"), ("all", "uint8"), ("any", "uint8")}  # there, or given as uint8


@table("name, dtype", [(n, d) for n in WHOLE for d in ("int64", "int32", "uint8", "bool") if (n, d) not in REFUSED])
def test_integers_and_booleans_give_what_pytorch_gives(name, dtype):
    array = np.array([[3, 1, 0], [2, 2, 1]]).astype(dtype)
    options = {"dim": 1} | ({"stable": True} if name == "sort" else {})
    agree_exactly(lambda m: getattr(m.tensor(array), name)(**options))


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "prod", "norm", "logsumexp", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_narrow_floats_stay_narrow_and_are_summed_wide(name, dtype):
    array = np.linspace(0.5, 1.5, 3000).reshape(1000, 3).astype(dtype)
    array = array if "prod" not in name else np.ones_like(array)
    (y, g), (s, h) = (answers(m, lambda x: getattr(x, name)(dim=0), [array]) for m in (mg, torch))

    assert str(y.dtype) == str(g.dtype) == dtype
    places = {"float16": 2e-3, "float32": 2e-6}[dtype]  # about two steps of the dtype
    np.testing.assert_allclose(y, s, rtol=places)
    np.testing.assert_allclose(g, h, rtol=2 * places, atol=places * 1e-3)


def test_a_sum_in_another_dtype_is_pytorchs():
    for dtype in ("float64", "int64"):
        agree_exactly(lambda m, dtype=dtype: m.tensor(np.array([1.0, 2.5], "f4")).sum(dtype=getattr(m, dtype)))


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # PyTorch says so, once
@table(
    "name",
    ["sum", "mean", "prod", "var", "std", "amax", "norm", "all", "any", "count_nonzero", "cumsum", "cumprod", "sort"],
)
@pytest.mark.parametrize("dim", [0, 1])
def test_what_is_empty_gives_what_pytorch_gives(name, dim):
    array = np.empty((0, 3))
    if name == "amax" and dim == 0:
        with pytest.raises(mg.errors.ShapeError, match="does not exist"):
            mg.tensor(array).amax(0)
        with pytest.raises(IndexError):
            torch.tensor(array).amax(0)
        return
    agree_exactly(lambda m: getattr(m.tensor(array), name)(dim=dim))


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
def test_the_gradient_towards_nothing_is_nothing(name):
    x = mg.tensor(np.empty((0, 3)), requires_grad=True)
    getattr(x, name)(0).sum().backward()

    assert x.grad.shape == (0, 3)


NUMBER = "sum mean prod amax amin logsumexp max min argmax cumsum cumprod cummax sort argsort median all any"


@table("name", NUMBER.split())
@pytest.mark.parametrize("dim", [0, -1])
def test_a_number_may_be_reduced_along_the_axis_it_has_not(name, dim):
    agree_twice(*(partial(getattr(m.Tensor, name), dim=dim) for m in (mg, torch)), [np.array(2.5)], (0, 0), (1e-15, 0))


INFINITE = np.array([[1.0, inf, 2.0], [-inf, -inf, -inf], [nan, 1.0, 2.0], [1.0, nan, 2.0], [-inf, 3.0, -inf]])


@pytest.mark.parametrize(
    "name",
    ["amax", "amin", "logsumexp", "cummax", "cummin", "sort", "argmax", "argmin", "median", "max", "min", "topk"],
)
def test_infinities_and_nans_give_pytorchs_values(name):
    options = {"dim": 1} | ({"k": 2} if name == "topk" else {})
    ours, theirs = (flat(getattr(m.tensor(INFINITE), name)(**options))[0] for m in (mg, torch))

    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


@pytest.mark.parametrize("p", [1, 2, 3, 1.5, 0.5, inf])
def test_at_the_origin_a_norm_has_the_slope_pytorch_gives_it(p):
    agree(lambda m, x: x.norm(p, 1), np.zeros((2, 3)), rtol=0)


def test_where_all_are_equal_a_standard_deviation_has_the_slope_pytorch_gives_it():
    agree(lambda m, x: x.std(1), np.ones((2, 3)), rtol=0)


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # PyTorch says so, once
@pytest.mark.parametrize("correction", [1, 2, 3])
def test_without_degrees_of_freedom_there_is_no_variance(correction):
    for array in (np.array([1.0]), np.array([1.0, 2.0])):
        agree_exactly(lambda m, array=array: m.tensor(array).var(correction=correction))


def given(library, array):
    """An array, which minigrad takes as it is."""
    return array if library is mg else torch.tensor(array)


def test_what_has_no_method_agrees_too():
    array = np.array([[3, 1, 1], [0, 3, 1]])
    for options in ({}, {"return_inverse": True, "return_counts": True}, {"dim": 1, "return_counts": True}):
        agree_exactly(lambda m, options=options: m.unique(given(m, array), **options))
    for options in ({}, {"minlength": 7}):
        agree_exactly(lambda m, options=options: m.bincount(given(m, array.ravel()), **options))
    for options in ({"bins": 4}, {"bins": 3, "min": -1, "max": 1}):
        agree_exactly(lambda m, options=options: m.histc(given(m, X), **options))


@pytest.mark.parametrize("interpolation", ["linear", "lower", "higher", "nearest", "midpoint"])
@pytest.mark.parametrize("q", [0.3, 0.5, 0.0, 1.0, [0.1, 0.5, 1.0]])
def test_a_quantile_has_a_slope_in_its_level(q, interpolation):
    """The gradient of q was dropped, and requires_grad with it."""
    call = lambda m, x, q: m.quantile(x, q, 0, interpolation=interpolation)  # noqa: E731

    agree_twice(partial(call, mg), partial(call, torch), [X, np.array(q)], *[(1e-9, 1e-12)] * 3)


def test_a_correction_of_none_is_one():
    call = lambda m, x: [x.var(0, correction=None), *m.std_mean(x, correction=None)]  # noqa: E731

    agree_twice(partial(call, mg), partial(call, torch), [X], *[(1e-9, 1e-12)] * 3)


def test_the_ends_of_no_difference_are_not_joined():
    agree_exactly(lambda m: m.tensor(X).diff(0, 1, m.tensor(X[:, :1]), m.tensor(X[:, :2])))


def test_the_ends_of_a_difference_are_joined_first():
    agree_exactly(lambda m: m.tensor(X).diff(dim=1, prepend=given(m, X[:, :1] - 1), append=given(m, X[:, :2])))


def test_how_many_are_not_zero_is_a_norm_too_and_flat():
    x = mg.tensor(ZEROS, requires_grad=True)
    x.norm(0, 1).sum().backward()

    agree_exactly(lambda m: m.tensor(ZEROS).norm(0, 1))
    assert not x.grad.numpy().any()
