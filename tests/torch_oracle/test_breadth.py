"""Pictures in other sizes, margins, bags, letters: values and gradients are PyTorch's, by run, traced and compiled."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg
from tests.support.table import table

from .oracle import agree_in_float32, array, leaves, torch

F, TF = mg.nn.functional, torch.nn.functional

rng = np.random.default_rng(14)
LINE, IMAGE, VOLUME = rng.normal(size=(2, 3, 9)), rng.normal(size=(2, 4, 5, 6)), rng.normal(size=(1, 2, 3, 4, 5))
X, Y, Z = rng.normal(size=(3, 4, 5))
SIGNS = np.sign(rng.normal(size=(4, 5)))
LABELS = np.array([[3, 0, -1, 1, 2], [1, 1, 2, -1, 0], [-1, 0, 1, 2, 3], [0, 1, 2, 3, 4]])
ROWS, CLASSES, W = np.array([1.0, -1, 1, -1]), np.array([0, 4, 2, 1]), rng.uniform(0.5, 2, 5)
POINTS, POINTS3 = rng.uniform(-1.7, 1.7, (2, 3, 4, 2)), rng.uniform(-2.5, 2.5, (1, 2, 2, 3, 3))
TABLE = rng.normal(size=(7, 3))
BAGS, WORDS = np.array([[1, 2, 4, 5], [4, 3, 2, 2]]), np.array([1, 2, 4, 5, 4, 3, 2, 2, 6, 1])
SAID, LETTERS = rng.normal(size=(9, 3, 6)), np.array([[1, 1, 2, 5], [3, 4, 1, 2], [2, 5, 5, 1]])
MODES = [("nearest", None), ("nearest-exact", None), ("area", None), ("linear", False), ("linear", True)]
CUBIC = [("bicubic", False), ("bicubic", True)]
SIZES = [{"size": 7}, {"size": 2}, {"scale_factor": 1.7}, {"scale_factor": 0.6, "recompute_scale_factor": True}]
BY_AXES = {1: "linear", 2: "bilinear", 3: "trilinear"}


def resized(n, x, mode, corners, size):
    named = BY_AXES[n] if mode == "linear" else mode
    return lambda f, c, x: f.interpolate(x, mode=named, align_corners=corners, **size), (x,)


def sampled(mode, padding, corners, x, points):
    if mode == "nearest":  # whose gradient towards the points is zero there, and none here
        return lambda f, c, x: f.grid_sample(x, c(points), mode, padding, corners), (x,)
    return lambda f, c, x, g: f.grid_sample(x, g, mode, padding, corners), (x, points)


def unpooled(n, x, k, **options):
    def call(f, c, x):
        y, places = getattr(f, f"max_pool{n}d")(x, k, return_indices=True)
        return getattr(f, f"max_unpool{n}d")(y * 2, places, k, **options)

    return call, (x,)


# Name → (the call, given the module of functions and a maker of constants; what is differentiated).
CALLS = {
    f"interpolate {n}d, {mode}, {corners}, {size}": resized(n, x, mode, corners, size)
    for n, x in ((1, LINE), (2, IMAGE), (3, VOLUME))
    for mode, corners in MODES + (CUBIC if n == 2 else [])
    for size in (SIZES if n == 2 else SIZES[:1])
}
CALLS |= {
    f"grid_sample, {mode}, {padding}, {corners}": sampled(mode, padding, corners, IMAGE, POINTS)
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for corners in (True, False)
}
CALLS |= {
    f"{name}, {r}": (lambda f, c, *xs, g=g, r=r: g(f, c, *xs, reduction=r), xs)
    for r in ("mean", "sum", "none")
    for name, (g, xs) in {
        "soft_margin": (lambda f, c, x, **o: f.soft_margin_loss(x, c(SIGNS), **o), (X,)),
        "hinge_embedding": (lambda f, c, x, **o: f.hinge_embedding_loss(x, c(SIGNS), 0.3, **o), (X,)),
        "margin_ranking": (lambda f, c, x, y, **o: f.margin_ranking_loss(x, y, c(SIGNS), 0.3, **o), (X, Y)),
        "cosine_embedding": (lambda f, c, x, y, **o: f.cosine_embedding_loss(x, y, c(ROWS), 0.1, **o), (X, Y)),
        "triplet": (lambda f, c, x, y, z, **o: f.triplet_margin_loss(x, y, z, 2.0, 3.0, swap=True, **o), (X, Y, Z)),
        "triplet, distance": (lambda f, c, *xs, **o: f.triplet_margin_with_distance_loss(*xs, **o), (X[0], Y[0], Z[0])),
        "multi_margin": (lambda f, c, x, **o: f.multi_margin_loss(x, c(CLASSES), 2, 0.7, c(W), **o), (X,)),
        "multilabel_margin": (lambda f, c, x, **o: f.multilabel_margin_loss(x, c(LABELS), **o), (X,)),
        "multilabel_soft":
            (lambda f, c, x, **o: f.multilabel_soft_margin_loss(x, c((SIGNS > 0) * 1.0), c(W), **o), (X,)),
        "poisson": (lambda f, c, x, **o: f.poisson_nll_loss(x, c(abs(Y) * 3), full=True, **o), (X,)),
        "poisson of rates": (lambda f, c, x, **o: f.poisson_nll_loss(x, c(abs(Y)), log_input=False, **o), (abs(X),)),
        "ctc": (lambda f, c, x, **o: f.ctc_loss(x.log_softmax(2), c(LETTERS), (9, 7, 5), (4, 2, 0), **o), (SAID,)),
        "ctc, impossible":
            (lambda f, c, x, **o: f.ctc_loss(
                x.log_softmax(2), c(LETTERS.reshape(-1)), (9, 3, 4), (4, 4, 4), zero_infinity=True, **o), (SAID,)),
        "ctc of one":
            (lambda f, c, x, **o: f.ctc_loss(x.log_softmax(1), c(LETTERS[0, :3]), c(np.array(9)), c(np.array(3)), **o),
             (SAID[:, 0],)),
    }.items()
}  # fmt: skip
CALLS |= {
    "grid_sample, 3d": sampled("bilinear", "reflection", False, VOLUME, POINTS3),
    "affine_grid": (lambda f, c, t: f.affine_grid(t, (2, 3, 4, 5), True), (rng.normal(size=(2, 2, 3)),)),
    "affine_grid, 3d": (lambda f, c, t: f.affine_grid(t, (2, 3, 4, 1, 2), False), (rng.normal(size=(2, 3, 4)),)),
    "upsample_nearest": (lambda f, c, x: f.upsample_nearest(x, scale_factor=2), (IMAGE,)),
    "upsample_bilinear": (lambda f, c, x: f.upsample_bilinear(x, (3, 8)), (IMAGE,)),
    "pixel_shuffle": (lambda f, c, x: f.pixel_shuffle(x, 2), (IMAGE,)),
    "pixel_unshuffle": (lambda f, c, x: f.pixel_unshuffle(x, 2), (IMAGE[..., :4, :],)),
    "channel_shuffle": (lambda f, c, x: f.channel_shuffle(x, 2), (IMAGE,)),
    "local_response_norm": (lambda f, c, x: f.local_response_norm(x, 3, 0.5, 0.8, 2.0), (IMAGE,)),
    "lp_pool1d": (lambda f, c, x: f.lp_pool1d(x, 3.0, 2), (abs(LINE),)),
    "lp_pool2d": (lambda f, c, x: f.lp_pool2d(x, 2, (3, 2), 2, True), (abs(IMAGE),)),
    "lp_pool3d": (lambda f, c, x: f.lp_pool3d(x, 1, 2), (abs(VOLUME),)),
    "max_unpool1d": unpooled(1, LINE, 2, output_size=(2, 3, 9)),
    "max_unpool2d": unpooled(2, IMAGE, (2, 3)),
    "max_unpool3d": unpooled(3, VOLUME[0], 2, output_size=VOLUME.shape[2:]),
    "adaptive_max_pool2d": (lambda f, c, x: f.adaptive_max_pool2d(x, (3, 4), return_indices=True)[0], (IMAGE,)),
    "embedding, by frequency": (lambda f, c, w: f.embedding(c(BAGS), w, 2, scale_grad_by_freq=True), (TABLE,)),
    "embedding_bag, weighted":
        (lambda f, c, w, s: f.embedding_bag(c(BAGS), w, mode="sum", per_sample_weights=s),
         (TABLE, rng.normal(size=(2, 4)))),
    "embedding_bag with its end":
        (lambda f, c, w: f.embedding_bag(c(WORDS), w, c(np.array([0, 3, 3, 10])), include_last_offset=True), (TABLE,)),
    "rrelu": (lambda f, c, x: f.rrelu(x), (X,)),
    "multi_margin of one number": (lambda f, c, x: f.multi_margin_loss(x, c(np.array(0))), (np.array(0.3),)),
    "multilabel_margin of one": (lambda f, c, x: f.multilabel_margin_loss(x, c(np.array(0))), (np.array(0.3),)),
    "pdist": (lambda f, c, x: f.pdist(x, 3.0), (X,)),
}  # fmt: skip
CALLS |= {
    f"embedding_bag, {mode}, padding {padding}": (
        lambda f, c, w, mode=mode, padding=padding: f.embedding_bag(
            c(WORDS), w, c(np.array([0, 3, 3, 8])), mode=mode, padding_idx=padding
        ),
        (TABLE,),
    )
    for mode in ("mean", "sum", "max")
    for padding in (None, -5)
}


@pytest.mark.filterwarnings("ignore:.*upsample_.*deprecated")
@table("name", CALLS)
def test_values_and_gradients_are_pytorchs(name):
    call, arrays = CALLS[name]

    def ends(library, *xs):
        """The value, and the gradients of a weighted sum of it."""
        y = call(library.nn.functional, library.tensor, *xs)
        weights = library.tensor(np.cos(np.arange(np.prod(y.shape))).reshape(y.shape))
        return y, *library.autograd.grad((y * weights).sum(), list(xs))

    theirs, ours = ends(torch, *leaves(torch, arrays)), partial(ends, mg)
    like_another = name.startswith(("interpolate 1d", "interpolate 3d")) or name.endswith((", sum", ", none", ", True"))
    for way in (ours,) if like_another else (ours, mg.function(ours), mg.function(ours, jit_compile=True)):
        for y, t in zip(way(*leaves(mg, arrays)), theirs, strict=True):
            np.testing.assert_allclose(array(y), array(t), rtol=1e-8, atol=1e-10)


@pytest.mark.filterwarnings("ignore:.*upsample_.*deprecated")
@table("name", [n for n in CALLS if not n.startswith(("interpolate", "grid")) or "2d, bicubic" in n])
def test_float32_stays_float32(name):
    call, arrays = CALLS[name]
    agree_in_float32(call, arrays, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_nearest_element_is_pytorchs_where_two_are_as_near(mode, dtype):
    """23 · (14 / 46) is 7, or the number before it: in float32 and in float64 the two round otherwise."""
    for m in (2, 7, 14, 20, 32):
        for to in [{"size": n} for n in (37, 46, 55, 58)] + [{"scale_factor": k / 7} for k in (9, 11, 46)]:
            x = np.arange(m, dtype=dtype).reshape(1, 1, m)

            ours, theirs = (m.nn.functional.interpolate(m.tensor(x), mode=mode, **to) for m in (mg, torch))

            assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("factor", [0.9, 1.1, 1.3, 2.2, 2.5])
def test_a_factor_that_leaves_a_length_or_doubles_it_copies_where_pytorch_copies(n, factor):
    """By a factor of 1.1, 3 elements stay 3: PyTorch copies them in 'linear', and in 'nearest' of images."""
    x = np.random.default_rng(0).normal(size=(1, 2, *range(2, 2 + n)))
    for mode in ("nearest", "nearest-exact", ["linear", "bilinear", "trilinear"][n - 1]):
        results = (m.nn.functional.interpolate(m.tensor(x), scale_factor=factor, mode=mode) for m in (mg, torch))

        np.testing.assert_allclose(*(y.numpy() for y in results), rtol=1e-12)


def test_rows_that_are_too_long_are_cut_in_the_table_as_in_pytorch():
    for p in (1.0, 2.0, 3.0):
        tables = mg.tensor(TABLE), torch.tensor(TABLE)
        y = F.embedding(mg.tensor(BAGS), tables[0], max_norm=1.0, norm_type=p)
        t = TF.embedding(torch.tensor(BAGS), tables[1], max_norm=1.0, norm_type=p)

        np.testing.assert_allclose(y.numpy(), t.numpy(), rtol=1e-12)
        np.testing.assert_allclose(*(w.numpy() for w in tables), rtol=1e-12)


def test_the_gradient_of_ctc_is_the_derivative_even_before_a_softmax():
    """PyTorch's is that of the scores before log_softmax, and so of log-probabilities themselves another number."""
    x, targets, h = mg.tensor(SAID[:4, :1] - 2, requires_grad=True), mg.tensor(LETTERS[:1, :2]), 1e-6
    f = lambda x: F.ctc_loss(x, targets, (4,), (2,), reduction="sum")  # noqa: E731
    f(x).backward()
    step = np.random.default_rng(1).normal(size=x.shape)

    slope = (f(x.detach() + h * step) - f(x.detach() - h * step)) / (2 * h)

    assert slope.item() == pytest.approx((x.grad.numpy() * step).sum(), rel=1e-6)
    mg.gradcheck(f, (x,))


