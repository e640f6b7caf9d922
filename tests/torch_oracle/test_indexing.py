"""Reading and writing by index against PyTorch: the same text run with both, for values and two gradients."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg
from minigrad.api.functions.indexing import one_hot
from tests.support.table import table

from .oracle import agree_exactly, agree_twice, torch

rng = np.random.default_rng(6)
A, B, C = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=(2, 3, 4))
V, ONE, NONE = rng.normal(size=3), rng.normal(size=()), rng.normal(size=(0, 3))
MASK, PAIRS = A > 0, np.array([[True, False, False], [False, False, True]])
TWO_ROWS, HOW = [[3, 3, 3], [3, 0, 3]], ("sum", "prod", "mean", "amax", "amin")

SAME_TEXT = {
    "an integer": (lambda m, x: x[1] * x[-1], A), "all integers": (lambda m, x: x[1, -2], A),
    "slices": (lambda m, x: x[1:, ::2] * x[-3:, :2], A),
    "an ellipsis": (lambda m, x: x[..., 1] * x[0, ..., 2] * x[..., None].sum(), C),
    "of a number": (lambda m, x: x[None] * x[...] * x[()], ONE), "a slice of nothing": (lambda m, x: x[3:2], A),
    "one array": (lambda m, x: x[m.tensor([0, 3, 3, -1])], A),
    "one array of two axes": (lambda m, x: x[m.tensor([[0, 1], [1, 1]])], A),
    "an array behind a slice": (lambda m, x: x[:, m.tensor([1, 1, 0])], A),
    "an empty array": (lambda m, x: x[m.tensor([], dtype=m.int64)], A),
    "an array of none": (lambda m, x: x[m.tensor([], dtype=m.int64)], NONE), "a list": (lambda m, x: x[[0, 2, 2]], A),
    "an array of a narrow type": (lambda m, x: x[m.tensor([0, 2, 2], dtype=m.int32)], A),
    "two arrays": (lambda m, x: x[m.tensor([0, 1, 1]), m.tensor([2, -1, 2])], A),
    "two arrays that broadcast": (lambda m, x: x[m.tensor([[0], [1]]), m.tensor([2, 0])], A),
    "two arrays apart": (lambda m, x: x[m.tensor([0, 1]), :, m.tensor([3, 3])], C),
    "arrays, slices, integers and a new axis": (lambda m, x: x[1, None, m.tensor([0, 2, 2]), 1:3], C),
    "an array behind an ellipsis": (lambda m, x: x[..., m.tensor([3, 0])], C),
    "a mask": (lambda m, x: x[m.tensor(MASK)], A),
    "a mask of rows": (lambda m, x: x[m.tensor([True, False, True, True])], A),
    "a mask and a slice": (lambda m, x: x[:, m.tensor([True, False, True]), 1:], C),
    "a mask and an array": (lambda m, x: x[m.tensor([True, False, True, False]), m.tensor([1, 1])], A),
    "a mask behind an ellipsis": (lambda m, x: x[..., m.tensor([True, False, True])], A),
    "a mask of two axes behind an ellipsis": (lambda m, x: x[..., m.tensor(C[0] > 0)], C),
    "a mask behind one of two axes": (lambda m, x: x[m.tensor(PAIRS), m.tensor([False, True] * 2)], C),
    "a mask behind one of two axes, apart":
        (lambda m, x: x[None, m.tensor(PAIRS), ..., [True, True, False, False], None], C),
    "a mask of nothing": (lambda m, x: x[m.tensor(MASK) & m.tensor(~MASK)], A),
    "an integer apart from an array": (lambda m, x: x[1, :, m.tensor([3, 3, 0])], C),
    "a 0-d array": (lambda m, x: x[m.tensor(1)] * x[:, m.tensor(-1)].sum(), A),
    "select": (lambda m, x: x.select(1, -1) * m.select(x, dim=0, index=1)[0], C),
    "narrow": (lambda m, x: x.narrow(1, 1, 2) * m.narrow(x, 1, -2, 2), C),
    "index_select": (lambda m, x: m.index_select(x, 1, m.tensor([2, 0, 2])), C),
    "take": (lambda m, x: m.take(x, m.tensor([[0, 7], [-1, 7]])), A),
    "gather": (lambda m, x: x.gather(1, m.tensor([[0, 0], [2, 1]])), A),
    "gather along the first": (lambda m, x: m.gather(x, dim=0, index=m.tensor([[3, 0, 3], [3, 1, 1]])), A),
    "gather in three axes": (lambda m, x: x.gather(-1, m.tensor([[[3, 3]], [[0, 1]]])), C),
    "gather none": (lambda m, x: x.gather(0, m.zeros((0, 3), dtype=m.int64)), A),
    "take_along_dim": (lambda m, x: m.take_along_dim(x, m.tensor([[1], [0], [2], [2]]), dim=1), A),
    "take_along_dim of all": (lambda m, x: x.take_along_dim(m.tensor([[1, 11], [0, 0]])), A),
    "take_along_dim that broadcasts": (lambda m, x: x.take_along_dim(m.tensor([[1, 0, 2]]), dim=0), A),
    "scatter": (lambda m, x, y: x.scatter(1, m.tensor([[0, 2], [2, 1]]), y), A, B[:2, :2]),
    "scatter a number": (lambda m, x: m.scatter(x, 0, m.tensor([[0, 3, 1]]), 5.0), A),
    "scatter by name": (lambda m, x: x.scatter(dim=0, index=m.tensor([[0, 3, 1]]), value=5.0), A),
    "scatter_add": (lambda m, x, y: x.scatter_add(1, m.tensor([[0, 0], [2, 1]]), y), A, B[:2, :2]),
    "scatter_add along the first": (lambda m, x, y: m.scatter_add(x, 0, m.tensor(TWO_ROWS), y), A, B[:2]),
    **{
        f"scatter_reduce by {how}, {'with' if own else 'without'} itself": (
            lambda m, x, y, how=how, own=own: x.scatter_reduce(0, m.tensor(TWO_ROWS), y, how, include_self=own),
            A, B[:2],
        )
        for how in HOW
        for own in (True, False)
    },
    **{
        f"scatter_reduce of nothing, by {how}": (
            lambda m, x, how=how: x.scatter_reduce(1, m.zeros(4, 0).long(), x[:, :0], how, include_self=False), A,
        )
        for how in HOW
    },
    "scatter_reduce of less":
        (lambda m, x, y: x.scatter_reduce(1, m.tensor([[0, 0], [2, 0]]), y, "prod"), A, B[:2, :2]),
    "index_reduce": (lambda m, x, y: x.index_reduce(1, m.tensor([2, 0, 2]), y, "amax", include_self=False), A, B),
    "masked_scatter": (lambda m, x, y: x.masked_scatter(m.tensor(MASK), y.reshape(-1)), A, C),
    "masked_scatter that broadcasts": (lambda m, x, y: x.masked_scatter(m.tensor(MASK[0]), y), A, C),
    "put": (lambda m, x, y: x.put(m.tensor([[1, -1]]), y), A, B[0, :2]),
    "put, added": (lambda m, x, y: x.put(m.tensor([1, 1, -1]), y, accumulate=True), A, B[0]),
    "select_scatter": (lambda m, x, y: x.select_scatter(y, 1, -1), A, B[:, 0]),
    "slice_scatter": (lambda m, x, y: x.slice_scatter(y, 0, 1, None, 2), A, B[:2]),
    "diagonal_scatter": (lambda m, x, y: x.diagonal_scatter(y, -1), A, V),
    "index_add": (lambda m, x, y: x.index_add(0, m.tensor([1, 1, 0]), y, alpha=2), A, B[:3]),
    "index_add along the last": (lambda m, x, y: m.index_add(x, -1, m.tensor([1, 1]), y), A, B[:, :2]),
    "index_copy": (lambda m, x, y: x.index_copy(0, m.tensor([2, 0]), y), A, B[:2]),
    "index_fill": (lambda m, x: x.index_fill(1, m.tensor([2, 0]), 1.5), A),
    "index_put": (lambda m, x, y: x.index_put((m.tensor([2, 0]), m.tensor([1, 1])), y[:2]), A, V),
    "index_put, adding": (lambda m, x, y: m.index_put(x, (m.tensor([2, 0, 2]),), y, True), A, V),
    "index_put of one": (lambda m, x, y: x.index_put((m.tensor([2, 0, 3]),), y), A, ONE),
    "masked_select": (lambda m, x: m.masked_select(x, m.tensor(MASK)), A),
    "masked_select that broadcasts": (lambda m, x: x.masked_select(m.tensor([[True], [False]])), V),
    "masked_fill": (lambda m, x: x.masked_fill(m.tensor(MASK), 0.25) * m.masked_fill(x, m.tensor(MASK[0]), 2), A),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:index_reduce")  # which is in beta there
@table("case", SAME_TEXT)
def test_values_and_two_gradients_are_pytorchs(case):
    f, *arrays = SAME_TEXT[case]
    agree_twice(partial(f, mg), partial(f, torch), arrays, (0, 0), (1e-12, 1e-14), (1e-12, 1e-14))


WRITES = {
    "an integer": (lambda m: 1, (4, 3), (3,)), "an element": (lambda m: (1, -1), (4, 3), ()),
    "a slice": (lambda m: slice(None, None, 2), (4, 3), (3,)),
    "a stretched value": (lambda m: (slice(1), slice(None)), (4, 3), (1, 1, 3)),
    "an ellipsis": (lambda m: (..., 0), (2, 3, 4), (2, 3)), "an array": (lambda m: m.tensor([3, 0]), (4, 3), (2, 3)),
    "an array behind a slice": (lambda m: (slice(None), m.tensor([2, 0])), (4, 3), (2,)),
    "a mask": (lambda m: m.tensor(MASK), (4, 3), (int(MASK.sum()),)),
    "a mask, one number": (lambda m: m.tensor(MASK), (4, 3), ()),
    "arrays and slices": (lambda m: (1, m.tensor([0, 2]), slice(1, 3)), (2, 3, 4), (2, 2)),
}  # fmt: skip


@pytest.mark.parametrize("case", WRITES)
def test_writing_at_an_index_is_pytorchs_assignment(case):
    index, shape, part = WRITES[case]

    def assigned(t, value):
        t = t.clone()
        t[index(torch)] = value
        return t

    arrays = [rng.normal(size=shape), np.asarray(rng.normal(size=part))]
    agree_twice(lambda x, v: x.index_set(index(mg), v), assigned, arrays, (0, 0), (1e-12, 0), (1e-12, 1e-14))


INTEGERS = {
    "nonzero": lambda m: m.nonzero(m.tensor([[0.0, 2.0], [1.0, 0.0]])),
    "nonzero of a number": lambda m: m.tensor(3.0).nonzero(), "nonzero of zero": lambda m: m.tensor(0).nonzero(),
    "nonzero of booleans": lambda m: m.tensor([True, False, True]).nonzero(),
    "argwhere": lambda m: m.argwhere(m.tensor([0, 5])),
    "searchsorted": lambda m: m.searchsorted(m.tensor([1.0, 3.0, 3.0, 7.0]), m.tensor([[0.0, 3.0], [8.0, 5.0]])),
    "searchsorted on the right": lambda m: m.searchsorted(m.tensor([1, 3, 3, 7]), m.tensor([3, 7]), right=True),
    "searchsorted in rows": lambda m: m.searchsorted(m.tensor([[1, 3], [5, 7]]), m.tensor([[3, 4, 0], [5, 7, 9]])),
    "searchsorted in rows on the right":
        lambda m: m.searchsorted(m.tensor([[1, 3], [5, 7]]), m.tensor([[3, 4], [5, 7]]), right=True),
    "bucketize": lambda m: m.bucketize(m.tensor([3, 6, 9]), m.tensor([1, 3, 5, 7, 9])),
    "bucketize on the right": lambda m: m.bucketize(m.tensor([3, 6, 9]), m.tensor([1, 3, 5, 7, 9]), right=True),
}  # fmt: skip


@pytest.mark.parametrize("case", INTEGERS)
def test_places_are_pytorchs(case):
    agree_exactly(INTEGERS[case])


def test_nonzero_as_a_tuple_is_pytorchs():
    agree_exactly(lambda m: m.tensor([[0, 2], [1, 0]]).nonzero(as_tuple=True))


@pytest.mark.parametrize(("data", "classes"), [([0, 2, 1], -1), ([[0], [1]], 4), (1, 3), ([], 2)])
def test_one_hot_is_pytorchs(data, classes):
    data = np.asarray(data, np.int64)
    ours, theirs = one_hot(data, classes), torch.nn.functional.one_hot(torch.tensor(data), classes)

    np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), strict=True)


OUTSIDE = {
    "an integer": (lambda m, x: x[4], "4 is out of bounds for axis 0 with size 4"),
    "a negative integer": (lambda m, x: x[0, -4], "-4 is out of bounds for axis 1 with size 3"),
    "an array": (lambda m, x: x[m.tensor([0, 4, 1])], "index 4 is out of bounds for axis 0 with size 4"),
    "a negative array": (lambda m, x: x[m.tensor([0, -5])], "index -5 .* -4 to 3"),
    "an array behind a slice": (lambda m, x: x[:, m.tensor([[3]])], r"x\[:, i\]: index 3 .* axis 1 with size 3"),
    "an array behind an ellipsis": (lambda m, x: x[..., m.tensor([7])], r"index 7 .* axis 1 with size 3"),
    "a mask of another length": (lambda m, x: x[m.tensor([True, False])], "boolean index"),
    "a mask behind one of two axes":
        (lambda m, x: x[None][m.tensor([[True] + [False] * 3]), m.tensor([True] + [False] * 3)], "boolean index"),
    "an axis too many": (lambda m, x: x[0, 0, 0], "too many indices"),
    "index_select": (lambda m, x: x.index_select(1, m.tensor([0, 3])), "index 3 .* axis 1 with size 3"),
    "gather": (lambda m, x: x.gather(1, m.tensor([[0, 3]])), "Gather.*index 3 .* 0 to 2"),
    "gather counts from the front": (lambda m, x: x.gather(1, m.tensor([[0, -1]])), "index -1 .* 0 to 2"),
    "scatter": (lambda m, x: x.scatter(0, m.tensor([[4]]), 1.0), "Scatter.*index 4"),
    "scatter counts from the front": (lambda m, x: x.scatter(0, m.tensor([[-1]]), 1.0), "index -1"),
    "scatter_add": (lambda m, x: x.scatter_add(0, m.tensor([[4]]), x), "ScatterAdd.*index 4"),
    "index_add": (lambda m, x: x.index_add(0, m.tensor([9, 0]), x[:2]), "index 9"),
    "index_copy": (lambda m, x: x.index_copy(0, m.tensor([9, 0]), x[:2]), "index 9"),
    "index_fill": (lambda m, x: x.index_fill(0, m.tensor([9]), 0.0), "index 9"),
    "index_put": (lambda m, x: x.index_put((m.tensor([0]), m.tensor([5])), x[0, 0]), "index 5 .* axis 1"),
    "take": (lambda m, x: x.take(m.tensor([12])), "index 12 .* size 12"),
    "narrow": (lambda m, x: x.narrow(0, 2, 3), "narrow asks for 3 from 2 on"),
    "select": (lambda m, x: x.select(1, 3), "3 is out of bounds for axis 1 with size 3"),
}  # fmt: skip


@table("case", OUTSIDE)
def test_an_index_outside_is_refused_as_pytorch_does_and_named(case):
    read, sentence = OUTSIDE[case]
    with pytest.raises((IndexError, RuntimeError)):
        read(torch, torch.tensor(A))
    with pytest.raises(mg.errors.BoundsError, match=sentence):
        read(mg, mg.tensor(A))


def test_take_along_dim_refuses_what_pytorch_wraps_round():
    with pytest.raises(mg.errors.BoundsError, match="index 3"):
        mg.tensor(A).take_along_dim(mg.tensor([[3]] * 4), 1)


@pytest.mark.parametrize("refused", [
    lambda m, x: x.gather(0, m.tensor([0])), lambda m, x: x.gather(0, m.tensor([[0.0]])),
    lambda m, x: x.gather(0, m.tensor([[0] * 5])), lambda m, x: x.scatter_add(0, m.tensor([[0]] * 9), x),
    lambda m, x: x.index_add(0, m.tensor([0]), x), lambda m, x: x.masked_fill(m.tensor([1, 0, 1]), 0.0),
    lambda m, x: x.masked_fill(m.tensor(MASK), x), lambda m, x: x[m.tensor([0.5])],
    lambda m, x: x.index_select(0, m.tensor([[0]])), lambda m, x: x.scatter(0, m.tensor([[0]]), x, reduce="average"),
    lambda m, x: x.index_put((m.tensor([0]),), x), lambda m, x: m.searchsorted(m.zeros(2, 3), m.zeros(3, 2)),
])  # fmt: skip
def test_what_pytorch_refuses_is_refused_with_our_own_error(refused):
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        refused(torch, torch.tensor(A))
    with pytest.raises(mg.errors.MinigradError):
        refused(mg, mg.tensor(A))


def test_of_a_place_written_twice_the_last_value_stays_and_has_the_gradient():
    """PyTorch lets every value have it, though only one of them is in the result."""
    x, v = mg.zeros(3, requires_grad=True), mg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for y in (x.index_set([0, 2, 0], v), x.scatter(0, [0, 2, 0], v), x.index_copy(0, [0, 2, 0], v)):
        x.grad = v.grad = None
        (y * mg.tensor([5.0, 6.0, 7.0])).sum().backward()

        assert y.numpy().tolist() == [3, 0, 2]
        assert (x.grad.numpy().tolist(), v.grad.numpy().tolist()) == ([0, 6, 0], [0, 7, 5])


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "bool"])
def test_what_is_moved_keeps_its_dtype(dtype):
    x = mg.tensor(A).astype(getattr(mg, dtype))
    index = mg.tensor([[0], [1], [2], [1]])

    for y in (x[[0, 1]], x.gather(1, index), x.scatter(1, index, 1), x.scatter_add(1, index, x), x.index_set(0, 1.0)):
        assert y.dtype == x.dtype
    assert x.index_add(0, [0, 0], x[:2]).dtype == x.index_fill(0, [1], 2).dtype == x.dtype
    assert x.masked_fill(MASK, 1).dtype == x.dtype
