"""Activations, used between the layers of a network, and a loss that cannot be composed well from other ops.

Activations take floats. An exponential may overflow to ∞ without a warning, since 1 / ∞ is 0, the correct limit.
"""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from ..core.op import Elementwise
from .comparison import Clamp, select_or_zero
from .special import blockwise, erfc

# -- smooth steps ---------------------------------------------------------------------------------


class Sigmoid(Elementwise):
    """y = 1 / (1 + e⁻ˣ)"""

    symbol = "σ"
    inline = False

    @np.errstate(over="ignore")
    @blockwise
    def forward(self, xp, x): return 1 / (1 + xp.exp(-x))

    def partials(self, y, x): return y * (1 - y),
    def flops(self, y, x): return 4 * y.size


class LogSigmoid(Elementwise):
    """y = ln σ(x) = min(x, 0) − ln(1 + e^−|x|)"""

    symbol = "ln σ"

    def forward(self, xp, x): return xp.minimum(x, 0) - xp.log1p(xp.exp(-xp.abs(x)))
    def partials(self, y, x): return -y.expm1(),  # 1 − σ(x), exact where σ is nearly 1


# -- ramps with a corner ------------------------------------------------------------------------------


class Relu(Elementwise):
    """y = max(x, 0); its slope at 0 is taken as 0"""

    method = "relu"

    def forward(self, xp, x): return xp.maximum(x, 0)
    def partials(self, y, x): return ~(y <= 0),

    def vjp(self, gy, y, x):
        # For a large array, avoid making a mask of the same size.
        return gy.apply(ReluDifferential(), y) if x.spec.size > 1 << 16 else gy.where(~(y <= 0), 0),


class ReluDifferential(Elementwise):
    """z = 0 where x ≤ 0, and t elsewhere"""

    symbol = "d relu"
    inline = False

    @blockwise
    def forward(self, xp, t, x): return select_or_zero(xp, t, xp.invert(x <= 0))

    def partials(self, z, t, x): return ~(x <= 0), None
    def flops(self, z, t, x): return 2 * z.size


class LeakyRelu(Elementwise):
    """y = x where x > 0, a x elsewhere"""

    slope: float

    symbol = "leaky relu"

    def forward(self, xp, x): return xp.where(x > 0, x, x * self.slope)
    def partials(self, y, x): return x.lift(1.0).where(x > 0, self.slope),


class Threshold(Elementwise):
    """y = a fixed value where x ≤ t, x elsewhere"""

    threshold: float
    value: float

    def forward(self, xp, x): return xp.where(x <= self.threshold, self.value, x)
    def partials(self, y, x): return ~(x <= self.threshold),


class Hardtanh(Clamp):
    """y = x clamped to [min, max]; the gradient stops at the bounds themselves"""

    def partials(self, y, x): return (x > self.min) & (x < self.max),


class Hardswish(Elementwise):
    """y = x · min(max(x + 3, 0), 6) / 6. Howard et al. 2019, "Searching for MobileNetV3", section 5.2.

    https://arxiv.org/abs/1905.02244
    """

    def forward(self, xp, x): return x * (xp.minimum(xp.maximum(x + 3, 0), 6) / 6)
    def vjp(self, gy, y, x): return self.scale_by_slope(gy, x),
    def jvp(self, dxs, y, x): return self.scale_by_slope(dxs[0], x)
    def scale_by_slope(self, t, x): return t.where(x >= 3, t * (x / 3 + 0.5)).where(~(x <= -3), 0)


# -- smooth ramps -----------------------------------------------------------------------------------------


class Softplus(Elementwise):
    """y = ln(1 + e^(βx)) / β, and x itself where βx > threshold: there the two are nearly equal"""

    beta: float = 1.0
    threshold: float = 20.0

    autocast = "float32"

    def forward(self, xp, x):
        low = xp.minimum(x * self.beta, self.threshold)
        return xp.where(x * self.beta > self.threshold, x, xp.log1p(xp.exp(low)) / self.beta)

    def partials(self, y, x):
        steep = x * self.beta
        return x.lift(1.0).where(steep > self.threshold, steep.sigmoid()),


class Elu(Elementwise):
    """y = s x where x > 0, s a (e^(bx) − 1) elsewhere

    a        alpha
    s        scale; with SELU's a and s, layers keep mean 0 and variance 1. Klambauer et al. 2017,
             "Self-Normalizing Neural Networks", eq. 2. https://arxiv.org/abs/1706.02515
    b        input scale; with b = 1 / a the slope is continuous (CELU)
    """

    alpha: float = 1.0
    scale: float = 1.0
    input_scale: float = 1.0

    def forward(self, xp, x):
        below = xp.expm1(xp.minimum(x, 0) * self.input_scale) * (self.alpha * self.scale)
        return xp.where(x > 0, x * self.scale, below)

    def partials(self, y, x):
        below = (x.clamp(max=0) * self.input_scale).exp() * (self.alpha * self.scale * self.input_scale)
        return x.lift(self.scale).where(x > 0, below),


class Silu(Elementwise):
    """y = x σ(x)"""

    inline = False

    @np.errstate(over="ignore")
    @blockwise
    def forward(self, xp, x): return x / (1 + xp.exp(-x))

    def partials(self, y, x):
        s = x.sigmoid()
        return s * (1 + x * (1 - s)),

    def flops(self, y, x): return 4 * y.size


