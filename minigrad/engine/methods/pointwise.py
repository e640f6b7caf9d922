"""Elementwise operators, comparisons, logic, functions and activations. Names and semantics are PyTorch's.

Softmax and standardising are here too, since they keep the shape and are used like activations.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi
from typing import Any, Self

import numpy as np

from .. import ops
from ..base.dtypes import HALVES, finfo
from ..base.errors import AxisError, DTypeError
from ..core.op import Op
from .arguments import accept_dim, autocast_to, compare, shift_left, shift_right

# Looking up an interned op takes 0.15 µs, which is noticeable for the most common ops.
_ADD, _SUB, _MUL, _DIV = ops.Add(), ops.Sub(), ops.Mul(), ops.Div()


class Pointwise:
    """y[i] = f(x[i]), and z[i] = f(x[i], y[i]) with broadcasting: the shape stays."""

    __slots__ = ()
    __hash__ = object.__hash__  # == compares elements, but a dictionary needs identity

    def __add__(self, o: Any) -> Self: return self.apply(_ADD, o)
    def __sub__(self, o: Any) -> Self: return self.apply(_SUB, o)
    def __mul__(self, o: Any) -> Self: return self.apply(_MUL, o)
    def __truediv__(self, o: Any) -> Self: return self.apply(_DIV, o)
    def __floordiv__(self, o: Any) -> Self: return self.apply(ops.FloorDivide(), o)
    def __mod__(self, o: Any) -> Self: return self.apply(ops.Remainder(), o)
    def __radd__(self, o: Any) -> Self: return self.lift(o).apply(_ADD, self)
    def __rsub__(self, o: Any) -> Self: return self.lift(o).apply(_SUB, self)
    def __rmul__(self, o: Any) -> Self: return self.lift(o).apply(_MUL, self)
    def __rtruediv__(self, o: Any) -> Self: return self.lift(o).apply(_DIV, self)
    def __rfloordiv__(self, o: Any) -> Self: return self.lift(o).apply(ops.FloorDivide(), self)
    def __rmod__(self, o: Any) -> Self: return self.lift(o).apply(ops.Remainder(), self)
    def __rpow__(self, o: Any) -> Self: return self.lift(o).apply(ops.Power(), self)
    def __neg__(self) -> Self: return self.apply(ops.Neg())
    def __pos__(self) -> Self: return self
    def __abs__(self) -> Self: return self.apply(ops.Abs())
    def __matmul__(self, o: Any) -> Self: return self.matmul(o)
    def __rmatmul__(self, o: Any) -> Self: return self.lift(o).matmul(self)

    def __pow__(self, p: Any) -> Self:
        return self.apply(ops.Pow(p)) if type(p) in (int, float) else self.apply(ops.Power(), p)

    # -- comparisons and logic --------------------------------------------------------------

    def __gt__(self, o: Any) -> Self: return self.apply(ops.Greater(), o)
    def __ge__(self, o: Any) -> Self: return self.apply(ops.GreaterEqual(), o)
    def __lt__(self, o: Any) -> Self: return self.apply(ops.Less(), o)
    def __le__(self, o: Any) -> Self: return self.apply(ops.LessEqual(), o)
    def __eq__(self, o: Any) -> Self: return compare(self, ops.Equal(), o)  # type: ignore[override]
    def __ne__(self, o: Any) -> Self: return compare(self, ops.NotEqual(), o)  # type: ignore[override]
    def __and__(self, o: Any) -> Self: return self.apply(ops.And(), o)
    def __or__(self, o: Any) -> Self: return self.apply(ops.Or(), o)
    def __xor__(self, o: Any) -> Self: return self.apply(ops.Xor(), o)
    def __rand__(self, o: Any) -> Self: return self.lift(o).apply(ops.And(), self)
    def __ror__(self, o: Any) -> Self: return self.lift(o).apply(ops.Or(), self)
    def __rxor__(self, o: Any) -> Self: return self.lift(o).apply(ops.Xor(), self)
    def __invert__(self) -> Self: return self.apply(ops.Not())
    def __rlshift__(self, o: Any) -> Self: return self.lift(o) << self
    def __rrshift__(self, o: Any) -> Self: return self.lift(o) >> self

    def __lshift__(self, o: Any) -> Self: return shift_left(self, o)
    def __rshift__(self, o: Any) -> Self: return shift_right(self, o)

    def __contains__(self, o: Any) -> bool: return bool(self.eq(o).any())

    def gt(self, other: Any) -> Self: return self > other
    def ge(self, other: Any) -> Self: return self >= other
    def lt(self, other: Any) -> Self: return self < other
    def le(self, other: Any) -> Self: return self <= other
    def eq(self, other: Any) -> Self: return self.apply(ops.Equal(), other)
    def ne(self, other: Any) -> Self: return self.apply(ops.NotEqual(), other)
    def bitwise_and(self, other: Any) -> Self: return self & other
    def bitwise_or(self, other: Any) -> Self: return self | other
    def bitwise_xor(self, other: Any) -> Self: return self ^ other
    def bitwise_not(self) -> Self: return ~self

    # Every element except 0 counts as true.
    def logical_and(self, other: Any) -> Self: return self.astype(bool) & self.lift(other).astype(bool)
    def logical_or(self, other: Any) -> Self: return self.astype(bool) | self.lift(other).astype(bool)
    def logical_xor(self, other: Any) -> Self: return self.astype(bool) ^ self.lift(other).astype(bool)
    def logical_not(self) -> Self: return ~self.astype(bool)

    def equal(self, other: Any) -> bool:
        """Whether shapes and all elements are equal: a single bool. `eq` compares each element."""
        y = self.lift(other)
        return bool(self.shape == y.shape and self.eq(y).numpy().all())

    def isclose(self, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Self:
        """Whether |x − y| ≤ atol + rtol |y|, for each element; an infinity is close only to itself."""
        y = self.lift(other)
        near = (self - y).abs() <= y.abs() * rtol + atol
        close = self.eq(y) | (near & self.isfinite() & y.isfinite())
        return close | (self.isnan() & y.isnan()) if equal_nan else close

    def allclose(self, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
        """Whether every element is close, in the sense of `isclose`: a single bool."""
        return bool(self.isclose(other, rtol, atol, equal_nan).numpy().all())

    # -- operators as methods ---------------------------------------------------------------

    def add(self, other: Any, *, alpha: Any = 1) -> Self: return self + self._times(other, alpha)
    def sub(self, other: Any, *, alpha: Any = 1) -> Self: return self - self._times(other, alpha)
    def mul(self, other: Any) -> Self: return self * other
    def neg(self) -> Self: return -self
    def pow(self, exponent: Any) -> Self: return self**exponent
    def rsub(self, other: Any, *, alpha: Any = 1) -> Self: return self.lift(other).sub(self, alpha=alpha)
    def bitwise_left_shift(self, other: Any) -> Self: return self << other
    def bitwise_right_shift(self, other: Any) -> Self: return self >> other
    def floor_divide(self, other: Any) -> Self: return self // other
    def remainder(self, other: Any) -> Self: return self % other
    def true_divide(self, other: Any) -> Self: return self / other

    def div(self, other: Any, *, rounding_mode: str | None = None) -> Self:
        """x / y; rounded down with rounding_mode="floor", towards 0 with "trunc"."""
        match rounding_mode:
            case None:
                return self / other
            case "floor":
                return self // other
            case "trunc":
                y = self.lift(other)
                whole = not (self.spec.is_float or y.spec.is_float)
                return (self - self.fmod(y)) // y if whole else (self / y).trunc()
        raise ValueError(f'div takes rounding_mode "floor", "trunc" or None, and got {rounding_mode!r}')

    def _times(self, other: Any, alpha: Any) -> Any: return other if alpha == 1 else self.lift(other) * alpha

    subtract, multiply, divide, negative = sub, mul, div, neg
    greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne

    # -- functions of two numbers, and three ----------------------------------------------------

    def logaddexp2(self, other: Any) -> Self: return (self * log(2)).logaddexp(self.lift(other) * log(2)) / log(2)
    def ldexp(self, other: Any) -> Self: return self * self.lift(other).exp2()
    def float_power(self, exponent: Any) -> Self: return self.astype(float) ** self.lift(exponent).astype(float)
    def heaviside(self, values: Any) -> Self: return self.apply(ops.Heaviside(), values)
    def fmax(self, other: Any) -> Self: return self.where((self >= other) | self.lift(other).isnan(), other)
    def fmin(self, other: Any) -> Self: return self.where((self <= other) | self.lift(other).isnan(), other)

    def lerp(self, end: Any, weight: Any) -> Self:
        """x + w (y − x), computed from the nearer end, so that the result is exactly y for w = 1."""
        x: Any = self.real_valued()
        end, w = x.lift(end), x.lift(weight)
        step = end - x
        if isinstance(weight, int | float):
            return x + step * w if abs(weight) < 0.5 else end - step * (1 - w)
        return (x + step * w).where(w.abs() < 0.5, end - step * (1 - w))

    def addcmul(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Self:
        """x + value · a · b"""
        return self + self.lift(tensor1) * tensor2 * value

    def addcdiv(self, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Self:
        """x + value · a / b"""
        return self + self.lift(tensor1) / tensor2 * value

    def where(self, condition: Any, other: Any) -> Self:
        """self where the condition holds, other elsewhere."""
        c = self.lift(condition).astype(bool)
        if type(other) is int and other == 0 and self.dtype.kind != "b":  # a boolean with 0 would be an integer
            return self.apply(ops.Kept(), c)
        return c.apply(ops.Where(), self, self.lift(other))

    # -- written by scripts/phrasebook: a method for each op that names one ---------------------
    def relu(self) -> Self: return self.apply(ops.Relu())
    def fmod(self, other: Any) -> Self: return self.apply(ops.Fmod(), other)
    def hypot(self, other: Any) -> Self: return self.apply(ops.Hypot(), other)
    def atan2(self, other: Any) -> Self: return self.apply(ops.Atan2(), other)
    def copysign(self, other: Any) -> Self: return self.apply(ops.CopySign(), other)
    def logaddexp(self, other: Any) -> Self: return self.apply(ops.LogAddExp(), other)
    def xlogy(self, other: Any) -> Self: return self.apply(ops.XLogY(), other)
    def isnan(self) -> Self: return self.apply(ops.IsNaN())
    def isinf(self) -> Self: return self.apply(ops.IsInf())
    def isfinite(self) -> Self: return self.apply(ops.IsFinite())
    def maximum(self, other: Any) -> Self: return self.apply(ops.Maximum(), other)
    def minimum(self, other: Any) -> Self: return self.apply(ops.Minimum(), other)
    def exp(self) -> Self: return self.apply(ops.Exp())
    def exp2(self) -> Self: return self.apply(ops.Exp2())
    def expm1(self) -> Self: return self.apply(ops.Expm1())
    def log(self) -> Self: return self.apply(ops.Log())
    def log2(self) -> Self: return self.apply(ops.Log2())
    def log10(self) -> Self: return self.apply(ops.Log10())
    def log1p(self) -> Self: return self.apply(ops.Log1p())
    def sqrt(self) -> Self: return self.apply(ops.Sqrt())
    def rsqrt(self) -> Self: return self.apply(ops.Rsqrt())
    def sin(self) -> Self: return self.apply(ops.Sin())
    def cos(self) -> Self: return self.apply(ops.Cos())
    def tan(self) -> Self: return self.apply(ops.Tan())
    def asin(self) -> Self: return self.apply(ops.Asin())
    def acos(self) -> Self: return self.apply(ops.Acos())
    def atan(self) -> Self: return self.apply(ops.Atan())
    def sinh(self) -> Self: return self.apply(ops.Sinh())
    def cosh(self) -> Self: return self.apply(ops.Cosh())
    def tanh(self) -> Self: return self.apply(ops.Tanh())
    def asinh(self) -> Self: return self.apply(ops.Asinh())
    def acosh(self) -> Self: return self.apply(ops.Acosh())
    def atanh(self) -> Self: return self.apply(ops.Atanh())
    def abs(self) -> Self: return self.apply(ops.Abs())
    def sign(self) -> Self: return self.apply(ops.Sign())
    def floor(self) -> Self: return self.apply(ops.Floor())
    def ceil(self) -> Self: return self.apply(ops.Ceil())
    def trunc(self) -> Self: return self.apply(ops.Trunc())
    def erf(self) -> Self: return self.apply(ops.Erf())
    def erfc(self) -> Self: return self.apply(ops.Erfc())
    def erfinv(self) -> Self: return self.apply(ops.ErfInv())
    # -- to here --------------------------------------------------------------------------------

    absolute, sgn, fix = abs, sign, trunc
    arcsin, arccos, arctan, arcsinh, arccosh, arctanh, arctan2 = asin, acos, atan, asinh, acosh, atanh, atan2

    # -- composed of a few ops --------------------------------------------------------------------

    def square(self) -> Self: return self.apply(ops.Pow(2))
    @autocast_to("float32")
    def reciprocal(self) -> Self: return self.lift(1).apply(ops.Div(), self)
    def deg2rad(self: Any) -> Any: return self.real_valued() * (pi / 180)
    def rad2deg(self: Any) -> Any: return self.real_valued() * (180 / pi)

    # -- by an integral or a series -------------------------------------------------------------

    def i0(self) -> Self: return self.apply(ops.BesselI(0))
    def lgamma(self) -> Self: return self.apply(ops.PolyGamma(-1))
    def digamma(self) -> Self: return self.apply(ops.PolyGamma(0))

    def polygamma(self, n: int) -> Self:
        """The derivative of ln Γ of order n + 1, for n ≥ 0."""
        if n < 0:
            raise ValueError(f"polygamma needs an order n of 0 or more, and got {n}")
        return self.apply(ops.PolyGamma(n))

    def mvlgamma(self: Any, p: int) -> Any:
        """ln of the p-dimensional gamma function: p (p − 1)/4 ln π + Σ lnΓ(x − j/2) over j < p."""
        return sum(((self - j / 2).lgamma() for j in range(1, p)), self.lgamma() + p * (p - 1) / 4 * log(pi))

    def sinc(self: Any) -> Any:
        """sin πx / πx, and 1 at 0"""
        t = (self * pi).where(self != 0, 1.0)
        return (t.sin() / t).where(self != 0, 1.0)

    # -- size, sign, whole numbers --------------------------------------------------------------

    def round(self, decimals: int = 0) -> Self: return self.apply(ops.Round(decimals))
    __round__ = round
    def frac(self) -> Self: return self.apply(ops.Sub(), self.trunc())

    def signbit(self: Any) -> Any: return self.lift(1.0).copysign(self) < 0
    def positive(self) -> Self: return self
    def angle(self: Any) -> Any: return self.real_valued().where(self.isnan(), self.lift(pi).where(self < 0, 0.0))

    real = property(positive, doc="Itself: there is no imaginary part.")
    conj = conj_physical = resolve_conj = resolve_neg = positive

    # -- NaN, infinity and bounds -------------------------------------------------------------------

    def isreal(self: Any) -> Any: return self.isinf() | True
    def isneginf(self: Any) -> Any: return self.isinf() & (self < 0)
    def isposinf(self: Any) -> Any: return self.isinf() & (self > 0)

    def nan_to_num(self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Self:
        """Replace NaN, ∞ and −∞ by numbers: by default 0, and the largest and the smallest number of the dtype."""
        M = float(finfo(self.dtype).max) if self.dtype in HALVES else None  # half precision is computed in float32
        return self.apply(ops.NanToNum(nan, M if posinf is None else posinf, -M if M and neginf is None else neginf))

    def clamp(self, min: Any = None, max: Any = None) -> Self:
        """x clamped to [min, max], numbers or tensors that broadcast. The gradient passes at the bounds themselves."""
        if min is None and max is None:
            raise ValueError("clamp needs min, max or both, and got neither")
        if all(bound is None or type(bound) in (int, float) for bound in (min, max)):
            return self.apply(ops.Clamp(min, max))
        x: Any = self
        low, high = (None if bound is None else x.lift(bound) for bound in (min, max))
        x = x if low is None else low.where((x < low) | low.isnan(), x)
        return x if high is None else high.where((x > high) | high.isnan(), x)

    def clamp_min(self, min: Any) -> Self: return self.clamp(min)
    def clamp_max(self, max: Any) -> Self: return self.clamp(max=max)

    clip = clamp

    # -- activations: integers count as floats -----------------------------------------------------

    def sigmoid(self) -> Self: return self.real_valued().apply(ops.Sigmoid())
    def logsigmoid(self) -> Self: return self.real_valued().apply(ops.LogSigmoid())
    def silu(self) -> Self: return self.real_valued().apply(ops.Silu())
    def mish(self) -> Self: return self.real_valued().apply(ops.Mish())

    def softplus(self, beta: float = 1.0, threshold: float = 20.0) -> Self:
        """ln(1 + e^(βx)) / β, and x itself where βx > threshold."""
        return self.real_valued().apply(ops.Softplus(float(beta), float(threshold)))

    def gelu(self, approximate: str = "none") -> Self:
        """x Φ(x), or with approximate="tanh" a faster approximation."""
        if approximate not in ("none", "tanh"):
            raise ValueError(f'gelu takes approximate="none" or "tanh", and got {approximate!r}')
        return self.real_valued().apply(ops.GeluTanh() if approximate == "tanh" else ops.Gelu())

    def logit(self, eps: float | None = None) -> Self:
        """ln(x / (1 − x)), the inverse of the sigmoid; with eps, x is first clamped to [eps, 1 − eps]."""
        x: Any = self.real_valued() if eps is None else self.real_valued().clamp(eps, 1 - eps)
        return x.log() - (-x).log1p()

    expit = sigmoid

    # -- rescaling rows: to sum 1, or to mean 0 and mean square 1 ---------------------------------------

    @accept_dim
    def softmax(self, axis: int | None = None, dtype: Any = None) -> Self:
        """eˣ / Σ eˣ along the axis: positive numbers that sum to 1. A row of only −inf gives NaN."""
        return self._as(dtype)._weighing(ops.Softmax, axis)

    @accept_dim
    def log_softmax(self, axis: int | None = None, dtype: Any = None) -> Self:
        """ln of softmax: x − ln Σ eˣ along the axis. It is exact even where softmax rounds to 0."""
        return self._as(dtype)._weighing(ops.LogSoftmax, axis)

    @accept_dim
    def softmin(self, axis: int | None = None, dtype: Any = None) -> Self:
        """softmax of −x: the smallest x gets the largest weight."""
        return self.apply(ops.Neg()).softmax(axis, dtype)

    @accept_dim
    def standardise(self, axis: Any = -1, eps: float = 1e-5) -> Self:
        """(x − mean) / √(var + ε) along an axis, several, or all. The variance divides by n, not by n − 1."""
        axes = self._floating("standardise")._reduction(axis, False)[0]
        return self.apply(ops.Standardise(axes, float(eps)))

    @accept_dim
    def rms_normalise(self, axis: Any = -1, eps: float = 1e-5) -> Self:
        """x / √(mean x² + ε) along an axis, several, or all."""
        axes = self._floating("rms_normalise")._reduction(axis, False)[0]
        return self.apply(ops.RMSNormalise(axes, float(eps)))

    def _weighing(self, op: Callable[[int], Op], axis: Any) -> Self:
        if axis is None:
            raise AxisError(f"softmax of {self.spec} needs an axis: dim=-1 is the last")
        x, a = self._single(axis)
        x = x if x.spec.is_float else x.astype(np.float64)
        return x.apply(op(a)).reshape(self.shape)

    def _floating(self, name: str) -> Self:
        """Return self. Raises DTypeError unless self holds floats."""
        if not self.spec.is_float:
            raise DTypeError(f"{name} needs floating numbers, and this is {self.spec}: use .astype(float)")
        return self

    def real_valued(self) -> Self:
        """self, if it holds floats; else the same numbers in float64."""
        return self if self.spec.is_float else self.astype(float)


for _op in ops.TABLE:  # a generated method takes its op's docstring
    if _op.method:
        getattr(Pointwise, _op.method).__doc__ = _op.__doc__
