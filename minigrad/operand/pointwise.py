"""Functions of each element, with PyTorch's names."""

from __future__ import annotations

from math import log, pi
from typing import Any, Self

from .. import ops
from .base import Base


class Pointwise(Base):
    """y[i] = f(x[i]): the shape stays."""

    __slots__ = ()

    # -- exponentials, logarithms, roots ------------------------------------------------------

    def exp(self) -> Self: return self.apply(ops.Exp())
    def exp2(self) -> Self: return self.apply(ops.Exp2())
    def expm1(self) -> Self: return self.apply(ops.Expm1())
    def log(self) -> Self: return self.apply(ops.Log())
    def log2(self) -> Self: return self.apply(ops.Log2())
    def log10(self) -> Self: return self.apply(ops.Log10())
    def log1p(self) -> Self: return self.apply(ops.Log1p())
    def sqrt(self) -> Self: return self.apply(ops.Sqrt())
    def rsqrt(self) -> Self: return self.apply(ops.Rsqrt())
    def square(self) -> Self: return self.apply(ops.Pow(2))
    def reciprocal(self) -> Self: return self.lift(1).apply(ops.Div(), self)

    # -- angles, hyperbolas, the error function -----------------------------------------------

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
    def erf(self) -> Self: return self.apply(ops.Erf())
    def erfc(self) -> Self: return self.apply(ops.Erfc())

    def deg2rad(self: Any) -> Any: return self.real_valued() * (pi / 180)
    def rad2deg(self: Any) -> Any: return self.real_valued() * (180 / pi)

    arcsin, arccos, arctan, arcsinh, arccosh, arctanh = asin, acos, atan, asinh, acosh, atanh

    # -- by an integral or a series -------------------------------------------------------------

    def i0(self) -> Self: return self.apply(ops.BesselI(0))
    def erfinv(self) -> Self: return self.apply(ops.ErfInv())
    def lgamma(self) -> Self: return self.apply(ops.PolyGamma(-1))
    def digamma(self) -> Self: return self.apply(ops.PolyGamma(0))

    def polygamma(self, n: int) -> Self:
        """The derivative of ln Γ of order n + 1, for n of 0 and more."""
        if n < 0:
            raise ValueError(f"polygamma is of order 0 and more, and {n} was asked")
        return self.apply(ops.PolyGamma(n))

    def mvlgamma(self: Any, p: int) -> Any:
        """ln of Γ's generalisation to p dimensions: p (p − 1)/4 ln π + Σ lnΓ(x − j/2) over j < p."""
        return sum(((self - j / 2).lgamma() for j in range(1, p)), self.lgamma() + p * (p - 1) / 4 * log(pi))

    def sinc(self: Any) -> Any:
        """sin πx / πx, and 1 at 0"""
        t = (self * pi).where(self != 0, 1.0)
        return (t.sin() / t).where(self != 0, 1.0)

    # -- size, sign, whole numbers --------------------------------------------------------------

    def abs(self) -> Self: return self.apply(ops.Abs())
    def sign(self) -> Self: return self.apply(ops.Sign())
    def floor(self) -> Self: return self.apply(ops.Floor())
    def ceil(self) -> Self: return self.apply(ops.Ceil())
    def trunc(self) -> Self: return self.apply(ops.Trunc())
    def round(self, decimals: int = 0) -> Self: return self.apply(ops.Round(decimals))
    __round__ = round
    def frac(self) -> Self: return self.apply(ops.Sub(), self.trunc())

    def signbit(self: Any) -> Any: return self.lift(1.0).copysign(self) < 0
    def positive(self) -> Self: return self
    def angle(self: Any) -> Any: return self.real_valued().where(self.isnan(), self.lift(pi).where(self < 0, 0.0))

    fix, sgn, real = trunc, sign, property(positive, doc="Itself: there is no imaginary part.")
    conj = conj_physical = resolve_conj = resolve_neg = positive

    # -- what is no number, and what is out of bounds -----------------------------------------------

    def isnan(self) -> Self: return self.apply(ops.IsNaN())
    def isinf(self) -> Self: return self.apply(ops.IsInf())
    def isreal(self: Any) -> Any: return self.isinf() | True
    def isneginf(self: Any) -> Any: return self.isinf() & (self < 0)
    def isposinf(self: Any) -> Any: return self.isinf() & (self > 0)
    def isfinite(self) -> Self: return self.apply(ops.IsFinite())

    def nan_to_num(self, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Self:
        """Numbers in place of NaN, ∞ and −∞; the last two become the largest of the dtype if none is given."""
        return self.apply(ops.NanToNum(nan, posinf, neginf))

    def clamp(self, min: Any = None, max: Any = None) -> Self:
        """x moved into [min, max]: numbers, or tensors that broadcast. The gradient passes at the bounds themselves."""
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

    # -- activations: integers count as floats, and float16 as float32 where an exponential is on the way ---

    def sigmoid(self) -> Self: return self.real_valued()._gathered(ops.Sigmoid())
    def relu(self) -> Self: return self.apply(ops.Relu())
    def logsigmoid(self) -> Self: return self.real_valued().apply(ops.LogSigmoid())
    def silu(self) -> Self: return self.real_valued()._gathered(ops.Silu())
    def mish(self) -> Self: return self.real_valued()._gathered(ops.Mish())

    def softplus(self, beta: float = 1.0, threshold: float = 20.0) -> Self:
        """ln(1 + e^(βx)) / β, and x itself where βx > threshold."""
        return self.real_valued()._gathered(ops.Softplus(float(beta), float(threshold)))

    def gelu(self, approximate: str = "none") -> Self:
        """x Φ(x), or with approximate="tanh" the quicker formula beside it."""
        if approximate not in ("none", "tanh"):
            raise ValueError(f'gelu takes approximate="none" or "tanh", and got {approximate!r}')
        return self.real_valued()._gathered(ops.GeluTanh() if approximate == "tanh" else ops.Gelu())

    def logit(self, eps: float | None = None) -> Self:
        """ln(x / (1 − x)), the inverse of the sigmoid; with eps, of x moved into [eps, 1 − eps]."""
        x: Any = self.real_valued() if eps is None else self.real_valued().clamp(eps, 1 - eps)
        return x.log() - (-x).log1p()

    expit = sigmoid

    def real_valued(self) -> Self:
        """self, if it holds floats; else the same numbers in float64."""
        return self if self.spec.is_float else self.astype(float)
