"""Shapes, slices and indices that nobody thought of: NumPy is the oracle, and Σ w y has as gradient the w put back."""

import hypothesis
import numpy as np
import pytest
from hypothesis import assume, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some

import minigrad as mg
from minigrad.api.functions.movement import pad
from minigrad.engine.tensor.symbol import placeholder


def given(*strategies):
    """Some dozens of examples, the same at every run."""
    return lambda test: settings(max_examples=40, derandomize=True)(hypothesis.given(*strategies)(test))


SHAPES = some.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
FULL = some.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=4)


def numbered(shape):
    """An array in which every element is another number."""
    return np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape) + 1


def moves_as(ours, theirs, shape):
    """ours(tensor) is theirs(array), and its gradient is what theirs says of where each element went."""
    x = mg.tensor(numbered(shape), requires_grad=True)
    y, z = ours(x), theirs(numbered(shape))
    np.testing.assert_array_equal(y.numpy(), z, strict=True)
    w = np.random.default_rng(0).normal(size=y.shape)
    (y * w).sum().backward()
    expected = np.zeros(x.size + 1)  # place 0 stands for what did not come from x
    np.add.at(expected, z.astype(int).reshape(-1), w.reshape(-1))
    np.testing.assert_allclose(x.grad.numpy(), expected[1:].reshape(shape), atol=1e-12)


@given(SHAPES, st.data())
def test_an_index_of_integers_slices_and_new_axes_is_numpys(shape, data):
    index = data.draw(some.basic_indices(shape, allow_newaxis=True))

    moves_as(lambda x: x[index], lambda x: np.asarray(x[index]), shape)


@given(SHAPES, st.data())
def test_what_such_an_index_gives_is_a_view(shape, data):
    index = data.draw(some.basic_indices(shape, allow_newaxis=True))
    x = mg.tensor(numbered(shape))
    y = x[index]

    assert not y.size or np.shares_memory(x.numpy(), y.numpy())


@given(FULL, st.data())
def test_an_index_of_integer_arrays_is_numpys(shape, data):
    index = data.draw(some.integer_array_indices(shape))

    moves_as(lambda x: x[index], lambda x: x[index], shape)


@given(FULL, st.data())
def test_an_index_of_arrays_slices_and_new_axes_is_numpys(shape, data):
    index = data.draw(mixed(shape))

    moves_as(lambda x: x[index], lambda x: x[index], shape)


@given(FULL, st.data())
def test_writing_at_an_index_is_numpys_assignment(shape, data):
    index = data.draw(mixed(shape))
    x = mg.tensor(numbered(shape), requires_grad=True)
    values = -1.0 - np.arange(x[index].size).reshape(x[index].shape)
    v = mg.tensor(values, requires_grad=True)
    y, z = x.index_set(index, v), numbered(shape)
    z[index] = values
    w = np.random.default_rng(0).normal(size=shape)
    (y * w).sum().backward()

    np.testing.assert_array_equal(y.numpy(), z)
    np.testing.assert_allclose(x.grad.numpy(), np.where(z > 0, w, 0))
    for value, slope in zip(values.reshape(-1), v.grad.numpy().reshape(-1)):
        assert slope == w[z == value].sum()


