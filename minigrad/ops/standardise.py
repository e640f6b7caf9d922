"""Standardising: to mean 0 and mean square 1. What layer, batch, group and instance normalisation share.

    c = x − mean x                   Centre
    r = 1 / √(mean c² + ε)           InverseRMS
    y = c r w + b                    Standardise
    y = x / √(mean x² + ε)           RMSNormalise, which does without the mean

For backward only x is kept, and c and r are computed again: three quick passes, for one array less.

Ioffe and Szegedy 2015, “Batch normalization”, https://arxiv.org/abs/1502.03167
Ba, Kiros and Hinton 2016, “Layer normalization”, https://arxiv.org/abs/1607.06450
Zhang and Sennrich 2019, “Root mean square layer normalization”, https://arxiv.org/abs/1910.07467
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

from ..base.dimension import at_least
from ..base.errors import ShapeError
from ..base.spec import broadcast_shape
from ..core.op import Linear, Op
from .reduce import SumOfProducts, subscripts


@dataclass(frozen=True)
class Centre(Linear):
    """y = x − mean x along `axes`: a projection, and its own adjoint"""

    axes: tuple[int, ...]

    inline = False

    def infer(self, x): return x
    def forward(self, xp, x): return x - mean(xp, x, self.axes)
    def adjoint(self, gy, x): return gy.apply(self)
    def flops(self, y, x): return 2 * x.size


@dataclass(frozen=True)
class InverseRMS(Op):
    """y = 1 / √(mean x² + ε) along `axes`, which stay with length 1"""

    axes: tuple[int, ...]
    eps: float

    symbol = "1/rms"

    def infer(self, x): return x.with_shape(summing(x.shape, self.axes)[1])

    def forward(self, xp, x):
        y = SumOfProducts(self.axes).forward(xp, x, x) / count(self.axes, x) + self.eps
        return xp.sqrt(y) / y  # no number of an overflow, of which 1 / √y would make a 0

    def vjp(self, gy, y, x): return gy * self.slope(y, x) * x,
    def jvp(self, dxs, y, x): return dxs[0].apply(SumOfProducts(self.axes), x) * self.slope(y, x)
    def slope(self, y, x): return y * y * y * (-1 / count(self.axes, x))
    def flops(self, y, x): return 2 * x.size + 4 * y.size


@dataclass(frozen=True)
class RMSNormalise(Op):
    """y = x / √(mean x² + ε) along `axes`"""

    axes: tuple[int, ...]
    eps: float

    symbol = "÷ rms"

    def infer(self, x): return x
    def forward(self, xp, x): return x * InverseRMS(self.axes, self.eps).forward(xp, x)
    def decomposed(self, x): return x * x.apply(InverseRMS(self.axes, self.eps))
    def vjp(self, gy, y, x): return self.projected(gy, x),
    def jvp(self, dxs, y, x): return self.projected(dxs[0], x)

    def projected(self, g, x):
        r = x.apply(InverseRMS(self.axes, self.eps))
        return across(g, x * r, self.axes) * r

    def flops(self, y, x): return 3 * x.size + 4 * x.size // count(self.axes, x)


@dataclass(frozen=True)
class Standardise(Op):
    """y = (x − μ) / √(σ² + ε) · w + b, with the mean μ and the variance σ² along `axes`

    w, b    scale and shift, which broadcast to x; or no shift, or neither
    """

    axes: tuple[int, ...]
    eps: float

    def infer(self, x, *affine):
        for p in affine:
            if broadcast_shape(p.shape, x.shape) != x.shape:
                raise ShapeError(f"{self} needs a scale and a shift that broadcast to {x}, and got {p}")
        return x

    def forward(self, xp, x, *affine):
        y = Centre(self.axes).forward(xp, x)
        y *= InverseRMS(self.axes, self.eps).forward(xp, y)
        for scale in affine[:1]:
            y *= scale
        for shift in affine[1:]:
            y += shift
        return y

    def decomposed(self, x, *affine):
        y, _ = self.normal(x)
        y = y * affine[0] if affine else y
        return y + affine[1] if affine[1:] else y

    def vjp(self, gy, y, x, *affine):
        n, r = self.normal(x)
        g = gy * affine[0] if affine else gy
        gx = across(g, n, self.axes).apply(Centre(self.axes)) * r
        gscale = (gy.apply(SumOfProducts(rest(x, w)), n).reshape(w.shape) for w in affine[:1])
        return gx, *gscale, *(gy.sum_to(b.shape) for b in affine[1:])

    def jvp(self, dxs, y, x, *affine):
        n, r = self.normal(x)
        dn = across(dxs[0], n, self.axes).apply(Centre(self.axes)) * r
        dy = dn * affine[0] + n * dxs[1] if affine else dn
        return dy + dxs[2] if affine[1:] else dy

    def normal(self, x):
        """(x − μ) / √(σ² + ε), and 1 / √(σ² + ε)."""
        c = x.apply(Centre(self.axes))
        r = c.apply(InverseRMS(self.axes, self.eps))
        return c * r, r

    def flops(self, y, x, *affine): return (5 + len(affine)) * x.size + 4 * x.size // count(self.axes, x)


def across(g, n, axes):
    """g − n · mean(g n): without the part of g along n, of mean square 1, which would change the length alone."""
    return g - n * (g.apply(SumOfProducts(axes), n) / count(axes, n))


def mean(xp, x, axes):
    """Σ x / n along `axes`, which stay with length 1."""
    text, shape, n = summing(x.shape, axes)
    return xp.einsum(text, x).reshape(shape) / n if n <= SHORT else x.sum(axes, keepdims=True) / n


@lru_cache
def summing(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[str, tuple[int, ...], int]:
    """What einsum wants, the shape of the result with its axes kept, and what goes into one of its elements."""
    all_axes, kept = subscripts(len(shape), axes)
    reduced = tuple(1 if a in axes else n for a, n in enumerate(shape))
    return f"{all_axes}->{kept}", reduced, max(prod(shape[a] for a in axes), 1)


SHORT = 1024  # rows up to there einsum adds up 3 times as fast as sum, which is more exact for long ones


def count(axes: tuple[int, ...], x) -> Any:
    """How many elements go into one; 1 where there are none."""
    return at_least(prod(x.shape[a] for a in axes), 1)


def rest(x, w) -> tuple[int, ...]:
    """The axes of x along which w, which broadcasts to x, is one number."""
    shape = (1,) * (x.ndim - w.ndim) + w.shape
    return tuple(a for a, n in enumerate(shape) if n == 1)
