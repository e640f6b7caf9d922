"""Choosing between two operands."""

from __future__ import annotations

from typing import Any

from ..operand import Operand
from ..tensor import Tensor


def where(condition: Any, *either: Any) -> Any:
    """where(c, x, y): x where the condition holds, y elsewhere. where(c): the places it holds at, a vector per axis."""
    if not either:
        return (condition if isinstance(condition, Operand) else Tensor(condition)).nonzero(as_tuple=True)
    if len(either) != 2:
        raise TypeError(f"where takes a condition and two operands, or a condition alone, and got {len(either) + 1}")
    x, y = either
    kind = next((o for o in (x, y, condition) if isinstance(o, Operand)), None)
    kind = Tensor(x) if kind is None else kind
    return kind.lift(x).where(condition, y)