def test_what_is_drawn_has_pytorchs_moments():
    """Of 200 000 numbers, mean and spread are known to two digits."""
    z, key = mg.randn(200_000), mg.random.key(3)

    y = F.alpha_dropout(z, 0.3, True, key=key)
    slopes = F.rrelu(-mg.ones(1000), 0.1, 0.3, True, key=key).numpy()
    channels = F.feature_alpha_dropout(mg.randn(8, 50, 4), 0.5, True, key=key).numpy()
    chosen = F.gumbel_softmax(mg.tensor(np.log([[0.2, 0.3, 0.5]] * 20_000)), hard=True, key=key)

    assert abs(y.mean().item()) < 0.01
    assert abs(y.std().item() - 1) < 0.01
    assert slopes.min() < -0.29 < -0.11 < slopes.max() < -0.1
    assert 0.4 < (channels.std(2) == 0).mean() < 0.6
    np.testing.assert_allclose(chosen.numpy().mean(0), [0.2, 0.3, 0.5], atol=0.01)


def test_antialiasing_is_refused_by_name():
    with pytest.raises(NotImplementedError, match="not supported"):
        F.interpolate(mg.tensor(IMAGE), 3, antialias=True)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@table("n, shape, kernel, output", [
    (2, (2, 3, 9, 11), 2, (4, 5)), (2, (3, 8, 8), 3, 1), (2, (2, 1, 20, 21), (3, 2), (13, 12)), (2, (1, 1, 4, 4), 4, 1),
    (3, (2, 3, 7, 8, 9), 2, (3, 4, 5)), (3, (3, 7, 8, 9), (2, 3, 1), (2, 2, 4)),
])  # fmt: skip
def test_fractional_pooling_by_the_same_samples_is_pytorchs_to_the_bit(n, shape, kernel, output, dtype):
    draws = np.random.default_rng(0)
    rows = (1, *shape)[-n - 2 :][:2]
    for x in (draws.integers(0, 9, shape), draws.normal(size=shape)):
        samples, found = draws.random((*rows, n)).astype(dtype), []
        for library in (mg, torch):
            pool = getattr(library.nn.functional, f"fractional_max_pool{n}d")
            xs = library.tensor(x.astype(dtype), requires_grad=True)
            y, places = pool(xs, kernel, output, return_indices=True, _random_samples=library.tensor(samples))
            (y**2).sum().backward()
            found.append([y.detach().numpy(), places.numpy(), xs.grad.numpy()])
        for a, b in zip(*found, strict=True):
            np.testing.assert_array_equal(a, b, strict=True)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_fractional_pooling_in_half_precision_has_the_windows_of_float32(dtype):
    """Windows were placed in x's own dtype: of 3,003 elements, the last window of float16 ended with the 3,002nd."""
    x, samples = mg.tensor(np.arange(3003.0).reshape(1, 1, 1, -1) % 8), np.full((1, 1, 2), 0.5)
    options = {"return_indices": True, "_random_samples": samples}
    half, single = (F.fractional_max_pool2d(x.astype(d), (1, 2), (1, 700), **options)[1] for d in (dtype, "float32"))
    np.testing.assert_array_equal(half.numpy(), single.numpy())


