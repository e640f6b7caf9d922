"""Standardising: to mean 0 and mean square 1. What layer, batch, group and instance normalisation share.

    c = x − mean x                   Centre
    y = c / √(mean c² + ε)           RMSNormalise, which by itself is RMS normalisation

Two ops and not one, because backward needs 1/√(mean c² + ε) again: from c that is one pass over memory,
from x it would be three.

Ioffe and Szegedy 2015, “Batch normalization”, https://arxiv.org/abs/1502.03167
Ba, Kiros and Hinton 2016, “Layer normalization”, https://arxiv.org/abs/1607.06450
Zhang and Sennrich 2019, “Root mean square layer normalization”, https://arxiv.org/abs/1910.07467
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ..op import Linear, Op
from .reduce import SumOfProducts


@dataclass(frozen=True)
class Centre(Linear):
    """y = x − mean x along `axes`: a projection, and its own adjoint"""

    axes: tuple[int, ...]

    symbol = "centre"
    inline = False

    def infer(self, x): return x
    def forward(self, xp, x): return x - x.sum(self.axes, keepdims=True) / max(count(self.axes, x), 1)
    def adjoint(self, gy, x): return gy.apply(self)
    def flops(self, y, x): return 2 * x.size


@dataclass(frozen=True)
class InverseRMS(Op):
    """y = 1 / √(mean x² + ε) along `axes`, which stay with length 1"""

    axes: tuple[int, ...]
    eps: float

    symbol = "1/rms"
    inline = False

    def infer(self, x): return x.with_shape(tuple(1 if a in self.axes else n for a, n in enumerate(x.shape)))

    def forward(self, xp, x):
        squares = SumOfProducts(self.axes).forward(xp, x, x)
        return 1 / xp.sqrt(squares / max(count(self.axes, x), 1) + self.eps)

    def vjp(self, gy, y, x): return gy * self.slope(y, x) * x,
    def jvp(self, dxs, y, x): return dxs[0].apply(SumOfProducts(self.axes), x) * self.slope(y, x)
    def slope(self, y, x): return y * y * y * (-1 / max(count(self.axes, x), 1))
    def flops(self, y, x): return 2 * x.size + 4 * y.size


@dataclass(frozen=True)
class RMSNormalise(Op):
    """y = x / √(mean x² + ε) along `axes`"""

    axes: tuple[int, ...]
    eps: float

    symbol = "÷ rms"
    inline = False

    def infer(self, x): return x
    def forward(self, xp, x): return x * InverseRMS(self.axes, self.eps).forward(xp, x)
    def vjp(self, gy, y, x): return self.projected(gy, y, x),
    def jvp(self, dxs, y, x): return self.projected(dxs[0], y, x)

    def projected(self, g, y, x):
        """(g − y · mean(g y)) / rms: without the part of g along y, which would change the length alone."""
        along_y = g.apply(SumOfProducts(self.axes), y) / max(count(self.axes, x), 1)
        return (g - y * along_y) * x.apply(InverseRMS(self.axes, self.eps))

    def flops(self, y, x): return 3 * x.size + 4 * x.size // max(count(self.axes, x), 1)


def count(axes: tuple[int, ...], x) -> int:
    """How many elements go into one."""
    return prod(x.shape[a] for a in axes)
