"""Products of matrices and vectors."""

from __future__ import annotations

from typing import Any, Self

from .. import ops
from ..errors import ShapeError
from .base import Base


class Algebra(Base):
    """Linear algebra over the last axes."""

    __slots__ = ()

    def matmul(self, o: Any) -> Self:
        """Matrix product over the last two axes; a vector counts as a row on the left, as a column on the right."""
        x, y = self, self.lift(o)
        if x.ndim > 1 and y.ndim > 1:
            return x.apply(ops.MatMul(), y)
        if not x.ndim or not y.ndim:
            raise ShapeError(f"matmul needs at least one axis each, and got {x.spec} @ {y.spec}: use * for numbers")
        row = x.reshape(1, -1) if x.ndim == 1 else x
        column = y.reshape(-1, 1) if y.ndim == 1 else y
        z = row.apply(ops.MatMul(), column)
        return z.reshape(z.shape[: -2 if x.ndim == 1 else -1] + z.shape[-1 if y.ndim > 1 else z.ndim :])
