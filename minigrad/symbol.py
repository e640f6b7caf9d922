"""Symbol: an operand without a value. What is done to it is written down, not computed."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from . import ops
from .errors import NoValueError
from .node import Node
from .op import Op
from .operand import Operand
from .spec import Spec


class Symbol(Operand):
    """A node, to be operated on: every op makes the next node."""

    __slots__ = ("node",)

    def __init__(self, node: Node):
        self.node = node

    @property
    def spec(self) -> Spec:  # type: ignore[override]
        return self.node.spec

    def apply(self, op: Op, *others: Any) -> Symbol:
        return Symbol(Node(op, (self.node, *(self.lift(o).node for o in others))))

    def lift(self, o: Any) -> Symbol:
        if isinstance(o, Symbol):
            return o
        if isinstance(o, int | float):
            return Symbol(Node(ops.const(o), (), Spec((), np.result_type(self.dtype, o), self.spec.device)))
        raise TypeError(f"a symbol works with symbols and numbers, and got {type(o).__name__}")

    def numpy(self) -> NoReturn:
        raise NoValueError(
            f"this tensor, {self.node}, has no value: it is symbolic, part of a graph being built. "
            "Return it from the function and run the graph to see a value"
        )

    __bool__ = __float__ = __int__ = item = numpy

    def __repr__(self) -> str:
        return f"Symbol({self.node})"


def placeholder(name: str, spec: Spec) -> Symbol:
    """A symbol for a value to be given at each run."""
    return Symbol(Node(ops.Input(name), (), spec))
