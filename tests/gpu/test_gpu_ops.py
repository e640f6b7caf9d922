"""Every op of the table on a GPU, beside NumPy: its value, its gradient, and what it is in a recording."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import ops
from minigrad.engine.base.device import CPU, device_of
from minigrad.engine.base.errors import DTypeError
from minigrad.engine.base.spec import Spec
from minigrad.engine.core.graph import Graph
from minigrad.engine.tensor.symbol import placeholder
from minigrad.graph.backends.cuda.replay import Replay
from tests.examples import CASES, title
from tests.support.table import table

CASES = [case for case in CASES if not isinstance(case[0], ops.Move)]
DTYPES = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2}  # other libraries, other orders of summing
TRIED = [*DTYPES] if mg.gpu_status()[0] else ["float16"]  # the simulated device has tests of its own in the others
OF_EITHER_SIGN = ops.Svd | ops.Eigenvectors | ops.Orthonormal  # a vector or its opposite, as the library likes


def arrays(case, dtype):
    """The operands of an example, its floating ones in that dtype."""
    xs = [x.numpy() for x in case[1:]]
    return [x.astype(dtype) if x.dtype.kind == "f" else x for x in xs]


@np.errstate(over="ignore")  # near a pole, in float16
def ran(op, xs, device):
    """The value, and the gradient of each operand that has one, as NumPy arrays; None where a dtype is refused."""
    leaves = [mg.Tensor(x, device=device, requires_grad=x.dtype.kind == "f") for x in xs]
    try:
        y = leaves[0].apply(op, *leaves[1:])
    except DTypeError:
        return None
    assert device_of(y.value) is device
    y = y * y if isinstance(op, OF_EITHER_SIGN) else y
    if y.requires_grad:
        y.backward(np.cos(np.arange(y.size)).reshape(y.shape).astype(y.numpy().dtype))
    return y.numpy(), *(None if x.grad is None else x.grad.numpy() for x in leaves)


def near(found, wanted, tolerance):
    """The same within the tolerance, of the largest where numbers were added up."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    finite = abs(wanted[np.isfinite(wanted)]) if wanted.dtype.kind == "f" else wanted
    largest = float(finite.max()) if finite.size and wanted.dtype.kind == "f" else 0.0
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.parametrize("dtype", TRIED)
@table("case", CASES, ids=title, groups=12)
def test_an_op_and_its_gradient_are_what_they_are_on_the_cpu(case, dtype, device):
    op, xs = case[0], arrays(case, dtype)

    found, wanted = ran(op, xs, device), ran(op, xs, CPU)

    assert (found is None) == (wanted is None)
    for y, expected in zip(found or (), wanted or (), strict=True):
        assert (y is None) == (expected is None)
        if y is not None:
            near(y, expected, DTYPES[dtype])


@pytest.mark.parametrize("dtype", TRIED)
@table("case", CASES, ids=title, groups=12)
def test_an_op_is_the_same_run_recorded_and_replayed(case, dtype, device):
    """Each time on arrays elsewhere, so that what was recorded has to compute."""
    op, xs = case[0], arrays(case, dtype)
    inputs = [placeholder(f"x{i}", Spec(x.shape, x.dtype, device)) for i, x in enumerate(xs)]
    try:
        y = inputs[0].apply(op, *inputs[1:])
    except DTypeError:
        return
    program = Replay(Graph(tuple(x.node for x in inputs), (y.node,)))
    kept = []

    for _ in range(4):
        there = [device.array(x.copy()) for x in xs]
        kept.append(there)
        (found,) = (device.read(y) for y in program(*there))
        wanted = np.asarray(op.forward(np, *xs))
        if isinstance(op, OF_EITHER_SIGN):
            found, wanted = abs(found), abs(wanted)
        near(found, wanted, DTYPES[dtype])
