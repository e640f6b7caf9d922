"""Reductions: many elements to one, along `axes`; `keepdims` leaves them with length 1.

    sums       Sum, Mean, SumOfProducts, Prod
    spread     Var, Std, Norm
    extremes   Max, Min
    truth      All, Any
"""

from __future__ import annotations

from functools import lru_cache
from math import nan, prod
from string import ascii_letters

import numpy as np

from ..base.dimension import at_least, clamped, divided
from ..base.dtypes import narrow_dtype, result_type, wide
from ..base.errors import ShapeError
from ..base.spec import Spec, common_device
from ..core.op import Op
from .scan import CumProd


class Reduction(Op):
    """The base class of reductions: the axes to reduce, and how to restore them."""

    axes: tuple[int, ...]
    keepdims: bool = False

    inline = True

    def infer(self, x):
        one = np.ones((1,) * x.ndim, wide(x.dtype))
        return Spec(self.reduced_shape(x.shape), narrow_dtype(self.forward(np, one).dtype, x.dtype), x.device)

    def reduced_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the result of reducing `shape`."""
        if self.keepdims:
            return tuple(1 if a in self.axes else n for a, n in enumerate(shape))
        return tuple(n for a, n in enumerate(shape) if a not in self.axes)

    def spread(self, y, x):
        """y with its reduced axes restored as length 1, so that it broadcasts against x."""
        return y.reshape(tuple(1 if a in self.axes else n for a, n in enumerate(x.shape)))

    def total(self, x):
        """Σ x along self.axes, for derivatives. If self.axes is (), this is x, but `x.sum(())` sums all elements."""
        return x.apply(Sum(self.axes, self.keepdims))

    def count(self, x) -> int:
        """The number of elements per result."""
        return prod(x.shape[a] for a in self.axes)

    def independent_axes(self, x): return min(self.axes, default=0)
    def flops(self, y, x): return at_least(x.size - y.size, 0)  # 0 for an empty x


# -- sums -------------------------------------------------------------------------------------


class Sum(Reduction):
    """y = Σ x"""

    autocast = "float32"

    def forward(self, xp, x): return x.sum(self.axes, keepdims=self.keepdims)
    def vjp(self, gy, y, x): return self.spread(gy, x).broadcast_to(x.shape),
    def jvp(self, dxs, y, x): return dxs[0].apply(self)


class Mean(Reduction):
    """y = Σ x / n, and NaN if n = 0"""

    inline = False

    def forward(self, xp, x):
        y, n = x.sum(self.axes, keepdims=self.keepdims), self.count(x)
        return y / n if n else y * nan

    def vjp(self, gy, y, x): return (self.spread(gy, x) / at_least(self.count(x), 1)).broadcast_to(x.shape),
    def jvp(self, dxs, y, x): return dxs[0].apply(self)
    def flops(self, y, x): return x.size


@lru_cache
def sum_equations(shape: tuple[int, ...], axes: tuple[int, ...]) -> tuple[str, str, tuple[int, ...], int]:
    """Equations of einsum for Σ x and Σ x y, the result's shape with its axes kept, and the number of terms per sum."""
    letters, terms = ascii_letters[: len(shape)], max(prod(shape[a] for a in axes), 1)
    kept = "".join(c for a, c in enumerate(letters) if a not in axes)
    return f"{letters}->{kept}", f"{letters},{letters}->{kept}", Sum(axes, True).reduced_shape(shape), terms


class SumOfProducts(Op):
    """z = Σ x y along `axes`, which keep length 1. It takes one pass, without an array of products."""

    axes: tuple[int, ...]

    symbol = "Σ×"

    def infer(self, x, y):
        if x.shape != y.shape:
            raise ShapeError(f"{self} needs two operands of one shape, and got {x} with {y}")
        shape = tuple(1 if a in self.axes else n for a, n in enumerate(x.shape))
        return Spec(shape, result_type(x.dtype, y.dtype), common_device(self, x, y))

    def forward(self, xp, x, y):
        _, text, shape, _ = sum_equations(x.shape, self.axes)
        return xp.einsum(text, x, y).reshape(shape)

    def vjp(self, gz, z, x, y): return gz * y, gz * x
    def jvp(self, dxs, z, x, y): return dxs[0].apply(self, y) + x.apply(self, dxs[1])
    def flops(self, z, x, y): return 2 * x.size


class Prod(Reduction):
    """y = Π x along one axis. ∂y/∂xᵢ is the product of all other x, computed without a division, since xᵢ may be 0."""

    autocast = "float32"
    symbol = "Π"

    def forward(self, xp, x): return x.prod(self.axes, keepdims=self.keepdims)
    def vjp(self, gy, y, x): return self.spread(gy, x) * self.others(x),
    def jvp(self, dxs, y, x): return self.total(dxs[0] * self.others(x))

    def others(self, x):
        """For each x, the product of the elements before it times the product of the elements after it. Shape of x."""
        (axis,) = self.axes
        return x.apply(CumProd(axis, exclusive=True)) * x.apply(CumProd(axis, exclusive=True, reverse=True))


