"""Other dtypes for the same numbers. The names are PyTorch's: `double` is float64, `long` int64."""

from __future__ import annotations

import builtins
from typing import Any, Self

from .. import ops
from ..errors import DTypeError
from .base import Base


class Casting(Base):
    """The same numbers in another dtype; gradients come back in the old one."""

    __slots__ = ()

    def astype(self, dtype: Any) -> Self:
        """The same numbers in another dtype; self if it is its own."""
        to = self.spec.with_dtype(dtype)
        if to.dtype.kind not in "fiub":
            raise DTypeError(f"a tensor holds real numbers, integers or booleans, and {to.dtype} was asked")
        return self if to == self.spec else self.apply(ops.Cast(to.dtype))

    def double(self) -> Self: return self.astype("f8")
    def half(self) -> Self: return self.astype("f2")
    def long(self) -> Self: return self.astype("i8")
    def short(self) -> Self: return self.astype("i2")
    def float(self) -> Self: return self.astype("f4")
    def int(self) -> Self: return self.astype("i4")
    def char(self) -> Self: return self.astype("i1")
    def byte(self) -> Self: return self.astype("u1")
    def bool(self) -> Self: return self.astype("?")
    def type(self, dtype: Any) -> Self: return self.astype(dtype)
    def type_as(self, other: Any) -> Self: return self.astype(other.dtype)
    def is_floating_point(self) -> builtins.bool: return self.spec.is_float
