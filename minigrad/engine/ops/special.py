"""Special functions. `blockwise` computes long formulas block by block, so that temporaries stay in the cache.

The error function, which NumPy lacks: erf x = 2/√π ∫₀ˣ e^(−t²) dt.

It is computed by a Taylor series about the nearest point a of a fine grid, where Python's `math.erf` gives the value.
With h = x − a, |h| ≤ 1/1024, five terms are exact to the last digit or two (the accurate tables of S. Gal, 1986,
"Computing elementary functions: a new approach for achieving high accuracy and good performance"):

    erf(a + h) = erf a + 2/√π e^(−a²) (h − a h² + (2a² − 1)/3 h³ − a(2a² − 3)/6 h⁴ + (4a⁴ − 12a² + 3)/30 h⁵ − …)

The coefficients are Hermite polynomials in a: https://dlmf.nist.gov/7.10.E1. A single formula, without branches.

Φ⁻¹, the quantile of the normal distribution, turns a uniform number into a normal one.

Wichura 1988, "Algorithm AS 241: the percentage points of the normal distribution", Applied Statistics 37, uses
three quotients of two polynomials of degree 7: in the middle, in the tails and far out.

Functions defined by an integral or a series: the inverse error function, ln Γ and its derivatives, Bessel's I.

Each is computed in float64 for all dtypes of x, by a formula without branches. A & S is Abramowitz and Stegun 1964,
"Handbook of mathematical functions": https://personal.math.ubc.ca/~cbm/aands/
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from math import cos, exp, factorial, inf, log, nan, pi, sqrt
from math import erf as exact_erf
from math import erfc as exact_erfc
from typing import Any, ClassVar

import numpy as np

from ..base.device import device_of
from ..core.op import Elementwise


def blockwise(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate an elementwise forward(op, xp, x, …) to run on one block of the device's block size at a time."""

    @wraps(forward)
    def in_blocks(op, xp, x, *others):
        block = device_of(x).block
        if x.size <= block or hasattr(xp, "records"):  # a compiled program splits into blocks by itself
            return forward(op, xp, x, *others)
        xs = xp.broadcast_arrays(x, *others)
        axes = sorted(range(xs[0].ndim), key=lambda a: -xs[-1].strides[a])  # the memory order, also for y
        pieces = [x.transpose(axes).reshape(-1) for x in xs]
        y = xp.empty(pieces[0].size, forward(op, xp, *(piece[:1] for piece in pieces)).dtype)
        for start in range(0, y.size, block):
            y[start : start + block] = forward(op, xp, *(piece[start : start + block] for piece in pieces))
        return y.reshape([xs[0].shape[a] for a in axes]).transpose(sorted(axes, key=axes.__getitem__))

    return in_blocks


PER_ONE = 512  # points of the grid from 0 to 1
LOW, HIGH = -6, 28  # below LOW, erf is −1 to the last digit; above HIGH, erfc is too small for float64


class Erf(Elementwise):
    """y = erf x = 2/√π ∫₀ˣ e^(−t²) dt"""

    method = "erf"
    inline = False

    @blockwise
    def forward(self, xp, x): return erf(xp, x)

    def partials(self, y, x): return 2 / sqrt(pi) * (-(x * x)).exp(),
    def flops(self, y, x): return y.size


class Erfc(Elementwise):
    """y = 1 − erf x, exact where erf is nearly 1"""

    method = "erfc"
    inline = False

    @blockwise
    def forward(self, xp, x): return erfc(xp, x)

    def partials(self, y, x): return -2 / sqrt(pi) * (-(x * x)).exp(),
    def flops(self, y, x): return y.size


def erf(xp, x):
    """erf of an array, in its own float dtype; in float64 for integers."""
    own = getattr(xp, "erf", None)  # C has its own
    if own is not None:
        return own(x)
    i, a, h, dtype = nearest(xp, x)
    value, slope = table(xp, exact_erf, a.dtype)
    b = a * a
    series = b * (2 / 3) - 1 / 3
    if a.dtype.itemsize == 8:  # three terms are enough for float32
        series = series + (((b - 3) * b * (2 / 15) + 0.1) * h - (b - 1.5) * a * (1 / 3)) * h
    y = ((series * h - a) * h + 1) * h * slope.take(i) + value.take(i)
    return xp.copysign(y, x).astype(dtype)  # erf of −0 is −0


def erfc(xp, x):
    """erfc of an array, in its own float dtype: the same series, with more terms in float64, since a is up to 28.

    The terms of the series, s₁ = h, s₂, …, obey (k + 1)(k + 2) sₖ₊₂ = −2 (a h (k + 1) sₖ₊₁ + h² k sₖ).
    """
    own = getattr(xp, "erfc", None)
    if own is not None:
        return own(x)
    i, a, h, dtype = nearest(xp, x)
    value, slope = table(xp, exact_erfc, a.dtype)
    total, term, before, step, square = h, h, 0 * h, a * h, h * h
    for k in range(7 if a.dtype.itemsize == 8 else 3):
        term, before = -2 / (k + 2) * step * term - 2 * k / ((k + 1) * (k + 2)) * square * before, term
        total = total + term
    return (value.take(i) - slope.take(i) * total).astype(dtype)


def nearest(xp, x):
    """The grid point nearest to each x: its index i, its value a, h = x − a, and the dtype of the result.

    NaN is propagated by h.
    """
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype(float)
    x = x.astype(np.float32 if dtype.itemsize < 4 else dtype)
    x = xp.minimum(xp.maximum(x, LOW), HIGH)
    step = xp.rint(xp.fmax(x, LOW) * PER_ONE)
    a = step * (1 / PER_ONE)
    return (step - LOW * PER_ONE).astype(np.intp), a, x - a, dtype


