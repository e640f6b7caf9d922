"""Indexing: read and write elements. Names and semantics are PyTorch's; x.at[i].set(v) is JAX's.

    by any index      x[…]  index_set  index_put
    along one axis    select narrow index_select index_add index_copy index_fill
    element by element along an axis    gather take_along_dim scatter scatter_add
    by a mask         masked_select masked_fill nonzero
    by flat index     take put
    counting          unique unique_consecutive bincount histc isin

No method changes its operand: methods that write return a new tensor, with gradients for the old and for the written
elements. Indices outside their axis are refused. Negative indices count from the end, except in gather and scatter.
"""

from __future__ import annotations

from math import inf, prod
from typing import Any, NoReturn, Self

import numpy as np

from .. import ops
from ..base.dimension import bounds, out_of_order, require_known, unwrap_dimension
from ..base.dtypes import wide
from ..base.errors import BoundsError, DTypeError, ShapeError
from .arguments import accept_dim


class At:
    """`x.at` and `x.at[index]`. The methods get, set and add read or write at the index, and leave x unchanged."""

    def __init__(self, x: Any, index: Any = None):
        self.x, self.index = x, index

    def __getitem__(self, index: Any) -> At:
        return At(self.x, index)

    def get(self) -> Any:
        """x[i]"""
        return self.x[self.index]

    def set(self, values: Any) -> Any:
        """A copy of x with these values at the index."""
        return self.x.index_set(self.index, values)

    def add(self, values: Any) -> Any:
        """A copy of x with these values added at the index; repeated indices add up."""
        places = self.index if isinstance(self.index, tuple) else (self.index,)
        return self.x.index_put(places, values, accumulate=True)

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"x.at[i] has get, set and add, but no {name}: use x.at[i].set(…) with the new value")


