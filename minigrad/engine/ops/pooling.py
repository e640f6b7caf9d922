"""Pooling: each window of x (N, C, *size) becomes one number, its largest element or its mean.

A window is a box, so it can be reduced along one axis after the other. The gradient of a maximum goes to one
element, the first largest in reading order. `ArgMaxPool` computes this element's number in the window, an integer.
`TakeTaps` and `PutTaps`, which read and write these elements, are linear ops and each other's adjoint. So pooling has
derivatives of every order, and none needs a scatter.
In adaptive pooling the number of windows is given, and the lengths of the windows follow from it.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from math import prod

import numpy as np

from ..base.dtypes import kind
from ..core.op import Linear, Op
from .convolution import Window


class Pooling(Op):
    """The base class of pooling ops: the window, over the axes after batch and channels."""

    window: Window

    inline = False

    def infer(self, x, *others):
        return x.with_shape((*x.shape[:2], *self.window.places(self, x.shape[2:])))


class MaxPool(Pooling):
    """y = the largest element of each window; padding counts as −∞"""

    def forward(self, xp, x):
        for axis, places in enumerate(self.window.places(self, x.shape[2:]), 2):
            x = highest(xp, x, axis, self.window.axis(axis - 2, x.shape[axis], places), places)
        return x

    def vjp(self, gy, y, x):
        return gy.apply(PutTaps(self.window, x.spec.shape[2:]), x.apply(ArgMaxPool(self.window), y)),

    def jvp(self, dxs, y, x): return dxs[0].apply(TakeTaps(self.window), x.apply(ArgMaxPool(self.window), y))
    def flops(self, y, x): return y.size * (self.window.taps - 1)


class ArgMaxPool(Pooling):
    """The number of the first tap that equals the maximum y. Taps are counted 0, 1, … with the last axis fastest.

    If the maximum is NaN, no tap equals it, and the result is the number of the last tap.
    """

    def infer(self, x, y): return y.with_dtype(counter(self.window))

    def forward(self, xp, x, y):
        # Count the taps before the first tap that equals y: selecting by a mask would take ten times as long.
        number = xp.zeros_like(y, dtype=counter(self.window))
        missed = xp.ones_like(y, dtype=bool)
        for _, read, at in self.window.slabs(x.shape[2:], y.shape[2:])[:-1]:
            here = (..., *at)
            missed[here] &= x[(..., *read)] != y[here]
            number += missed
        return number

    def flops(self, number, x, y): return 3 * number.size * (self.window.taps - 1)


class TakeTaps(Pooling):
    """y = x at the tap with the given number in each window; 0 if that tap lies in the padding"""

    symbol = "take taps"

    def forward(self, xp, x, taps):
        y = xp.zeros_like(taps, dtype=x.dtype)
        for t, (_, read, at) in enumerate(self.window.slabs(x.shape[2:], taps.shape[2:])):
            here = (..., *at)
            y[here] += x[(..., *read)] * (taps[here] == t)
        return y

    def vjp(self, gy, y, x, taps): return gy.apply(PutTaps(self.window, x.spec.shape[2:]), taps), None
    def jvp(self, dxs, y, x, taps): return dxs[0].apply(self, taps)
    def flops(self, y, x, taps): return 2 * y.size * self.window.taps


class PutTaps(Pooling):
    """x = zeros of `size` with y added at the tap with the given number in each window"""

    size: tuple[int, ...]

    symbol = "put taps"

    def infer(self, y, taps): return y.with_shape((*y.shape[:2], *self.size))

    def forward(self, xp, y, taps):
        x = xp.zeros_like(taps, y.dtype, shape=(*y.shape[:2], *self.size))  # in the memory order of the maxima
        y = lying_as(xp, y, taps)
        for t, (_, read, at) in enumerate(self.window.slabs(self.size, y.shape[2:])):
            here, there = (..., *at), (..., *read)
            if self.window.overlaps:
                x[there] += y[here] * (taps[here] == t)
            else:
                xp.multiply(y[here], taps[here] == t, out=x[there])
        return x

    def vjp(self, gx, x, y, taps): return gx.apply(TakeTaps(self.window), taps), None
    def jvp(self, dxs, x, y, taps): return dxs[0].apply(self, taps)
    def flops(self, x, y, taps): return 2 * y.size * self.window.taps


class TapPlaces(Pooling):
    """For each window, the flat index, in a plane of `size`, of the tap with the given number"""

    size: tuple[int, ...]

    symbol = "tap places"

    def infer(self, taps): return taps.with_dtype(np.int64)

    def forward(self, xp, taps):
        w, rest, places, step = self.window, taps.astype(np.int64), 0, 1
        for i in reversed(range(len(self.size))):
            starts = xp.arange(taps.shape[2 + i]) * w.stride[i] - w.padding[i][0]
            place = starts.reshape(-1, *[1] * (len(self.size) - 1 - i)) + rest % w.kernel[i] * w.dilation[i]
            places, rest, step = places + place * step, rest // w.kernel[i], step * self.size[i]
        return places

    def flops(self, y, taps): return 6 * y.size * len(self.size)


# -- means ----------------------------------------------------------------------------------------


class AvgPool(Pooling, Linear):
    """y = the mean of each window. It counts elements of x, and the padding in `counted` = (before, after) places"""

    counted: tuple[tuple[int, int], ...]

    def forward(self, xp, x):
        dtype, size = x.dtype, x.shape[2:]
        for axis, places in enumerate(self.window.places(self, size), 2):
            x = total(xp, x, axis, self.window.axis(axis - 2, x.shape[axis], places), places)
        return x * self.weight(xp, size, dtype)

    def weight(self, xp, size, dtype):
        """1 / the number of elements counted in each window: a number if all windows count alike, else an array."""
        counts = [self.count(i, n, p) for i, (n, p) in enumerate(zip(size, self.window.places(self, size)))]
        if all(len(set(c)) == 1 for c in counts):
            return dtype.type(1 / prod(c[0] for c in counts))
        return shares(xp, tuple(counts), dtype)

    def count(self, i, n, places):
        """The number of elements along axis i that each window counts."""
        w, (before, after) = self.window, self.counted[i]
        starts = [o * w.stride[i] - w.padding[i][0] for o in range(places)]
        return tuple(sum(-before <= s + t * w.dilation[i] < n + after for t in range(w.kernel[i])) or 1 for s in starts)

    def adjoint(self, gy, x): return gy.apply(AvgUnpool(self.window, self.counted, x.spec.shape[2:]))
    def flops(self, y, x): return y.size * self.window.taps


class AvgUnpool(AvgPool):
    """AvgPool's adjoint: x, of shape `size`, gets each mean's gradient, spread evenly over the window of the mean"""

    size: tuple[int, ...]

    symbol = "avgunpool"

    def infer(self, y): return y.with_shape((*y.shape[:2], *self.size))

    def forward(self, xp, y):
        x = y * self.weight(xp, self.size, y.dtype)
        for axis, size in enumerate(self.size, 2):
            x = spread(xp, x, axis, self.window.axis(axis - 2, size, y.shape[axis]), size)
        return x

    def adjoint(self, gx, y): return gx.apply(AvgPool(self.window, self.counted))
    def flops(self, x, y): return y.size * self.window.taps


@lru_cache(maxsize=256)
def shares(xp, counts, dtype):
    """1 / the number of elements in each window, from counts per axis. Cached, so that a GPU gets the array once."""
    table = prod(np.array(c, dtype=float).reshape(-1, *[1] * (len(counts) - 1 - i)) for i, c in enumerate(counts))
    return xp.asarray(1 / table, dtype=dtype)


def lying_as(xp, y, x):
    """y in the memory order of x: otherwise every tap would read y with large strides, which costs more than a copy."""
    if order(y) == order(x):
        return y
    copy = xp.empty_like(x, dtype=y.dtype)
    copy[...] = y
    return copy


def order(x):
    """The axes of x in memory order, the slowest first."""
    return sorted(range(x.ndim), key=lambda a: -x.strides[a])


# -- along one axis -------------------------------------------------------------------------------


def highest(xp, x, axis, taps, places):
    """The largest element of each window along one axis."""
    if len(taps) > 1 and all(at == slice(0, places) for _, at in taps):
        return reduce(xp.maximum, (x[along(axis, read)] for read, _ in taps))
    lowest = -xp.inf if kind(x.dtype) == "f" else np.iinfo(x.dtype).min
    y = xp.full_like(x, lowest, shape=resize_axis(x, axis, places))
    for read, at in taps:
        here = y[along(axis, at)]
        xp.maximum(here, x[along(axis, read)], out=here)
    return y


def total(xp, x, axis, taps, places):
    """The sum of each window along one axis."""
    y = xp.zeros_like(x, shape=resize_axis(x, axis, places))
    for read, at in taps:
        y[along(axis, at)] += x[along(axis, read)]
    return y


def spread(xp, y, axis, taps, size):
    """The adjoint of `total`: adds each sum to every element of its window."""
    x = xp.zeros_like(y, shape=resize_axis(y, axis, size))
    for read, at in taps:
        x[along(axis, read)] += y[along(axis, at)]
    return x


def along(axis, part):
    """The index that applies the slice `part` to one axis."""
    return (*[slice(None)] * axis, part)


def resize_axis(x, axis, n):
    """x's shape with another length along one axis."""
    return (*x.shape[:axis], n, *x.shape[axis + 1 :])


