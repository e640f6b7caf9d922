"""What is written with a sign: arithmetic, comparisons, logic; and their names in words, which are PyTorch's."""

from __future__ import annotations

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

    def gt(self, o: Any) -> Self: return self > o
    def ge(self, o: Any) -> Self: return self >= o
    def lt(self, o: Any) -> Self: return self < o
    def le(self, o: Any) -> Self: return self <= o
    def eq(self, o: Any) -> Self: return self.apply(ops.Equal(), o)
    def ne(self, o: Any) -> Self: return self.apply(ops.NotEqual(), o)
    def bitwise_and(self, o: Any) -> Self: return self & o
    def bitwise_or(self, o: Any) -> Self: return self | o
    def bitwise_xor(self, o: Any) -> Self: return self ^ o
    def bitwise_not(self) -> Self: return ~self

    # What is not 0 counts as true.
    def logical_and(self, o: Any) -> Self: return self.astype(bool) & self.lift(o).astype(bool)
    def logical_or(self, o: Any) -> Self: return self.astype(bool) | self.lift(o).astype(bool)
    def logical_xor(self, o: Any) -> Self: return self.astype(bool) ^ self.lift(o).astype(bool)
    def logical_not(self) -> Self: return ~self.astype(bool)

    def equal(self, o: Any) -> bool:
        """Whether the shapes are the same and all elements too: one answer. `eq` answers for each element."""
        y = self.lift(o)
        return bool(self.shape == y.shape and self.eq(y).numpy().all())

    def isclose(self, o: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Self:
        """Whether |x − y| ≤ atol + rtol |y|, for each element; infinities are close to themselves only."""
        y = self.lift(o)
        near = (self - y).abs() <= y.abs() * rtol + atol
        close = self.eq(y) | (near & self.isfinite() & y.isfinite())
        return close | (self.isnan() & y.isnan()) if equal_nan else close

    def allclose(self, o: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
        """Whether every element is close, in the sense of `isclose`: one answer."""
        return bool(self.isclose(o, rtol, atol, equal_nan).numpy().all())

    # -- in words ---------------------------------------------------------------------------

    def add(self, o: Any, *, alpha: Any = 1) -> Self: return self + (o if alpha == 1 else self.lift(o) * alpha)
    def sub(self, o: Any, *, alpha: Any = 1) -> Self: return self - (o if alpha == 1 else self.lift(o) * alpha)
    def mul(self, o: Any) -> Self: return self * o
    def neg(self) -> Self: return -self
    def pow(self, p: Any) -> Self: return self**p
    def floor_divide(self, o: Any) -> Self: return self // o
    def remainder(self, o: Any) -> Self: return self % o
    def fmod(self, o: Any) -> Self: return self.apply(ops.Fmod(), o)
    def true_divide(self, o: Any) -> Self: return self / o

    def div(self, o: Any, *, rounding_mode: str | None = None) -> Self:
        """x / y; rounded down with rounding_mode="floor", towards 0 with "trunc"."""
        match rounding_mode:
            case None:
                return self / o
            case "floor":
                return self // o
            case "trunc":
                y = self.lift(o)
                whole = not (self.spec.is_float or y.spec.is_float)
                return (self - self.fmod(y)) // y if whole else (self / y).trunc()
        raise ValueError(f'div rounds with rounding_mode "floor" or "trunc", or None, and got {rounding_mode!r}')

    subtract, multiply, divide, negative, absolute = sub, mul, div, neg, __abs__
    greater, greater_equal, less, less_equal, not_equal = gt, ge, lt, le, ne

    # -- functions of two numbers, and three ----------------------------------------------------

    def hypot(self, o: Any) -> Self: return self.apply(ops.Hypot(), o)
    def atan2(self, o: Any) -> Self: return self.apply(ops.Atan2(), o)
    def logaddexp(self, o: Any) -> Self: return self.apply(ops.LogAddExp(), o)
    def xlogy(self, o: Any) -> Self: return self.apply(ops.XLogY(), o)
    def heaviside(self, values: Any) -> Self: return self.apply(ops.Heaviside(), values)
    def maximum(self, o: Any) -> Self: return self.apply(ops.Maximum(), o)
    def minimum(self, o: Any) -> Self: return self.apply(ops.Minimum(), o)
    def lerp(self, end: Any, weight: Any) -> Self: return self + (self.lift(end) - self) * weight
    def addcmul(self, x: Any, y: Any, *, value: Any = 1) -> Self: return self + self.lift(x) * y * value
    def addcdiv(self, x: Any, y: Any, *, value: Any = 1) -> Self: return self + self.lift(x) / y * value

    arctan2 = atan2

    def where(self, condition: Any, other: Any) -> Self:
        """self where the condition holds, other elsewhere."""
        return self.lift(condition).astype(bool).apply(ops.Where(), self, self.lift(other))


# Interning finds an op again in 0.15 µs; for the commonest even that shows.
_ADD, _SUB, _MUL, _DIV = ops.Add(), ops.Sub(), ops.Mul(), ops.Div()
