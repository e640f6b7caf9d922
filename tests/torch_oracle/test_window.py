"""PyTorch as an oracle of what looks through sliding windows: values, first and second gradients, in float64."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import functional as F
from minigrad.engine.base.errors import ShapeError

from .oracle import agree_twice, torch

TF = torch.nn.functional
rng = np.random.default_rng(11)


def normal(*shape):
    return rng.normal(size=shape)


def tied(*shape):
    """Few different numbers, so that windows have several maxima."""
    return rng.integers(0, 3, shape).astype(float)


def agrees(name, arrays, *args, **options):
    ours, theirs = (lambda *xs, f=f: getattr(f, name)(*xs, *args, **options) for f in (F, TF))
    agree_twice(ours, theirs, arrays, (1e-10, 1e-12), (1e-9, 1e-11), (1e-8, 1e-9))


CONVOLUTIONS = {
    "plain": ("conv2d", (normal(2, 3, 6, 5), normal(4, 3, 3, 2), normal(4)), {}),
    "no bias": ("conv2d", (normal(2, 3, 6, 5), normal(4, 3, 3, 2)), {}),
    "strides": ("conv2d", (normal(2, 3, 7, 6), normal(4, 3, 3, 2), normal(4)), {"stride": (2, 3)}),
    "everything":
        ("conv2d", (normal(2, 4, 7, 8), normal(6, 2, 3, 2), normal(6)),
         {"stride": (2, 1), "padding": (2, 1), "dilation": (2, 3), "groups": 2}),
    "depthwise": ("conv2d", (normal(2, 3, 5, 5), normal(3, 1, 3, 3), normal(3)), {"groups": 3, "padding": 1}),
    "depthwise, twice as many": ("conv2d", (normal(2, 3, 5, 5), normal(6, 1, 3, 3)), {"groups": 3}),
    "pointwise": ("conv2d", (normal(2, 3, 4, 5), normal(4, 3, 1, 1), normal(4)), {}),
    "pointwise with strides": ("conv2d", (normal(2, 3, 4, 5), normal(4, 3, 1, 1)), {"stride": 2}),
    "same": ("conv2d", (normal(2, 3, 5, 6), normal(2, 3, 4, 3)), {"padding": "same", "dilation": (1, 2)}),
    "valid": ("conv2d", (normal(2, 3, 5, 6), normal(2, 3, 4, 3)), {"padding": "valid"}),
    "more padding than kernel": ("conv2d", (normal(1, 1, 2, 2), normal(1, 1, 2, 2)), {"padding": 4, "stride": 3}),
    "one example": ("conv2d", (normal(3, 6, 5), normal(4, 3, 3, 2), normal(4)), {}),
    "a line": ("conv1d", (normal(2, 3, 9), normal(4, 3, 3), normal(4)), {"stride": 2, "padding": 1, "dilation": 2}),
    "a box": ("conv3d", (normal(2, 2, 4, 5, 3), normal(3, 2, 2, 3, 2), normal(3)), {"stride": (1, 2, 1), "padding": 1}),
    "transposed": ("conv_transpose2d", (normal(2, 4, 3, 4), normal(4, 3, 3, 2), normal(3)), {}),
    "transposed, everything":
        ("conv_transpose2d", (normal(2, 4, 3, 4), normal(4, 3, 3, 2), normal(6)),
         {"stride": (3, 2), "padding": (1, 1), "output_padding": (2, 1), "groups": 2, "dilation": (1, 2)}),
    "transposed line": ("conv_transpose1d", (normal(2, 4, 5), normal(4, 2, 3), normal(2)), {"stride": 2}),
    "transposed example": ("conv_transpose2d", (normal(4, 3, 4), normal(4, 3, 3, 2)), {"padding": 1}),
    "transposed box": ("conv_transpose3d", (normal(1, 2, 2, 3, 2), normal(2, 1, 2, 2, 2)), {"stride": 2}),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel:UserWarning")  # PyTorch's own cost
@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions_are_pytorchs(case):
    name, arrays, options = CONVOLUTIONS[case]
    agrees(name, arrays, **options)


POOLS = {
    "tiles": ("max_pool2d", tied(2, 3, 6, 4), (2,), {}),
    "a rest left over": ("max_pool2d", tied(2, 3, 7, 5), (2,), {}),
    "overlapping": ("max_pool2d", tied(2, 3, 7, 5), (3,), {"stride": 2, "padding": 1}),
    "one step": ("max_pool2d", tied(2, 3, 5, 5), ((2, 3),), {"stride": 1}),
    "dilated": ("max_pool2d", tied(2, 3, 7, 6), (2,), {"stride": 1, "dilation": (3, 2)}),
    "ceiling": ("max_pool2d", tied(2, 3, 7, 6), (3,), {"stride": 2, "ceil_mode": True}),
    "ceiling and padding": ("max_pool2d", tied(2, 3, 6, 8), (2,), {"stride": 3, "padding": 1, "ceil_mode": True}),
    "one example": ("max_pool2d", tied(3, 6, 4), (2,), {}),
    "a line": ("max_pool1d", tied(2, 3, 9), (3,), {"stride": 2, "padding": 1}),
    "a box": ("max_pool3d", tied(2, 2, 4, 5, 4), (2,), {}),
    "negative numbers and padding": ("max_pool2d", -1 - tied(2, 3, 6, 4), (3,), {"padding": 1}),
    "means of tiles": ("avg_pool2d", normal(2, 3, 6, 4), (2,), {}),
    "overlapping means": ("avg_pool2d", normal(2, 3, 7, 5), ((3, 2),), {"stride": (2, 1), "padding": (1, 0)}),
    "padding not counted": ("avg_pool2d", normal(2, 3, 7, 5), (3,), {"padding": 1, "count_include_pad": False}),
    "means, ceiling": ("avg_pool2d", normal(2, 3, 7, 6), (3,), {"stride": 2, "padding": 1, "ceil_mode": True}),
    "means, ceiling, padding not counted":
        ("avg_pool2d", normal(2, 3, 6, 8), (3,),
         {"stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False}),
    "a divisor": ("avg_pool2d", normal(2, 3, 6, 5), (2,), {"padding": 1, "divisor_override": 3}),
    "means of a line": ("avg_pool1d", normal(2, 3, 9), (3,), {"stride": 2, "padding": 1}),
    "means of a box": ("avg_pool3d", normal(2, 2, 4, 5, 4), (2,), {"stride": 1}),
    "adaptive": ("adaptive_avg_pool2d", normal(2, 3, 7, 5), ((3, 4),), {}),
    "adaptive, dividing": ("adaptive_avg_pool2d", normal(2, 3, 6, 4), ((3, 2),), {}),
    "adaptive to one": ("adaptive_avg_pool2d", normal(2, 3, 7, 5), (1,), {}),
    "adaptive to more": ("adaptive_avg_pool2d", normal(2, 3, 2, 5), ((5, None),), {}),
    "adaptive line": ("adaptive_avg_pool1d", normal(2, 3, 7), (4,), {}),
    "adaptive example": ("adaptive_avg_pool2d", normal(3, 7, 5), ((3, 4),), {}),
    "adaptive maxima": ("adaptive_max_pool2d", tied(2, 3, 7, 5), ((3, 4),), {}),
    "adaptive maxima, dividing": ("adaptive_max_pool2d", tied(2, 3, 6, 4), (2,), {}),
    "adaptive maxima, to more": ("adaptive_max_pool2d", tied(2, 3, 2, 5), ((3, 5),), {}),
    "adaptive maxima of a line": ("adaptive_max_pool1d", tied(2, 3, 7), (4,), {}),
    "unfold": ("unfold", normal(2, 3, 6, 5), ((2, 3),), {"stride": (2, 1), "padding": (1, 2), "dilation": (2, 1)}),
    "unfold an example": ("unfold", normal(3, 6, 5), (2,), {}),
    "fold": ("fold", normal(2, 12, 20), ((5, 6), 2), {}),
    "fold, everything":
        ("fold", normal(2, 18, 12), ((6, 5), (2, 3)), {"stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)}),
}  # fmt: skip


@pytest.mark.parametrize("case", POOLS)
def test_pools_and_folds_are_pytorchs(case):
    name, x, args, options = POOLS[case]
    agrees(name, (x,), *args, **options)


@pytest.mark.parametrize("case", [c for c in POOLS if POOLS[c][0].startswith("max_pool")])
def test_the_places_of_maxima_are_pytorchs(case):
    name, x, args, options = POOLS[case]

    y, places = getattr(F, name)(mg.tensor(x), *args, **options, return_indices=True)
    _, expected = getattr(TF, name)(torch.tensor(x), *args, **options, return_indices=True)

    assert places.shape == y.shape
    np.testing.assert_array_equal(places.numpy(), expected.numpy())


def test_a_batch_of_none_has_results_and_gradients_of_none():
    x = mg.tensor(np.empty((0, 2, 5, 5)), requires_grad=True)
    w = mg.tensor(normal(3, 2, 3, 3), requires_grad=True)
    y = F.max_pool2d(F.conv2d(x, w, np.zeros(3), padding=1), 2) + F.avg_pool2d(F.conv2d(x, w, padding=1), 2)
    up = F.conv_transpose2d(F.adaptive_avg_pool2d(y, (2, 2)), w, stride=2)

    up.sum().backward()

    assert y.shape == (0, 3, 2, 2)
    assert up.shape == (0, 2, 5, 5)
    assert x.grad.shape == x.shape
    assert not w.grad.numpy().any()
    assert F.fold(F.unfold(x, 2), (5, 5), 2).shape == x.shape


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_the_dtype_of_x_is_the_dtype_of_all(dtype):
    x, w = mg.tensor(normal(2, 2, 5, 5).astype(dtype)), mg.tensor(normal(2, 2, 3, 3).astype(dtype))
    y = F.conv2d(x, w, w[0, 0, 0, :2])

    means = F.avg_pool2d(x, 3, padding=1, count_include_pad=False), F.adaptive_avg_pool2d(x, 2)
    for made in (y, F.conv_transpose2d(x, w), F.max_pool2d(x, 2), *means, F.unfold(x, 2)):
        assert made.dtype == dtype


def test_integers_have_maxima_too():
    x = -1 - rng.integers(0, 9, (2, 3, 5, 5))

    y = F.max_pool2d(mg.tensor(x), 3, padding=1)

    np.testing.assert_array_equal(y.numpy(), TF.max_pool2d(torch.tensor(x, dtype=torch.float64), 3, padding=1).numpy())
    assert y.dtype == np.int64


def test_an_infinity_stays_in_its_own_windows():
    x = normal(1, 1, 7)
    x[0, 0, 3] = np.inf

    expected = TF.adaptive_avg_pool1d(torch.tensor(x), 4).numpy()
    np.testing.assert_allclose(F.adaptive_avg_pool1d(mg.tensor(x), 4).numpy(), expected)
    np.testing.assert_array_equal(F.max_pool1d(mg.tensor(np.full((1, 1, 4), -np.inf)), 2).numpy(), [[[-np.inf] * 2]])


def test_what_is_no_number_is_the_maximum_and_has_a_gradient():
    x = mg.tensor(np.array([[[1.0, np.nan, 2.0, 3.0]]]), requires_grad=True)
    y = F.max_pool1d(x, 2)
    y.sum().backward()

    np.testing.assert_array_equal(y.numpy(), [[[np.nan, 3]]])
    np.testing.assert_array_equal(x.grad.numpy(), [[[0, 1, 0, 1]]])


MISTAKES = {
    "channels": ("3 channels, and the filters", lambda x: F.conv2d(x, np.ones((4, 2, 3, 3)))),
    "groups": ("divide", lambda x: F.conv2d(x, np.ones((4, 1, 3, 3)), groups=2)),
    "kernel": ("does not fit", lambda x: F.conv2d(x, np.ones((4, 3, 7, 3)))),
    "axes": ("2-dimensional", lambda x: F.conv2d(x, np.ones((4, 3, 3)))),
    "bias": ("one bias for each of 4", lambda x: F.conv2d(x, np.ones((4, 3, 3, 3)), np.ones(3))),
    "same with strides": ("same", lambda x: F.conv2d(x, np.ones((4, 3, 3, 3)), padding="same", stride=2)),
    "an unknown padding": ("'sam'", lambda x: F.conv2d(x, np.ones((4, 3, 3, 3)), padding="sam")),
    "too many strides": ("stride must be a number", lambda x: F.conv2d(x, np.ones((4, 3, 3, 3)), stride=(1, 2, 3))),
    "stride of 0": ("1 or more", lambda x: F.conv2d(x, np.ones((4, 3, 3, 3)), stride=0)),
    "output_padding": ("output_padding", lambda x: F.conv_transpose2d(x, np.ones((3, 4, 3, 3)), output_padding=1)),
    "transposed channels": ("transposed", lambda x: F.conv_transpose2d(x, np.ones((4, 4, 3, 3)))),
    "pool too large": ("does not fit", lambda x: F.max_pool2d(x, 7)),
    "padding of a pool": ("half", lambda x: F.max_pool2d(x, 2, padding=2)),
    "axes of a pool": ("pooling over 1", lambda x: F.max_pool1d(x, 2)),
    "fold": ("fold into", lambda x: F.fold(x[0], (4, 4), 2)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_does_not_fit_is_said(mistake):
    says, call = MISTAKES[mistake]
    with pytest.raises(ShapeError, match=says):
        call(mg.tensor(normal(2, 3, 5, 6)))


def test_memory_order_is_nobodys_business():
    """Results lie in memory with the batch innermost; what they are does not depend on how operands lie."""
    x, w = normal(3, 2, 6, 6), normal(4, 2, 3, 3)
    turned = np.asfortranarray(x)

    for f in (lambda x: F.conv2d(x, w), lambda x: F.max_pool2d(x, 2), lambda x: F.avg_pool2d(x, 3, 1)):
        np.testing.assert_allclose(f(mg.tensor(turned)).numpy(), f(mg.tensor(x)).numpy(), rtol=1e-12)