def counter(window: Window):
    """The smallest dtype that can hold the number of taps of a window."""
    return np.min_scalar_type(window.taps)


class AdaptiveAvgPool(Linear):
    """y[i] = the mean of x[⌊i m / n⌋ : ⌈(i + 1) m / n⌉] along an axis of m elements, for i < n"""

    axis: int
    n: int

    symbol = "avgpool"
    inline = False

    def infer(self, x): return x.with_shape(resize_axis(x, self.axis, self.n))

    def forward(self, xp, x):
        _, _, lengths = reads(xp, x.shape[self.axis], self.n, x.dtype)
        return adaptive_sum(xp, x, self.axis, self.n) / standing(lengths, x, self.axis)

    def adjoint(self, gy, x): return gy.apply(AdaptiveAvgUnpool(self.axis, x.spec.shape[self.axis]))
    def flops(self, y, x): return max(x.size, y.size)


class AdaptiveAvgUnpool(AdaptiveAvgPool):
    """AdaptiveAvgPool's adjoint: pooling with m and n swapped, since windows ⌊j n / m⌋ to ⌈(j + 1) n / m⌉ contain j."""

    symbol = "avgunpool"

    def forward(self, xp, y):
        _, _, lengths = reads(xp, self.n, y.shape[self.axis], y.dtype)
        return adaptive_sum(xp, y / standing(lengths, y, self.axis), self.axis, self.n)

    def adjoint(self, gx, y): return gx.apply(AdaptiveAvgPool(self.axis, y.spec.shape[self.axis]))


