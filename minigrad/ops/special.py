"""Functions that only an integral or a series defines: of the error function the inverse, Γ's logarithm, Bessel's I.

Each is computed in float64, whatever x is, by a text without branches. A & S is Abramowitz and Stegun 1964,
"Handbook of mathematical functions": https://personal.math.ubc.ca/~cbm/aands/
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import cos, exp, factorial, log, pi, sqrt
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


class Erfcx(Special):
    """y = e^(x²) (1 − erf x), which does not underflow

    ∫ e^(−t²) x / (t² + x²) dt / π by the midpoint rule of step ½, and what its pole adds: Matta and Reichel 1971,
    "Uniform computation of the error function and other related functions", Mathematics of computation 25.
    """

    def double(self, xp, x):
        z, points = xp.abs(x), [(i / 2 + 0.25) ** 2 for i in range(13)]
        pole = xp.where(z < 6, 2 / (xp.exp(-z * z) + xp.exp(z * (4 * pi - z))), 0)
        y = sum(exp(-p) / (z + p / z) for p in points) / pi + pole
        return xp.where(x < 0, 2 * xp.exp(z * z) - y, y)

    def partials(self, y, x): return 2 * x * y - 2 / sqrt(pi),


class LogGamma(Special):
    """y = ln |Γ(x)|: Taylor's series about 2, Stirling's from 7 on (A & S 6.1.40), what leads there (6.1.15, 6.1.17)"""

    symbol = "lnΓ"

    def double(self, xp, x):
        z = xp.where(x < 0, 1 - x, x)
        t = z - xp.minimum(xp.rint(z), 2)
        near, far, series, product = 0.0, xp.where(z < 7, z + 5, z), 0.0, z
        for slope in around_2():
            near = (near + slope) * t
        near = near - xp.where(z < 1.5, xp.log1p(t), 0) - xp.where(z <= 0.5, xp.log(z), 0)
        for k in range(len(BERNOULLI), 0, -1):
            series = series / (far * far) + BERNOULLI[k - 1] / (2 * k * (2 * k - 1))
        for k in range(1, 5):
            product = product * (z + k)
        y = (far - 0.5) * (xp.log(far) - 1) + (log(2 * pi) - 1) / 2 + series / far
        y = xp.where(z < 2.5, near, y - xp.where(z < 7, xp.log(product), 0))
        mirrored = log(pi) - xp.log(xp.abs(xp.sin(pi * (x - xp.rint(x))))) - y
        return xp.where(xp.isinf(x), xp.inf, xp.where(x < 0, mirrored, y))

    def partials(self, y, x): return x.apply(PolyGamma(0)),


@lru_cache
def around_2():
    """The derivatives of ln Γ at 2 over k!, from the 30th down."""
    return [float(PolyGamma(k - 1).forward(np, np.array(2.0))) / factorial(k) for k in range(30, 0, -1)]


@dataclass(frozen=True)
class PolyGamma(Special):
    """y = the derivative of ln Γ of order n + 1: A & S 6.3.18 and 6.4.11 far from 0, where 6.4.6 and 6.4.7 lead"""

    n: int = 0

    def double(self, xp, x):
        n, z = self.n, xp.where(x < 0, 1 - x, x)
        far, series = z + n + 10, 0.0
        for k in range(len(BERNOULLI), 0, -1):
            series = (series + BERNOULLI[k - 1] * factorial(2 * k + n - 1) / factorial(2 * k)) / (far * far)
        first = factorial(n - 1) if n else -xp.log(far)
        y = (first + factorial(n) / (2 * far) + series) / far**n
        steps = sum(((z + k) ** (-1.0 - n) for k in range(1, n + 10)), z ** (-1.0 - n))
        y = (-1) ** (n + 1) * (y + factorial(n) * steps)
        slope = Polynomial([0, 1])  # of cot πx, in cot πx
        for _ in range(n):
            slope = slope.deriv() * Polynomial([-pi, 0, -pi])
        beside = x - xp.rint(x)
        mirrored = (-1) ** n * y - pi * slope(1 / xp.tan(pi * beside))
        pole = (-1) ** (n + 1) * xp.inf if n else xp.nan  # on its sides ψ has two signs
        return xp.where(x < 0, xp.where(beside == 0, pole, mirrored), y)

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
