"""Functions of each element."""

from __future__ import annotations

from typing import Any, Self

from .. import ops
from ..errors import DTypeError
from .base import Base


class Pointwise(Base):
    """y[i] = f(x[i]): the shape stays."""

    __slots__ = ()

    def exp(self) -> Self: return self.apply(ops.Exp())
    def log(self) -> Self: return self.apply(ops.Log())
    def sqrt(self) -> Self: return self.apply(ops.Sqrt())
    def sin(self) -> Self: return self.apply(ops.Sin())
    def cos(self) -> Self: return self.apply(ops.Cos())
    def tanh(self) -> Self: return self.apply(ops.Tanh())
    def sigmoid(self) -> Self: return self.apply(ops.Sigmoid())
    def relu(self) -> Self: return self.apply(ops.Relu())
    def abs(self) -> Self: return self.apply(ops.Abs())
    def sign(self) -> Self: return self.apply(ops.Sign())
    def maximum(self, o: Any) -> Self: return self.apply(ops.Maximum(), o)
    def minimum(self, o: Any) -> Self: return self.apply(ops.Minimum(), o)

    def where(self, condition: Any, other: Any) -> Self:
        """self where the condition holds, other elsewhere."""
        return self.lift(condition).astype(bool).apply(ops.Where(), self, other)

    def astype(self, dtype: Any) -> Self:
        """The same numbers in another dtype; self if it is its own."""
        to = self.spec.with_dtype(dtype)
        if to.dtype.kind not in "fiub":
            raise DTypeError(f"a tensor holds real numbers, integers or booleans, and {to.dtype} was asked")
        return self if to == self.spec else self.apply(ops.Cast(to.dtype))
