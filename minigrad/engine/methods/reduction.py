"""Reductions along an axis, several axes or all; minima and maxima; sorting; running totals.

    sums       sum mean nansum nanmean prod count_nonzero
    spread     var std var_mean std_mean norm dist cov corrcoef
    extremes   amax amin aminmax logsumexp
    truth      all any
    order      max min argmax argmin sort argsort msort topk kthvalue median quantile
    running    cumsum cumprod logcumsumexp cummax cummin diff trapezoid cumulative_trapezoid

Over an axis of length 0, a sum is 0, a product 1 and a mean NaN; a minimum or maximum is refused. No axes, (), means
all axes, as None does, except for all and any, which then apply to each element. A 0-d tensor may be reduced along
axis 0 or −1, like a row of one element.

Methods that find elements return a named tuple (values, indices). The gradient of a value goes to the element that
was found. `max`, `min` and `median` have two meanings, as in PyTorch: without arguments they return one number;
along `dim` they return values and indices. With the array API's name, `axis`, max and min return values only.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, inf
from typing import Any, NamedTuple, Self

import numpy as np

from .. import ops
from ..base.dimension import is_unknown, out_of_order, require_known, unwrap_dimension
from ..base.errors import BoundsError, ShapeError
from ..core.op import Op
from ..ops.scan import along
from .arguments import accept_dim, autocast_to, flag, integers, whole


class MinMax(NamedTuple):
    """The smallest and the largest element."""

    min: Any
    max: Any


class ValuesIndices(NamedTuple):
    """Elements, and their places along the axis."""

    values: Any
    indices: Any


class Reductions:
    """Reductions. PyTorch's `dim` and `keepdim` are accepted for `axis` and `keepdims`."""

    __slots__ = ()

    # -- sums ---------------------------------------------------------------------------------

    def sum(self, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **torch: Any) -> Self:
        """Σ over an axis, several, or all. Integers and booleans sum to int64, or to `dtype`."""
        return self._summand(dtype).apply(ops.Sum(*self._reduction(axis, keepdims, **torch)))._as(dtype)

    def mean(self, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **torch: Any) -> Self:
        """Σ / n over an axis, several, or all. For integers the result is float64."""
        return self._as(dtype).real_valued().apply(ops.Mean(*self._reduction(axis, keepdims, **torch)))

    def nansum(self, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **torch: Any) -> Self:
        """The sum of the elements that are not NaN."""
        return self.where(~self.isnan(), 0).sum(axis, keepdims, dtype=dtype, **torch)

    def nanmean(self, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **torch: Any) -> Self:
        """The mean of the elements that are not NaN."""
        y = self.real_valued().nansum(axis, keepdims, dtype=dtype, **torch)
        return y / (~self.isnan()).sum(axis, keepdims, **torch).astype(y.dtype)

    def prod(self, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **torch: Any) -> Self:
        """Π over an axis, several, or all. The gradient is correct even if factors are 0."""
        axes, keepdims = self._reduction(axis, keepdims, **torch)
        x = self._summand(dtype)
        shape = tuple(1 if a in axes else n for a, n in enumerate(self.shape))
        if axes == tuple(range(self.ndim)):
            x, axes = x.reshape(x.size), (0,)
        for a in axes:
            x = x.apply(ops.Prod((a,), keepdims=True))
        kept = shape if keepdims else ops.Sum(self._reduction(axis, False, **torch)[0]).reduced_shape(self.shape)
        return x.reshape(kept)._as(dtype)

    def count_nonzero(self, axis: Any = None, **torch: Any) -> Self:
        """The number of elements that are not 0."""
        return self.apply(ops.NotEqual(), 0).sum(axis, **torch)

    # -- spread -------------------------------------------------------------------------------

    def var(
        self, axis: Any = None, unbiased: Any = None, keepdims: bool = False, *, correction: Any = 1, **torch: Any
    ) -> Self:
        """Σ (x − mean)² / (n − correction). unbiased=False, or var(False), is an older spelling of correction=0."""
        return self.real_valued().apply(ops.Var(*self._spread(axis, unbiased, keepdims, correction, **torch)))

    def std(
        self, axis: Any = None, unbiased: Any = None, keepdims: bool = False, *, correction: Any = 1, **torch: Any
    ) -> Self:
        """The standard deviation, √var; its slope is 0 where all elements are equal."""
        return self.real_valued().apply(ops.Std(*self._spread(axis, unbiased, keepdims, correction, **torch)))

    def var_mean(self, *given: Any, **options: Any) -> tuple[Self, Self]:
        """The variance and the mean, with the arguments of var."""
        return self.var(*given, **options), self.real_valued().apply(ops.Mean(*self._spread(*given, **options)[:2]))

    def std_mean(self, *given: Any, **options: Any) -> tuple[Self, Self]:
        """The standard deviation and the mean, with the arguments of var."""
        return self.std(*given, **options), self.real_valued().apply(ops.Mean(*self._spread(*given, **options)[:2]))

    @autocast_to("float32")
    def norm(self, p: Any = 2, axis: Any = None, keepdims: bool = False, *, dtype: Any = None, **torch: Any) -> Self:
        """(Σ |x|ᵖ)^(1/p) of all elements as one vector, or of each vector along the axes. p = 'fro' means 2.

        p    0 counts nonzero elements; inf and −inf give the largest and smallest |x|; 'nuc' sums singular values
        """
        x: Any = self._as(dtype).real_valued()
        axes, keepdims = self._reduction(axis, keepdims, **torch)
        p = 2 if p in ("fro", None) else p
        if p == "nuc" and len(axes) == 2 and not keepdims:
            return x.movedim(axes, (-2, -1)).apply(ops.Svd())[..., self.shape[axes[0]], :].sum(-1)
        if isinstance(p, str):
            raise ValueError(f"norm is for vectors, and {p!r} is a norm of matrices: use linalg.matrix_norm")
        if p == 0:
            return x.sign().abs().where(x.eq(x), 1).sum(axes, keepdims)  # constant, so its slope is 0
        if p in (inf, -inf):
            return x.abs().amax(axes, keepdims) if p > 0 else x.abs().amin(axes, keepdims)
        return x.apply(ops.Norm(axes, keepdims, p))

    @autocast_to("float32")
    def dist(self, other: Any, p: float = 2) -> Self:
        """The p-norm of x − y, with all elements as one vector."""
        return (self.real_valued() - other).norm(p)

    def cov(self, *, correction: float = 1, fweights: Any = None, aweights: Any = None) -> Self:
        """The covariance of each pair of rows; a row is a variable, a column an observation. One row gives one number.

        fweights    how often each observation was made, integers
        aweights    how much each observation counts
        """
        x: Any = self.real_valued()
        x = x.reshape(1, -1) if x.ndim < 2 else x
        w: Any = 1 if fweights is None else x.lift(fweights).astype(x.dtype)
        n: Any = x.shape[1] if fweights is None else w.sum()
        freedom = n - correction
        if aweights is not None:
            a = x.lift(aweights).astype(x.dtype)
            w, n = w * a, (w * a).sum()
            freedom = n - correction * (w * a).sum() / n  # as in NumPy's cov
        centred = x - (x * w).sum(1, keepdims=True) / n
        y = (centred * w) @ centred.mT / x.lift(freedom).clamp(min=0)
        return y if len(x) > 1 else y.reshape(())

    def corrcoef(self) -> Self:
        """Pearson's correlation of each pair of rows: the covariance divided by both standard deviations."""
        y: Any = self.cov()
        if not y.ndim:
            return y / y
        spread = y.diagonal().sqrt()
        return (y / spread.reshape(-1, 1) / spread).clamp(-1, 1)

    # -- extremes -----------------------------------------------------------------------------

    def amax(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """The largest element; tied elements share the gradient equally."""
        return self.apply(ops.Max(*self._reduction(axis, keepdims, **torch)))

    def amin(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """The smallest element; tied elements share the gradient equally."""
        return self.apply(ops.Min(*self._reduction(axis, keepdims, **torch)))

    def aminmax(self, *, axis: Any = None, keepdims: bool = False, **torch: Any) -> MinMax:
        """amin and amax, as a named tuple (min, max)."""
        return MinMax(self.amin(axis, keepdims, **torch), self.amax(axis, keepdims, **torch))

    def logsumexp(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """ln Σ eˣ, without forming a large eˣ."""
        return self.apply(ops.LogSumExp(*self._reduction(axis, keepdims, **torch)))

    # -- truth --------------------------------------------------------------------------------

    def all(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """Whether no element is 0."""
        return self.apply(ops.All(*self._reduction(axis, keepdims, (), **torch)))

    def any(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """Whether some element is not 0."""
        return self.apply(ops.Any(*self._reduction(axis, keepdims, (), **torch)))

    # -- extremes with their indices -----------------------------------------------------------------------

    def max(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Any:
        """The largest element, of all or along `axis`; along `dim`, (values, indices). max(tensor) means maximum.

        Tied elements share the gradient equally; along `dim` the first one gets all of it.
        """
        if hasattr(dim, "spec"):
            return self.maximum(dim)
        if dim is None:
            return self.amax(axis, keepdims or keepdim)
        return self._extreme(ops.ArgMax, dim, keepdim or keepdims)

    def min(self, dim: Any = None, keepdim: bool = False, *, axis: Any = None, keepdims: bool = False) -> Any:
        """The smallest element, of all or along `axis`; along `dim`, (values, indices). min(tensor) means minimum.

        Tied elements share the gradient equally; along `dim` the first one gets all of it.
        """
        if hasattr(dim, "spec"):
            return self.minimum(dim)
        if dim is None:
            return self.amin(axis, keepdims or keepdim)
        return self._extreme(ops.ArgMin, dim, keepdim or keepdims)

    @accept_dim
    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Self:
        """The index of the first largest element along the axis, or in the flattened tensor."""
        return self._place(ops.ArgMax, axis, keepdims)

    @accept_dim
    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Self:
        """The index of the first smallest element along the axis, or in the flattened tensor."""
        return self._place(ops.ArgMin, axis, keepdims)

    # -- sorting ------------------------------------------------------------------------------

    @accept_dim
    def argsort(self, axis: int = -1, descending: bool = False, stable: bool = True) -> Self:
        """The indices that sort the elements. The sort is always stable, also if `stable` is False."""
        x, a = self._single(axis)
        return x.apply(ops.ArgSort(a, flag(descending))).reshape(self.shape)

    @accept_dim
    def sort(self, axis: int = -1, descending: bool = False, stable: bool = True) -> ValuesIndices:
        """The sorted elements, and their indices in x."""
        return self._gather_by(lambda a: ops.ArgSort(a, flag(descending)), axis)

    def msort(self) -> Self:
        """The elements sorted along the first axis."""
        return self.sort(0).values

    @accept_dim
    def topk(self, k: int, axis: int = -1, largest: bool = True, sorted: bool = True) -> ValuesIndices:
        """The k largest (or smallest) elements along the axis, and their indices. The elements are always sorted."""
        x, a = self._single(axis)
        return x._take_places(a, x.apply(ops.ArgTopK(a, unwrap_dimension(k), flag(largest))), keepdims=bool(self.ndim))

    @accept_dim
    def kthvalue(self, k: int, axis: int = -1, keepdims: bool = False) -> ValuesIndices:
        """The k-th smallest element along the axis, counted from 1, and its index."""
        x, a = self._single(axis)
        n = x.spec.shape[a]
        if out_of_order(1, k := unwrap_dimension(k), n):
            raise BoundsError(f"kthvalue of {self.spec} takes k from 1 to {n} along axis {a}, and got {k}")
        return x._take_places(a, x.apply(ops.ArgSort(a)).narrow(a, k - 1, 1), flag(keepdims) and bool(self.ndim))

    @accept_dim
    def median(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """The middle element, the lower of two; along an axis, (values, indices). NaN if any element is NaN.

        Without an axis, tied elements share the gradient equally; along an axis, one of them gets all of it.
        """
        if axis is None:
            middle = self.reshape(self.size).median(0).values
            others = (self != middle) & (middle == middle)
            return self.masked_fill(others, -inf).amax() if self.spec.is_float else middle
        x, a = self._single(axis)
        if x.spec.shape[a] == 0:
            raise ShapeError(f"median of {self.spec}: an empty axis has no median. Check the size first")
        places = element(x.apply(ops.ArgSort(a)), a, (x.shape[a] - 1) // 2)
        if x.spec.is_float:
            unknown = x != x
            first = unknown.apply(ops.ArgMax(a, True))
            places = first.where(unknown.any(a, True), places)
        return x._take_places(a, places, flag(keepdims) and bool(self.ndim))

    @accept_dim
    def quantile(
        self, q: Any, axis: int | None = None, keepdims: bool = False, *, interpolation: str = "linear"
    ) -> Self:
        """The q-quantile, 0 ≤ q ≤ 1, by default interpolated linearly (Hyndman and Fan 1996, type 7).

        q                a number, or a vector or list (the result's first axis). With 'linear', q gets a gradient
        interpolation    'linear', 'lower', 'higher', 'nearest' or 'midpoint': the value between two elements
        """
        level, learns = q.tolist() if hasattr(q, "tolist") else q, getattr(q, "requires_grad", False)
        if isinstance(level, list | tuple):
            levels = [self.quantile(p, axis, keepdims, interpolation=interpolation) for p in (q if learns else level)]
            return levels[0].apply(ops.Stack(0), *levels[1:])
        x, a = (self.reshape(self.size), 0) if axis is None else self._single(axis)
        n = x.shape[a]
        if x.spec.shape[a] == 0 or not 0 <= level <= 1:
            raise BoundsError(f"quantile needs 0 ≤ q ≤ 1 and some elements, and got {level} of {self.spec}")
        if interpolation not in ROUNDED:
            raise ValueError(f"interpolation must be linear, lower, higher, nearest or midpoint, not {interpolation!r}")
        ordered = x.sort(a).values
        if is_unknown(x.spec.shape[a]) and not learns:
            y = x._interpolate_unknown(ordered, a, level, interpolation)
        else:
            require_known(f"quantile of {self.spec}, with a gradient for q,", n)
            slope_in = q if learns and interpolation == "linear" else None
            y = interpolate_sorted(ordered, a, level, interpolation, slope_in)
        if x.spec.is_float:  # NaN is sorted last, so the last element is NaN if any is
            y = y.where((x == x).all(a, True), element(ordered, a, n - 1))
        kept = tuple(1 if axis is None or i == a else m for i, m in enumerate(self.shape))
        return y.reshape(kept if flag(keepdims) else y.shape[:a] + y.shape[a + 1 :])

    def _interpolate_unknown(self, ordered: Any, a: int, q: float, interpolation: str) -> Any:
        """The quantile q along an axis of unknown length: each run computes the places."""
        if not self.spec.is_float:
            require_known(f"quantile of {self.spec}, to find the place,", self.spec.shape[a])
        last: Any = self.lift(np.zeros(1)) + (self.shape[a] - 1)
        up = last * q
        low = up.floor().minimum((last - 1).clamp(min=0))
        part = (ROUNDED[interpolation](up) - low).astype(self.dtype).reshape((1,) * self.ndim)
        y, above = (ordered.index_select(a, place.astype(np.int64)) for place in (low, (low + 1).minimum(last)))
        return y.lerp(above, part).where(part != 0, y)

    # -- scans: y[t] from all x[≤ t]; and differences, their inverse --------------------------------------

    @accept_dim
    def cumsum(self, axis: int, *, dtype: Any = None) -> Self:
        """x₀, x₀ + x₁, x₀ + x₁ + x₂, … Integers and booleans sum to int64."""
        return self._summand(dtype)._apply_scan(ops.CumSum, axis)._as(dtype)

    @accept_dim
    def cumprod(self, axis: int, *, dtype: Any = None) -> Self:
        """x₀, x₀ x₁, x₀ x₁ x₂, … The gradient is correct even if factors are 0."""
        return self._summand(dtype)._apply_scan(ops.CumProd, axis)._as(dtype)

    @accept_dim
    def logcumsumexp(self, axis: int) -> Self:
        """ln of the running sum of eˣ, without forming a large eˣ."""
        return self.real_valued()._apply_scan(ops.LogCumSumExp, axis)

    @accept_dim
    def cummax(self, axis: int) -> ValuesIndices:
        """The largest element so far, and its index; of tied elements, the last index."""
        return self._gather_by(ops.ArgCumMax, axis)

    @accept_dim
    def cummin(self, axis: int) -> ValuesIndices:
        """The smallest element so far, and its index; of tied elements, the last index."""
        return self._gather_by(ops.ArgCumMin, axis)

    def trapezoid(self, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
        """∫ y dx along an axis, by the trapezoidal rule. The samples are at the points x, or dx apart."""
        return self._trapezoids(x, dx, dim).sum(dim)

    trapz = trapezoid

    def cumulative_trapezoid(self, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
        """The trapezoidal integral up to each sample except the first."""
        return self._trapezoids(x, dx, dim).cumsum(dim)

    def _trapezoids(self: Any, x: Any, dx: float, dim: int) -> Any:
        y, axis = self.real_valued(), self.axis(dim)
        width = dx if x is None else self.lift(x).diff(1, -1 if np.ndim(x) == 1 else dim)
        if np.ndim(width) == 1:
            width = width.reshape(-1, *[1] * (self.ndim - axis - 1))
        return (y[along(axis, 1, None)] + y[along(axis, None, -1)]) * width / 2

    @accept_dim
    def diff(self, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Self:
        """x₁ − x₀, x₂ − x₁, …, applied n times. Each time, the result has one element less than before."""
        axis = self.axis(axis)
        ends = [self.lift(e) for e in (prepend, append) if e is not None]
        if ends and n:
            parts = [self, *ends] if prepend is None else [ends[0], self, *ends[1:]]
            return parts[0].apply(ops.Concatenate(axis), *parts[1:]).diff(n, axis)
        if n < 0:
            raise ShapeError(f"diff of {self.spec} needs n of 0 or more, and got {n}")
        y = self if n else self.clone()
        for _ in range(n):
            late, early = y[along(axis, 1, None)], y[along(axis, None, -1)]
            y = late != early if y.dtype == np.bool_ else late - early
        return y

    # -- reading arguments --------------------------------------------------------------------

    def _reduction(
        self, axis: Any, keepdims: bool, empty: tuple[int, ...] | None = None, **torch: Any
    ) -> tuple[tuple[int, ...], bool]:
        """The axes, counted from the left and sorted, and keepdims. PyTorch's `dim` and `keepdim` are accepted too.

        empty    the axes that () means; None for all axes
        """
        if torch:
            axis, keepdims = torch.pop("dim", axis), torch.pop("keepdim", keepdims)
            if torch:
                raise TypeError(f"a reduction takes axis (or dim) and keepdims (or keepdim), not {', '.join(torch)}")
        every, keepdims = tuple(range(self.ndim)), flag(keepdims)
        if axis is None:
            return every, keepdims
        if not self.ndim and {whole(a) for a in integers((axis,))} <= {0, -1}:
            return (), keepdims
        return self.axes(axis) or (every if empty is None else empty), keepdims

    def _spread(
        self, axis: Any = None, unbiased: Any = None, keepdims: bool = False, correction: Any = 1, **torch: Any
    ) -> tuple[Any, ...]:
        """The axes, keepdims, and the correction. A bool as the only argument means `unbiased`."""
        if isinstance(axis, bool) and unbiased is None:
            axis, unbiased = None, axis
        correction = 1 if correction is None else correction
        return *self._reduction(axis, keepdims, **torch), correction if unbiased is None else int(flag(unbiased))

    def _single(self, axis: Any) -> tuple[Self, int]:
        """self, and the axis counted from the left. A 0-d tensor becomes a row of one element for axis 0 or −1."""
        return (self, self.axis(axis)) if self.ndim or whole(axis) not in (0, -1) else (self.reshape(1), 0)

    def _as(self, dtype: Any) -> Self:
        return self if dtype is None else self.astype(dtype)

    def _summand(self, dtype: Any) -> Self:
        """self in the dtype for sums: int64 for unsigned integers, except for uint64, which does not fit into int64."""
        if dtype is None and self.dtype.kind == "u" and self.dtype.itemsize < 8:
            dtype = np.int64
        return self._as(dtype)

    def _extreme(self, op: type[Op], axis: Any, keepdims: bool) -> ValuesIndices:
        x, a = self._single(axis)
        return x._take_places(a, x.apply(op(a, True)), flag(keepdims) and bool(self.ndim))

    def _place(self, op: type[Op], axis: Any, keepdims: bool) -> Self:
        if axis is None:
            place = self.reshape(self.size).apply(op(0))
            return place.reshape((1,) * self.ndim) if flag(keepdims) else place
        x, a = self._single(axis)
        return x.apply(op(a, flag(keepdims) and bool(self.ndim)))

    def _take_places(self, axis: int, places: Any, keepdims: bool) -> ValuesIndices:
        """The elements at the places of an axis. Without keepdims there is a single place, and the axis is removed."""
        values = self.gather(axis, places)
        if keepdims:
            return ValuesIndices(values, places)
        shape = values.shape[:axis] + values.shape[axis + 1 :]
        return ValuesIndices(values.reshape(shape), places.reshape(shape))

    def _apply_scan(self, op: Callable[[int], Op], axis: Any) -> Self:
        x, a = self._single(axis)
        return x.apply(op(a)).reshape(self.shape)

    def _gather_by(self, op: Callable[[int], Op], axis: Any) -> ValuesIndices:
        """The elements at the places that op(axis) computes, and these places."""
        x, a = self._single(axis)
        places = x.apply(op(a))
        return ValuesIndices(x.gather(a, places).reshape(self.shape), places.reshape(self.shape))


def interpolate_sorted(ordered: Any, axis: int, level: float, interpolation: str, q: Any) -> Any:
    """The quantile at `level` of elements sorted along an axis; with a gradient for q, if q is a tensor."""
    last = ordered.shape[axis] - 1
    up = level * last
    low = min(floor(up), max(last - 1, 0))
    y, part = ordered.narrow(axis, low, 1), ROUNDED[interpolation](up) - low
    if not part:
        return y
    has_slope = q is not None and up != floor(up)
    return y.lerp(ordered.narrow(axis, low + 1, 1), q.astype(y.dtype) * last - low if has_slope else part)


def element(x: Any, axis: int, place: Any) -> Any:
    """The element at one place of an axis. The axis keeps length 1. The place may differ from run to run."""
    if is_unknown(unwrap_dimension(place)):
        return x.index_select(axis, x.lift(np.zeros(1, np.int64)) + place)
    return x.narrow(axis, place, 1)


ROUNDED: dict[str, Callable[[Any], Any]] = {  # interpolation → the function that rounds a position between two places
    "linear": lambda up: up,
    "lower": lambda up: up // 1,
    "higher": lambda up: -(-up // 1),
    "nearest": round,
    "midpoint": lambda up: (up // 1 - -up // 1) / 2,
}