@st.composite
def mixed(draw, shape):
    """An index in which arrays, masks, slices, an ellipsis and new axes stand side by side."""
    together = draw(some.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    parts, axis, left = [], 0, draw(st.booleans())
    while axis < len(shape) and draw(st.integers(0, 5)):
        kind = draw(st.sampled_from(["array", "slice", "mask", "ellipsis"]))
        n = draw(st.integers(1, len(shape) - axis))
        if kind == "ellipsis" and left:
            parts.append(...)
            axis, left = axis + n, False
        elif kind == "mask" and not any(isinstance(p, np.ndarray) for p in parts):
            mask = draw(some.arrays(bool, shape[axis : axis + n]))
            together = (int(np.count_nonzero(mask)),)
            parts.append(mask)
            axis += n
        elif kind == "mask" and together in ((1,), (2,)) and np.prod(shape[axis : axis + n]) >= together[0]:
            order = draw(st.permutations(range(np.prod(shape[axis : axis + n]))))
            parts.append((np.array(order) < together[0]).reshape(shape[axis : axis + n]))
            axis += n
        elif kind == "array":
            parts.append(draw(some.arrays(np.int64, together, elements=st.integers(-shape[axis], shape[axis] - 1))))
            axis += 1
        else:
            parts.append(draw(st.slices(shape[axis])))
            axis += 1
        if draw(st.integers(0, 5)) == 0:
            parts.append(None)
    if left:
        parts.append(...)
    assume(parts)
    return tuple(parts)


@given(FULL, st.data())
def test_gather_is_numpys_take_along_axis(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    length = data.draw(st.integers(0, 5))
    wanted = list(shape)
    wanted[axis] = length
    index = data.draw(some.arrays(np.int64, tuple(wanted), elements=st.integers(0, shape[axis] - 1)))

    moves_as(lambda x: x.gather(axis, index), lambda x: np.take_along_axis(x, index, axis), shape)


@given(FULL, st.data())
def test_scatter_add_is_the_adjoint_of_gather(shape, data):
    axis = data.draw(st.integers(0, len(shape) - 1))
    wanted = [data.draw(st.integers(0, n)) for n in shape]
    index = data.draw(some.arrays(np.int64, tuple(wanted), elements=st.integers(0, shape[axis] - 1)))
    src, x = np.random.default_rng(0).normal(size=wanted), np.random.default_rng(1).normal(size=shape)
    added = mg.zeros(shape).scatter_add(axis, index, src)

    assert (added * x).sum().item() == pytest.approx((mg.tensor(x).gather(axis, index) * src).sum().item(), abs=1e-12)


@given(FULL, st.data())
def test_joining_the_pieces_of_a_tensor_gives_it_back(shape, data):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    parts = data.draw(st.integers(1, 5))

    moves_as(lambda x: mg.cat(x.tensor_split(parts, axis), axis), lambda x: x, shape)
    moves_as(lambda x: mg.cat(x.split(parts, axis), axis), lambda x: x, shape)
    moves_as(lambda x: mg.stack(x.unbind(axis), axis), lambda x: x, shape)


@given(FULL, st.data())
def test_orders_of_axes_are_numpys(shape, data):
    n = len(shape)
    order = data.draw(st.permutations(range(n)))
    axes = st.integers(-n, n - 1)
    a, b = data.draw(axes), data.draw(axes)
    some_axes = data.draw(st.lists(st.integers(0, n - 1), unique=True))
    shifts = data.draw(st.lists(st.integers(-6, 6), min_size=len(some_axes), max_size=len(some_axes)))

    moves_as(lambda x: x.permute(order), lambda x: x.transpose(order), shape)
    moves_as(lambda x: x.transpose(a, b), lambda x: x.swapaxes(a, b), shape)
    moves_as(lambda x: x.movedim(a, b), lambda x: np.moveaxis(x, a, b), shape)
    moves_as(lambda x: x.movedim(tuple(some_axes), tuple(order[: len(some_axes)])),
             lambda x: np.moveaxis(x, some_axes, order[: len(some_axes)]), shape)  # fmt: skip
    moves_as(lambda x: x.flip(some_axes), lambda x: np.flip(x, some_axes), shape)
    moves_as(lambda x: x.roll(shifts, some_axes), lambda x: np.roll(x, shifts, some_axes), shape)


@given(SHAPES, st.data())
def test_copies_are_numpys(shape, data):
    times = data.draw(st.lists(st.integers(0, 3), max_size=4))
    counts = data.draw(some.arrays(np.int64, shape[:1] or (1,), elements=st.integers(0, 3)))

    moves_as(lambda x: x.tile(times), lambda x: np.tile(x, times), shape)
    if shape:
        moves_as(lambda x: x.repeat_interleave(counts, 0), lambda x: np.repeat(x, counts, 0), shape)


@given(some.array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=4), st.integers(-5, 5), st.integers(-5, 5))
def test_parts_of_matrices_are_numpys(shape, offset, k):
    moves_as(lambda x: x.tril(offset), lambda x: np.tril(x, offset), shape)
    moves_as(lambda x: x.triu(offset), lambda x: np.triu(x, offset), shape)
    moves_as(lambda x: x.diagonal(offset, -1, 0), lambda x: x.diagonal(offset, -1, 0), shape)
    moves_as(lambda x: x.rot90(k, (1, 0)), lambda x: np.rot90(x, k, (1, 0)), shape)
    if len(shape) == 2:
        moves_as(lambda x: x.diag(offset).diag(offset), lambda x: np.diag(np.diag(x, offset), offset), shape)


MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@given(FULL, st.sampled_from(sorted(MODES)), st.data())
def test_a_margin_is_numpys(shape, mode, data):
    axes = data.draw(st.integers(0, len(shape)))
    most = [n - (mode == "reflect") for n in shape]
    widths = [(data.draw(st.integers(0, m)), data.draw(st.integers(0, m))) for m in most[len(shape) - axes :]]
    theirs = [(0, 0)] * (len(shape) - axes) + widths

    moves_as(lambda x: pad(x, [n for pair in widths[::-1] for n in pair], mode),
             lambda x: np.pad(x, theirs, MODES[mode]), shape)  # fmt: skip


@given(SHAPES, st.data())
def test_the_shape_foretold_for_a_symbol_is_the_shape_that_comes(shape, data):
    index = data.draw(some.basic_indices(shape, allow_newaxis=True))
    x = mg.tensor(numbered(shape))
    moves = [lambda x: x[index], lambda x: x.flatten(), lambda x: x.squeeze(), lambda x: x.tile(2, 1), lambda x: x.T]
    for move in moves:
        assert move(placeholder("x", x.spec)).spec == move(x).spec
