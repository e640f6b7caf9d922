"""Which element is larger: extremes with their places, and sorting.

What gives elements and their places gives a named tuple (values, indices); gradients pass through the values, each
back to its place. `max`, `min` and `median` have two meanings, as in PyTorch: of all elements they are a number;
along `dim` they are values and indices. With the array API's word, `axis`, max and min are the values alone.
"""

from __future__ import annotations

from math import floor
from typing import Any, NamedTuple, Self

from .. import ops
from ..dimension import needed, unsaid
from ..errors import BoundsError, ShapeError
from ..op import Op
from ..standin import out_of_order
from .base import Base, flag
from .synonyms import hears_dim


class Found(NamedTuple):
    """Elements, and where they stood along the axis."""

    values: Any
    indices: Any


class Ordering(Base):
    """The larger, the smaller, and all in order."""

    __slots__ = ()

    # -- extremes -----------------------------------------------------------------------------

    def max(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Any:
        """The largest element of all, or along `axis`; along `dim` (values, indices); beside a tensor, maximum.

        Tied elements share the gradient equally; along `dim` the first has it all.
        """
        if isinstance(dim, Base):
            return self.maximum(dim)
        if dim is None:
            return self.amax(axis, keepdims or keepdim)
        return self._extreme(ops.ArgMax, dim, keepdim or keepdims)

    def min(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Any:
        """The smallest element of all, or along `axis`; along `dim` (values, indices); beside a tensor, minimum.

        Tied elements share the gradient equally; along `dim` the first has it all.
        """
        if isinstance(dim, Base):
            return self.minimum(dim)
        if dim is None:
            return self.amin(axis, keepdims or keepdim)
        return self._extreme(ops.ArgMin, dim, keepdim or keepdims)

    @hears_dim
    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Self:
        """The place of the largest element along the axis, or counted through all: the first such."""
        return self._place(ops.ArgMax, axis, keepdims)

    @hears_dim
    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Self:
        """The place of the smallest element along the axis, or counted through all: the first such."""
        return self._place(ops.ArgMin, axis, keepdims)

    # -- sorting ------------------------------------------------------------------------------

    @hears_dim
    def argsort(self, axis: int = -1, descending: bool = False, stable: bool = True) -> Self:
        """The places of the elements in order; ties stay as they stood, whether `stable` is asked or not."""
        x, a = self._single(axis)
        return x.apply(ops.ArgSort(a, flag(descending))).reshape(self.shape)

    @hears_dim
    def sort(self, axis: int = -1, descending: bool = False, stable: bool = True) -> Found:
        """The elements in order, and where they stood."""
        return self._sorted(axis, descending)

    def msort(self) -> Self:
        """The elements in order along the first axis."""
        return self.sort(0).values

    @hears_dim
    def topk(self, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> Found:
        """The k largest (or smallest) elements along the axis, and where they stood; in order, whether asked or not."""
        x, a = self._single(axis)
        places = x.apply(ops.ArgTopK(a, unsaid(k), flag(largest)))
        return x._found(a, places, keepdims=bool(self.ndim))

    @hears_dim
    def kthvalue(self, k: int, axis: int = -1, keepdims: bool = False) -> Found:
        """The k-th smallest element along the axis, counted from 1, and where it stood."""
        x, a = self._single(axis)
        n = x.spec.shape[a]
        if out_of_order(1, k := unsaid(k), n):
            raise BoundsError(f"kthvalue of {self.spec} takes k of 1 to {n} along axis {a}, and {k} was asked")
        places = x.apply(ops.ArgSort(a)).narrow(a, k - 1, 1)
        return x._found(a, places, flag(keepdims) and bool(self.ndim))

    @hears_dim
    def median(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The middle element, the lower of two: of all, or along an axis (values, indices). NaN where there is one."""
        if axis is None:
            needed(f"median of {self.spec}, to find the middle,", *self.spec.shape)
            return self.reshape(self.size).median(0).values
        x, a = self._single(axis)
        needed(f"median of {self.spec}, to find the middle,", n := x.spec.shape[a])
        if n == 0:
            raise ShapeError(f"median of {self.spec}: no elements have no middle. Check the size first")
        places = x.apply(ops.ArgSort(a)).narrow(a, (n - 1) // 2, 1)
        if x.spec.is_float:
            unknown = x != x
            first = unknown.apply(ops.ArgMax(a, True))
            places = first.where(unknown.any(a, True), places)
        return x._found(a, places, flag(keepdims) and bool(self.ndim))

    @hears_dim
    def quantile(
        self, q: Any, axis: int | None = None, keepdims: bool = False, *, interpolation: str = "linear"
    ) -> Self:
        """The element q of the way up, 0 ≤ q ≤ 1; between two, a straight line (Hyndman and Fan 1996, type 7).

        q                one number, or a vector or list of them, which becomes the first axis
        interpolation    'linear', 'lower', 'higher', 'nearest' or 'midpoint': what is taken between two
        """
        q = q.tolist() if hasattr(q, "tolist") else q
        if isinstance(q, list | tuple):
            levels = [self.quantile(p, axis, keepdims, interpolation=interpolation) for p in q]
            return levels[0].apply(ops.Stack(0), *levels[1:])
        needed(f"quantile of {self.spec}, to find the place,", *(self.shape if axis is None else ()))
        x, a = (self.reshape(self.size), 0) if axis is None else self._single(axis)
        n = x.shape[a]
        if n == 0 or not 0 <= q <= 1:
            raise BoundsError(f"quantile needs 0 ≤ q ≤ 1 and some elements, and got {q} of {self.spec}")
        needed(f"quantile of {self.spec}, to find the place,", n)
        up = q * (n - 1)
        low = min(floor(up), max(n - 2, 0))
        part = {"linear": up - low, "lower": floor(up) - low, "higher": -floor(-up) - low}.get(interpolation)
        if interpolation in ("nearest", "midpoint"):
            part = round(up) - low if interpolation == "nearest" else 0.5 if up != floor(up) else up - low
        if part is None:
            raise ValueError(f"interpolation is linear, lower, higher, nearest or midpoint, and got {interpolation!r}")
        ordered = x._sorted(a, False).values
        y = ordered.narrow(a, low, 1)
        if part:
            y = y.lerp(ordered.narrow(a, low + 1, 1), part)
        if x.spec.is_float:  # NaN, being sorted last, is there if anywhere
            y = y.where((x == x).all(a, True), ordered.narrow(a, n - 1, 1))
        kept = tuple(1 if axis is None or i == a else m for i, m in enumerate(self.shape))
        return y.reshape(kept if flag(keepdims) else y.shape[:a] + y.shape[a + 1 :])

    # -- what they share ----------------------------------------------------------------------

    def _sorted(self, axis: Any, descending: bool) -> Found:
        x, a = self._single(axis)
        places = x.apply(ops.ArgSort(a, flag(descending)))
        return Found(x.gather(a, places).reshape(self.shape), places.reshape(self.shape))

    def _extreme(self, op: type[Op], axis: Any, keepdims: bool) -> Found:
        x, a = self._single(axis)
        return x._found(a, x.apply(op(a, True)), flag(keepdims) and bool(self.ndim))  # type: ignore[call-arg]

    def _place(self, op: type[Op], axis: Any, keepdims: bool) -> Self:
        if axis is None:
            place = self.reshape(self.size).apply(op(0))  # type: ignore[call-arg]
            return place.reshape((1,) * self.ndim) if flag(keepdims) else place
        x, a = self._single(axis)
        return x.apply(op(a, flag(keepdims) and bool(self.ndim)))  # type: ignore[call-arg]

    def _found(self, axis: int, places: Any, keepdims: bool) -> Found:
        """The elements at places of an axis; without keepdims, of which there is one, the axis goes."""
        values = self.gather(axis, places)
        if keepdims:
            return Found(values, places)
        shape = values.shape[:axis] + values.shape[axis + 1 :]
        return Found(values.reshape(shape), places.reshape(shape))
