"""Joining: many tensors to one. The gradient is cut where they were put together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ShapeError
from ..op import Op
from ..spec import Spec, common_device
from .index import Index
from .pattern import Slice


@dataclass(frozen=True)
class Joining(Op):
    """What both ways of joining have in common: the axis, and no arithmetic.

    axis    counted from the left, in the result
    """

    axis: int

    inline = False

    def jvp(self, dxs, y, *xs): return dxs[0].apply(self, *dxs[1:])
    def flops(self, y, *xs): return 0

    def joined(self, shape: tuple[int, ...], *xs: Spec) -> Spec:
        """A result of that shape, in the dtype that holds them all."""
        return Spec(shape, np.result_type(*(x.dtype for x in xs)), common_device(self, *xs))


@dataclass(frozen=True)
class Concatenate(Joining):
    """y = x₁ and behind it x₂, x₃, … along an axis they have."""

    symbol = "cat"

    def infer(self, *xs):
        sides = {x.shape[: self.axis] + x.shape[self.axis + 1 :] for x in xs}
        if min(x.ndim for x in xs) <= self.axis or len(sides) > 1:
            came = ", ".join(map(str, xs))
            raise ShapeError(f"cat along axis {self.axis} needs every other axis of one length, and got {came}")
        length = sum(x.shape[self.axis] for x in xs)
        return self.joined((*xs[0].shape[: self.axis], length, *xs[0].shape[self.axis + 1 :]), *xs)

    def forward(self, xp, *xs): return xp.concatenate(xs, self.axis)

    def vjp(self, gy, y, *xs):
        gxs, start = [], 0
        for x in xs:
            end = start + x.spec.shape[self.axis]
            gxs.append(gy.apply(Index((*(Slice(),) * self.axis, Slice(start, end)))))
            start = end
        return tuple(gxs)


@dataclass(frozen=True)
class Stack(Joining):
    """y = x₁, x₂, … along a new axis: y[…, i, …] = xᵢ."""

    symbol = "stack"

    def infer(self, *xs):
        if len({x.shape for x in xs}) > 1:
            raise ShapeError(f"stack needs tensors of one shape, and got {', '.join(map(str, xs))}")
        return self.joined((*xs[0].shape[: self.axis], len(xs), *xs[0].shape[self.axis :]), *xs)

    def forward(self, xp, *xs): return xp.stack(xs, self.axis)
    def vjp(self, gy, y, *xs): return tuple(gy.select(self.axis, i) for i in range(len(xs)))
