"""Stage a derivative rule that contains arrays of its own, as `mg.tensor(matrix) @ gy`: the arrays become constants."""

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
    """Run the op's rule on these symbols. Returns one gradient for each operand."""
    with in_mode(builder=SlotBuilder(Slot(gy.node))):
        return op.gradients(*(Slot(each.node) for each in (gy, *slots)))


class Slot(Symbol):
    """A symbol that turns an array into a constant when the two are combined."""

    __slots__ = ()

    def lift(self, o: Any) -> Slot:
        if isinstance(o, Symbol):
            return Slot(o.node)
        if isinstance(o, int | float):
            return Slot(number(o, self.spec))
        array = np.array(o.numpy() if hasattr(o, "numpy") else o)
        return Slot(Node(Const(FrozenArray(array), 1.0), (), Spec(array.shape, array.dtype, self.spec.device)))


@dataclass(frozen=True, eq=False)
class FrozenArray:
    """A copy of an array, compared by identity."""

    array: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.array, dtype)


class SlotBuilder:
    """Takes the place of a graph's builder, for an op whose first operand is an array of the rule."""

    once, outer, renewed = True, None, ()

    def __init__(self, slot: Slot):
        self.slot, self.born, self.detached = slot, dict[int, Any](), dict[int, Any]()

    def apply(self, op: Op, operands: tuple[Any, ...]) -> Slot:
        first, *others = map(self.slot.lift, operands)
        return first.apply(op, *others)

    def lift(self, o: Any, beside: Spec) -> Slot:
        return self.slot.lift(o)

    def note_read(self, what: Any, attribute: str) -> None:
        """Ignore the read: the elements of a saved array never change."""
