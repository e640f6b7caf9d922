"""Order: where elements stand, not what they are. Places are integers and have no derivative.

The elements themselves are then gathered from their places, and that has one: each gradient goes back
to the place its element came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log2

import numpy as np

from ..base.dimension import out_of_order
from ..base.errors import BoundsError, ShapeError
from ..core.op import Op
from .scan import along


@dataclass(frozen=True)
class ArgSort(Op):
    """Places of the elements along the axis from the smallest up, ties in the order they stand (stable);
    from the largest down if descending. What is no number counts as largest.
    """

    axis: int
    descending: bool = False

    def infer(self, x): return x.with_dtype(np.intp)

    def forward(self, xp, x):
        if not self.descending:
            return xp.argsort(x, self.axis, kind="stable")
        # Sorted backwards and read backwards, ties keep their order.
        last = x.shape[self.axis] - 1
        return last - xp.flip(xp.argsort(xp.flip(x, self.axis), self.axis, kind="stable"), self.axis)

    def flops(self, y, x):
        n = x.shape[self.axis]
        return round(x.size * log2(n)) if n > 1 else 0  # comparisons


@dataclass(frozen=True)
class ArgTopK(Op):
    """Places of the k largest elements along the axis, from the largest down; or of the k smallest, from there up.

    Only these k are sorted: to part them from the others takes a time that grows with n alone (Hoare 1961, “Find”).
    """

    axis: int
    k: int
    largest: bool = True

    def infer(self, x):
        if out_of_order(0, self.k, n := x.shape[self.axis]):
            raise BoundsError(f"topk of {x} takes 0 to {n} elements along axis {self.axis}, and {self.k} were asked")
        shape = (*x.shape[: self.axis], self.k, *x.shape[self.axis + 1 :])
        return x.with_shape(shape).with_dtype(np.intp)

    def forward(self, xp, x):
        order = ArgSort(self.axis, self.largest)
        n = x.shape[self.axis]
        if self.k in (0, n):
            return order.forward(xp, x)[along(self.axis, None, self.k)]
        first = n - self.k if self.largest else self.k - 1
        kept = (first, None) if self.largest else (None, self.k)
        places = xp.argpartition(x, first, self.axis)[along(self.axis, *kept)]
        return xp.take_along_axis(places, order.forward(xp, xp.take_along_axis(x, places, self.axis)), self.axis)

    def flops(self, y, x): return x.size + (round(y.size * log2(self.k)) if self.k else 0)


@dataclass(frozen=True)
class ArgMax(Op):
    """The place of the largest element along the axis, the first such: a NaN, if there is one."""

    axis: int
    keepdims: bool = False

    inline = True

    def infer(self, x):
        if x.shape[self.axis] == 0:
            raise ShapeError(f"{self} of {x}: an extreme of no elements does not exist: check the size first")
        kept = (1,) if self.keepdims else ()
        return x.with_shape((*x.shape[: self.axis], *kept, *x.shape[self.axis + 1 :])).with_dtype(np.intp)

    def forward(self, xp, x): return xp.argmax(x, self.axis, keepdims=self.keepdims)
    def flops(self, y, x): return x.size - y.size


@dataclass(frozen=True)
class ArgMin(ArgMax):
    """The place of the smallest element along the axis, the first such: a NaN, if there is one."""

    symbol = "argmin"

    def forward(self, xp, x): return xp.argmin(x, self.axis, keepdims=self.keepdims)
