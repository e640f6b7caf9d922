"""Pooling: each window of x (N, C, *size) becomes one number, its largest element or its mean.

A window is a box, so what is done to it is done along one axis after the other. The gradient of a maximum goes
to one place, the first where it stands, in the order of reading. Where that is, is a tensor of integers, `ArgMaxPool`;
to take from those places and to put into them are linear ops, each the other's adjoint. So pooling has derivatives of
every order, and none is found by scattering.
In adaptive pooling the number of windows is given, and each is as long as it must be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, reduce
from math import prod

import numpy as np

from ..base.dtypes import kind
from ..core.op import Linear, Op
from .convolution import Window


@dataclass(frozen=True)
class Pooling(Op):
    """What they have in common: the window, over the axes that follow batch and channels."""

    window: Window

    inline = False

    def infer(self, x, *others):
        return x.with_shape((*x.shape[:2], *self.window.places(self, x.shape[2:])))


@dataclass(frozen=True)
class MaxPool(Pooling):
    """y = the largest element of each window; padding is smaller than any"""

    def forward(self, xp, x):
        for axis, places in enumerate(self.window.places(self, x.shape[2:]), 2):
            x = highest(xp, x, axis, self.window.axis(axis - 2, x.shape[axis], places), places)
        return x

    def vjp(self, gy, y, x):
        return gy.apply(PutTaps(self.window, x.spec.shape[2:]), x.apply(ArgMaxPool(self.window), y)),

    def jvp(self, dxs, y, x): return dxs[0].apply(TakeTaps(self.window), x.apply(ArgMaxPool(self.window), y))
    def flops(self, y, x): return y.size * (self.window.taps - 1)


@dataclass(frozen=True)
class ArgMaxPool(Pooling):
    """Which tap of its window y = max x comes from, the first that equals it: 0, 1, … with the last axis fastest.

    Where a maximum is no number, it equals nothing, and the last tap is named.
    """

    def infer(self, x, y): return y.with_dtype(counter(self.window))

    def forward(self, xp, x, y):
        # The number of taps before the first that hits: counted, since choosing by a mask costs ten times as much.
        number = xp.zeros_like(y, dtype=counter(self.window))
        missed = xp.ones_like(y, dtype=bool)
        for _, read, at in self.window.slabs(x.shape[2:], y.shape[2:])[:-1]:
            here = (..., *at)
            missed[here] &= x[(..., *read)] != y[here]
            number += missed
        return number

    def flops(self, number, x, y): return 3 * number.size * (self.window.taps - 1)


@dataclass(frozen=True)
class TakeTaps(Pooling):
    """y = x at the tap of each window whose number is given; 0 where it lies in the padding"""

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


@dataclass(frozen=True)
class PutTaps(Pooling):
    """x = zeros of `size` with y added at the tap of each window whose number is given"""

    size: tuple[int, ...]

    symbol = "put taps"

    def infer(self, y, taps): return y.with_shape((*y.shape[:2], *self.size))

    def forward(self, xp, y, taps):
        x = xp.zeros_like(taps, y.dtype, shape=(*y.shape[:2], *self.size))  # in memory as the maxima were
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


@dataclass(frozen=True)
class TapPlaces(Pooling):
    """Where in a plane of `size`, its elements counted in order, each window's tap of the given number lies"""

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


@dataclass(frozen=True)
class AvgPool(Pooling, Linear):
    """y = the mean of each window, over what lies in x and in `counted` places of padding before and after it"""

    counted: tuple[tuple[int, int], ...]

    def forward(self, xp, x):
        dtype, size = x.dtype, x.shape[2:]
        for axis, places in enumerate(self.window.places(self, size), 2):
            x = total(xp, x, axis, self.window.axis(axis - 2, x.shape[axis], places), places)
        return x * self.weight(xp, size, dtype)

    def weight(self, xp, size, dtype):
        """1 / the number of elements counted in each window, with as few axes as tell windows apart."""
        counts = [self.count(i, n, p) for i, (n, p) in enumerate(zip(size, self.window.places(self, size)))]
        if all(len(set(c)) == 1 for c in counts):
            return dtype.type(1 / prod(c[0] for c in counts))
        return shares(xp, tuple(counts), dtype)

    def count(self, i, n, places):
        """How many elements along axis i each window counts."""
        w, (before, after) = self.window, self.counted[i]
        starts = [o * w.stride[i] - w.padding[i][0] for o in range(places)]
        return tuple(sum(-before <= s + t * w.dilation[i] < n + after for t in range(w.kernel[i])) or 1 for s in starts)

    def adjoint(self, gy, x): return gy.apply(AvgUnpool(self.window, self.counted, x.spec.shape[2:]))
    def flops(self, y, x): return y.size * self.window.taps


