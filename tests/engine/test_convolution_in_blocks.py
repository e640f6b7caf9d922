"""Large convolutions: what all windows read is laid out block by block, and nobody notices but the memory."""

from itertools import product

import numpy as np
import pytest

import minigrad as mg
from minigrad import ops
from minigrad.engine.ops import Window as window
from minigrad.engine.ops.convolution import blocks
from tests.support.all_close import assert_all_close
from tests.support.peak_memory import peak_bytes

LARGE = {
    "1-d": (window((5,), (1,), ((4, 0),), (1,)), 1, (8, 4, 5000), 3),
    "2-d": (window((3, 3), (1, 1), ((0, 0), (0, 0)), (1, 1)), 1, (70, 8, 13, 13), 16),
    "2-d, everything": (window((3, 2), (2, 3), ((4, 1), (0, 3)), (3, 2)), 2, (90, 12, 41, 29), 4),
    "strides longer than the kernel": (window((2, 2), (3, 5), ((1, 0), (0, 1)), (1, 1)), 1, (100, 16, 40, 40), 2),
    "depthwise": (window((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)), 8, (40, 8, 20, 20), 8),
    "3-d": (window((2, 3, 2), (1, 2, 1), ((1, 0), (1, 1), (0, 0)), (1, 1, 2)), 1, (16, 5, 9, 20, 12), 4),
    "one row a block": (window((3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1)), 1, (500, 16, 3, 10), 2),
}  # fmt: skip


def test_a_window_stands_wherever_all_of_it_lies_on_the_padded_axis():
    for n, kernel, stride, padding, dilation in product(range(1, 9), (1, 2, 3), (1, 2, 3), (0, 1), (1, 2, 3)):
        length = n + 2 * padding
        fitting = [start for start in range(0, length, stride) if start + dilation * (kernel - 1) < length]
        if fitting:
            there = window((kernel,), (stride,), ((padding, padding),), (dilation,))
            assert there.places(ops.Convolution(there), (n,)) == (len(fitting),)


@pytest.mark.parametrize("name", LARGE)
def test_a_convolution_in_blocks_and_its_derivatives_are_what_they_are_in_one_piece(name):
    """In one piece on the simulated device, whose blocks are larger."""
    there, groups, shape, outputs = LARGE[name]
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal(shape), rng.standard_normal((outputs, shape[1] // groups, *there.kernel))
    values = {}

    for place in ["cpu", "simulated"]:
        xs = [mg.tensor(a, device=place, requires_grad=True) for a in (x, w)]
        y = xs[0].apply(ops.Convolution(there, groups), xs[1])
        y.backward(np.cos(np.arange(y.size)).reshape(y.shape))
        values[place] = [y.numpy(), *(leaf.grad.numpy() for leaf in xs)]
        laid_out = xs[0].value.transpose(*range(1, x.ndim), 0)
        pieces = blocks(laid_out, there, y.shape[2:])
        assert (len(pieces) > 1) == (place == "cpu")

    assert_all_close(values["cpu"], values["simulated"], rtol=1e-10, atol=1e-10)


def test_the_windows_of_a_large_convolution_are_never_all_laid_out_at_once():
    x = mg.tensor(np.ones((32, 16, 32, 32), "f4"), requires_grad=True)
    w = mg.tensor(np.ones((16, 16, 5, 5), "f4"), requires_grad=True)
    all_windows = 16 * 25 * 28 * 28 * 32 * 4

    def step():
        x.apply(ops.Convolution(window((5, 5), (1, 1), ((0, 0), (0, 0)), (1, 1))), w).sum().backward()

    assert peak_bytes(step) < all_windows / 2
