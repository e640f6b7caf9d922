"""Formulas worked off in blocks: what comes out does not show it."""

import numpy as np
import pytest

import minigrad as mg
from minigrad import ops
from minigrad.engine.base.device import CPU
from minigrad.engine.base.pytree import leaves
from tests.support.all_close import assert_all_close
from tests.support.table import table

rng = np.random.default_rng(4)
WHOLE = rng.normal(size=(CPU.block // 100, 7, 25)) * 3  # more than a block, and no multiple of one
LAYOUTS = {
    "in order": lambda a: a, "transposed": lambda a: a.T, "channels last": lambda a: a.transpose(1, 2, 0),
    "every other": lambda a: np.repeat(a, 2, 1)[:, ::2], "backwards": lambda a: a[::-1],
    "one row repeated": lambda a: np.broadcast_to(a[:1], a.shape),
}  # fmt: skip
UNARY = [ops.Sigmoid, ops.Silu, ops.Mish, ops.Gelu, ops.GeluTanh, ops.Erf, ops.Erfc]
BINARY = [ops.ReluDifferential, ops.GeluDifferential, ops.GeluTanhDifferential]


def in_one_go(op, *xs):
    """Of a number at a time: every array is smaller than a block."""
    rows = [op.forward(np, *row) for row in zip(*(x.reshape(len(x), -1) for x in xs))]
    return np.reshape(rows, xs[0].shape)


@pytest.mark.parametrize("layout", LAYOUTS)
@table("op", UNARY)
def test_a_function_in_blocks_is_the_function(op, layout):
    x = LAYOUTS[layout](WHOLE)

    y = op().forward(np, x)

    assert (y.shape, y.dtype) == (x.shape, x.dtype)
    # A convolution has its channels where they are quick for the next one; an activation leaves them there.
    assert y.strides == x.strides or layout not in ("in order", "transposed", "channels last")
    np.testing.assert_allclose(y, in_one_go(op(), x), rtol=1e-13, atol=1e-300)


@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("op", BINARY)
def test_two_arrays_may_lie_in_memory_each_in_its_own_way(op, other):
    t, x = LAYOUTS[other](WHOLE), rng.normal(size=LAYOUTS[other](WHOLE).shape)

    for a, b in ((t, x), (x, t), (t, x[0])):  # one row counts for all
        expected = in_one_go(op(), a, np.broadcast_to(b, a.shape))
        np.testing.assert_allclose(op().forward(np, a, b), expected, rtol=1e-13, atol=1e-300)


def test_the_derivative_of_gelu_by_tanh_ends_at_0_and_1():
    """It was NaN at ±1e13, where x³ overflows in float32."""
    x = np.array([-3e38, -1e13, 1e13, 3e38], "f4")
    assert ops.GeluTanhDifferential().forward(np, np.ones(4, "f4"), x).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_gradient_of_a_large_relu_is_that_of_a_small_one(dtype):
    x = mg.tensor(np.maximum(rng.normal(size=(300, 400)), -0.5).astype(dtype), requires_grad=True)
    gy = rng.normal(size=x.shape).astype(dtype)

    mg.relu(x).backward(gy)

    np.testing.assert_array_equal(x.grad.numpy(), np.where(x.numpy() > 0, gy, 0))


WHOLE_IN_EACH_BLOCK = {
    "a product": lambda x, v: (x * v.exp()).tanh() @ (v - 1),
    "two results": lambda x, v: (v.exp() * x, (v + 1).cumsum(0)),
    "a sum": lambda x, v: ((x + v.tanh()) * x, v.tanh().sum()),
}


@pytest.mark.parametrize("n", [256, 257, 400])
@pytest.mark.parametrize("f", WHOLE_IN_EACH_BLOCK.values(), ids=WHOLE_IN_EACH_BLOCK)
@pytest.mark.parametrize("options", [{}, {"jit_compile": True}], ids=["function", "jit_compile"])
def test_an_operand_that_every_block_reads_is_not_written_over_by_the_first(f, n, options):
    """A row that is broadcast is read again by each block; written over, results were wrong by 69 from n = 257 on."""
    x, v = (mg.tensor(rng.normal(size=shape)) for shape in ((n, n), n))

    assert_all_close(leaves(mg.function(f, **options)(x, v)), leaves(f(x, v)), rtol=1e-10)  # a sum in another order
