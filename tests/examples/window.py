"""One or more calls of each op that looks through sliding windows: (op, operand, …)."""

import numpy as np

from minigrad import ops
from minigrad.engine.tensor.tensor import Tensor

from .draws import signed


def window(*axes):
    """A window from (kernel, stride, before, after, dilation) of each axis."""
    kernel, stride, before, after, dilation = zip(*axes)
    return ops.Window(kernel, stride, tuple(zip(before, after)), dilation)


SMALL = window((2, 1, 0, 0, 1), (3, 1, 0, 0, 1))
WIDE = window((2, 2, 1, 0, 2), (3, 1, 2, 1, 1))
LINE = window((3, 2, 1, 1, 1))
BOX = window((2, 1, 1, 1, 1), (1, 1, 0, 0, 1), (2, 2, 0, 0, 1))
ONE = window((1, 1, 0, 0, 1), (1, 1, 0, 0, 1))
TILES = window((2, 2, 0, 0, 1), (2, 2, 0, 0, 1))
OVERLAPPING = window((3, 2, 1, 1, 1), (2, 1, 0, 1, 2))
FIRST, LAST = Tensor(np.zeros((2, 1, 2, 2), "u1")), Tensor(np.full((2, 1, 2, 2), 3, "u1"))
INSIDE = Tensor(np.full((2, 1, 2, 4), 4, "u1"))

EXAMPLES = {
    ops.Convolution: [(ops.Convolution(SMALL), signed(2, 3, 4, 5), signed(2, 3, 2, 3)),
                      (ops.Convolution(WIDE, 2), signed(2, 4, 4, 5), signed(6, 2, 2, 3), signed(6)),
                      (ops.Convolution(LINE, 3), signed(2, 3, 6), signed(3, 1, 3)),
                      (ops.Convolution(ONE), signed(2, 3, 2, 3), signed(4, 3, 1, 1), signed(4)),
                      (ops.Convolution(BOX), signed(1, 2, 2, 3, 4), signed(2, 2, 2, 1, 2))],
    ops.ConvolutionTranspose: [(ops.ConvolutionTranspose(SMALL, 1, (4, 5)), signed(2, 2, 3, 3), signed(2, 3, 2, 3)),
                               (ops.ConvolutionTranspose(LINE, 2, (6,)), signed(2, 4, 3), signed(4, 1, 3)),
                               (ops.ConvolutionTranspose(ONE, 1, (2, 3)), signed(2, 4, 2, 3), signed(4, 2, 1, 1))],
    ops.ConvolutionFilter: [(ops.ConvolutionFilter(WIDE, 2), signed(2, 4, 4, 5), signed(2, 2, 2, 6)),
                            (ops.ConvolutionFilter(LINE), signed(2, 3, 6), signed(2, 2, 3))],
    ops.Unfold: [(ops.Unfold(WIDE), signed(2, 3, 4, 5))],
    ops.Windows: [(ops.Windows(2, 1), signed(5)), (ops.Windows(3, 2), signed(2, 6)), (ops.Windows(1, 3), signed(4))],
    ops.Fold: [(ops.Fold(WIDE, (4, 5)), signed(2, 12, 12))],
    ops.MaxPool: [(ops.MaxPool(TILES), signed(2, 3, 5, 4)), (ops.MaxPool(OVERLAPPING), signed(2, 3, 5, 4)),
                  (ops.MaxPool(ONE), signed(2, 3, 5, 4)), (ops.MaxPool(BOX), signed(1, 2, 3, 4, 4))],
    ops.ArgMaxPool: [(ops.ArgMaxPool(TILES), signed(2, 1, 4, 4), signed(2, 1, 2, 2))],
    ops.TapPlaces: [(ops.TapPlaces(TILES, (4, 4)), LAST), (ops.TapPlaces(OVERLAPPING, (3, 5)), INSIDE)],
    ops.TakeTaps: [(ops.TakeTaps(TILES), signed(2, 1, 5, 4), LAST),
                   (ops.TakeTaps(OVERLAPPING), signed(2, 1, 3, 5), INSIDE)],
    ops.PutTaps: [(ops.PutTaps(TILES, (5, 4)), signed(2, 1, 2, 2), FIRST),
                  (ops.PutTaps(OVERLAPPING, (3, 5)), signed(2, 1, 2, 4), INSIDE)],
    ops.AvgPool: [(ops.AvgPool(TILES, ((0, 0), (0, 0))), signed(2, 3, 5, 4)),
                  (ops.AvgPool(OVERLAPPING, ((1, 1), (0, 0))), signed(2, 3, 5, 4))],
    ops.AvgUnpool: [(ops.AvgUnpool(TILES, ((0, 0), (0, 0)), (5, 4)), signed(2, 3, 2, 2)),
                    (ops.AvgUnpool(OVERLAPPING, ((1, 1), (0, 0)), (3, 5)), signed(2, 3, 2, 4))],
    ops.AdaptiveAvgPool: [(ops.AdaptiveAvgPool(2, 3), signed(2, 3, 7)), (ops.AdaptiveAvgPool(1, 5), signed(2, 3, 2))],
    ops.AdaptiveAvgUnpool: [(ops.AdaptiveAvgUnpool(2, 7), signed(2, 3, 3))],
}  # fmt: skip
