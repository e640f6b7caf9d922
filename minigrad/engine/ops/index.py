"""Indexing, and its adjoint, which adds the gradient at the elements that `x[i]` reads.

An index consists of a pattern, which is part of the op, and of integer arrays, which are operands:
`x[:, rows]` is `Index((Slice(), ARRAY))` of x and rows. So the same op serves every batch of rows.

    Index       y = x[pattern]
    IndexAdd    zeros, with x added at the pattern
    IndexSet    x, with a value written at the pattern

Gather, Scatter and ScatterAdd have one index per element:

    gather         y[i, j] = x[index[i, j], j]              along axis 0, and likewise along others
    scatter_add    y[index[i, j], j] += x[i, j]             into zeros
    scatter        y = x, but y[index[i, j], j] = src[i, j]

As in PyTorch, such an index counts from the front only, and may be shorter than x along the other axes.
"""

from __future__ import annotations

from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from ..base.device import CPU, device_of
from ..base.errors import DTypeError, ShapeError
from ..base.spec import Spec, as_places, common_device
from ..core.op import Op
from .pattern import ARRAY, Pattern, array_axes, fill, fits_region, index_text, integers_first, refuse_outside, region


class PatternOp(Op):
    """The base class of Index, IndexAdd and IndexSet: holds the pattern, and applies it to the index arrays."""

    pattern: Pattern

    @cached_property
    def basic(self) -> tuple[Any, ...] | None:
        """The index itself, if it contains no array. The `...` makes the result a view even for a single element."""
        if any(isinstance(p, str) for p in self.pattern):
            return None
        index = fill(self.pattern, ())
        return index if Ellipsis in self.pattern else (*index, ...)

    @cached_property
    def along(self) -> int:
        """The axis that the array indexes, if there is one array and all other axes are taken whole; otherwise −1."""
        last = len(self.pattern) - 1
        return last if self.pattern == (*((None, None, None),) * last, ARRAY) else -1

    @cached_property
    def is_once(self) -> bool:
        """Whether no place can occur twice in the index: true for slices, integers and masks."""
        return ARRAY not in self.pattern

    @cached_property
    def first(self) -> tuple[Any, ...] | None:
        """The index of only the integers, which is applied before the arrays; None unless there are both."""
        return integers_first(self.pattern)

    def select_integers(self, x: Any) -> Any:
        """x with the integers of the index applied, ready for the arrays. A view."""
        return x if self.first is None else x[self.first]

    def at(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """The index in NumPy's form."""
        return fill(self.pattern, tuple(map(as_places, arrays))) if self.basic is None else self.basic

    def places(self, xp: Any, shape: tuple[int, ...], arrays: tuple[Any, ...]) -> Any:
        """The flat indices of the elements of x[pattern], for x of that shape: integers, in the shape of x[pattern]."""
        covered = len(shape) if Ellipsis in self.pattern else sum(p is not None for p in self.pattern)
        rows = self.select_integers(xp.arange(prod(shape[:covered])).reshape(shape[:covered]))[self.at(arrays)]
        rest, width = shape[covered:], prod(shape[covered:])
        return (rows[..., None] * width + xp.arange(width)).reshape(rows.shape + rest) if rest else rows

    def region(self, x: Spec, arrays: tuple[Any, ...]) -> tuple[int, ...]:
        """The shape of x[pattern]."""
        return region(self.pattern, x, arrays)

    def check(self, shape: tuple[int, ...], arrays: tuple[Any, ...]) -> None:
        """Raises BoundsError with the index that is out of bounds. NumPy does not name it, and a GPU does not check."""
        for axis, array in zip(array_axes(self.pattern, len(shape)), arrays, strict=True):
            refuse_outside(index_text(self.pattern), array, axis, shape[axis], -shape[axis])


class Index(PatternOp):
    """y = x[pattern], with integer arrays i₁, i₂, … in place of each ARRAY in the pattern.

    Raises BoundsError (an IndexError) on an integer outside its axis; negative integers count from the end.
    """

    symbol = "[ ]"

    @cached_property
    def is_view(self):
        """Whether y shares x's memory, which is so if the index contains no array."""
        return self.basic is not None

    def infer(self, x, *arrays): return Spec(self.region(x, arrays), x.dtype, common_device(self, x, *arrays))

    def forward(self, xp, x, *arrays):
        if self.basic is not None:
            return x[self.basic]
        if device_of(x) is not CPU:
            self.check(x.shape, arrays)
        try:
            # Along one axis NumPy's `take` needs half the time of general indexing, which also reorders the memory.
            if self.along >= 0:
                return x.take(as_places(arrays[0]), self.along)
            return xp.asarray(self.select_integers(x)[self.at(arrays)], order="C")
        except IndexError:  # raised by NumPy, also on the simulated device
            self.check(x.shape, tuple(map(CPU.array, arrays)))
            raise

    def vjp(self, gy, y, x, *arrays):
        return gy.apply(IndexAdd(self.pattern, x.spec.shape, True), *arrays), *(None for _ in arrays)

    def jvp(self, dxs, y, x, *arrays): return dxs[0].apply(self, *arrays)
    def flops(self, y, x, *arrays): return 0


class IndexAdd(PatternOp):
    """y = zeros of `shape` with x added at y[pattern]; repeated indices add up.

    inside    whether the indices are known to be in bounds, since the forward pass has read elements at them
    """

    shape: tuple[int, ...]
    inside: bool = False

    symbol = "[ ]+="

    def infer(self, x, *arrays):
        into = Spec(self.shape, x.dtype, common_device(self, x, *arrays))
        fits_region(self.pattern, into, x, arrays)
        return into

    def forward(self, xp, x, *arrays):
        y = xp.zeros(self.shape, x.dtype)
        if not self.inside and device_of(x) is not CPU:
            self.check(self.shape, arrays)
        try:
            if self.is_once:
                self.select_integers(y)[self.at(arrays)] = x
            else:
                places = self.places(xp, self.shape, arrays)
                there = x if x.shape == places.shape else xp.broadcast_to(x, places.shape)
                # With flat indices NumPy adds six times as fast as with several axes.
                device_of(y).scatter_add(y.reshape(-1), places.reshape(-1), there.reshape(-1))
        except IndexError:  # raised by NumPy, also on the simulated device
            self.check(self.shape, tuple(map(CPU.array, arrays)))
            raise
        return y

    def vjp(self, gy, y, x, *arrays):
        return gy.apply(Index(self.pattern), *arrays).sum_to(x.shape), *(None for _ in arrays)

    def jvp(self, dxs, y, x, *arrays): return dxs[0].apply(self, *arrays)
    def flops(self, y, x, *arrays): return x.size


class IndexSet(PatternOp):
    """y = x, but y[pattern] = value: `x[pattern] = value` as a function. The operands are x, value, i₁, i₂, …

    value broadcasts, and is cast to x's dtype. At a repeated index the last value is written, as in NumPy, and only
    the value written gets a gradient; on a GPU it is not determined which value is last.
    """

    symbol = "[ ]="

    def infer(self, x, value, *arrays):
        fits_region(self.pattern, x, value, arrays)
        return Spec(x.shape, x.dtype, common_device(self, x, value, *arrays))

    def forward(self, xp, x, value, *arrays):
        if device_of(x) is not CPU:
            self.check(x.shape, arrays)
        y = xp.array(x)
        try:
            self.select_integers(y)[self.at(arrays)] = value
        except IndexError:  # raised by NumPy, also on the simulated device
            self.check(x.shape, tuple(map(CPU.array, arrays)))
            raise
        return y

    def vjp(self, gy, y, x, value, *arrays):
        gvalue = gy.apply(Index(self.pattern), *arrays)
        if not self.is_once:
            gvalue = gvalue.where(arrays[0].apply(Last(self, x.spec.shape), *arrays[1:]), 0)
        return gy.apply(self, 0, *arrays), gvalue.sum_to(value.shape), *(None for _ in arrays)

    def jvp(self, dxs, y, x, value, *arrays): return dxs[0].apply(self, dxs[1], *arrays)
    def flops(self, y, x, value, *arrays): return 0


class Last(Op):
    """For each index, whether this is its last occurrence: then the value written by it is the value that stays.

    writer    the op that writes; its method `places` computes the flat indices
    shape     the shape of the tensor it writes into
    """

    writer: Any
    shape: tuple[int, ...]

    def infer(self, *arrays):
        x = Spec(self.shape, np.dtype(bool))
        return Spec(self.writer.region(x, arrays), x.dtype, arrays[0].device)

    def forward(self, xp, *arrays):
        places = self.writer.places(xp, self.shape, arrays)
        turn = xp.arange(places.size).reshape(places.shape)
        latest = xp.empty(prod(self.shape), turn.dtype)
        latest[places] = turn
        return latest[places] == turn

    def flops(self, y, *arrays): return y.size


class AlongAxis(Op):
    """The base class of Gather, Scatter and ScatterAdd: the axis, counted from the left."""

    axis: int

    def flops(self, y, *xs): return 0

    def fits(self, x: Spec, index: Spec) -> None:
        """Raises ShapeError or DTypeError if the index does not fit x."""
        if index.dtype.kind not in "iu":
            raise DTypeError(f"{self} needs an index of integers, and got {index}: use .astype(int)")
        others = [a for a in range(x.ndim) if a != self.axis]
        if index.ndim != x.ndim or any(index.shape[a] > x.shape[a] for a in others):
            raise ShapeError(
                f"{self} needs an index with the axes of {x}, none longer but axis {self.axis}, and got {index}"
            )

    def places(self, xp: Any, shape: tuple[int, ...], arrays: tuple[Any, ...], checked: bool = False) -> Any:
        """Convert the index to flat indices into an array of that shape. They are integers, in the shape of the index.

        checked    refuse indices out of bounds: NumPy and CuPy would accept negative indices
        """
        (index,) = arrays
        if checked:
            refuse_outside(str(self), index, self.axis, shape[self.axis])
        places = index.astype(np.int64, copy=False) * prod(shape[self.axis + 1 :])
        for axis, n in enumerate(index.shape):
            if axis != self.axis:
                line = xp.arange(n) * prod(shape[axis + 1 :])
                places = places + line.reshape((n,) + (1,) * (index.ndim - axis - 1))
        return places

    def region(self, x: Spec, arrays: tuple[Any, ...]) -> tuple[int, ...]:
        """The shape of the elements that the index selects."""
        return tuple(arrays[0].shape)


class Gather(AlongAxis):
    """y[…, i, …] = x[…, index[…, i, …], …]. Raises BoundsError (an IndexError) outside 0 … length − 1."""

    def infer(self, x, index):
        self.fits(x, index)
        return Spec(index.shape, x.dtype, common_device(self, x, index))

    def forward(self, xp, x, index): return x.reshape(-1).take(as_places(self.places(xp, x.shape, (index,), True)))
    def vjp(self, gy, y, x, index): return gy.apply(ScatterAdd(self.axis, x.spec.shape, True), index), None
    def jvp(self, dxs, y, x, index): return dxs[0].apply(self, index)


class ScatterAdd(AlongAxis):
    """y = zeros of `shape` with x added at the index; repeated indices add up.

    inside    whether the index is known to be in bounds, since the forward pass has read elements at it
    """

    shape: tuple[int, ...]
    inside: bool = False

    symbol = "scatter+="

    def infer(self, x, index):
        y = Spec(self.shape, x.dtype, common_device(self, x, index))
        self.fits(y, index)
        if x.shape != index.shape:
            raise ShapeError(f"{self} adds one element for each of its index, and got {x} with {index}")
        return y

    def forward(self, xp, x, index):
        y = xp.zeros(self.shape, x.dtype)
        places = self.places(xp, self.shape, (index,), not self.inside)
        device_of(y).scatter_add(y.reshape(-1), places.reshape(-1), x.reshape(-1))
        return y

    def vjp(self, gy, y, x, index): return gy.apply(Gather(self.axis), index), None
    def jvp(self, dxs, y, x, index): return dxs[0].apply(self, index)
    def flops(self, y, x, index): return x.size


class Scatter(AlongAxis):
    """y = x with src written at the index. The operands are x, src, index.

    src broadcasts, and is cast to x's dtype. At a repeated index the last value is written, and only the value written
    gets a gradient; on a GPU it is not determined which value is last.
    """

    symbol = "scatter="

    def infer(self, x, src, index):
        self.fits(x, index)
        if src.shape not in ((), index.shape):
            raise ShapeError(f"{self} writes a number, or one element for each of its index: {src} with {index}")
        return Spec(x.shape, x.dtype, common_device(self, x, src, index))

    def forward(self, xp, x, src, index):
        y = xp.array(x, order="C")
        y.reshape(-1)[self.places(xp, x.shape, (index,), True)] = src
        return y

    def vjp(self, gy, y, x, src, index):
        gsrc = gy.apply(Gather(self.axis), index).where(index.apply(Last(self, x.spec.shape)), 0)
        return gy.apply(self, 0, index), gsrc.sum_to(src.shape), None

    def jvp(self, dxs, y, x, src, index): return dxs[0].apply(self, dxs[1], index)


class SearchSorted(Op):
    """y[i] = how many numbers of a sorted row are < x[i]; with `right`, how many are ≤ x[i].

    The operands are the row, which has one axis, and x.
    """

    right: bool = False

    def infer(self, row, x):
        if row.ndim != 1:
            raise ShapeError(f"searchsorted needs one sorted row, and got {row}")
        return Spec(x.shape, np.dtype(np.intp), common_device(self, row, x))

    def forward(self, xp, row, x): return xp.searchsorted(row, x, "right" if self.right else "left")
    def flops(self, y, row, x): return y.size * max(1, row.size).bit_length()
