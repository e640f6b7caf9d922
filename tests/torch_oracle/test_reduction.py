"""Reductions, scans and sorting against PyTorch: values, first and second gradients, and the corners."""

from math import inf, nan

import numpy as np
import pytest
from table import table

import minigrad as mg

torch = pytest.importorskip("torch", reason="PyTorch is not installed: python -m pip install torch adds this oracle")

rng = np.random.default_rng(5)
X = rng.normal(size=(4, 3, 2))
TIED = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0], [-1.0, -1.0, -1.0]])
ZEROS = np.array([[2.0, 0.0, -3.0], [0.0, 0.5, 0.0], [1.5, -2.0, 3.0], [0.0, 0.0, 0.0]])
OVER = [{}, {"dim": 0}, {"dim": -1}, {"dim": (0, 2)}, {"dim": (-1, 1), "keepdim": True}]
ONE = [{"dim": 0}, {"dim": -1}, {"dim": 1, "keepdim": True}]
ALONG = [{"dim": 0}, {"dim": -1}]

# Method → the arguments it is called with, on X or on the operand named after it.
METHODS = {
    ("sum", "x"): OVER,
    ("mean", "x"): OVER,
    ("var", "x"): [*OVER, {"dim": 1, "correction": 0}, {"unbiased": False}],
    ("std", "x"): [*OVER, {"dim": 1, "correction": 0}, {"unbiased": False}],
    ("amax", "x"): OVER,
    ("amin", "x"): OVER,
    ("amax", "tied"): [{}, {"dim": 0}, {"dim": 1}],
    ("amin", "tied"): [{}, {"dim": 0}, {"dim": 1}],
    ("logsumexp", "x"): OVER[1:],
    ("prod", "x"): [{}, *ONE],
    ("prod", "zeros"): [{}, {"dim": 0}, {"dim": 1}],
    ("max", "tied"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("min", "tied"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("aminmax", "tied"): [{}, {"dim": 0}, {"dim": 1, "keepdim": True}],
    ("var_mean", "x"): [{}, {"dim": 1}, {"dim": (0, 1), "keepdim": True, "correction": 0}],
    ("std_mean", "x"): [{}, {"dim": 1}],
    ("norm", "x"): [{"p": p, **over} for p in (1, 2, 3, 0.5, inf, -inf) for over in OVER[:4]] + [{}],
    ("norm", "tied"): [{"p": p, "dim": 1} for p in (inf, -inf)],
    ("cumsum", "x"): ALONG,
    ("cumprod", "x"): ALONG,
    ("cumprod", "zeros"): ALONG,
    ("logcumsumexp", "x"): ALONG,
    ("cummax", "tied"): ALONG,
    ("cummin", "tied"): ALONG,
    ("diff", "x"): [{}, {"n": 2, "dim": 0}, {"n": 0}, {"n": 5}],
    ("sort", "x"): [{}, {"dim": 0, "descending": True}],
    ("sort", "tied"): [{"stable": True, "descending": True}, {"stable": True, "dim": 0}],
    ("msort", "x"): [{}],
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
}
OPERANDS = {"x": X, "tied": TIED, "zeros": ZEROS}
CASES = [(name, on, options) for (name, on), calls in METHODS.items() for options in calls]


def results(y):
    return list(y) if isinstance(y, tuple) else [y]


def gradients(ys, x, grad):
    """∂L/∂x and ∂‖∂L/∂x‖²/∂x, where L = Σ wᵢ y²ᵢ, with weights that differ."""
    loss = sum(((y * y) * (k + 1) + y).sum() for k, y in enumerate(ys))
    (first,) = grad(loss, x, create_graph=True)
    return first, (first * first).sum()


@table("name, on, options", CASES)
def test_values_and_two_gradients_are_pytorchs(name, on, options):
    x = mg.tensor(OPERANDS[on], requires_grad=True)
    t = torch.tensor(OPERANDS[on], requires_grad=True)
    ours = results(getattr(x, name)(**options))
    theirs = results(getattr(torch if name.endswith("_mean") else torch.Tensor, name)(t, **options))

    for y, s in zip(ours, theirs, strict=True):
        assert (y.shape, str(y.dtype)) == (tuple(s.shape), str(s.dtype).removeprefix("torch."))
        np.testing.assert_allclose(y.numpy(), s.detach().numpy(), rtol=1e-12, atol=1e-14)

    ours, theirs = [y for y in ours if y.requires_grad], [s for s in theirs if s.requires_grad]
    assert len(ours) == len(theirs)
    if not ours:
        return
    first, again = gradients(ours, x, mg.grad)
    first_t, again_t = gradients(theirs, t, torch.autograd.grad)
    np.testing.assert_allclose(first.numpy(), first_t.detach().numpy(), rtol=1e-10, atol=1e-12)
    if again_t.requires_grad:
        (second,) = mg.grad(again, x)
        (second_t,) = torch.autograd.grad(again_t, t)
        np.testing.assert_allclose(second.numpy(), second_t.numpy(), rtol=1e-9, atol=1e-10)


WHOLE = ["sum", "prod", "cumsum", "cumprod", "amax", "amin", "argmax", "argmin", "all", "any", "count_nonzero", "sort"]
REFUSED = {("argmax", "bool"), ("argmin", "bool"), ("all", "uint8"), ("any", "uint8")}  # there, or given as uint8


@table("name, dtype", [(n, d) for n in WHOLE for d in ("int64", "int32", "uint8", "bool") if (n, d) not in REFUSED])
def test_integers_and_booleans_give_what_pytorch_gives(name, dtype):
    array = np.array([[3, 1, 0], [2, 2, 1]]).astype(dtype)
    options = {"dim": 1} | ({"stable": True} if name == "sort" else {})
    ours = results(getattr(mg.tensor(array), name)(**options))
    theirs = results(getattr(torch.tensor(array), name)(**options))

    for y, s in zip(ours, theirs, strict=True):
        assert str(y.dtype) == str(s.dtype).removeprefix("torch.")
        assert y.numpy().tolist() == s.tolist()


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std", "prod", "norm", "logsumexp", "cumsum", "cumprod"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_narrow_floats_stay_narrow_and_are_summed_wide(name, dtype):
    array = np.linspace(0.5, 1.5, 3000).reshape(1000, 3).astype(dtype)
    array = array if "prod" not in name else np.ones_like(array)
    x = mg.tensor(array, requires_grad=True)
    t = torch.tensor(array, requires_grad=True)
    y, s = getattr(x, name)(dim=0), getattr(t, name)(dim=0)

    y.backward(np.ones(y.shape, dtype))
    s.backward(torch.ones_like(s))

    assert str(y.dtype) == str(x.grad.dtype) == dtype
    places = {"float16": 2e-3, "float32": 2e-6}[dtype]  # about two steps of the dtype
    np.testing.assert_allclose(y.numpy(), s.detach().numpy(), rtol=places)
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=2 * places, atol=places * 1e-3)


def test_a_sum_in_another_dtype_is_pytorchs():
    array = np.array([1.0, 2.5], "f4")

    for options in ({"dtype": "float64"}, {"dtype": "int64"}):
        y = mg.tensor(array).sum(**options)
        s = torch.tensor(array).sum(dtype=getattr(torch, options["dtype"]))
        assert (y.item(), str(y.dtype)) == (s.item(), str(s.dtype).removeprefix("torch."))


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
    ours, theirs = (results(getattr(of(array), name)(dim=dim)) for of in (mg.tensor, torch.tensor))
    for y, s in zip(ours, theirs, strict=True):
        assert y.shape == tuple(s.shape)
        np.testing.assert_array_equal(y.numpy(), s.numpy())


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
def test_the_gradient_towards_nothing_is_nothing(name):
    x = mg.tensor(np.empty((0, 3)), requires_grad=True)
    getattr(x, name)(0).sum().backward()

    assert x.grad.shape == (0, 3)


NUMBER = [
    "sum",
    "mean",
    "prod",
    "amax",
    "amin",
    "logsumexp",
    "max",
    "min",
    "argmax",
    "cumsum",
    "cumprod",
    "cummax",
    "sort",
    "argsort",
    "median",
    "all",
    "any",
]


@table("name", NUMBER)
@pytest.mark.parametrize("dim", [0, -1])
def test_a_number_may_be_reduced_along_the_axis_it_has_not(name, dim):
    x, t = mg.tensor(2.5, requires_grad=True), torch.tensor(2.5, dtype=torch.float64, requires_grad=True)
    ours, theirs = results(getattr(x, name)(dim=dim)), results(getattr(t, name)(dim=dim))

    for y, s in zip(ours, theirs, strict=True):
        assert y.shape == tuple(s.shape) == ()
        assert y.item() == s.item()
    if ours[0].requires_grad:
        ours[0].backward()
        assert x.grad.item() == 1


INFINITE = np.array([[1.0, inf, 2.0], [-inf, -inf, -inf], [nan, 1.0, 2.0], [1.0, nan, 2.0], [-inf, 3.0, -inf]])


@pytest.mark.parametrize(
    "name",
    ["amax", "amin", "logsumexp", "cummax", "cummin", "sort", "argmax", "argmin", "median", "max", "min", "topk"],
)
def test_infinities_and_nans_give_pytorchs_values(name):
    options = {"dim": 1} | ({"k": 2} if name == "topk" else {})
    ours = results(getattr(mg.tensor(INFINITE), name)(**options))
    theirs = results(getattr(torch.tensor(INFINITE), name)(**options))

    np.testing.assert_array_equal(ours[0].numpy(), theirs[0].numpy())


@pytest.mark.parametrize("p", [1, 2, 3, 1.5, 0.5, inf])
def test_at_the_origin_a_norm_has_the_slope_pytorch_gives_it(p):
    x, t = mg.tensor(np.zeros((2, 3)), requires_grad=True), torch.zeros(2, 3, requires_grad=True)
    x.norm(p, 1).sum().backward()
    t.norm(p, 1).sum().backward()

    np.testing.assert_array_equal(x.grad.numpy(), t.grad.numpy())


def test_where_all_are_equal_a_standard_deviation_has_the_slope_pytorch_gives_it():
    x, t = mg.tensor(np.ones((2, 3)), requires_grad=True), torch.ones(2, 3, requires_grad=True)
    x.std(1).sum().backward()
    t.std(1).sum().backward()

    np.testing.assert_array_equal(x.grad.numpy(), t.grad.numpy())


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")  # PyTorch says so, once
@pytest.mark.parametrize("correction", [1, 2, 3])
def test_without_degrees_of_freedom_there_is_no_variance(correction):
    for array in ([1.0], [1.0, 2.0]):
        y = mg.tensor(array).var(correction=correction)
        np.testing.assert_array_equal(y.numpy(), torch.tensor(array).var(correction=correction).numpy())


def test_what_has_no_method_agrees_too():
    array = np.array([[3, 1, 1], [0, 3, 1]])
    for options in ({}, {"return_inverse": True, "return_counts": True}, {"dim": 1, "return_counts": True}):
        ours, theirs = mg.unique(array, **options), torch.unique(torch.tensor(array), **options)
        for y, s in zip(results(ours), results(theirs), strict=True):
            np.testing.assert_array_equal(y.numpy(), s.numpy())
    flat = array.ravel()
    for options in ({}, {"minlength": 7}):
        ours, theirs = mg.bincount(flat, **options), torch.bincount(torch.tensor(flat), **options)
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    for options in ({"bins": 4}, {"bins": 3, "min": -1, "max": 1}):
        ours, theirs = mg.histc(X, **options), torch.histc(torch.tensor(X), **options)
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_the_ends_of_a_difference_are_joined_first():
    y = mg.tensor(X).diff(dim=1, prepend=X[:, :1] - 1, append=X[:, :2])
    s = torch.tensor(X).diff(dim=1, prepend=torch.tensor(X[:, :1] - 1), append=torch.tensor(X[:, :2]))

    np.testing.assert_array_equal(y.numpy(), s.numpy())


def test_how_many_are_not_zero_is_a_norm_too_and_flat():
    x = mg.tensor(ZEROS, requires_grad=True)
    y = x.norm(0, 1)
    y.sum().backward()

    np.testing.assert_array_equal(y.numpy(), torch.tensor(ZEROS).norm(0, 1).numpy())
    assert not x.grad.numpy().any()
