"""A rule that has arrays of its own, as in `mg.tensor(matrix) @ gy`, on symbols: they are constants of its graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.spec import Spec
from ..core.modes import in_mode
from ..core.node import Node
from ..core.op import Op
from ..ops import Const
from .symbol import Symbol, number


def gradients(op: Op, gy: Symbol, slots: Sequence[Symbol]) -> tuple[Any, ...]:
    """What the op's rule gives for these symbols, one for each operand."""
    with in_mode(builder=Beside(Slot(gy.node))):
        return op.gradients(*(Slot(each.node) for each in (gy, *slots)))


class Slot(Symbol):
    """A symbol beside which an array is a constant."""

    __slots__ = ()

    def lift(self, o: Any) -> Slot:
        if isinstance(o, Symbol):
            return Slot(o.node)
        if isinstance(o, int | float):
            return Slot(number(o, self.spec))
        array = np.array(o.numpy() if hasattr(o, "numpy") else o)
        return Slot(Node(Const(Fixed(array), 1.0), (), Spec(array.shape, array.dtype, self.spec.device)))


@dataclass(frozen=True, eq=False)
class Fixed:
    """An array as it was, which is the same as itself alone."""

    array: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.array, dtype)


class Beside:
    """Stands where a graph's builder does, for an op whose first operand is such an array."""

    once, outer = True, None

    def __init__(self, slot: Slot):
        self.slot, self.born = slot, dict[int, Any]()

    def apply(self, op: Op, operands: tuple[Any, ...]) -> Slot:
        first, *others = map(self.slot.lift, operands)
        return first.apply(op, *others)

    def lift(self, o: Any, beside: Spec) -> Slot:
        return self.slot.lift(o)

    def note_read(self, what: Any, attribute: str) -> None:
        """Ignore the read: the elements of a saved array never change."""
