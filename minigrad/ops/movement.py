"""Movement ops: same elements, other places. Linear all, and free of arithmetic.

Each one's adjoint sends the gradient back the way the element came:

    reshape       ↔  reshape
    transpose     ↔  transpose by the inverse permutation
    broadcast_to  ↔  sum
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..errors import ShapeError
from ..op import Linear


@dataclass(frozen=True)
class Reshape(Linear):
    """y has x's elements, in the same order, in another shape."""

    shape: tuple[int, ...]

    symbol = "reshape"

    def infer(self, x):
        if prod(self.shape) != x.size:
            raise ShapeError(f"cannot reshape {x} ({x.size} elements) into {self.shape} ({prod(self.shape)} elements)")
        return x.with_shape(self.shape)

    def forward(self, xp, x): return x.reshape(self.shape)
    def adjoint(self, gy, x): return gy.reshape(x.shape)


@dataclass(frozen=True)
class Transpose(Linear):
    """Axes permuted: y.shape[i] = x.shape[axes[i]]."""

    axes: tuple[int, ...]

    symbol = "transpose"

    def infer(self, x):
        if sorted(self.axes) != list(range(x.ndim)):
            raise ShapeError(f"transpose of {x} needs each axis once, 0 to {x.ndim - 1} in any order, not {self.axes}")
        return x.with_shape(tuple(x.shape[a] for a in self.axes))

    def forward(self, xp, x): return x.transpose(self.axes)
    def adjoint(self, gy, x): return gy.transpose(*np.argsort(self.axes).tolist())


@dataclass(frozen=True)
class BroadcastTo(Linear):
    """Axes of length 1, and missing leading axes, repeated to fill `shape`. A view: no bytes."""

    shape: tuple[int, ...]

    symbol = "broadcast"

    def infer(self, x):
        try:
            fits = np.broadcast_shapes(x.shape, self.shape) == self.shape
        except ValueError:
            fits = False
        if not fits:
            raise ShapeError(f"cannot broadcast {x} to {self.shape}: counted from the right, only axes of 1 stretch")
        return x.with_shape(self.shape)

    def forward(self, xp, x): return xp.broadcast_to(x, self.shape)
    def adjoint(self, gy, x): return gy.sum_to(x.shape)
