"""What is written with a sign: arithmetic, comparisons, logic; and their names in words, which are PyTorch's."""

from __future__ import annotations

from math import log
from typing import Any, Self

from .. import ops
from .base import Base


class Arithmetic(Base):
    """Operators, and functions of two numbers."""

    __slots__ = ()
    __hash__ = Base.__hash__

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
    def __eq__(self, o: Any) -> Self: return self.apply(ops.Equal(), o)  # type: ignore[override]
    def __ne__(self, o: Any) -> Self: return self.apply(ops.NotEqual(), o)  # type: ignore[override]
    def __and__(self, o: Any) -> Self: return self.apply(ops.And(), o)
    def __or__(self, o: Any) -> Self: return self.apply(ops.Or(), o)
    def __xor__(self, o: Any) -> Self: return self.apply(ops.Xor(), o)
    def __rand__(self, o: Any) -> Self: return self.lift(o).apply(ops.And(), self)
    def __ror__(self, o: Any) -> Self: return self.lift(o).apply(ops.Or(), self)
    def __rxor__(self, o: Any) -> Self: return self.lift(o).apply(ops.Xor(), self)
    def __invert__(self) -> Self: return self.apply(ops.Not())

    def __contains__(self, o: Any) -> bool: return bool((self == o).any())

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

    # What is not 0 counts as true.
    def logical_and(self, other: Any) -> Self: return self.astype(bool) & self.lift(other).astype(bool)
    def logical_or(self, other: Any) -> Self: return self.astype(bool) | self.lift(other).astype(bool)
    def logical_xor(self, other: Any) -> Self: return self.astype(bool) ^ self.lift(other).astype(bool)
    def logical_not(self) -> Self: return ~self.astype(bool)

    def equal(self, other: Any) -> bool:
        """Whether the shapes are the same and all elements too: one answer. `eq` answers for each element."""
        y = self.lift(other)
        return bool(self.shape == y.shape and self.eq(y).numpy().all())

    def isclose(self, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Self:
        """Whether |x − y| ≤ atol + rtol |y|, for each element; infinities are close to themselves only."""
        y = self.lift(other)
        near = (self - y).abs() <= y.abs() * rtol + atol
        close = self.eq(y) | (near & self.isfinite() & y.isfinite())
        return close | (self.isnan() & y.isnan()) if equal_nan else close

    def allclose(self, other: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
        """Whether every element is close, in the sense of `isclose`: one answer."""
        return bool(self.isclose(other, rtol, atol, equal_nan).numpy().all())

    # -- in words ---------------------------------------------------------------------------

    def add(self, other: Any, *, alpha: Any = 1) -> Self: return self + self._times(other, alpha)
    def sub(self, other: Any, *, alpha: Any = 1) -> Self: return self - self._times(other, alpha)
    def mul(self, other: Any) -> Self: return self * other
    def neg(self) -> Self: return -self
    def pow(self, exponent: Any) -> Self: return self**exponent
    def rsub(self, other: Any, *, alpha: Any = 1) -> Self: return self.lift(other).sub(self, alpha=alpha)
    def bitwise_left_shift(self, other: Any) -> Self: return self * self.lift(2) ** other
    def bitwise_right_shift(self, other: Any) -> Self: return self // self.lift(2) ** other
    def floor_divide(self, other: Any) -> Self: return self // other
    def remainder(self, other: Any) -> Self: return self % other
    def fmod(self, other: Any) -> Self: return self.apply(ops.Fmod(), other)
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
        raise ValueError(f'div rounds with rounding_mode "floor" or "trunc", or None, and got {rounding_mode!r}')

    def _times(self, other: Any, alpha: Any) -> Any: return other if alpha == 1 else self.lift(other) * alpha

    subtract, multiply, divide, negative, absolute = sub, mul, div, neg, __abs__
    greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne

    # -- functions of two numbers, and three ----------------------------------------------------

    def hypot(self, other: Any) -> Self: return self.apply(ops.Hypot(), other)
    def atan2(self, other: Any) -> Self: return self.apply(ops.Atan2(), other)
    def copysign(self, other: Any) -> Self: return self.apply(ops.CopySign(), other)
    def logaddexp(self, other: Any) -> Self: return self.apply(ops.LogAddExp(), other)
    def logaddexp2(self, other: Any) -> Self: return (self * log(2)).logaddexp(self.lift(other) * log(2)) / log(2)
    def ldexp(self, other: Any) -> Self: return self * self.lift(other).exp2()
    def float_power(self, exponent: Any) -> Self: return self.astype(float) ** self.lift(exponent).astype(float)
    def xlogy(self, other: Any) -> Self: return self.apply(ops.XLogY(), other)
    def heaviside(self, values: Any) -> Self: return self.apply(ops.Heaviside(), values)
    def maximum(self, other: Any) -> Self: return self.apply(ops.Maximum(), other)
    def minimum(self, other: Any) -> Self: return self.apply(ops.Minimum(), other)
    def fmax(self, other: Any) -> Self: return self.where((self >= other) | self.lift(other).isnan(), other)
    def fmin(self, other: Any) -> Self: return self.where((self <= other) | self.lift(other).isnan(), other)

    def lerp(self, end: Any, weight: Any) -> Self:
        """x + w (y − x), reckoned from the nearer end, so that it is y where w is 1."""
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

    arctan2 = atan2

    def where(self, condition: Any, other: Any) -> Self:
        """self where the condition holds, other elsewhere."""
        c = self.lift(condition).astype(bool)
        if type(other) is int and other == 0 and self.dtype.kind != "b":  # beside which 0 is an integer
            return self.apply(ops.Kept(), c)
        return c.apply(ops.Where(), self, self.lift(other))


# Interning finds an op again in 0.15 µs; for the commonest even that shows.
_ADD, _SUB, _MUL, _DIV = ops.Add(), ops.Sub(), ops.Mul(), ops.Div()