# -- spread -----------------------------------------------------------------------------------


class Var(Reduction):
    """y = Σ (x − mean x)² / (n − correction), in two passes: one pass would subtract large squares"""

    correction: float = 1

    inline = False

    def forward(self, xp, x):
        c = x - x.sum(self.axes, keepdims=True) / clamped(self.count(x), 1)
        y = (c * c).sum(self.axes, keepdims=self.keepdims)
        with np.errstate(divide="ignore", invalid="ignore"):
            return y / clamped(self.freedom(x), 0)  # 0 / 0 is NaN, as it should be

    def vjp(self, gy, y, x): return self.spread(gy * divided(2, self.freedom(x)), x) * self.centre(x),

    def jvp(self, dxs, y, x):
        return self.total(dxs[0] * self.centre(x)) * divided(2, self.freedom(x))

    def freedom(self, x) -> float:
        """The degrees of freedom, n − correction; may be negative."""
        return self.count(x) - self.correction

    def centre(self, x): return x - x.apply(Mean(self.axes, True))
    def flops(self, y, x): return 4 * x.size


class Std(Var):
    """y = √var; where all elements are equal, its slope is defined as 0"""

    symbol = "std"

    def forward(self, xp, x):
        wide = x.astype(np.float64) if x.dtype == np.float32 else x  # squares may overflow or underflow in float32
        y = xp.sqrt(super().forward(xp, wide))
        return y if wide is x else y.astype(x.dtype)

    def vjp(self, gy, y, x): return self.spread(gy * self.slope(y, x), x) * self.centre(x),
    def jvp(self, dxs, y, x): return self.total(dxs[0] * self.centre(x)) * self.slope(y, x)
    def slope(self, y, x): return divided(1, self.freedom(x)) / (y + (y == 0))


class Norm(Reduction):
    """y = (Σ |x|ᵖ)^(1/p) for a finite p ≠ 0; at the origin its slope is defined as 0"""

    p: float = 2

    autocast = "float32"
    inline = False

    @property
    def symbol(self): return f"‖·‖{self.p:g}"

    def forward(self, xp, x):
        if self.p == 2:
            return xp.sqrt((x * x).sum(self.axes, keepdims=self.keepdims))
        if self.p == 1:
            return xp.abs(x).sum(self.axes, keepdims=self.keepdims)
        with np.errstate(divide="ignore"):  # 0 to a negative power is infinite, and then the norm is 0
            return xp.power(xp.power(xp.abs(x), self.p).sum(self.axes, keepdims=self.keepdims), 1 / self.p)

    def vjp(self, gy, y, x): return self.spread(gy, x) * self.slope(y, x),
    def jvp(self, dxs, y, x): return self.total(dxs[0] * self.slope(y, x))

    def slope(self, y, x):
        """The slope sign x · (|x| / y)ᵖ⁻¹; 0 where x is 0."""
        if self.p == 1:
            return x.sign()
        if self.p < 1:
            return x.sign() * (self.spread(y, x) / (abs(x) + (x == 0))) ** (1 - self.p)
        y = self.spread(y + (y == 0), x)
        return x / y if self.p == 2 else x.sign() * (abs(x) / y) ** (self.p - 1)

    def flops(self, y, x): return 2 * x.size if self.p in (1, 2) else 3 * x.size


# -- extremes ---------------------------------------------------------------------------------


class Extreme(Reduction):
    """The largest or the smallest element; tied elements share the gradient equally."""

    def infer(self, x):
        if self.count(x) == 0:
            raise ShapeError(f"{self} of {x} does not exist, since there are no elements: check the size first")
        return super().infer(x)

    def vjp(self, gy, y, x): return self.spread(gy, x) * self.share(y, x),
    def jvp(self, dxs, y, x): return self.total(dxs[0] * self.share(y, x))

    def share(self, y, x):
        """1/k at each of the k tied elements, 0 elsewhere. Shape of x."""
        wins = (~self.is_surpassed(x, self.spread(y, x))).astype(x.spec.dtype)
        return wins / wins.apply(Sum(self.axes, True))

    def is_surpassed(self, x, y):
        """Where y is strictly better than x. If y is NaN: False everywhere, so that the number k of ties is never 0."""
        raise NotImplementedError


class Max(Extreme):
    """y = max x; tied elements share the gradient equally."""

    def forward(self, xp, x): return x.max(self.axes, keepdims=self.keepdims)
    def is_surpassed(self, x, y): return x < y


class Min(Extreme):
    """y = min x; tied elements share the gradient equally."""

    def forward(self, xp, x): return x.min(self.axes, keepdims=self.keepdims)
    def is_surpassed(self, x, y): return x > y


# -- truth ------------------------------------------------------------------------------------


class All(Reduction):
    """y = whether no x is 0"""

    symbol = "∀"

    def forward(self, xp, x): return x.all(self.axes, keepdims=self.keepdims)


class Any(Reduction):
    """y = whether some x is not 0"""

    symbol = "∃"

    def forward(self, xp, x): return x.any(self.axes, keepdims=self.keepdims)
