"""Rescaling of rows: to sum 1 by softmax, or to mean 0 and mean square 1 by standardising.

The largest x of a row is subtracted before exp, so that no exp overflows. A row of only −inf, as in attention if
a mask hides all keys, has no softmax: the result is NaN, as in PyTorch. Layer, batch, group and instance
normalisation are composed of these ops:

    c = x − mean x                   Centre
    r = 1 / √(mean c² + ε)           InverseRMS
    y = c r w + b                    Standardise
    y = x / √(mean x² + ε)           RMSNormalise, which does not subtract the mean

Only x is saved for backward, and c and r are computed again: three fast passes save the memory of one array.

Ioffe and Szegedy 2015, “Batch normalization”, https://arxiv.org/abs/1502.03167
Ba, Kiros and Hinton 2016, “Layer normalization”, https://arxiv.org/abs/1607.06450
Zhang and Sennrich 2019, “Root mean square layer normalization”, https://arxiv.org/abs/1910.07467
"""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np

from ..base.dimension import at_least
from ..base.errors import DTypeError, ShapeError
from ..base.spec import broadcast_shape
from ..core.op import Linear, Op
from .comparison import Clamp
from .effect import StopGradient
from .index import Gather
from .reduce import Max, Reduction, Sum, SumOfProducts, sum_equations


def exponentials(xp: Any, x: Any, axis: int, out: Any = None) -> tuple[Any, Any]:
    """e^(x − max x) along the axis, in `out` or a new array, and the sums. A row of only −inf gives zeros."""
    with np.errstate(invalid="ignore"):
        y = xp.subtract(x, xp.maximum(largest(xp, x, axis), xp.finfo(x.dtype).min), out=out)
    xp.exp(y, out=y)
    return y, total(xp, y, axis)


def subtract_max(xp: Any, x: Any, axis: int) -> Any:
    """x − max x along the axis, in a new array."""
    with np.errstate(invalid="ignore"):
        return x - largest(xp, x, axis)


def largest(xp: Any, x: Any, axis: int) -> Any:
    """max x along the axis, which keeps length 1."""
    if xp is np and axis == x.ndim - 1 and x.flags.c_contiguous:  # for short rows twice as fast as fmax
        places = x.argmax(axis, keepdims=True)
        places += np.arange(0, x.size, x.shape[-1]).reshape(places.shape)
        return x.reshape(-1).take(places)
    # fmax skips NaN, but exp still sees the NaN; for short rows fmax is 4 times as fast as max.
    return np.fmax.reduce(x, axis, keepdims=True) if xp is np else x.max(axis, keepdims=True)


def total(xp: Any, x: Any, axis: int) -> Any:
    """Σ x along the axis, which keeps length 1. For short rows einsum is 5 times as fast as sum."""
    text, _, shape, _ = sum_equations(x.shape, (axis,))
    return xp.einsum(text, x).reshape(shape)


def from_the_largest(x, axes):
    """x − top, and top: the largest x along the axes, clamped to finite numbers, since ∞ − ∞ is NaN.

    Results computed from x − top and top do not depend on top, so no gradient passes to it.
    """
    limit = float(np.finfo(x.dtype).max)
    top = x.apply(Max(axes, True)).apply(Clamp(-limit, limit)).apply(StopGradient())
    return x - top, top


def softmax(x, axes):
    """softmax(x) along the axes, e^(x − top) / Σ e^(x − top), in differentiable ops."""
    e = from_the_largest(x, axes)[0].exp()
    return e / e.sum(axes, keepdims=True)


def sum_of_powers(e, axis, keepdims=False):
    """Σ e along the axis, but NaN where the sum is ∞: a row with ∞ has no softmax."""
    total = e.sum(axis, keepdims=keepdims)
    return total + total * 0


class Softmax(Op):
    """y = eˣ / Σ eˣ along the axis"""

    axis: int

    autocast = "float32"

    def infer(self, x): return x

    def forward(self, xp, x):
        if not x.size:
            return x.copy()
        y, sums = exponentials(xp, x, self.axis)
        with np.errstate(invalid="ignore"):
            y /= sums
        return y

    def decompose(self, x):
        e = from_the_largest(x, (self.axis,))[0].exp()
        return e / sum_of_powers(e, self.axis, keepdims=True)

    def vjp(self, gy, y, x): return y * (gy - gy.apply(SumOfProducts((self.axis,)), y)),
    def jvp(self, dxs, y, x): return y * (dxs[0] - dxs[0].apply(SumOfProducts((self.axis,)), y))
    def independent_axes(self, x): return self.axis
    def flops(self, y, x): return 5 * x.size  # max, subtract, exp, add, divide