class Indexing:
    """Methods that read or write some of the elements, by index."""

    __slots__ = ()

    # -- by any index -------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Self:
        if self._is_mask(index):
            return self.masked_select(index)
        x = self
        for pattern, arrays in ops.steps_of(index, self.shape):
            x = x.apply(ops.Index(pattern), *arrays)
        return x

    at = property(At, doc="JAX's syntax for updates: x.at[i].set(v) is x.index_set(i, v).")

    def index_set(self, index: Any, value: Any) -> Self:
        """`x[index] = value` as a function: a copy of x with the value, broadcast, at the index."""
        if self._is_mask(index) and not np.ndim(value):
            return self.masked_fill(index, value)
        *before, (pattern, arrays) = ops.steps_of(index, self.shape)
        value = self._stretching(value)
        for first, numbers in before:
            there = self.apply(ops.Index(first), *numbers)
            value, pattern, arrays = there.apply(ops.IndexSet(pattern), value, *arrays), first, numbers
        return self.apply(ops.IndexSet(pattern), value, *arrays)

    def index_put(self, indices: tuple[Any, ...], values: Any, accumulate: bool = False) -> Self:
        """As index_set, for a tuple of index tensors. With `accumulate`, add the values instead of writing them."""
        if not accumulate:
            return self.index_set(tuple(indices), values)
        pattern, arrays = ops.pattern_of(tuple(indices), self.shape)
        return self.apply(ops.Add(), self._stretching(values).apply(ops.IndexAdd(pattern, self.spec.shape), *arrays))

    # -- along one axis -----------------------------------------------------------------------

    @accept_dim
    def select(self, axis: int, index: int) -> Self:
        """The slice at one place of an axis, without that axis. A view."""
        return self[(*_before(self.axis(axis)), index.reshape(()) if hasattr(index, "spec") else index)]

    @accept_dim
    def narrow(self, axis: int, start: int, length: int) -> Self:
        """`length` places of an axis, from `start` on. A view."""
        axis = self.axis(axis)
        n = self.spec.shape[axis]
        first, length = unwrap_dimension(start) + n if start < 0 else unwrap_dimension(start), unwrap_dimension(length)
        if out_of_order(0, first, first + length, n):
            raise BoundsError(f"narrow asks for {length} from {start} on, of the {n} along axis {axis} of {self.spec}")
        if min(bounds(m)[0] for m in (first, length, n - first - length)) < 0:  # a slice would just be cut short
            if isinstance(start, int) and start < 0:  # unknown length: each run refuses places out of bounds
                places = np.arange(start, start + max(length, 1))  # even if empty, the start must be inside
                return self[(*_before(axis), places)].narrow(axis, 0, length)
            require_known(f"narrow of {self.spec}, to say whether it is inside,", first, length)
            return self.index_select(axis, np.arange(first + length)).narrow(axis, first, length)
        return self.apply(ops.Index((*(ops.Slice(),) * axis, ops.Slice(first, first + length))))

    @accept_dim
    def index_select(self, axis: int, index: Any) -> Self:
        """The slices of an axis at the places in `index`, a vector of integers."""
        (x, axis), index = self._single(axis), self._places(index, "index_select")
        y = x.apply(ops.Index(_along(axis)), index)
        return y if self.ndim else y.reshape(())

    @accept_dim
    def index_add(self, axis: int, index: Any, source: Any, *, alpha: float = 1) -> Self:
        """A copy with alpha · source added at the places `index` of an axis; repeated indices add up."""
        (x, axis), index = self._single(axis), self._places(index, "index_add")
        source = x._beside(source, axis, index.size, "index_add")
        scaled = source if alpha == 1 else source * alpha
        return self.apply(ops.Add(), scaled.apply(ops.IndexAdd(_along(axis), x.spec.shape), index).reshape(self.shape))

    @accept_dim
    def index_copy(self, axis: int, index: Any, source: Any) -> Self:
        """A copy with source written at the places `index` of an axis."""
        (x, axis), index = self._single(axis), self._places(index, "index_copy")
        source = x._beside(source, axis, index.size, "index_copy")
        return x.apply(ops.IndexSet(_along(axis)), source, index).reshape(self.shape)

    @accept_dim
    def index_fill(self, axis: int, index: Any, value: Any) -> Self:
        """A copy with one number written at the places `index` of an axis."""
        (x, axis), index = self._single(axis), self._places(index, "index_fill")
        return x.apply(ops.IndexSet(_along(axis)), self._number(value, "index_fill"), index).reshape(self.shape)

    # -- element by element along an axis -----------------------------------------------------

    @accept_dim
    def gather(self, axis: int, index: Any) -> Self:
        """y[i, j] = x[index[i, j], j] along axis 0, and likewise along others."""
        (x, axis), index = self._single(axis), self.lift(index)
        return x.apply(ops.Gather(axis), _row(index)).reshape(index.shape)

    @accept_dim
    def take_along_dim(self, indices: Any, axis: int | None = None) -> Self:
        """As `gather`, but the index broadcasts against x along the other axes. Without an axis, x is flattened."""
        index: Any = self.lift(indices)
        if axis is None:
            return self.ravel().gather(0, index.ravel())
        axis = self.axis(axis)
        if index.ndim != self.ndim:
            raise ShapeError(f"take_along_dim needs an index with as many axes as {self.spec}, and got {index.spec}")
        index = index.where(index >= 0, index + self.shape[axis])  # negative indices count from the end
        ours, its = list(self.spec.shape), list(index.spec.shape)
        ours[axis] = its[axis] = 1
        shape = list(np.broadcast_shapes(tuple(ours), tuple(its)))
        whole = self.broadcast_to(*shape[:axis], self.shape[axis], *shape[axis + 1 :])
        return whole.gather(axis, index.broadcast_to(*shape[:axis], index.shape[axis], *shape[axis + 1 :]))

    @accept_dim
    def scatter_add(self, axis: int, index: Any, src: Any) -> Self:
        """A copy with src[i, j] added at [index[i, j], j] along axis 0, and likewise along others."""
        (x, axis), index = self._single(axis), _row(self.lift(index))
        added = self._cut(_row(self.lift(src)), index).apply(ops.ScatterAdd(axis, x.spec.shape), index)
        return self.apply(ops.Add(), added.reshape(self.shape))

    @accept_dim
    def scatter(self, axis: int, index: Any, src: Any = None, *, value: Any = None, reduce: str | None = None) -> Self:
        """A copy with src[i, j], or a number, written at [index[i, j], j] along axis 0, and likewise along others.

        reduce    'add' adds instead of overwriting
        """
        (x, axis), index = self._single(axis), _row(self.lift(index))
        source = self._cut(src if value is None else value, index)
        if reduce == "add":
            return self.scatter_add(axis, index, source.broadcast_to(index.shape))
        if reduce is not None:
            raise ShapeError(f"scatter takes reduce='add' or None, and got {reduce!r}")
        return x.apply(ops.Scatter(axis), source, index).reshape(self.shape)

    @accept_dim
    def scatter_reduce(self, axis: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
        """Reduce each element with all src[i, j] whose index[i, j] is its place: 'sum', 'prod', 'mean', 'amax', 'amin'.

        include_self    whether the old element counts too. Memory grows with elements times indices along the axis.
        """
        (x, axis), index, src = self._single(axis), _row(self.lift(index)), _row(self._cast_value(src))
        src, index, rows = (z.movedim(axis, -1) for z in (x._cut(src, index), index, x))
        shape = (*rows.shape[:-1], index.shape[-1], rows.shape[-1])
        named = self.lift(np.zeros((), bool)).broadcast_to(shape).scatter(-1, index.unsqueeze(-1), True)
        least, most = (-inf, inf) if self.spec.is_float else (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)
        nothing = {"sum": 0, "mean": 0, "prod": 1, "amax": least, "amin": most}.get(reduce)
        if nothing is None:
            raise ValueError(f"reduce must be 'sum', 'prod', 'mean', 'amax' or 'amin', and got {reduce!r}")
        src = src.apply(ops.Pad(tuple((0, a - b) for a, b in zip(shape, src.shape))))
        given = src.unsqueeze(-1).where(named, nothing)
        include_self = include_self or not index.size  # without indices there would be no elements to reduce
        given = rows.unsqueeze(-2).apply(ops.Concatenate(x.ndim - 1), given) if include_self else given
        y = getattr(given, "sum" if reduce == "mean" else reduce)(-2)
        if reduce == "mean":
            n = (named.sum(-2) + include_self).clamp(min=1)
            y = y / n if self.spec.is_float else y // n
        return y.astype(self.dtype).where(include_self | named.any(-2), rows).movedim(-1, axis).reshape(self.shape)

    @accept_dim
    def index_reduce(self, axis: int, index: Any, source: Any, reduce: str, *, include_self: bool = True) -> Self:
        """As scatter_reduce, for whole slices of the source, to the places `index` of an axis."""
        (x, axis), index = self._single(axis), self._places(index, "index_reduce")
        source = x._beside(source, axis, index.size, "index_reduce")
        index = index.reshape(-1, *(1,) * (x.ndim - axis - 1)).broadcast_to(source.shape)
        return x.scatter_reduce(axis, index, source, reduce, include_self=include_self).reshape(self.shape)

    @accept_dim
    def select_scatter(self, src: Any, axis: int, index: int) -> Self:
        """A copy with src at one place of an axis."""
        return self.index_set((*_before(self.axis(axis)), index), src)

    @accept_dim
    def slice_scatter(self, src: Any, axis: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Self:
        """A copy with src at the places start : end : step of an axis."""
        return self.index_set((*_before(self.axis(axis)), slice(start, end, step)), src)

    @accept_dim
    def diagonal_scatter(self: Any, src: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        """A copy with src on a diagonal of two axes."""
        x = self.movedim((axis1, axis2), (-2, -1))
        y = self._cast_value(src).apply(ops.OnDiagonal(x.shape[-2:], offset))
        return y.where(np.eye(x.shape[-2], x.shape[-1], offset, dtype=bool), x).movedim((-2, -1), (axis1, axis2))

    # -- by a mask ----------------------------------------------------------------------------

    def masked_select(self, mask: Any) -> Self:
        """The elements where the mask is True, as a vector. The tensor and the mask broadcast."""
        mask = self._mask(mask, "masked_select")
        require_known("choosing by a mask, to count the elements,", *self.spec.shape, *mask.spec.shape)
        shape = np.broadcast_shapes(self.shape, mask.shape)
        pattern, arrays = ops.pattern_of(mask.broadcast_to(shape).ravel(), (prod(shape),))  # a single axis is fastest
        return self.broadcast_to(shape).ravel().apply(ops.Index(pattern), *arrays)

    def masked_fill(self, mask: Any, value: Any) -> Self:
        """A copy with one number where the mask is True. The tensor and the mask broadcast."""
        return self._mask(mask, "masked_fill").apply(ops.Where(), self._number(value, "masked_fill"), self)

    def masked_scatter(self, mask: Any, source: Any) -> Any:
        """A copy with the elements of the source, in their order, where the mask is True."""
        mask = self._mask(mask, "masked_scatter")
        mask = mask.broadcast_to(np.broadcast_shapes(self.shape, mask.shape))
        places = (mask.ravel().astype(np.int64).cumsum(0) - 1).clamp(min=0)
        return self._cast_value(source).take(places).reshape(mask.shape).where(mask, self)

    def nonzero(self, as_tuple: bool = False) -> Any:
        """The indices of the nonzero elements, one row per element; as_tuple, one vector of indices per axis."""
        require_known(f"nonzero of {self.spec}, to count the elements,", *self.spec.shape)
        array = self._read()
        if as_tuple:
            return tuple(self.lift(places) for places in array.reshape(self.shape or 1).nonzero())
        found = array.nonzero() if self.ndim else ()
        count = found[0].size if found else int(self.ravel().nonzero().shape[0])
        columns = [self.lift(places) for places in found]
        if not columns:
            return self.lift(np.empty((count, 0), np.int64))
        return columns[0].apply(ops.Stack(1), *columns[1:])

    argwhere = nonzero

    # -- by flat index ------------------------------------------------------------------------

    @accept_dim
    def take(self, index: Any, axis: int | None = None) -> Self:
        """The elements at flat indices into the whole tensor, in the index's shape; with an axis, slices along it."""
        if axis is None:
            return self.ravel().apply(ops.Index(_along(0)), index)
        return self.apply(ops.Index(_along(self.axis(axis))), index)

    def put(self, index: Any, source: Any, accumulate: bool = False) -> Self:
        """A copy with the source written, or added, at flat indices into the whole tensor."""
        places, values = (self.lift(x).ravel() for x in (index, source))
        return self.ravel().index_put((places,), values, accumulate).reshape(self.shape)

    # -- unique elements and counts: no gradient passes, since small changes do not change a count ------

    @accept_dim
    def unique(
        self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
    ) -> Any:
        """The distinct elements, or distinct slices along an axis. They are always sorted, even if `sorted` is False.

        return_inverse    also return, for each element of x, its index among the distinct elements
        return_counts     also return how often each distinct element occurs in x
        """
        xp, a = self.spec.device.xp, None if axis is None else self.axis(axis)
        x = self._read().astype(wide(self.dtype))  # bfloat16 defines no order for NaN
        found, places, counts = xp.unique(x, return_inverse=True, return_counts=True, axis=a)
        places = places.reshape(self.shape if a is None else self.shape[a]) if return_inverse else None
        return self._lift_results(found.astype(self.dtype), places, counts if return_counts else None)

    @accept_dim
    def unique_consecutive(
        self, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
    ) -> Any:
        """Reduce each run of equal elements, or of equal slices along an axis, to its first. Results as in unique."""
        xp, a = self.spec.device.xp, None if axis is None else self.axis(axis)
        x = self._read().reshape(-1) if a is None else xp.moveaxis(self._read(), a, 0)
        begins = xp.ones(len(x), bool)
        begins[1:] = (x[1:] != x[:-1]).reshape(len(x[1:]), prod(x.shape[1:])).any(1)
        run = xp.cumsum(begins) - 1
        counts = xp.bincount(run) if return_counts else None
        found = x[begins] if a is None else xp.moveaxis(x[begins], 0, a)
        inverse = run.reshape(self.shape if a is None else -1) if return_inverse else None
        return self._lift_results(found, inverse, counts)

    def bincount(self, weights: Any = None, minlength: int = 0) -> Self:
        """How often each of 0, 1, 2, … occurs in a vector of integers; with weights, the sum of the weights of each."""
        if self.dtype.kind not in "iub" or self.ndim != 1:
            raise DTypeError(f"bincount needs a vector of integers, and got {self.spec}: use .astype(int) or .ravel()")
        w = None if weights is None else self.lift(weights)._read()
        return self.lift(self.spec.device.xp.bincount(self._read(), w, minlength))

    def histc(self, bins: int = 100, min: float = 0, max: float = 0) -> Self:
        """Count the elements in each of `bins` equal parts of min … max, or of the data's range if min == max."""
        x = self._read()
        low, high = (min, max) if min != max or not x.size else (float(x.min()), float(x.max()))
        counts, _ = self.spec.device.xp.histogram(x, bins, (low - (low == high), high + (low == high)))
        return self.lift(counts.astype(x.dtype))

    def isin(self, test_elements: Any, *, invert: bool = False) -> Self:
        """Whether each element is in test_elements; with `invert`, whether it is not."""
        x, among = (y._read().astype(wide(y.dtype)) for y in (self, self.lift(test_elements)))
        return self.lift(self.spec.device.xp.isin(x, among, invert=invert))

    # -- reading arguments --------------------------------------------------------------------

    def _places(self, index: Any, name: str) -> Self:
        """An index as a vector of integers; a single number becomes a vector of one element."""
        index = self.lift(np.asarray(index, np.int64) if isinstance(index, int | list | tuple) else index)
        if index.dtype.kind not in "iu" or index.ndim > 1:
            raise DTypeError(f"{name} needs a vector of integers for its index, and got {index.spec}")
        return index.reshape(index.size)

    def _is_mask(self, index: Any) -> bool:
        """Whether an index is a boolean mask in self's shape, with more than one axis."""
        kind = getattr(getattr(index, "dtype", None), "kind", None)
        return kind == "b" and index.ndim == self.ndim > 1 and index.shape == self.shape

    def _mask(self, mask: Any, name: str) -> Self:
        """The mask as a tensor of booleans. Raises DTypeError if it contains numbers."""
        mask = self.lift(np.asarray(mask) if isinstance(mask, bool | list | tuple) else mask)
        if mask.dtype.kind != "b":
            raise DTypeError(f"{name} needs a mask of booleans, and got {mask.spec}: compare, as in x > 0")
        return mask

    def _cast_value(self, value: Any) -> Self:
        """The value to write, converted to self's dtype."""
        return self.lift(value).astype(self.dtype)

    def _stretching(self, value: Any) -> Self:
        """The value without leading axes of length 1, which broadcasting adds as needed."""
        value = self._cast_value(value)
        extra = next((a for a, n in enumerate(value.spec.shape) if n != 1), value.ndim)
        return value.reshape(value.shape[extra:])

    def _number(self, value: Any, name: str) -> Self:
        """The value in self's dtype. Raises ShapeError unless it is a single number."""
        value = self._cast_value(value)
        if value.ndim:
            raise ShapeError(f"{name} writes one number, and got {value.spec}")
        return value

    def _cut(self, src: Any, index: Self) -> Self:
        """The values that a scatter writes: src cut to the shape of the index. A single number is left as it is."""
        src = self._cast_value(src)
        if src.ndim != index.ndim or src.shape == index.shape:
            return src
        if any(n > m for n, m in zip(index.shape, src.shape)):
            raise ShapeError(f"a scatter needs an element for each of its index, and got {src.spec} for {index.spec}")
        return src.apply(ops.Index(tuple(ops.Slice(0, n) for n in index.shape)))

    def _beside(self, source: Any, axis: int, length: int, name: str) -> Self:
        """Check that a source has self's shape, but `length` places along the axis. Raises ShapeError if not."""
        source = self._cast_value(source)
        wanted = (*self.shape[:axis], length, *self.shape[axis + 1 :])
        if source.shape != wanted and not (length == 1 and source.shape == self.shape[:axis] + self.shape[axis + 1 :]):
            raise ShapeError(f"{name} needs a source of shape {wanted}, and got {source.spec}")
        return source.reshape(wanted)

    def _lift_results(self, found: Any, *more: Any) -> Any:
        """Convert the arrays that are not None to tensors: a tuple, or a single tensor."""
        given = [self.lift(array) for array in (found, *more) if array is not None]
        return given[0] if len(given) == 1 else tuple(given)


def _row(x: Any) -> Any:
    """x with at least one axis: a 0-d tensor becomes a row of one element."""
    return x if x.ndim else x.reshape(1)


def _before(axis: int) -> tuple[slice, ...]:
    """Full slices for the axes before `axis`."""
    return (slice(None),) * axis


def _along(axis: int) -> tuple[Any, ...]:
    """The pattern of an index array along one axis."""
    return (*(ops.Slice(),) * axis, ops.ARRAY)
