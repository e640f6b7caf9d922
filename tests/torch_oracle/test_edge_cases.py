"""Where there is nothing, one thing, or a case that formulas forget: shapes and numbers are PyTorch's."""

from functools import partial

import numpy as np
import pytest

import minigrad as mg

from .oracle import array, leaves, torch

F = mg.nn.functional
rng = np.random.default_rng(5)


def agree(function, *arrays, rtol=1e-10):
    """function(library, functional, *tensors) has PyTorch's value and gradients, by run, traced and compiled."""

    def ends(library, way=lambda f: f):
        xs = leaves(library, arrays)
        y = way(lambda *xs: function(library, library.nn.functional, *xs))(*xs)
        (y * y + y).sum().backward()
        return [array(y), *(array(x.grad) for x in xs)]

    for ours in (ends(mg), ends(mg, mg.function), ends(mg, partial(mg.function, jit_compile=True))):
        for a, b in zip(ours, ends(torch), strict=True):
            np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12, strict=True)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
def test_cosines_of_vectors_that_broadcast_are_along_an_axis_of_what_they_become(dim):
    """Norms were taken before broadcasting: ones (1, 1, 4) beside ones (1, 3, 4) along axis 1 gave √3 for a cosine."""
    agree(lambda lib, F, x, y: F.cosine_similarity(x, y, dim), rng.normal(size=(2, 1, 4)), rng.normal(size=(3, 4)))


def test_the_divergence_of_numbers_is_of_one_example():
    """Its batch mean divided by a length that a number has not: an IndexError."""
    agree(lambda lib, F, x, t: F.kl_div(x, t, reduction="batchmean"), np.array(-1.3), np.array(0.4))


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 2), (1, 2)])
def test_a_variance_for_each_row_is_of_its_row(shape):
    """var (3,) of x (3, 3) was laid along the columns: 0.833 became 0.597. Below eps it is raised with a slope of 1."""
    var = np.where(rng.uniform(size=shape) < 0.4, 1e-8, rng.uniform(0.5, 2, shape))
    x, t = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    agree(lambda lib, F, *xs: F.gaussian_nll_loss(*xs, reduction="none") * 1e-6, x, t, var)


def test_a_negative_variance_is_refused():
    with pytest.raises(ValueError, match="variances of 0 or more"):
        F.gaussian_nll_loss(mg.zeros(2), mg.zeros(2), mg.tensor([1.0, -1.0]))