class Mish(Elementwise):
    """y = x tanh(ln(1 + eˣ)) = x / (h + ¼ / h), where h = e⁻ˣ + ½. Misra 2019, eq. 1. https://arxiv.org/abs/1908.08681"""

    inline = False

    @np.errstate(over="ignore")
    @blockwise
    def forward(self, xp, x):
        h = xp.exp(-x) + 0.5
        return x / (h + 0.25 / h)

    def partials(self, y, x):
        q = (-x).sigmoid()  # 1 − tanh² would lose digits where tanh is nearly 1
        return x.softplus().tanh() + x * x.sigmoid() * (2 * q / (1 + q * q)).square(),

    def flops(self, y, x): return 4 * y.size


class Gelu(Elementwise):
    """y = x Φ(x), where Φ(x) = ½ erfc(−x/√2) is the normal distribution; ½ (1 + erf(x/√2)) would lose digits.

    Hendrycks & Gimpel 2016, "Gaussian Error Linear Units", section 2. https://arxiv.org/abs/1606.08415
    """

    inline = False

    @blockwise
    def forward(self, xp, x): return x * (erfc(xp, x * -sqrt(0.5)) * 0.5)

    def vjp(self, gy, y, x): return gy.apply(GeluDifferential(), x),
    def jvp(self, dxs, y, x): return dxs[0].apply(GeluDifferential(), x)
    def flops(self, y, x): return 5 * y.size


class GeluTanh(Elementwise):
    """y = ½ x (1 + tanh u) = x σ(2u) with u = √(2/π) (x + 0.044715 x³): nearly `Gelu`, and faster. Source: as for Gelu.

    The form with σ is used: where tanh u is nearly −1, 1 + tanh u would lose digits.
    """

    symbol = "gelu"
    inline = False

    @np.errstate(over="ignore")
    @blockwise
    def forward(self, xp, x): return x / (1 + xp.exp(x * (x * x * (-2 * CUBE) - 2 * LINE)))

    def vjp(self, gy, y, x): return gy.apply(GeluTanhDifferential(), x),
    def jvp(self, dxs, y, x): return dxs[0].apply(GeluTanhDifferential(), x)
    def flops(self, y, x): return 8 * y.size


LINE = sqrt(2 / pi)  # u = LINE x + CUBE x³
CUBE = LINE * 0.044715


class Differential(Elementwise):
    """z = f′(x) t: maps a tangent t forwards or a gradient t backwards, as this map of t is its own adjoint."""

    inline = False

    def curvature(self, x):
        """f″(x)"""
        raise NotImplementedError

    def vjp(self, gz, z, t, x):
        return gz.apply(self, x).sum_to(t.shape), (gz * t * self.curvature(x)).sum_to(x.shape)

    def jvp(self, dxs, z, t, x): return dxs[0].apply(self, x) + dxs[1] * t * self.curvature(x)


class GeluDifferential(Differential):
    """z = (Φ(x) + x φ(x)) t, where φ(x) = e^(−x²/2) / √(2π); φ' = −x φ"""

    symbol = "d gelu"

    @blockwise
    def forward(self, xp, t, x):
        return t * (erfc(xp, x * -sqrt(0.5)) * 0.5 + x * xp.exp(x * x * -0.5) * (2 * pi) ** -0.5)

    def curvature(self, x): return (2 - x * x) * (x * x * -0.5).exp() * (2 * pi) ** -0.5
    def flops(self, z, t, x): return 11 * z.size


class GeluTanhDifferential(Differential):
    """z = (p + x p (1 − p) v) t, where p = ½ (1 + tanh u) = σ(2u) and v = 2u′, so that p′ = p (1 − p) v"""

    symbol = "d gelu"

    @np.errstate(over="ignore")
    @blockwise
    def forward(self, xp, t, x):
        w = xp.minimum(xp.maximum(x, -40.0), 8.0)  # where z is 0 or t to the last digit, and x³ cannot overflow
        v = w * w  # in place from here: every additional array would occupy cache
        h = v * CUBE
        h += LINE
        h = xp.exp(h * w)  # eᵘ; its square may be subnormal where z is not
        r = 1 / (h * h + 1)  # 1 − p
        v *= 6 * CUBE
        v += 2 * LINE
        v *= w
        v *= r
        v += 1
        v *= r * h
        return t * (v * h)

    def curvature(self, x):
        square = x * x
        p, q = (u := x * (square * (2 * CUBE) + 2 * LINE)).sigmoid(), (-u).sigmoid()
        v = square * (6 * CUBE) + 2 * LINE
        return p * q * (2 * v + x * (q - p) * v * v + square * (12 * CUBE))

    def flops(self, z, t, x): return 19 * z.size


LEAST = -100.0  # ln of a probability is clamped to this, so that a mistake made with certainty leaves the mean finite
TINY = 3.7e-44  # e to the LEAST


class BinaryCrossEntropy(Elementwise):
    """y = −t ln x − (1 − t) ln(1 − x), with each ln at least −100. The slope in x uses x(1 − x) of at least 10⁻¹²."""

    autocast = "float32"
    inline = False

    def forward(self, xp, x, t):
        least = xp.finfo(x.dtype).smallest_subnormal  # ln of it is finite, so NumPy does not warn of a division by zero
        hit = xp.maximum(xp.log(xp.maximum(x, least)), x.dtype.type(LEAST))
        sure = xp.greater_equal(x, 1)
        miss = xp.where(sure, x.dtype.type(LEAST), xp.log1p(xp.where(sure, x.dtype.type(0), -x)))
        return -(t * hit + (1 - t) * miss)

    def partials(self, y, x, t):
        return (x - t) / (x * (1 - x)).maximum(1e-12), (1 - x).maximum(TINY).log() - x.maximum(TINY).log()

    def flops(self, y, x, t): return 8 * y.size
