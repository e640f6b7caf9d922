"""vmap: what an op of the table does to one slice, it does to all of them at once. Held to a loop over the slices."""

from itertools import product

import numpy as np
import pytest

import minigrad as mg
from minigrad import func, ops
from minigrad.engine.ops.recurrent import Stepping
from minigrad.engine.tensor.tensor import Tensor
from minigrad.tracing.batching_rules import sequences
from tests.engine.test_op_laws import DIFFERENTIABLE
from tests.examples import EXAMPLES
from tests.support.table import table

N = 3
OF_A_KEY = (ops.SplitKey, ops.FoldIn, ops.RandomChoice)


def runs_once_for_each(op, mapped):
    """Whether an op says nothing of such a batch, and runs N times: by keys, by weights of recurrent networks."""
    if isinstance(op, Stepping):
        return any(each and axis is None for each, axis in zip(mapped, sequences(op)))
    if op.__class__.__module__.endswith("random"):
        return mapped[0] or isinstance(op, ops.RandomChoice)
    return isinstance(op, ops.SearchSorted) and mapped[0]


def variants(x):
    """N arrays of x's spec with other numbers, which fit where x's did."""
    a = x.numpy()
    if a.dtype.kind == "f":
        return [a * (1 + 0.03 * i) for i in range(N)]
    return [a if i % 2 == 0 else ~a if a.dtype.kind == "b" else np.flip(a) for i in range(N)]


def choices(n):
    """Which of n operands are mapped: each alone, all together, and of three all but one."""
    return [each for each in product((True, False), repeat=n) if sum(each) in (1, n - 1, n) and any(each)]


def title(case):
    op, mapped, *xs = case
    return f"{op} {' '.join(f'{x.spec}' + '*' * each for x, each in zip(xs, mapped))}"


CASES = [(op, mapped, *xs) for examples in EXAMPLES.values() for op, *xs in examples for mapped in choices(len(xs))]
GRADIENTS = [
    (op, mapped, *xs)
    for op, *xs in DIFFERENTIABLE
    for mapped in {(True,) * len(xs), (True,) + (False,) * (len(xs) - 1)}
]


def by(op):
    return lambda *xs: xs[0].apply(op, *xs[1:])


def given(mapped, slices, axis=0):
    return [Tensor(np.stack(each, axis) if m else each[0]) for m, each in zip(mapped, slices)]


def near(found, expected):
    np.testing.assert_allclose(found, expected, 1e-9, 1e-11)  # sums in other orders


@table("case", CASES, ids=title)
def test_an_op_of_all_slices_is_what_it_is_of_each(case):
    op, mapped, *xs = case
    slices = [variants(x) if each else [x.numpy()] * N for x, each in zip(xs, mapped)]
    loop = np.stack([by(op)(*map(Tensor, row)).numpy() for row in zip(*slices)])

    for axis in (0, -1) if all(mapped) else (0,):
        batched = func.vmap(by(op), tuple(axis if each else None for each in mapped))
        if runs_once_for_each(op, mapped):
            with pytest.warns(UserWarning, match=f"{op.label}.* runs {N} times"):
                y = batched(*given(mapped, slices, axis))
        else:
            y = batched(*given(mapped, slices, axis))
        assert y.dtype == loop.dtype
        near(y.numpy(), loop)


@pytest.mark.filterwarnings("ignore:vmap.* runs 3 times")
@table("case", GRADIENTS, ids=title)
def test_gradients_inside_and_outside_are_those_of_each_slice(case):
    op, mapped, *xs = case
    floats = tuple(i for i, x in enumerate(xs) if x.spec.is_float)
    slices = [variants(x) if each else [x.numpy()] * N for x, each in zip(xs, mapped)]
    weights = Tensor(np.random.default_rng(0).normal(size=op.infer(*(x.spec for x in xs)).shape))
    number = lambda *xs: (by(op)(*xs) * weights).sum()  # noqa: E731
    loop = [func.grad(number, floats)(*map(Tensor, row)) for row in zip(*slices)]
    dims = tuple(0 if each else None for each in mapped)

    inside = func.vmap(func.grad(number, floats), dims)(*given(mapped, slices))
    outside = func.grad(lambda *xs: func.vmap(number, dims)(*xs).sum(), floats)(*given(mapped, slices))
    for i, one, all_of_them in zip(floats, inside, outside):
        each = np.stack([gs[floats.index(i)].numpy() for gs in loop])
        near(one.numpy(), each)
        near(all_of_them.numpy(), each if mapped[i] else each.sum(0))


REDUCTIONS = {
    **{name: lambda x, name=name: getattr(x, name)() for name in ("sum", "mean", "prod", "max", "min", "amax", "amin")},
    **{name: lambda x, name=name: getattr(x, name)() for name in ("median", "nansum", "nanmean")},
    **{f"{name} of all": lambda x, name=name: getattr(x, name)(correction=0) for name in ("var", "std")},
    **{f"{name} of none": lambda x, name=name: getattr(x, name)() for name in ("var", "std")},
    **{f"norm {p}": lambda x, p=p: x.norm(p) for p in (2, 1, 3, 0.5, np.inf, -np.inf)},
    "logsumexp": lambda x: x.logsumexp(0), "softmax": lambda x: x.softmax(0),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
@table("f", REDUCTIONS.values(), ids=REDUCTIONS)
def test_a_reduction_of_single_numbers_reduces_no_axis(f):
    """Rules used x.sum(self.axes), which without axes summed over all slices: thirds for [1, 1, 1]."""
    X, dX = mg.tensor(np.array([1.0, 2.0, -3.0])), mg.tensor(np.full(3, 1.5))

    def push(x, dx):
        return func.jvp(f, (x,), (dx,))[1]

    loop = np.stack([f(x) for x in X])
    slopes = np.stack([func.grad(f)(x) for x in X])
    tangents = np.stack([push(*pair) for pair in zip(X, dX)])

    gradient = func.grad(lambda x: func.vmap(f)(x).sum())
    for way in (lambda g: g, mg.function, mg.jit):
        near(way(func.vmap(f))(X), loop)
        near(way(func.vmap(func.grad(f)))(X), slopes)
        near(way(gradient)(X), slopes)
        near(way(func.vmap(push))(X, dX), tangents)
    near(func.jvp(func.vmap(f), (X,), (dX,))[1], tangents)
