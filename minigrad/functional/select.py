"""Choosing between two operands."""

from __future__ import annotations

from typing import Any

from ..functions.face import operand, operands


def where(condition: Any, *either: Any) -> Any:
    """where(c, x, y): x where the condition holds, y elsewhere. where(c): the places it holds at, a vector per axis."""
    if not either:
        return operand(condition).nonzero(as_tuple=True)
    if len(either) != 2:
        raise TypeError(f"where takes a condition and two operands, or a condition alone, and got {len(either) + 1}")
    x, y, c = operands((*either, condition), "where")
    return x.where(c, y)
