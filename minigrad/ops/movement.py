"""Movement ops: same elements, other places. Linear all, and free of arithmetic.

Each one's adjoint sends the gradient back the way the element came:

    reshape       ↔  reshape
    transpose     ↔  transpose by the inverse permutation
    broadcast_to  ↔  sum
    flip          ↔  flip
    roll          ↔  roll the other way
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..errors import ShapeError
from ..op import Linear
from ..spec import Spec, broadcast_shape
from ..standin import is_unknown, length, plain


@dataclass(frozen=True)
class Reshape(Linear):
    """y has x's elements, in the same order, in another shape.

    shape    has −1 for a length that is worked out in each run: where lengths are not known, as in x.reshape(n, −1)
    """

    shape: tuple[int, ...]

    symbol = "reshape"
    is_view = True

    def infer(self, x):
        if -1 in self.shape:
            return x.with_shape(worked_out(self.shape, x))
        if prod(self.shape) != x.size:
            raise ShapeError(f"cannot reshape {x} ({x.size} elements) into {self.shape} ({prod(self.shape)} elements)")
        return x.with_shape(self.shape)

    def forward(self, xp, x): return x.reshape(self.shape)
    def adjoint(self, gy, x): return gy.reshape(x.shape)


def worked_out(shape: tuple[int, ...], x: Spec) -> tuple[int, ...]:
    """The shape with its one −1 replaced by the length that fits. Raises ShapeError if none does, or any."""
    known = -prod(shape)
    rest = known and plain(x.size) % plain(known)  # of stand-ins: of a product one of them is divided exactly
    if known == 0 or (rest and not is_unknown(x.size)):
        raise ShapeError(f"cannot reshape {x} ({x.size} elements) into {shape}: no length fits the −1")
    n = x.size // known if rest else length(plain(x.size) // plain(known))
    return tuple(n if m == -1 else m for m in shape)


@dataclass(frozen=True)
class View(Reshape):
    """A reshape that may not copy: y and x are one memory."""

    inline = False

    def forward(self, xp, x):
        y = x.reshape(self.shape)
        if y.size and x.ndim and not xp.may_share_memory(x, y):
            raise ShapeError(
                f"view {self.shape} of a tensor of shape {x.shape} would need a copy: its elements do not lie "
                "in memory in the order of its axes, as after a transpose. Use reshape, which copies where it must"
            )
        return y


class Contiguous(Linear):
    """y = x, its elements in memory in the order of its axes: a copy, if x's are not."""

    symbol = "contiguous"
    inline = False
    is_view = True

    def infer(self, x): return x
    def forward(self, xp, x): return xp.ascontiguousarray(x).reshape(x.shape)
    def adjoint(self, gy, x): return gy


@dataclass(frozen=True)
class Transpose(Linear):
    """Axes permuted: y.shape[i] = x.shape[axes[i]]."""

    axes: tuple[int, ...]

    symbol = "transpose"
    is_view = True

    def infer(self, x):
        if sorted(self.axes) != list(range(x.ndim)):
            raise ShapeError(f"transpose of {x} needs each axis once, 0 to {x.ndim - 1} in any order, not {self.axes}")
        return x.with_shape(tuple(x.shape[a] for a in self.axes))

    def forward(self, xp, x): return x.transpose(self.axes)
    def adjoint(self, gy, x): return gy.permute(*np.argsort(self.axes).tolist())


@dataclass(frozen=True)
class BroadcastTo(Linear):
    """Axes of length 1, and missing leading axes, repeated to fill `shape`. A view: no bytes."""

    shape: tuple[int, ...]

    symbol = "broadcast"
    is_view = True

    def infer(self, x):
        if broadcast_shape(x.shape, self.shape) != self.shape or min(self.shape, default=0) < 0:
            raise ShapeError(f"cannot broadcast {x} to {self.shape}: counted from the right, only axes of 1 stretch")
        return x.with_shape(self.shape)

    def forward(self, xp, x): return xp.broadcast_to(x, self.shape)
    def adjoint(self, gy, x): return gy.sum_to(x.shape)


@dataclass(frozen=True)
class Flip(Linear):
    """The order along some axes reversed."""

    axes: tuple[int, ...]

    symbol = "flip"

    def infer(self, x): return x
    def forward(self, xp, x): return xp.flip(x, self.axes).copy()
    def adjoint(self, gy, x): return gy.flip(self.axes)


@dataclass(frozen=True)
class Roll(Linear):
    """y[i + shift] = x[i] along each of the axes; what falls off the end comes in at the front."""

    shifts: tuple[int, ...]
    axes: tuple[int, ...]

    symbol = "roll"

    def infer(self, x): return x
    def forward(self, xp, x): return xp.roll(x, self.shifts, self.axes)
    def adjoint(self, gy, x): return gy.roll(tuple(-s for s in self.shifts), self.axes)
