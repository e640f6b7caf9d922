"""Symbol: an operand without a value. Ops on it build nodes instead of computing."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, NoReturn, Self

from .. import ops
from ..base.dimension import Dimension, Formula, unwrap_dimension
from ..base.dtypes import result_type
from ..base.errors import NoValueError
from ..base.spec import Spec
from ..core.node import Node
from ..core.op import Op
from ..methods import Operand


class Symbol(Operand):
    """An operand that stands for a node. Each op on it makes a new node."""

    __slots__ = ("__weakref__", "node")

    tracked = False  # the history of a symbol is its node
    way_out = "Return it from the function and run the graph to see a value"

    def __init__(self, node: Node):
        self.node = node

    spec: Spec = property(attrgetter("node.spec"))  # type: ignore[assignment]

    def at_node(self, node: Node) -> Self:
        """A symbol for another node of the same graph."""
        return type(self)(node)

    def apply(self, op: Op, *others: Any) -> Self:
        return self.at_node(Node(op, (self.node, *(self.lift(o).node for o in others))))

    def lift(self, o: Any) -> Self:
        if isinstance(o, Symbol):
            return o  # type: ignore[return-value]
        if isinstance(o, int | float | Dimension):
            return self.at_node(number(o, self.spec))
        raise TypeError(f"a symbol can be combined with symbols and numbers, and got {type(o).__name__}")

    def numpy(self) -> NoReturn:
        op = self.node.op
        who = f"{op.name}, {self.spec}," if isinstance(op, ops.Input) else f"this tensor, {self.node},"
        said = f"{who} has no value: it is symbolic, part of a graph being built. {self.way_out}"
        raise self.note_error(NoValueError(said))

    def note_error(self, error: NoValueError) -> NoValueError:
        """The error to raise; a subclass may add a note to the error."""
        return error

    __bool__ = __float__ = __int__ = __index__ = item = numpy

    def __repr__(self) -> str:
        return f"Symbol({self.node})"


def number(value: float | Dimension, beside: Spec) -> Node:
    """A Python number as a constant node, with the dtype that it gets next to an operand of spec `beside` (NEP 50)."""
    said = unwrap_dimension(value)
    plain = type(said)(0) if isinstance(said, bool | float) else 0.0 if isinstance(said, Formula) else 0
    return Node(ops.const(said), (), Spec((), result_type(beside.dtype, plain), beside.device))


def placeholder(name: str, spec: Spec) -> Symbol:
    """A symbol for a value that is passed in at each run."""
    return Symbol(Node(ops.Input(name), (), spec))
