"""Reductions: many elements to one, along `axes`; `keepdims` leaves them with length 1."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..errors import ShapeError
from ..op import Op
from ..spec import Spec


@dataclass(frozen=True)
class Reduction(Op):
    """What reductions have in common: the axes that go, and the way back to them."""

    axes: tuple[int, ...]
    keepdims: bool = False

    def infer(self, x):
        one = np.ones((1,) * x.ndim, x.dtype)
        return Spec(self.reduced(x.shape), self.forward(np, one).dtype, x.device)

    def reduced(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the result of reducing `shape`."""
        if self.keepdims:
            return tuple(1 if a in self.axes else n for a, n in enumerate(shape))
        return tuple(n for a, n in enumerate(shape) if a not in self.axes)

    def spread(self, y, x):
        """y with its reduced axes back, of length 1, so that it broadcasts against x."""
        return y.reshape(tuple(1 if a in self.axes else n for a, n in enumerate(x.shape)))

    def count(self, x) -> int:
        """How many elements go into one."""
        return prod(x.shape[a] for a in self.axes)

    def flops(self, y, x): return x.size - y.size


@dataclass(frozen=True)
class Sum(Reduction):
    """y = Σ x"""

    symbol = "sum"

    def forward(self, xp, x): return xp.sum(x, self.axes, keepdims=self.keepdims)
    def vjp(self, gy, y, x): return self.spread(gy, x).broadcast_to(x.shape),
    def jvp(self, dxs, y, x): return dxs[0].apply(self)


@dataclass(frozen=True)
class Mean(Reduction):
    """y = Σ x / n"""

    symbol = "mean"

    def forward(self, xp, x): return xp.mean(x, self.axes, keepdims=self.keepdims)
    def vjp(self, gy, y, x): return (self.spread(gy, x) / self.count(x)).broadcast_to(x.shape),
    def jvp(self, dxs, y, x): return dxs[0].apply(self)
    def flops(self, y, x): return x.size


@dataclass(frozen=True)
class Max(Reduction):
    """y = max x; tied elements share the gradient equally."""

    symbol = "max"

    def infer(self, x):
        if self.count(x) == 0:
            raise ShapeError(f"{self} of {x}: the largest of no elements does not exist")
        return super().infer(x)

    def forward(self, xp, x): return xp.max(x, self.axes, keepdims=self.keepdims)
    def vjp(self, gy, y, x): return self.spread(gy, x) * self.share(y, x),
    def jvp(self, dxs, y, x): return (dxs[0] * self.share(y, x)).sum(self.axes, self.keepdims)

    def share(self, y, x):
        """1/k at each of the k winners, 0 elsewhere. Shape of x."""
        wins = x.equal(self.spread(y, x)).astype(x.spec.dtype)
        return wins / wins.sum(self.axes, keepdims=True)


@dataclass(frozen=True)
class LogSumExp(Reduction):
    """y = ln Σ eˣ, from the largest x down, so that no e is taken of a large number."""

    symbol = "logsumexp"
    inline = False

    def forward(self, xp, x):
        x = x if x.dtype.kind == "f" else x.astype(np.float64)
        if not x.size:
            return xp.full(self.reduced(x.shape), -np.inf, x.dtype)  # a sum of nothing is 0
        top = xp.max(x, self.axes, keepdims=True)
        top = xp.where(xp.isfinite(top), top, x.dtype.type(0))  # −inf − (−inf) is no number; −inf − 0 is
        # A row of −inf sums to 0, whose log is −inf: the right answer, and no cause for a warning.
        with np.errstate(divide="ignore"):
            y = xp.log(xp.sum(xp.exp(x - top), self.axes, keepdims=True)) + top
        return y if self.keepdims else y.reshape(self.reduced(x.shape))

    def vjp(self, gy, y, x): return self.spread(gy, x) * self.softmax(y, x),
    def jvp(self, dxs, y, x): return (dxs[0] * self.softmax(y, x)).sum(self.axes, self.keepdims)
    def softmax(self, y, x): return (x - self.spread(y, x)).exp()
    def flops(self, y, x): return 4 * x.size  # max, subtract, exp, add
