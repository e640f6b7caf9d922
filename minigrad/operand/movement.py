"""Moving elements: the same numbers in other places."""

from __future__ import annotations

from typing import Any, Self

from .. import ops
from ..errors import ShapeError
from .base import Base, integers


class Movement(Base):
    """Other shapes, other orders; no arithmetic, but for the sum that undoes a copy."""

    __slots__ = ()

    def reshape(self, *shape: Any) -> Self:
        """The same elements in another shape; one length may be −1, and is worked out."""
        shape = self._worked_out(integers(shape))
        return self if shape == self.shape else self.apply(ops.Reshape(shape))

    def transpose(self, *axes: Any) -> Self:
        """The axes in another order; reversed if none is given."""
        order = integers(axes) or tuple(reversed(range(self.ndim)))
        return self.apply(ops.Transpose(tuple(a % self.ndim if -self.ndim <= a < self.ndim else a for a in order)))

    T = property(lambda self: self.transpose(), doc="The axes reversed.")
    mT = property(lambda self: self.transpose(*range(self.ndim - 2), -1, -2), doc="The last two axes exchanged.")

    def broadcast_to(self, *shape: Any) -> Self:
        """Axes of length 1 repeated to fill the shape."""
        shape = integers(shape)
        return self if shape == self.shape else self.apply(ops.BroadcastTo(shape))

    def sum_to(self, shape: tuple[int, ...]) -> Self:
        """Undo a broadcast from `shape`: sum over the axes it added or stretched."""
        if shape == self.shape:
            return self
        added = self.ndim - len(shape)
        stretched = tuple(a for a, n in enumerate(self.shape) if a < added or shape[a - added] != n)
        return self.sum(stretched, keepdims=True).reshape(shape)

    def _worked_out(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape with its one −1, if any, replaced by the length that fits."""
        if any(n < -1 for n in shape) or shape.count(-1) > 1:
            raise ShapeError(f"a shape has lengths of 0 or more, and at most one −1 to be worked out; this is {shape}")
        if -1 not in shape:
            return shape
        known = -1
        for n in shape:
            known *= n
        if known == 0 or self.size % known:
            raise ShapeError(f"cannot reshape {self.spec} ({self.size} elements) into {shape}: no length fits the −1")
        return tuple(self.size // known if n == -1 else n for n in shape)
