"""Softmax, its losses and standardising against PyTorch: values, first and second gradients, and the corners."""

from math import inf

import numpy as np
import pytest

import minigrad as mg
from minigrad import ops

from .oracle import agree, agree_twice, torch

F = torch.nn.functional

rng = np.random.default_rng(6)
X, IMAGES = rng.normal(size=(4, 5)), rng.normal(size=(3, 4, 2, 2))
CLASSES = np.array([0, 4, 4, 2])

FUNCTIONS = {
    "softmax": (lambda x: x.softmax(dim=1), lambda t: t.softmax(1), X),
    "softmax down": (lambda x: x.softmax(0), lambda t: t.softmax(0), X),
    "log_softmax": (lambda x: x.log_softmax(dim=-1), lambda t: t.log_softmax(-1), X),
    "log_softmax down": (lambda x: x.log_softmax(0), lambda t: t.log_softmax(0), X),
    "softmin": (lambda x: x.softmin(1), lambda t: F.softmin(t, 1), X),
    "cross entropy": (
        lambda x: x.apply(ops.CrossEntropy(), CLASSES),
        lambda t: F.cross_entropy(t, torch.tensor(CLASSES), reduction="none"), X,
    ),
    "layer norm": (lambda x: x.standardise(1), lambda t: F.layer_norm(t, (5,)), X),
    "layer norm of two axes": (
        lambda x: x.standardise((2, 3), 0.1), lambda t: F.layer_norm(t, (2, 2), eps=0.1), IMAGES,
    ),
    "batch norm": (lambda x: x.standardise((0, 2, 3)), lambda t: F.batch_norm(t, None, None, training=True), IMAGES),
    "RMS norm": (lambda x: x.rms_normalise(-1, 1e-3), lambda t: F.rms_norm(t, (5,), eps=1e-3), X),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_two_gradients_are_pytorchs(name):
    ours, theirs, array = FUNCTIONS[name]
    agree_twice(ours, theirs, [array], (1e-12, 1e-14), (1e-10, 1e-12), (1e-9, 1e-11))


EXTREME = np.array([[0.0, 1e4, -1e4], [-inf, 0.0, 1.0], [-inf, -inf, -inf], [inf, 0.0, 0.0], [88.0, 89.0, 1000.0]])


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_far_out_and_where_nothing_is_left_it_gives_what_pytorch_gives(name, dtype):
    y = getattr(mg.tensor(EXTREME.astype(dtype)), name)(1)
    s = getattr(torch.tensor(EXTREME.astype(dtype)), name)(1)

    np.testing.assert_allclose(y.numpy(), s.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("about", [0, -20, -40, -90, -800, 20, 40, 75, 90, 800])
def test_wherever_the_rows_lie_they_weigh_as_in_pytorch(about, dtype):
    """Near 0 no largest element is taken off: no seam may show where that begins, and no row spoil another."""
    x = (np.tile(X, (250, 1)) * 3 + about * (np.arange(1000) % 4 != 2)[:, None]).astype(dtype)

    y = mg.tensor(x).softmax(1)

    t = torch.tensor(x.astype("f8")).softmax(1)
    np.testing.assert_allclose(y.numpy(), t.numpy(), rtol=3e-6 if dtype == "f4" else 1e-12)


def test_a_masked_row_sends_gradients_to_what_is_left_of_it():
    agree(lambda m, x: x.softmax(1) * m.tensor([1.0, 2.0, 3.0]), np.array([[-inf, 0.0, 1.0]]))


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), ()])
def test_empty_rows_and_numbers_are_no_exception(name, shape):
    array = np.ones(shape)
    y, s = getattr(mg.tensor(array), name)(-1), getattr(torch.tensor(array), name)(-1)

    assert y.shape == tuple(s.shape)
    np.testing.assert_array_equal(y.numpy(), s.numpy())


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "standardise"])
def test_float16_is_worked_out_in_float32(name):
    array = (rng.normal(size=(4, 300)) * 30).astype("f2")
    theirs = {"standardise": lambda t: F.layer_norm(t, (300,))}.get(name, lambda t: getattr(t, name)(1))

    y, s = getattr(mg.tensor(array), name)(1), theirs(torch.tensor(array, dtype=torch.float64))

    assert y.dtype == np.float16
    np.testing.assert_allclose(y.numpy(), s.numpy(), rtol=1e-3, atol=1e-6)  # one step of float16, and what float32 lost


def test_the_cross_entropy_of_large_logits_keeps_its_digits():
    """Taken as logsumexp(x) − x[k], both near 4096, float32 would have lost all but three of them."""
    array = (4096 + X).astype("f4")
    exact = F.cross_entropy(torch.tensor(array, dtype=torch.float64), torch.tensor(CLASSES), reduction="none")
    x = mg.tensor(array, requires_grad=True)
    y = x.apply(ops.CrossEntropy(), CLASSES)

    np.testing.assert_allclose(y.numpy(), exact.numpy(), rtol=1e-6)


def test_in_another_dtype_it_is_pytorchs():
    y = mg.tensor(X.astype("f4")).softmax(1, dtype="float64")
    s = torch.tensor(X.astype("f4")).softmax(1, dtype=torch.float64)

    assert y.dtype == np.float64
    np.testing.assert_allclose(y.numpy(), s.numpy(), rtol=1e-14)