class LogSoftmax(Op):
    """y = x − ln Σ eˣ along the axis, exact where softmax itself rounds to 0"""

    axis: int

    autocast = "float32"
    symbol = "log softmax"

    def infer(self, x): return x

    def forward(self, xp, x):
        if not x.size:
            return x.copy()
        y = subtract_max(xp, x, self.axis)
        y -= xp.log(total(xp, xp.exp(y), self.axis))
        return y

    def vjp(self, gy, y, x): return gy - y.exp() * gy.sum(self.axis, keepdims=True),
    def jvp(self, dxs, y, x): return dxs[0] - dxs[0].apply(SumOfProducts((self.axis,)), y.exp())
    def independent_axes(self, x): return self.axis
    def flops(self, y, x): return 5 * x.size  # max, subtract, exp, add, subtract


class LogSumExp(Reduction):
    """y = ln Σ eˣ. The largest x is subtracted before exp, so that exp does not overflow."""

    autocast = "float32"
    inline = False

    def forward(self, xp, x):
        x = x if x.dtype.kind == "f" else x.astype(np.float64)
        if not x.size:
            return xp.full(self.reduced_shape(x.shape), -inf, x.dtype)  # an empty sum is 0
        top = x.max(self.axes, keepdims=True)
        top = xp.where(xp.isfinite(top), top, x.dtype.type(0))  # −inf − (−inf) is NaN, but −inf − 0 is not
        e = xp.asarray(x - top)  # NumPy may return a scalar, which cannot be written to
        # A row of −inf sums to 0, whose log is −inf: the correct result, so there should be no warning.
        with np.errstate(divide="ignore"):
            y = xp.log(xp.exp(e, out=e).sum(self.axes, keepdims=True)) + top
        return y if self.keepdims else y.reshape(self.reduced_shape(x.shape))

    def decompose(self, x):
        x = x if x.spec.is_float else x.astype(np.float64)
        z, top = from_the_largest(x, self.axes)
        return (z.exp().apply(Sum(self.axes, True)).log() + top).reshape(self.reduced_shape(x.shape))

    def vjp(self, gy, y, x): return self.spread(gy, x) * self.softmax(y, x),
    def jvp(self, dxs, y, x): return self.total(dxs[0] * self.softmax(y, x))
    def softmax(self, y, x): return (x - self.spread(y, x)).exp()
    def flops(self, y, x): return 4 * x.size  # max, subtract, exp, add


class CrossEntropy(Op):
    """y = −ln softmax(x)[k] for each row: logits x (N, C), integer classes k (N,) → losses (N,)

    More accurate for large logits than logsumexp(x) − x[k], which subtracts two large, rounded numbers.
    """

    autocast = "float32"
    symbol = "cross entropy"

    def infer(self, x, k):
        if x.ndim != 2 or k.shape != x.shape[:1]:
            raise ShapeError(f"{self} needs logits (N, C) and classes (N,), and got {x} with {k}")
        if k.dtype.kind not in "iu":
            raise DTypeError(f"{self} needs integer classes, and got {k}: use .astype(int)")
        return x.with_shape(k.shape)

    def forward(self, xp, x, k):
        if not x.size:
            return xp.zeros(len(k), x.dtype)
        z = subtract_max(xp, x, 1)
        chosen = z[xp.arange(len(k)), k]
        y = xp.log(xp.einsum("ij->i", xp.exp(z, out=z)))
        y -= chosen
        return y

    def decompose(self, x, k):
        z, _ = from_the_largest(x, (1,))
        return sum_of_powers(z.exp(), 1).log() - z.apply(Chosen(), k)

    def vjp(self, gy, y, x, k): return gy.reshape(-1, 1) * x.apply(SoftmaxMinusOneHot(), k), None
    def jvp(self, dxs, y, x, k): return (dxs[0] * x.apply(SoftmaxMinusOneHot(), k)).sum(1)
    def independent_axes(self, x, k): return 1
    def flops(self, y, x, k): return 4 * x.size + 2 * y.size


class Chosen(Op):
    """y = x[k] of each row: x (N, C), integers k (N,) → (N,)"""

    symbol = "xₖ"

    def infer(self, x, k): return x.with_shape(k.shape)
    def forward(self, xp, x, k): return x[xp.arange(len(k)), k]
    def vjp(self, gy, y, x, k): return Gather(1).vjp(gy.reshape(-1, 1), y.reshape(-1, 1), x, k.reshape(-1, 1))
    def jvp(self, dxs, y, x, k): return dxs[0].apply(self, k)
    def flops(self, y, x, k): return 0


