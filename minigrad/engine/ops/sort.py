"""Sorting: these ops compute the indices of elements, which are integers and have no derivative.

The elements themselves are then gathered by these indices. Gather has a derivative: each gradient goes back
to the place its element came from.
"""

from __future__ import annotations

from math import log2

import numpy as np

from ..base.dimension import out_of_order
from ..base.errors import BoundsError, ShapeError
from ..core.op import Op
from .scan import along


class ArgSort(Op):
    """The indices that sort the elements along the axis, ascending or descending. The sort is stable: ties keep their
    order. NaN counts as largest.
    """

    axis: int
    descending: bool = False

    def infer(self, x): return x.with_dtype(np.intp)

    def forward(self, xp, x):
        if not self.descending:
            return xp.argsort(x, self.axis, kind="stable")
        # Reversing before and after the sort keeps the order of ties.
        last = x.shape[self.axis] - 1
        return last - xp.flip(xp.argsort(xp.flip(x, self.axis), self.axis, kind="stable"), self.axis)

    def flops(self, y, x):
        n = x.shape[self.axis]
        return round(x.size * log2(n)) if n > 1 else 0  # comparisons


class ArgTopK(Op):
    """The indices of the k largest elements along the axis, descending; or of the k smallest, ascending.

    Only these k are sorted. Separating them from the others takes time linear in n (Hoare 1961, “Find”).
    """

    axis: int
    k: int
    largest: bool = True

    def infer(self, x):
        if out_of_order(0, self.k, n := x.shape[self.axis]):
            raise BoundsError(f"topk of {x} takes k from 0 to {n} along axis {self.axis}, and got {self.k}")
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


class ArgMax(Op):
    """The index of the first largest element along the axis; NaN counts as largest."""

    axis: int
    keepdims: bool = False

    inline = True

    def infer(self, x):
        if x.shape[self.axis] == 0:
            raise ShapeError(f"{self} of {x} does not exist, since there are no elements: check the size first")
        kept = (1,) if self.keepdims else ()
        return x.with_shape((*x.shape[: self.axis], *kept, *x.shape[self.axis + 1 :])).with_dtype(np.intp)

    def forward(self, xp, x): return xp.argmax(x, self.axis, keepdims=self.keepdims)
    def flops(self, y, x): return x.size - y.size


class ArgMin(ArgMax):
    """The index of the first smallest element along the axis; NaN counts as smallest."""

    symbol = "argmin"

    def forward(self, xp, x): return xp.argmin(x, self.axis, keepdims=self.keepdims)
