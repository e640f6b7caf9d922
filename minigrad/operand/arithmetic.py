"""Operators: arithmetic and comparisons."""

from __future__ import annotations

from typing import Any, Self

from .. import ops
from .base import Base


class Arithmetic(Base):
    """What is written with a sign."""

    __slots__ = ()
    __hash__ = Base.__hash__

    def __add__(self, o: Any) -> Self: return self.apply(_ADD, o)
    def __sub__(self, o: Any) -> Self: return self.apply(_SUB, o)
    def __mul__(self, o: Any) -> Self: return self.apply(_MUL, o)
    def __truediv__(self, o: Any) -> Self: return self.apply(_DIV, o)
    def __radd__(self, o: Any) -> Self: return self.lift(o).apply(_ADD, self)
    def __rsub__(self, o: Any) -> Self: return self.lift(o).apply(_SUB, self)
    def __rmul__(self, o: Any) -> Self: return self.lift(o).apply(_MUL, self)
    def __rtruediv__(self, o: Any) -> Self: return self.lift(o).apply(_DIV, self)
    def __rpow__(self, o: Any) -> Self: return self.lift(o).apply(ops.Power(), self)
    def __neg__(self) -> Self: return self.apply(ops.Neg())
    def __abs__(self) -> Self: return self.apply(ops.Abs())
    def __matmul__(self, o: Any) -> Self: return self.matmul(o)
    def __rmatmul__(self, o: Any) -> Self: return self.lift(o).matmul(self)

    def __pow__(self, p: Any) -> Self:
        return self.apply(ops.Pow(p)) if type(p) in (int, float) else self.apply(ops.Power(), p)

    # -- comparisons ------------------------------------------------------------------------

    def __gt__(self, o: Any) -> Self: return self.apply(ops.Greater(), o)
    def __ge__(self, o: Any) -> Self: return self.apply(ops.GreaterEqual(), o)
    def __lt__(self, o: Any) -> Self: return self.apply(ops.Less(), o)
    def __le__(self, o: Any) -> Self: return self.apply(ops.LessEqual(), o)
    def __eq__(self, o: Any) -> Self: return self.apply(ops.Equal(), o)  # type: ignore[override]
    def __ne__(self, o: Any) -> Self: return self.apply(ops.NotEqual(), o)  # type: ignore[override]
    def __invert__(self) -> Self: return self.apply(ops.Not())
    def equal(self, o: Any) -> Self: return self.apply(ops.Equal(), o)


# Interning finds an op again in 0.15 µs; for the commonest even that shows.
_ADD, _SUB, _MUL, _DIV = ops.Add(), ops.Sub(), ops.Mul(), ops.Div()