class MinusOneHot(Op):
    """y = x − onehot(k), (N, C): subtracts 1 from the k-th element of each row"""

    symbol = "− 1ₖ"

    def infer(self, x, k): return x

    def forward(self, xp, x, k):
        y = x.copy()
        y[xp.arange(len(k)), k] -= 1
        return y

    def vjp(self, gy, y, x, k): return gy, None
    def jvp(self, dxs, y, x, k): return dxs[0]
    def flops(self, y, x, k): return len(k.shape)


class SoftmaxMinusOneHot(Op):
    """y = softmax(x) − onehot(k), (N, C): predicted minus true probabilities, the derivative of the cross-entropy."""

    symbol = "p − 1ₖ"

    def infer(self, x, k): return x

    def forward(self, xp, x, k):
        y = Softmax(1).forward(xp, x)
        y[xp.arange(len(k)), k] -= 1
        return y

    def decompose(self, x, k): return Softmax(1).decompose(x).apply(MinusOneHot(), k)
    def vjp(self, gy, y, x, k): return Softmax(1).vjp(gy, x.apply(Softmax(1)), x)[0], None
    def jvp(self, dxs, y, x, k): return Softmax(1).jvp(dxs, x.apply(Softmax(1)), x)
    def flops(self, y, x, k): return 5 * x.size + len(k.shape)


# -- to mean 0 and mean square 1 -----------------------------------------------------------------


class Centre(Linear):
    """y = x − mean x along `axes`: a projection, and its own adjoint"""

    axes: tuple[int, ...]

    inline = False

    def infer(self, x): return x
    def forward(self, xp, x): return x - mean(xp, x, self.axes)
    def adjoint(self, gy, x): return gy.apply(self)
    def flops(self, y, x): return 2 * x.size


class InverseRMS(Op):
    """y = 1 / √(mean x² + ε) along `axes`, which keep length 1"""

    axes: tuple[int, ...]
    eps: float

    symbol = "1/rms"

    def infer(self, x): return x.with_shape(sum_equations(x.shape, self.axes)[2])

    def forward(self, xp, x):
        y = SumOfProducts(self.axes).forward(xp, x, x) / count(self.axes, x) + self.eps
        return xp.sqrt(y) / y  # NaN after an overflow, where 1 / √y would be 0

    def vjp(self, gy, y, x): return gy * self.slope(y, x) * x,
    def jvp(self, dxs, y, x): return dxs[0].apply(SumOfProducts(self.axes), x) * self.slope(y, x)
    def slope(self, y, x): return y * y * y * (-1 / count(self.axes, x))
    def flops(self, y, x): return 2 * x.size + 4 * y.size


class RMSNormalise(Op):
    """y = x / √(mean x² + ε) along `axes`"""

    axes: tuple[int, ...]
    eps: float

    autocast = "float32"
    symbol = "÷ rms"

    def infer(self, x): return x
    def forward(self, xp, x): return x * InverseRMS(self.axes, self.eps).forward(xp, x)
    def decompose(self, x): return x * x.apply(InverseRMS(self.axes, self.eps))
    def vjp(self, gy, y, x): return self.project_gradient(gy, x),
    def jvp(self, dxs, y, x): return self.project_gradient(dxs[0], x)

    def project_gradient(self, g, x):
        r = x.apply(InverseRMS(self.axes, self.eps))
        return across(g, x * r, self.axes) * r

    def independent_axes(self, x): return min(self.axes, default=0)
    def flops(self, y, x): return 3 * x.size + 4 * x.size // count(self.axes, x)


class Standardise(Op):
    """y = (x − μ) / √(σ² + ε) · w + b, with the mean μ and the variance σ² along `axes`

    w, b    scale and shift, which broadcast to x; both are optional, but b needs w
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

    def decompose(self, x, *affine):
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

    def independent_axes(self, x, *affine): return min(self.axes, default=0)
    def flops(self, y, x, *affine): return (5 + len(affine)) * x.size + 4 * x.size // count(self.axes, x)


def across(g, n, axes):
    """g − n · mean(g n): g without its component along n, for n of mean square 1."""
    return g - n * (g.apply(SumOfProducts(axes), n) / count(axes, n))


def mean(xp, x, axes):
    """Σ x / n along `axes`, which keep length 1."""
    text, _, shape, n = sum_equations(x.shape, axes)
    # For short rows einsum is 3 times as fast as sum; for longer rows sum is more accurate.
    return xp.einsum(text, x).reshape(shape) / n if n <= 1024 else x.sum(axes, keepdims=True) / n


def count(axes: tuple[int, ...], x) -> Any:
    """The number of elements per result along `axes`, at least 1."""
    return at_least(prod(x.shape[a] for a in axes), 1)


def rest(x, w) -> tuple[int, ...]:
    """The axes of x along which w is broadcast."""
    shape = (1,) * (x.ndim - w.ndim) + w.shape
    return tuple(a for a, n in enumerate(shape) if n == 1)