@pytest.mark.parametrize("name", ["FractionalMaxPool2d", "FractionalMaxPool3d"])
def test_the_samples_of_a_layer_of_fractional_pooling_are_a_buffer(name):
    """They were an attribute: state_dict left them out, and refused PyTorch's."""
    samples = np.full((1, 1, int(name[-2])), 0.25)
    options = {"output_ratio": 0.5}
    theirs, ours = (getattr(m.nn, name)(2, **options, _random_samples=m.tensor(samples)) for m in (torch, mg))
    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["_random_samples"]
    ours.load_state_dict({"_random_samples": samples * 3})
    np.testing.assert_array_equal(ours._random_samples.numpy(), samples * 3)
    assert not getattr(mg.nn, name)(2, output_ratio=0.5).state_dict()


def test_layers_of_fractional_pooling_draw_windows_and_refuse_what_does_not_fit():
    x = mg.tensor(np.arange(81.0).reshape(1, 1, 9, 9))
    layer = mg.nn.FractionalMaxPool2d(2, output_ratio=0.5)
    drawn = [layer(x).numpy() for _ in range(8)]
    assert {y.shape for y in drawn} == {(1, 1, 4, 4)}
    assert len({y.tobytes() for y in drawn}) > 1
    assert all(y[0, 0, -1, -1] == 80 for y in drawn)
    for mistake in (lambda: mg.nn.FractionalMaxPool2d(2), lambda: mg.nn.FractionalMaxPool3d(2, 3, 0.5),
                    lambda: F.fractional_max_pool2d(x, 2, output_ratio=1.5), lambda: F.fractional_max_pool2d(x, 4, 7),
                    lambda: F.fractional_max_pool2d(x, 2, 3, _random_samples=mg.ones(1, 1, 3))):  # fmt: skip
        with pytest.raises(ValueError, match=r"output_size|output_ratio|windows that fit|_random_samples"):
            mistake()