PRODUCTS = [
    ((2, 2, 0), (0, 3)), ((2, 0, 3), (3, 4)), ((2, 0, 3), (2, 3, 4)), ((3,), (3, 0)), ((0,), (0,)), ((0, 2), (2,)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", PRODUCTS)
def test_products_of_nothing_are_zeros_of_a_shape_and_so_are_their_gradients(shapes):
    """Rows were counted by dividing the size by the last length, which is 0 by 0 here: a ShapeError in backward."""
    agree(lambda lib, F, x, y: x @ y, *map(np.ones, shapes))


def test_a_layer_of_no_inputs_gives_its_bias():
    agree(lambda lib, F, *xs: F.linear(*xs), np.ones((2, 3, 0)), np.ones((4, 0)), np.ones(4))


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
def test_convolutions_of_no_images_are_none(name):
    w = np.ones((2, 3, 3, 3)) if name == "conv2d" else np.ones((3, 2, 3, 3))
    agree(lambda lib, F, *xs: getattr(F, name)(*xs), np.ones((0, 3, 5, 5)), w, np.ones(2))


@pytest.mark.parametrize(
    "arguments", [(1, 0, 1, 1, 2), (1, 1, 1, 1, 2), (2, 1, 2, 1, 3), (1, 1, 2, 1, 3), (2, 2, 4, 1, 5), (3, 1, 2)]
)
def test_a_transposed_convolution_may_be_longer_by_less_than_its_dilation(arguments):
    """Where that is as much as the stride, another window would fit, and the shapes were said to disagree."""
    x, w = rng.normal(size=(2, 2, 5)), rng.normal(size=(2, 3, 2))
    agree(lambda lib, F, x, w: F.conv_transpose1d(x, w, None, *arguments), x, w)


def test_a_transposed_convolution_has_the_size_that_is_asked():
    ours, theirs = (lib.nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1) for lib in (mg, torch))
    for size in ((8, 7), (2, 3, 7, 8)):
        made, wanted = (f(lib.ones(2, 2, 4, 4), output_size=size) for f, lib in ((ours, mg), (theirs, torch)))
        assert made.shape == wanted.shape
    with pytest.raises(mg.errors.ShapeError, match=r"\(7, 7\) to \(8, 8\)"):
        ours(mg.ones(2, 2, 4, 4), output_size=(9, 9))


@pytest.mark.parametrize("way", [lambda f: f, mg.function])
def test_an_empty_batch_leaves_the_running_statistics(way):
    """Its mean is no number, and was taken into what the layer remembers, for ever."""
    layers = mg.nn.BatchNorm1d(2), mg.nn.BatchNorm2d(2), mg.nn.InstanceNorm1d(2, track_running_stats=True)
    for layer, x in zip(layers, (mg.zeros(0, 2), mg.zeros(0, 2, 3, 3), mg.zeros(0, 2, 3))):
        assert way(lambda x, layer=layer: layer(x))(x).shape == x.shape
        assert [layer.running_mean.tolist(), layer.running_var.tolist()] == [[0, 0], [1, 1]]


def test_an_empty_batch_leaves_them_where_the_length_is_unknown():
    layer = mg.nn.BatchNorm1d(2)
    run = mg.function(layer, input_signature=[mg.TensorSpec((None, 2), mg.float64)])

    run(mg.zeros(0, 2))
    assert [layer.running_mean.tolist(), layer.running_var.tolist()] == [[0, 0], [1, 1]]
    run(mg.ones(3, 2))
    assert [layer.running_mean.tolist(), layer.running_var.tolist()] == [[0.1, 0.1], [0.9, 0.9]]


def test_instances_may_come_one_by_one():
    x = rng.normal(size=(2, 3, 4))
    for name, features, one in (("InstanceNorm2d", 2, x), ("InstanceNorm1d", 3, x[0])):
        ours, theirs = (getattr(lib.nn, name)(features) for lib in (mg, torch))
        np.testing.assert_allclose(ours(mg.tensor(one)).numpy(), theirs(torch.tensor(one)).numpy(), rtol=1e-10)


@pytest.mark.parametrize(("layer", "shape"), [
    ("Dropout1d", (50, 4)), ("Dropout3d", (50, 2, 2, 2)), ("Dropout1d", (50, 3, 4)), ("Dropout2d", (50, 3, 4)),
])  # fmt: skip
def test_channels_are_dropped_whole_from_one_example_too(layer, shape):
    """Dropout1d of x (C, L) dropped element by element, and Dropout3d of x (C, D, H, W) by axes C and D."""
    channels = 1 if len(shape) in (2, 4) else 2
    y = getattr(mg.nn, layer)(0.5)(mg.ones(*shape)).numpy().reshape(*shape[:channels], -1)
    assert (y == y[..., :1]).all()
    assert len(np.unique(y)) == 2


@pytest.mark.parametrize("norm_type", [0, 1, 2, 3, np.inf, -1, -np.inf])
def test_gradients_are_clipped_by_any_norm_and_that_of_0_counts_them(norm_type):
    """By the norm of 0, the root of order 1 / 0 was taken."""
    gradients = [np.array([1.0, 0.0, 2.0]), np.array([[3.0, 1.0]]), np.zeros(2)]
    ours, theirs = ([m.zeros(g.shape, requires_grad=True) for g in gradients] for m in (mg, torch))
    for p, q, g in zip(ours, theirs, gradients):
        p.grad, q.grad = mg.tensor(g), torch.tensor(g, dtype=torch.float32)
    total = mg.nn.utils.clip_grad_norm_(ours, 1.0, norm_type)
    np.testing.assert_allclose(total.item(), torch.nn.utils.clip_grad_norm_(theirs, 1.0, norm_type).item(), rtol=1e-6)
    for p, q in zip(ours, theirs):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-5)


def test_a_coin_is_flat_in_its_chance():
    """It had no gradient at all, and a model that draws one could not run backward()."""
    x = mg.tensor([0.2, 0.7], requires_grad=True)
    (mg.bernoulli(x).sum() + x[0]).backward()
    assert x.grad.tolist() == [1, 0]