def tables(make):
    """Cache make(xp, …), which returns arrays, once per array module. A module that records a program converts NumPy's
    arrays instead: as a key of the cache, it would stay alive, with everything it has recorded.
    """
    once = lru_cache(make)
    return lambda xp, *key: [*map(xp.asarray, once(np, *key))] if hasattr(xp, "records") else once(xp, *key)


@tables
def table(xp, function, dtype):
    """The values of `function` (erf or erfc) and the slope of erf, 2/√π e^(−a²), at the points a of the grid."""
    grid = [i / PER_ONE for i in range(LOW * PER_ONE, HIGH * PER_ONE + 1)]
    slope = [2 / sqrt(pi) * exp(-a * a) for a in grid]
    return xp.asarray([function(a) for a in grid], dtype), xp.asarray(slope, dtype)


def quantile(xp, p):
    """Φ⁻¹(p), to about one part in 10¹⁶; finite at 0 and 1."""
    return deviate(xp, p - 0.5, xp.maximum(xp.minimum(p, 1 - p), 5e-324))


def deviate(xp, q, tail):
    """Φ⁻¹(½ + q), with tail = ½ − |q|: ±∞ for a tail of 0, NaN for a negative tail."""
    r = xp.sqrt(-xp.log(tail))
    outside = xp.where(r <= 5, rational(TAIL, r - 1.6), xp.where(r < inf, rational(FAR, r - 5), r)) * xp.sign(q)
    return xp.where(xp.abs(q) <= 0.425, q * rational(MIDDLE, 0.180625 - q * q), outside)


def rational(coefficients, x):
    """The quotient of two polynomials at x, by Horner's rule."""
    above, below = (x * 0 + c[0] for c in coefficients)
    for a, b in zip(coefficients[0][1:], coefficients[1][1:], strict=True):
        above, below = above * x + a, below * x + b
    return above / below


# Coefficients of numerator and denominator, highest power first.
MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852854561, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)  # fmt: skip
TAIL = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)  # fmt: skip
FAR = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)  # fmt: skip


BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)


class Special(Elementwise):
    """y = f(x), which `double` computes for an array of float64."""

    inline = False
    double: ClassVar[Any]

    @blockwise
    def forward(self, xp, x):
        with np.errstate(all="ignore"):  # poles give ∞ or NaN without a warning
            return self.double(xp, x.astype(np.float64)).astype(x.dtype if x.dtype.kind == "f" else float)

    def flops(self, y, x): return y.size


class ErfInv(Special):
    """The y with erf y = x"""

    autocast = "float32"
    method = "erfinv"

    def double(self, xp, x): return deviate(xp, x / 2, (1 - xp.abs(x)) / 2) * sqrt(0.5)
    def partials(self, y, x): return (y * y).exp() * (sqrt(pi) / 2),


class PolyGamma(Special):
    """y = the derivative of ln |Γ| of order n + 1 (A & S 6.1.40, 6.3.18, 6.4.11, by way of 6.1.15–17, 6.4.6–7)"""

    n: int = 0

    def infer(self, x):
        if self.n > 150:
            raise ValueError(f"{self} has an order above 150, whose factorials do not fit into float64")
        return super().infer(x)

    def double(self, xp, x):
        n, z = self.n, xp.where(x < 0, 1 - x, x)
        far, series, beside = z + n + 10 if n >= 0 else xp.maximum(z, 8), 0.0, x - xp.rint(x)
        for k in range(len(BERNOULLI), 0, -1):
            series = (series + BERNOULLI[k - 1] * factorial(2 * k + n - 1) / factorial(2 * k)) / (far * far)
        if n < 0:
            y = (far - 0.5) * (xp.log(far) - 1) + (log(2 * pi) - 1) / 2 + series * far
            from .log_gamma import log_gamma_below_8, log_gamma_near_zeros
            y = xp.where(z < 8, log_gamma_below_8(xp, z), y)
            mirrored = log(pi) - xp.log(xp.abs(xp.sin(pi * beside))) - y
            return log_gamma_near_zeros(xp, x, xp.where(xp.isinf(x), inf, xp.where(x < 0, mirrored, y)), near_zeros)
        steps = sum(((z + k) ** (-1.0 - n) for k in range(1, n + 10)), z ** (-1.0 - n))
        first = factorial(n - 1) if n else -xp.log(far)
        y = (first + factorial(n) / (2 * far) + series) / far**n + factorial(n) * steps
        from numpy.polynomial import Polynomial

        slope = Polynomial([0, 1])  # the derivatives of cot πx, as polynomials in cot πx
        for _ in range(n):
            slope = slope.deriv() * Polynomial([-pi, 0, -pi])
        cot, turned = 1 / xp.tan(pi * beside), 0.0
        for a in reversed(slope.coef.tolist()):
            turned = turned * cot + a
        mirrored = -y - pi * turned
        pole = (-1) ** (n + 1) * inf if n else nan  # ψ has different signs on the two sides of a pole
        return xp.where(x < 0, xp.where(xp.equal(beside, 0), pole, mirrored), (-1) ** (n + 1) * y)

    def partials(self, y, x): return x.apply(PolyGamma(self.n + 1)),


@tables
def near_zeros(xp):
    from . import log_gamma
    return log_gamma.near_zeros(xp, PolyGamma)


class BesselI(Special):
    """y = Iₙ(x), times e^(−|x|) if scaled: ∫ e^(x cos θ) cos nθ dθ / π, a series beyond 30 (A & S 9.6.19, 9.7.1)

    The integral is a sum with equal steps, which for a periodic function is exact to the last digit.
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
