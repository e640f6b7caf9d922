"""Choosing between two operands."""

from __future__ import annotations

from typing import Any

from ..functions.face import operand, operands


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """where(c, x, y): x where the condition holds, y elsewhere. where(c): the places it holds at, a vector per axis."""
    if input is None and other is None:
        return operand(condition).nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError("where takes a condition and two operands, or a condition alone, and got two in all")
    x, y, c = operands((input, other, condition), "where")
    return x.where(c, y)