OPTIMISERS = {
    "Adam": {}, "AdamW": {}, "NAdam": {}, "RAdam": {}, "Adamax": {}, "Adagrad": {}, "Adadelta": {"rho": 0.9, "lr": 1.0},
    "RMSprop": {"momentum": 0.9},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:overflow")  # as decision 012 has it
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("large", [1e18, 1e30])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_one_huge_gradient_does_not_end_a_training(name, large, dtype):
    """In float32 its square is infinite, and the running mean v + w (g² − v) became ∞ − ∞ one step later."""
    options = {"lr": 0.1} | OPTIMISERS[name]
    t = torch.ones(2, dtype=getattr(torch, dtype), requires_grad=True)
    theirs = getattr(torch.optim, name)([t], **options)
    ps = [mg.ones(2, dtype=dtype, requires_grad=True) for _ in range(2)]
    by_run, in_a_graph = (getattr(mg.optim, name)([p], **options) for p in ps)

    @mg.function
    def step(g):
        ps[1].grad = g
        in_a_graph.step()

    for g in (1.0, large, 1.0, -2.0, 1.0):
        t.grad = torch.full((2,), g, dtype=t.dtype)
        theirs.step()
        ps[0].grad = mg.full((2,), g, dtype=dtype)
        by_run.step()
        step(mg.full((2,), g, dtype=dtype))
        np.testing.assert_allclose(ps[0].detach().numpy(), t.detach().numpy(), rtol=2e-6, atol=1e-6)
        np.testing.assert_array_equal(ps[0].detach().numpy(), ps[1].detach().numpy())


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize(("name", "options"), [("Rprop", {}), ("RMSprop", {"centered": True, "alpha": 0.9})])
def test_one_gradient_that_is_no_number_ends_what_pytorch_lets_it_end(name, options, bad):
    """0 of −∞, and the sign of no number, were no number in Rprop; ∞ − ∞ was in the centred RMSprop, at 3e38."""
    p, t = mg.ones(3, dtype="float32", requires_grad=True), torch.ones(3, requires_grad=True)
    ours, theirs = getattr(mg.optim, name)([p], **options), getattr(torch.optim, name)([t], **options)
    for number in (0.1, bad, 0.2, -0.1, 0.1):
        g = np.array([0.1, number, -0.2], np.float32)
        p.grad, t.grad = mg.tensor(g), torch.tensor(g)
        ours.step(), theirs.step()
        np.testing.assert_allclose(p.numpy(), t.detach().numpy(), rtol=1e-5)


X = np.random.default_rng(5).normal(size=(2, 3, 4))
EDGES = {
    "lp infinite": (lambda lib, F, x: F.lp_pool1d(x, float("inf"), 2), X),
    "lp least": (lambda lib, F, x: F.lp_pool1d(x, -float("inf"), 3, 1, ceil_mode=True), X),
    "lp of zeros": (lambda lib, F, x: F.lp_pool1d(x, 2, 2), X * (X > 0.5)),
    "ctc of no letters":
        (lambda lib, F, x: F.ctc_loss(F.log_softmax(x, -1), lib.ones(3, 0).long(), (2, 1, 2), (0, 0, 0)), X),
    "bags of no rows":
        (lambda lib, F, x: F.embedding_bag(lib.ones(0).long(), x, lib.zeros(2).long(), mode="max"), X[0]),
    "lrn of none": (lambda lib, F, x: F.local_response_norm(x, 2), X[:0]),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_pools_letters_and_bags_at_the_edge_are_pytorchs(name):
    """The ∞-norm of a window was 1, whatever was in it, since x⁰ is; and at zeros the root's slope ∞ times 0 was NaN.
    Rows of no letters, bags of no rows and an empty batch were a ShapeError that named an op of ours.
    """
    agree(*EDGES[name], rtol=1e-12)


@pytest.mark.parametrize("norm_type", [float("inf"), -float("inf")])
def test_an_infinite_norm_of_a_pool_stays_in_float32(norm_type):
    """The sign of the norm was a float64 of NumPy's, and took the result with it."""
    assert mg.nn.functional.lp_pool1d(mg.ones((1, 2, 4), dtype=mg.float32), norm_type, 2).dtype == mg.float32


@pytest.mark.parametrize(("name", "option"), [("Adafactor", {"d": 0.3}), ("Rprop", {"etas": (1.2, 0.5)}),
                                          ("Muon", {"adjust_lr_fn": "match_rms"})])  # fmt: skip
def test_options_that_pytorch_refuses_are_refused(name, option):
    """A word that Muon does not know was taken for 'original', and a d below 1 made each step of Adafactor shorter."""
    with pytest.raises(ValueError, match=f"needs {next(iter(option))} to be"):
        getattr(mg.optim, name)([mg.ones((2, 2), requires_grad=True)], **option)
