"""Choosing between two operands."""

from __future__ import annotations

from typing import Any

from ..operand import Operand
from ..tensor import Tensor


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds, y elsewhere."""
    kind = next((o for o in (x, y, condition) if isinstance(o, Operand)), None)
    kind = Tensor(x) if kind is None else kind
    return kind.lift(x).where(condition, y)
