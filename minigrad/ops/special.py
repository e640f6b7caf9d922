"""Functions that only an integral or a series defines: the error function's inverse, Γ's logarithm, Bessel's I.

Each is computed in float64, whatever x is, by a text without branches. A & S is Abramowitz and Stegun 1964,
"Handbook of mathematical functions": https://personal.math.ubc.ca/~cbm/aands/
"""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, factorial, inf, log, nan, pi, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial import Polynomial

from ..op import Elementwise
from .blocks import blockwise
from .quantile import deviate

BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


class Special(Elementwise):
    """y = f(x), which `double` says of an array of float64."""

    inline = False
    double: ClassVar[Any]

    @blockwise
    def forward(self, xp, x):
        with np.errstate(all="ignore"):  # poles are values here
            return self.double(xp, x.astype(np.float64)).astype(x.dtype if x.dtype.kind == "f" else float)

    def flops(self, y, x): return y.size


class ErfInv(Special):
    """The y with erf y = x"""

    def double(self, xp, x): return deviate(xp, x / 2, (1 - xp.abs(x)) / 2) * sqrt(0.5)
    def partials(self, y, x): return (y * y).exp() * (sqrt(pi) / 2),


@dataclass(frozen=True)
class PolyGamma(Special):
    """y = the derivative of ln |Γ| of order n + 1 (A & S 6.1.40, 6.3.18, 6.4.11, led to by 6.1.15–17 and 6.4.6–7)"""

    n: int = 0

    def double(self, xp, x):
        n, z = self.n, xp.where(x < 0, 1 - x, x)
        far, series, beside = z + n + 10, 0.0, x - xp.rint(x)
        for k in range(len(BERNOULLI), 0, -1):
            series = (series + BERNOULLI[k - 1] * factorial(2 * k + n - 1) / factorial(2 * k)) / (far * far)
        if n < 0:
            steps = sum(xp.log(z + k) for k in range(9))
            y = (far - 0.5) * (xp.log(far) - 1) + (log(2 * pi) - 1) / 2 + series * far - steps
            mirrored = log(pi) - xp.log(xp.abs(xp.sin(pi * beside))) - y
            return xp.where(xp.isinf(x), inf, xp.where(x < 0, mirrored, y))
        steps = sum(((z + k) ** (-1.0 - n) for k in range(1, n + 10)), z ** (-1.0 - n))
        first = factorial(n - 1) if n else -xp.log(far)
        y = (first + factorial(n) / (2 * far) + series) / far**n + factorial(n) * steps
        slope = Polynomial([0, 1])  # of cot πx, in cot πx
        for _ in range(n):
            slope = slope.deriv() * Polynomial([-pi, 0, -pi])
        cot, turned = 1 / xp.tan(pi * beside), 0.0
        for a in reversed(slope.coef.tolist()):
            turned = turned * cot + a
        mirrored = -y - pi * turned
        pole = (-1) ** (n + 1) * inf if n else nan  # on its sides ψ has two signs
        return xp.where(x < 0, xp.where(xp.equal(beside, 0), pole, mirrored), (-1) ** (n + 1) * y)

    def partials(self, y, x): return x.apply(PolyGamma(self.n + 1)),


@dataclass(frozen=True)
class BesselI(Special):
    """y = Iₙ(x), times e^(−|x|) if scaled: ∫ e^(x cos θ) cos nθ dθ / π, a series beyond 30 (A & S 9.6.19, 9.7.1)

    What is periodic is integrated to the last digit by equal steps.
    """

    n: int = 0
    scaled: bool = False

    def double(self, xp, x):
        n, odd, z, near, series = self.n, self.n % 2, xp.abs(x), 0.0, 1.0
        for k in range(17):
            c = cos(k * pi / 32)
            pair = -xp.expm1(-2 * c * z) if odd else 1 + xp.exp(-2 * c * z)
            near = near + xp.exp(z * (c - 1)) * pair * (cos(n * k * pi / 32) / (64 if k in (0, 16) else 32))
        far = xp.maximum(z, 30)
        for k in range(16, 0, -1):
            series = 1 - series * (4 * n * n - (2 * k - 1) ** 2) / (8 * k * far)
        y = xp.where(z < 30, near, series / xp.sqrt(2 * pi * far)) * (xp.sign(x) if odd else 1)
        return y if self.scaled else y * xp.exp(z / 2) * xp.exp(z / 2)

    def partials(self, y, x):
        slope = (x.apply(BesselI(abs(self.n - 1), self.scaled)) + x.apply(BesselI(self.n + 1, self.scaled))) / 2
        return slope - x.sign() * y if self.scaled else slope,
