"""Python's numbers in a graph: what stands for one is no tensor, and is never edited in place.

`n += 1` gives a number another value, and beside a tensor the dtype that `n = n + x` has; of a tensor it edits the
memory. A variable that began as a number, and that a branch or a loop has made a symbol of, is still a number.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...op import Op
from ...staging import Traced

NUMBERS = (bool, int, float)


class Number(Traced):
    """A symbol in the place of a Python number. What is computed of numbers alone is one again."""

    __slots__ = ()

    def apply(self, op: Op, *others: Any) -> Any:
        y = super().apply(op, *others)
        return as_number(y) if all(map(is_number, others)) else y

    def rebound(self, other: Any) -> Any:
        """Leaves it to Python to take `n = n + other` for `n += other`."""
        return NotImplemented

    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = rebound
    __iand__ = __ior__ = __ixor__ = rebound


def is_number(x: Any) -> bool:
    """Whether x is a Python number, or stands for one."""
    return isinstance(x, (*NUMBERS, Number)) and not isinstance(x, np.generic)


def as_number(x: Any) -> Any:
    """The symbol, in the place of a number."""
    return Number(x.node, x.stage) if type(x) is Traced else x
