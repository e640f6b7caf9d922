"""Properties of reductions, scans, sorting and softmax, over shapes, axes and dtypes that hypothesis chooses.

The oracles are NumPy's functions and what must hold of any array: sorting permutes, softmax sums to 1.
"""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from minigrad import ops
from minigrad.engine.tensor.tensor import Tensor

QUICK = settings(max_examples=60)
NUMBERS = st.floats(-8, 8, width=16)  # exact in every dtype here, and often tied
SHAPES = arrays.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)
FLOATS = st.sampled_from(["f8", "f4"])


@st.composite
def tensors_and_axes(draw, shapes=SHAPES, dtypes=FLOATS):
    """An array, and some of its axes, counted from either end."""
    array = draw(arrays.arrays(draw(dtypes), draw(shapes), elements=NUMBERS))
    axes = draw(st.lists(st.integers(0, array.ndim - 1), unique=True, min_size=1))
    return array, tuple(a - array.ndim * draw(st.booleans()) for a in axes)


FILLED = tensors_and_axes(arrays.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=5))
REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "amax": np.max, "amin": np.min, "all": np.all, "any": np.any, "mean": np.mean,
    "count_nonzero": np.count_nonzero,
}  # fmt: skip


@pytest.mark.parametrize("name", REDUCTIONS)
@QUICK
@given(given=FILLED, keepdims=st.booleans())
def test_a_reduction_is_numpys_in_value_shape_and_dtype(name, given, keepdims):
    array, axes = given
    options = {} if name == "count_nonzero" else {"keepdims": keepdims}
    with np.errstate(over="ignore"):  # products may leave float32's range, on both sides
        y = getattr(Tensor(array), name)(axes, **options)
        wanted = np.asarray(REDUCTIONS[name](array, axes, **options))

    assert (y.shape, y.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-5, atol=1e-5)  # float32, in another order


@QUICK
@given(given=tensors_and_axes())
def test_what_is_empty_is_reduced_without_a_warning(given):
    array, axes = given
    x = Tensor(array / 8, requires_grad=True)  # so that no product leaves float32's range, which warns rightly
    for y in (x.sum(axes), x.mean(axes), x.prod(axes), x.logsumexp(axes), x.norm(2, axes), x.var(axes, correction=0)):
        y.backward(np.ones(y.shape, y.dtype))

    assert x.grad.shape == array.shape


@QUICK
@given(given=FILLED, descending=st.booleans())
def test_sorting_permutes_and_orders_and_leaves_ties_as_they_stood(given, descending):
    array, (axis, *_) = given
    values, places = Tensor(array).sort(axis, descending)
    y = np.moveaxis(values.numpy(), axis, -1)
    i = np.moveaxis(places.numpy(), axis, -1)

    assert (y[..., 1:] <= y[..., :-1] if descending else y[..., 1:] >= y[..., :-1]).all()
    assert (np.sort(i, -1) == np.arange(i.shape[-1])).all()
    np.testing.assert_array_equal(np.take_along_axis(array, places.numpy(), axis), values.numpy())
    assert (i[..., 1:] > i[..., :-1])[y[..., 1:] == y[..., :-1]].all()


@QUICK
@given(given=FILLED)
def test_each_gradient_of_a_sorted_element_goes_back_to_its_place(given):
    array, (axis, *_) = given
    x = Tensor(array, requires_grad=True)
    values, places = x.sort(axis)
    values.backward(places.numpy().astype(array.dtype))

    n = array.shape[axis]
    line = np.arange(n).reshape((n,) + (1,) * (array.ndim - 1 - axis % array.ndim))
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(line, array.shape))


@QUICK
@given(given=FILLED)
def test_the_gradient_of_an_extreme_is_shared_out_whole(given):
    array, axes = given
    for name in ("amax", "amin"):
        x = Tensor(array, requires_grad=True)
        y = getattr(x, name)(axes, keepdims=True)
        y.sum().backward()

        np.testing.assert_allclose(x.grad.numpy().sum(axes, keepdims=True), 1, rtol=1e-6)
        assert (x.grad.numpy()[array != y.numpy()] == 0).all()


@QUICK
@given(given=FILLED)
def test_the_gradient_of_a_product_is_the_product_of_the_others(given):
    array, (axis, *_) = given
    rows = np.moveaxis(array, axis, -1).astype("f8")
    others = np.stack([np.delete(rows, i, -1).prod(-1) for i in range(rows.shape[-1])], -1)
    x = Tensor(array.astype("f8"), requires_grad=True)
    x.prod(axis).sum().backward()

    np.testing.assert_allclose(np.moveaxis(x.grad.numpy(), axis, -1), others, rtol=1e-12)


@QUICK
@given(given=FILLED)
def test_differences_undo_running_sums(given):
    array, (axis, *_) = given
    x = Tensor(array.astype("f8"))
    first = np.take(array, [0], axis) * 0

    np.testing.assert_allclose(x.cumsum(axis).diff(axis=axis, prepend=first).numpy(), array, atol=1e-12)
    np.testing.assert_array_equal(x.cumprod(axis).numpy(), np.cumprod(array.astype("f8"), axis))
    np.testing.assert_array_equal(x.cummax(axis).values.numpy(), np.maximum.accumulate(array, axis))
    np.testing.assert_array_equal(x.cummin(axis).values.numpy(), np.minimum.accumulate(array, axis))


@QUICK
@given(given=FILLED, shift=st.floats(-1e3, 1e3))
def test_softmax_is_positive_sums_to_one_and_forgets_a_shift(given, shift):
    array, (axis, *_) = given
    x = Tensor(array.astype("f8"))
    y = x.softmax(axis).numpy()

    assert (y > 0).all()
    np.testing.assert_allclose(y.sum(axis), 1, rtol=1e-12)
    np.testing.assert_allclose((x + shift).softmax(axis).numpy(), y, rtol=1e-9)
    np.testing.assert_allclose(x.log_softmax(axis).exp().numpy(), y, rtol=1e-12)


@QUICK
@given(given=FILLED)
def test_what_is_standardised_has_mean_zero_and_mean_square_one(given):
    array, axes = given
    assume((array.astype("f8").var(axes) > 0.1).all())
    y = Tensor(array.astype("f8")).standardise(axes, eps=0).numpy()

    np.testing.assert_allclose(y.mean(axes), 0, atol=1e-12)
    np.testing.assert_allclose((y * y).mean(axes), 1, rtol=1e-12)


@QUICK
@given(given=FILLED)
def test_a_recurrence_is_the_loop_it_stands_for(given):
    array, (axis, *_) = given
    b, a = array.astype("f8"), np.cos(array.astype("f8"))
    y = Tensor(b).apply(ops.Recurrence(axis % array.ndim), a).numpy()

    wanted = np.moveaxis(np.zeros_like(b), axis, 0)
    before = 0.0
    for t, (bt, at) in enumerate(zip(np.moveaxis(b, axis, 0), np.moveaxis(a, axis, 0))):
        wanted[t] = before = bt + at * before
    np.testing.assert_allclose(np.moveaxis(y, axis, 0), wanted, rtol=1e-9, atol=1e-12)
