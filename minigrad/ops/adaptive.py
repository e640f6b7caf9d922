"""Adaptive pooling: the number of windows is given, and each is as long as it must be, one axis at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..op import Linear
from .pooling import resized


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
