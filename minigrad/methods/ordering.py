"""Which element is larger: extremes with their places, and sorting.

What gives elements and their places gives a named tuple (values, indices); gradients pass through the values, each
back to its place. `max`, `min` and `median` have two meanings, as in PyTorch: of all elements they are a number;
along `dim` they are values and indices. With the array API's word, `axis`, max and min are the values alone.

Which values there are, and how often. The length of what is found is in the values, so a symbol cannot say it.

No gradient passes: how often something occurs does not change by a nudge.

Rows brought to a common scale: to sum to 1, or to mean 0 and mean square 1.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, prod
from typing import Any, NamedTuple, Self

import numpy as np

from .. import ops
from ..base.dimension import needed, unsaid
from ..base.errors import AxisError, BoundsError, DTypeError, ShapeError
from ..base.lengths import out_of_order
from ..core.op import Op
from .base import Base, flag, hears_dim


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


class Counting(Base):
    """Elements told apart, counted, and looked up among others."""

    __slots__ = ()

    @hears_dim
    def unique(
        self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
    ) -> Any:
        """The different elements, or slices along an axis, in order, whether `sorted` is asked or not.

        return_inverse    also where each element of x is among them
        return_counts     also how often each of them is in x
        """
        a = None if axis is None else self.axis(axis)
        xp = self.spec.device.xp
        found, inverse, counts = xp.unique(self._read(), return_inverse=True, return_counts=True, axis=a)
        inverse = inverse.reshape(self.shape if a is None else self.shape[a])
        return self._asked(found, inverse if return_inverse else None, counts if return_counts else None)

    @hears_dim
    def unique_consecutive(
        self, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
    ) -> Any:
        """The elements, or slices along an axis, in order, each run of equal ones as one; results as in unique."""
        xp, a = self.spec.device.xp, None if axis is None else self.axis(axis)
        x = self._read().reshape(-1) if a is None else xp.moveaxis(self._read(), a, 0)
        begins = xp.ones(len(x), bool)
        begins[1:] = (x[1:] != x[:-1]).reshape(len(x[1:]), prod(x.shape[1:])).any(1)
        run = xp.cumsum(begins) - 1
        counts = xp.bincount(run) if return_counts else None
        found = x[begins] if a is None else xp.moveaxis(x[begins], 0, a)
        return self._asked(found, run.reshape(self.shape if a is None else -1) if return_inverse else None, counts)

    def bincount(self, weights: Any = None, minlength: int = 0) -> Self:
        """How often each of 0, 1, 2, … is in a vector of integers, or the sum of its weights."""
        if self.dtype.kind not in "iub" or self.ndim != 1:
            raise DTypeError(f"bincount needs a vector of integers, and got {self.spec}: use .astype(int) or .ravel()")
        w = None if weights is None else self.lift(weights)._read()
        return self.lift(self.spec.device.xp.bincount(self._read(), w, minlength))

    def histc(self, bins: int = 100, min: float = 0, max: float = 0) -> Self:
        """How many elements fall into each of `bins` equal parts of min to max; of the whole range if they are one."""
        x = self._read()
        low, high = (min, max) if min != max or not x.size else (float(x.min()), float(x.max()))
        if low == high:
            low, high = low - 1, high + 1
        counts, _ = self.spec.device.xp.histogram(x, bins, (low, high))
        return self.lift(counts.astype(x.dtype))

    def isin(self, test_elements: Any, *, invert: bool = False) -> Self:
        """Whether each element is among those; with `invert`, whether it is not."""
        among = self.spec.device.xp.isin(self._read(), self.lift(test_elements)._read())
        return self.lift(~among if invert else among)

    def _asked(self, found: Any, *more: Any) -> Any:
        """The arrays that were asked for as tensors: several, or one alone."""
        given = [self.lift(array) for array in (found, *more) if array is not None]
        return given[0] if len(given) == 1 else tuple(given)


class Normalising(Base):
    """Softmax and standardising: the shape stays."""

    __slots__ = ()

    @hears_dim
    def softmax(self, axis: int | None = None, dtype: Any = None) -> Self:
        """eˣ / Σ eˣ along the axis: positive, and summing to 1. A row of −inf alone has none: NaN."""
        return self._as(dtype)._weighing(ops.Softmax, axis)

    @hears_dim
    def log_softmax(self, axis: int | None = None, dtype: Any = None) -> Self:
        """ln of softmax: x − ln Σ eˣ along the axis, which stays exact where softmax itself rounds to 0."""
        return self._as(dtype)._weighing(ops.LogSoftmax, axis)

    @hears_dim
    def softmin(self, axis: int | None = None, dtype: Any = None) -> Self:
        """softmax of −x: the smallest weighs most."""
        return self.apply(ops.Neg()).softmax(axis, dtype)

    @hears_dim
    def standardise(self, axis: Any = -1, eps: float = 1e-5) -> Self:
        """(x − mean) / √(var + ε) along an axis, several, or all; the variance is that of all n, not n − 1."""
        axes = self._floating("standardise")._reduction(axis, False)[0]
        return self._gathered(ops.Standardise(axes, float(eps)))

    @hears_dim
    def rms_normalise(self, axis: Any = -1, eps: float = 1e-5) -> Self:
        """x / √(mean x² + ε) along an axis, several, or all."""
        axes = self._floating("rms_normalise")._reduction(axis, False)[0]
        return self._gathered(ops.RMSNormalise(axes, float(eps)))

    def _weighing(self, op: Callable[[int], Op], axis: Any) -> Self:
        if axis is None:
            raise AxisError(f"a softmax of {self.spec} needs to be told its axis: dim=-1 is the last")
        x, a = self._single(axis)
        x = x if x.spec.is_float else x.astype(np.float64)
        return x._gathered(op(a)).reshape(self.shape)

    def _floating(self, name: str) -> Self:
        """self, if it has room for fractions."""
        if not self.spec.is_float:
            raise DTypeError(f"{name} needs floating numbers, and this is {self.spec}: use .astype(float)")
        return self
