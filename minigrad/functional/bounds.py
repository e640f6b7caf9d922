"""Values that must lie between two bounds: looked at on the CPU, and on a device asked about without waiting.

Choosing between two operands.
"""

from __future__ import annotations

from typing import Any

from ..base.device import CPU
from ..tensor.lift import operand, operands
from ..tensor.tensor import Tensor


def within(x: Any, low: float, high: float, error: type[Exception], wanted: str) -> None:
    """Raises the error, saying what was wanted and came, unless all of x is low to high, or has no values yet.

    On a device it is raised when a value is next read (base/device.py): to know now, it would have to finish first.
    """
    if not isinstance(x, Tensor) or not x.size:
        return
    device, array = x.spec.device, x.value
    if device is not CPU:
        device.refuse(~((array >= low) & (array <= high)), error(wanted))
    elif not all_within(x, low, high):
        raise error(f"{wanted}, and got {array.min()} to {array.max()}")


def all_within(x: Any, low: float, high: float) -> bool:
    """Whether all of x is known to be low to high: on a device nothing is, and what has no values is not."""
    if not isinstance(x, Tensor) or x.spec.device is not CPU:
        return False
    return not x.size or bool(low <= x.value.min() and x.value.max() <= high)


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """where(c, x, y): x where the condition holds, y elsewhere. where(c): the places it holds at, a vector per axis."""
    if input is None and other is None:
        return operand(condition).nonzero(as_tuple=True)
    if input is None or other is None:
        raise TypeError("where takes a condition and two operands, or a condition alone, and got two in all")
    x, y, c = operands((input, other, condition), "where")
    return x.where(c, y)
