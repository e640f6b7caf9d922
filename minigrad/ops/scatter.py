"""Gathering along an axis, and its adjoint. Here an index has an element for every element of the result:

    gather         y[i, j] = x[index[i, j], j]              along axis 0, and likewise along others
    scatter_add    y[index[i, j], j] += x[i, j]             into zeros
    scatter        y = x, but y[index[i, j], j] = src[i, j]

As in PyTorch an index counts from the front only, and may be shorter than x along the other axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..device import CPU, device_of
from ..errors import BoundsError, DTypeError, ShapeError
from ..op import Op
from ..spec import Spec, common_device
from .index import Last
from .pattern import refuse_outside


@dataclass(frozen=True)
class AlongAxis(Op):
    """What the three have in common: the axis, counted from the left."""

    axis: int

    inline = False

    def flops(self, y, *xs): return 0

    def fits(self, x: Spec, index: Spec) -> None:
        """Raises ShapeError or DTypeError if an index does not fit x."""
        if index.dtype.kind not in "iu":
            raise DTypeError(f"{self} needs an index of integers, and got {index}: use .astype(int)")
        others = [a for a in range(x.ndim) if a != self.axis]
        if index.ndim != x.ndim or any(index.shape[a] > x.shape[a] for a in others):
            raise ShapeError(
                f"{self} needs an index with the axes of {x}, none longer but axis {self.axis}, and got {index}"
            )

    def places(self, xp: Any, shape: tuple[int, ...], arrays: tuple[Any, ...], checked: bool = False) -> Any:
        """The places that the index names in an array of that shape, counted through it: integers, as the index.

        checked    refuse those that are outside: NumPy and CuPy would let a negative one pass
        """
        (index,) = arrays
        if checked and index.size:
            self.check(index, shape[self.axis])
        places = index.astype(np.int64, copy=False) * prod(shape[self.axis + 1 :])
        for axis, n in enumerate(index.shape):
            if axis != self.axis:
                line = xp.arange(n) * prod(shape[axis + 1 :])
                places = places + line.reshape((n,) + (1,) * (index.ndim - axis - 1))
        return places

    def check(self, index: Any, size: int) -> None:
        """Raises BoundsError if an index is outside 0 … size − 1; on a GPU when a value is next read."""
        device = device_of(index)
        if device is CPU:
            refuse_outside(str(self), index, self.axis, size)
        else:
            wrong = (index < 0) | (index >= size)
            device.refuse(wrong, BoundsError(f"{self} needs indices from 0 to {size - 1} along axis {self.axis}"))

    def region(self, x: Spec, arrays: tuple[Any, ...]) -> tuple[int, ...]:
        """The shape of what the index names."""
        shape: tuple[int, ...] = arrays[0].shape
        return shape


@dataclass(frozen=True)
class Gather(AlongAxis):
    """y[…, i, …] = x[…, index[…, i, …], …]. Raises BoundsError (an IndexError) outside 0 … length − 1."""

    symbol = "gather"

    def infer(self, x, index):
        self.fits(x, index)
        return Spec(index.shape, x.dtype, common_device(self, x, index))

    def forward(self, xp, x, index): return x.reshape(-1).take(self.places(xp, x.shape, (index,), True))
    def vjp(self, gy, y, x, index): return gy.apply(ScatterAdd(self.axis, x.spec.shape, True), index), None
    def jvp(self, dxs, y, x, index): return dxs[0].apply(self, index)


@dataclass(frozen=True)
class ScatterAdd(AlongAxis):
    """y = zeros of `shape` with x added at the index: places named twice receive twice.

    inside    whether the index is known to lie inside `shape`, having been read with before
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


@dataclass(frozen=True)
class Scatter(AlongAxis):
    """y = x with src written at the index. The operands are x, src, index.

    src broadcasts, and takes x's dtype. Of a place named twice the last is written, and only that one has a gradient;
    on a GPU which one is last is not determined.
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


@dataclass(frozen=True)
class SearchSorted(Op):
    """y[i] = how many numbers of a sorted row are below x[i]; with `right`, how many are not above it.

    The operands are the row, of one axis, and x.
    """

    right: bool = False

    symbol = "searchsorted"
    inline = False

    def infer(self, row, x):
        if row.ndim != 1:
            raise ShapeError(f"searchsorted looks in one sorted row, and got {row}")
        return Spec(x.shape, np.dtype(np.int64), common_device(self, row, x))

    def forward(self, xp, row, x): return xp.searchsorted(row, x, "right" if self.right else "left")
    def flops(self, y, row, x): return y.size * max(1, row.size).bit_length()
