"""Bad input: a clear sentence at the place of the mistake, with what was wanted, what came, and the way out."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import ops
from minigrad.engine.base import errors
from minigrad.engine.core.node import Node, toposort
from minigrad.engine.tensor.symbol import placeholder
from tests.support.table import table


def ones(*shape, **options):
    return mg.tensor(np.ones(shape), **options)


CASES = {
    "a list of tensors for a tensor": (
        lambda: mg.sum([ones(2, requires_grad=True), ones(2)]), TypeError, r"got a list of tensors: mg\.stack"),
    "two sides to search": (
        lambda: mg.searchsorted(ones(3), ones(1), right=True, side="left"), ValueError, "'right', and got.*right=True"),
    "a module's option that it has not": (
        lambda: mg.nn.LeakyReLU(slope=0.1), TypeError, r"LeakyReLU\(.*negative_slope.*\).*'slope'"),
    "a rate below zero": (lambda: ones(2).exponential_(-1), ValueError, "exponential_ must be more than 0.*-1"),
    "shapes that do not broadcast": (
        lambda: ones(2, 3) + ones(4), errors.ShapeError, r"Add .*f64\[2, 3\] with f64\[4\]"),
    "inner lengths that differ": (
        lambda: ones(2, 3) @ ones(2, 3), errors.ShapeError, r"k equal.*f64\[2, 3\] @ f64\[2, 3\]"),
    "a matmul of a number": (lambda: ones(2) @ mg.tensor(1.0), errors.ShapeError, r"use \*"),
    "a reshape that loses elements": (lambda: ones(6).reshape(4), errors.ShapeError, "6 elements.*4 elements"),
    "a −1 that no length fits": (lambda: ones(6).reshape(4, -1), errors.ShapeError, "no length fits"),
    "an axis too many": (lambda: ones(2, 3).sum(axis=2), errors.ShapeError, "axes 0 to 1"),
    "an axis twice in a transpose": (lambda: ones(2, 3).permute(0, 0), errors.ShapeError, "each axis once"),
    "a broadcast that shrinks": (lambda: ones(2, 3).broadcast_to(3), errors.ShapeError, "cannot broadcast"),
    "the largest of nothing": (lambda: ones(0).max(), errors.ShapeError, "does not exist"),
    "a backward from many": (
        lambda: ones(3, requires_grad=True).exp().backward(), errors.NoGradientError, r"\.sum\(\)"),
    "a backward from data": (lambda: ones().backward(), errors.NoGradientError, "requires_grad=True"),
    "a gradient of another shape": (
        lambda: ones(3, requires_grad=True).exp().backward(np.ones(2)), errors.ShapeError, r"f64\[3\].*\(2,\)"),
    "integers asked for gradients": (lambda: mg.tensor([1, 2], requires_grad=True), errors.DTypeError, "nudge"),
    "text": (lambda: mg.tensor(["a"]), errors.DTypeError, "real numbers"),
    "complex numbers": (lambda: mg.tensor([1j]), errors.DTypeError, "real numbers"),
    "rows of unequal length": (lambda: mg.tensor([[1.0], [1.0, 2.0]]), errors.ShapeError, "equal length"),
    "an index that is no integer": (lambda: ones(3)[np.array([0.5])], errors.DTypeError, "integers"),
    "an index past the end": (lambda: ones(3)[5], IndexError, "out of bounds"),
    "the item of many": (lambda: ones(3).item(), errors.ShapeError, "one element"),
    "the truth of many": (lambda: bool(ones(3)), errors.ShapeError, "one element"),
    "an unknown device": (lambda: mg.tensor(1.0, device="tpu"), errors.DeviceError, "cpu"),
    "a result told to require gradients": (
        lambda: ones(requires_grad=True).exp().requires_grad_(), errors.NoGradientError, "on a leaf only"),
    "an unknown word for a reduction": (lambda: ones(3).sum(axes=0), TypeError, "axis"),
    "float classes": (lambda: mg.cross_entropy(ones(2, 3), [0.0, 1.0]), errors.DTypeError, "integer classes"),
    "a class too many": (lambda: mg.cross_entropy(ones(2, 3), [0, 3]), IndexError, "0 to 2"),
    "targets too many": (lambda: mg.cross_entropy(ones(2, 3), [0, 1, 2]), errors.ShapeError, r"\(N,\)"),
    "a loss of two shapes": (lambda: mg.mse_loss(ones(3), np.ones((3, 1))), errors.ShapeError, "one shape"),
    "a layer of another width": (lambda: mg.nn.Linear(3, 2)(ones(5, 4)), errors.ShapeError, r"\(…, 3\)"),
    "an optimiser of nothing": (lambda: mg.optim.SGD([]), ValueError, "no parameters"),
    "a batch of nothing": (lambda: next(mg.data.batches(np.ones(3), np.ones(3), 0)), ValueError, "at least one"),
    "unpaired data": (lambda: next(mg.data.batches(np.ones(3), np.ones(2), 1)), errors.ShapeError, "3 rows"),
    "the value of a symbol": (lambda: placeholder("x", ones(3).spec).numpy(), errors.NoValueError, "symbolic"),
}  # fmt: skip


@table("case", CASES)
def test_a_clear_sentence_answers(case):
    mistake, error, sentence = CASES[case]
    with pytest.raises(error, match=sentence):
        mistake()


def test_every_error_of_ours_can_be_caught_as_one():
    for name, error in vars(errors).items():
        if isinstance(error, type):
            assert issubclass(error, errors.MinigradError), name


def test_a_second_backward_says_what_happened_and_changes_nothing():
    x = mg.tensor(3.0, requires_grad=True)
    y = x**3
    y.backward()

    with pytest.raises(errors.FreedError, match="retain_graph=True"):
        y.backward()
    assert x.grad.item() == 27


def test_a_cycle_of_nodes_is_refused():
    spec = ones().spec
    a = Node(ops.Exp(), (), spec)
    b = Node(ops.Exp(), (a,), spec)
    a.inputs = (b,)

    with pytest.raises(errors.CycleError, match="no cycle"):
        toposort(b)


def test_a_gpu_that_is_not_there_is_said_so():
    try:
        import cupy  # noqa: F401
    except ImportError:
        with pytest.raises(errors.DeviceError, match="device='cpu'"):
            mg.tensor(1.0, device="gpu")
    else:
        pytest.skip("this machine has CuPy")


def test_two_leaves_never_share_one_gradient_array():
    x, y = ones(3, requires_grad=True), ones(3, requires_grad=True)
    seed = np.ones(3)
    (x + y).backward(seed)
    x.grad.value += 1

    assert y.grad.numpy().tolist() == seed.tolist() == [1, 1, 1]