def adaptive_sum(xp, x, axis, n):
    """The sum of each of n adaptive windows along one axis."""
    places, inside, _ = reads(xp, x.shape[axis], n, x.dtype)
    y = xp.where(inside, xp.moveaxis(x, axis, -1)[..., places], x.dtype.type(0)).sum(-1, dtype=x.dtype)
    return xp.moveaxis(y, -1, axis)


@lru_cache(maxsize=256)
def reads(xp, m, n, dtype):
    """For each of n adaptive windows over m elements: a row of places, which of these it contains, and its length.

    All rows are as long as the longest window; shorter windows are padded. Cached, to copy it to a GPU once.
    """
    start, stop = adaptive(m, n)
    places = start[:, None] + np.arange(max(stop - start, default=0))
    inside = xp.asarray(places < stop[:, None])
    return xp.asarray(np.minimum(places, m - 1)), inside, xp.asarray(stop - start, dtype=dtype)


def standing(lengths, x, axis):
    """Lengths along one axis of x, reshaped to broadcast against x."""
    return lengths.reshape(-1, *[1] * (x.ndim - 1 - axis))


def adaptive(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each of n windows over m elements starts and stops: spaced evenly, and just long enough to leave no gap."""
    i = np.arange(n)
    return i * m // n, -(-(i + 1) * m // n)