@dataclass(frozen=True)
class AvgUnpool(AvgPool):
    """x of `size` = each mean's gradient spread evenly over its window: AvgPool's adjoint"""

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
    """1 / the number of elements in each window, a product of one number per axis. Kept: it comes from the host."""
    table = prod(np.array(c, dtype=float).reshape(-1, *[1] * (len(counts) - 1 - i)) for i, c in enumerate(counts))
    return xp.asarray(1 / table, dtype=dtype)


def lying_as(xp, y, x):
    """y with its axes in memory in x's order: one copy, where each tap would read it across memory."""
    if order(y) == order(x):
        return y
    copy = xp.empty_like(x, dtype=y.dtype)
    copy[...] = y
    return copy


def order(x):
    """The axes of x as they lie in memory."""
    return sorted(range(x.ndim), key=lambda a: -x.strides[a])


# -- along one axis -------------------------------------------------------------------------------


def highest(xp, x, axis, taps, places):
    """The largest of each window along one axis."""
    if len(taps) > 1 and all(at == slice(0, places) for _, at in taps):
        return reduce(xp.maximum, (x[along(axis, read)] for read, _ in taps))
    lowest = -xp.inf if kind(x.dtype) == "f" else np.iinfo(x.dtype).min
    y = xp.full_like(x, lowest, shape=resized(x, axis, places))
    for read, at in taps:
        here = y[along(axis, at)]
        xp.maximum(here, x[along(axis, read)], out=here)
    return y


def total(xp, x, axis, taps, places):
    """The sum of each window along one axis."""
    y = xp.zeros_like(x, shape=resized(x, axis, places))
    for read, at in taps:
        y[along(axis, at)] += x[along(axis, read)]
    return y


def spread(xp, y, axis, taps, size):
    """The adjoint of `total`: each sum given to every element of its window."""
    x = xp.zeros_like(y, shape=resized(y, axis, size))
    for read, at in taps:
        x[along(axis, read)] += y[along(axis, at)]
    return x


def along(axis, part):
    """The index that takes a slice of one axis."""
    return (*[slice(None)] * axis, part)


def resized(x, axis, n):
    """x's shape with another length of one axis."""
    return (*x.shape[:axis], n, *x.shape[axis + 1 :])


def counter(window: Window):
    """The smallest dtype that counts a window's taps."""
    return np.min_scalar_type(window.taps)


@dataclass(frozen=True)
class AdaptiveAvgPool(Linear):
    """y[i] = the mean of x[⌊i m / n⌋ : ⌈(i + 1) m / n⌉] along an axis of m elements, for i < n"""

    axis: int
    n: int

    symbol = "avgpool"
    inline = False

    def infer(self, x): return x.with_shape(resized(x, self.axis, self.n))

    def forward(self, xp, x):
        _, _, lengths = reads(xp, x.shape[self.axis], self.n, x.dtype)
        return adaptive_sum(xp, x, self.axis, self.n) / standing(lengths, x, self.axis)

    def adjoint(self, gy, x): return gy.apply(AdaptiveAvgUnpool(self.axis, x.spec.shape[self.axis]))
    def flops(self, y, x): return max(x.size, y.size)


@dataclass(frozen=True)
class AdaptiveAvgUnpool(AdaptiveAvgPool):
    """AdaptiveAvgPool's adjoint. Element j is in windows ⌊j n / m⌋ to ⌈(j + 1) n / m⌉: the sum of one with m for n."""

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
    """What each of n adaptive windows over m elements reads: places, which of them are in it, and how many.

    All as long as the longest, the shorter ones ending in places that are not counted. Kept: it comes from the host.
    """
    start, stop = adaptive(m, n)
    places = start[:, None] + np.arange(max(stop - start, default=0))
    inside = xp.asarray(places < stop[:, None])
    return xp.asarray(np.minimum(places, m - 1)), inside, xp.asarray(stop - start, dtype=dtype)


def standing(lengths, x, axis):
    """A number for each place of one axis, to divide x by."""
    return lengths.reshape(-1, *[1] * (x.ndim - 1 - axis))


def adaptive(m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each of n windows over m elements starts and stops: evenly, each as long as it must be to leave no gap."""
    i = np.arange(n)
    return i * m // n, -(-(i + 1) * m // n)
