"""Checkpoints in a graph that is being built: backward recomputes the values inside from the checkpoint's inputs.

Eager code calls the function a second time. A graph already has the nodes, and marks those inside the checkpoint: the
part. A derivative that needs a node of the part reads a copy, computed from copies, back to the inputs of the part. The
inputs are read through a Barrier, which waits for the arriving gradient. So no pass merges the copy with the original,
and the copy is not computed before it is needed. (`jax.checkpoint` does the same, with an optimization_barrier.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..engine.core import modes
from ..engine.core.node import NamedNode, Node
from ..engine.core.op import Op
from ..engine.ops import Assign, Barrier, Const, ControlDep, Group, Read, TupleGet

Key = tuple["CheckpointCall | None", Node]


@dataclass(eq=False)
class CheckpointCall:
    """The call of a checkpoint's function: a part of the graph that backward recomputes.

    outer      the part around it
    keeps      (op, specs of its operands) → whether its result is saved, not recomputed; None if no result is saved
    is_shelf   whether it holds the saved nodes of the part around it
    """

    outer: CheckpointCall | None
    keeps: Callable[..., bool] | None = None
    is_shelf: bool = False

    def of(self, op: Op, inputs: tuple[Node, ...]) -> CheckpointCall | None:
        """The part of a new node: None if the node must not run twice, a shelf if its result is saved."""
        if isinstance(op, TupleGet):
            return inputs[0].part  # type: ignore[no-any-return]
        if op.effect or isinstance(op, Read | Assign | Group):
            return None
        if self.keeps is not None and inputs and self.keeps(op, *(x.spec for x in inputs)):
            return CheckpointCall(self, is_shelf=True)
        return self

    @property
    def home(self) -> CheckpointCall | None:
        """The part in which the operands of its nodes are found."""
        return self.outer if self.is_shelf else self

    def __iter__(self) -> Iterator[CheckpointCall]:
        """The parts in which its nodes are recomputed, the innermost first."""
        part = self.outer.outer if self.is_shelf and self.outer else self
        while part is not None:
            yield part
            part = part.outer


class Recomputation:
    """Finds or recomputes the values that one backward pass reads from a graph.

    like       a symbol, from which the new symbols are made
    open       the parts inside which the gradient is taken; their nodes are read directly
    arrived    part → the first gradient that arrived at it
    made       (part, node) → the symbol of the node for derivatives of nodes in the part
    """

    def __init__(self, like: Any):
        builder = getattr(like, "builder", None) and (modes.current.mode.builder or like.builder)
        self.like = like
        self.open = set(getattr(builder, "part", None) or ())
        self.arrived: dict[CheckpointCall, Any] = {}
        self.made: dict[Key, Any] = {}

    def operands(self, node: Node, gy: Any) -> list[Any]:
        """The symbols of the node and its inputs that the node's derivative reads; gy is the gradient that arrives."""
        home = node.part and node.part.home
        for part in home or ():
            self.arrived.setdefault(part, gy)
        return [self.read((home, x)) for x in (node, *node.inputs)]

    def read(self, wanted: Key) -> Any:
        """The symbol of a node inside a part. Not recursive, as a part may be deep."""
        stack = [wanted]
        while stack:
            needs = self.needs(*stack[-1])
            missing = [key for key in needs if key not in self.made]
            if missing and stack[-1] not in self.made:
                stack += missing
                continue
            part, node = key = stack.pop()
            if key not in self.made:
                self.made[key] = self.symbol(part, node, [self.made[key] for key in needs])
        return self.made[wanted]

    def needs(self, part: CheckpointCall | None, node: Node) -> list[Key]:
        """The keys of the symbols from which the symbol of this key is computed."""
        if part is None or part in self.open or isinstance(node.op, Const):
            return []
        if part not in (node.part or ()):
            return [(part.outer, node)]
        inputs = node.inputs[:1] if type(node.op) is ControlDep else node.inputs  # its dependencies have run
        return [(part, x) for x in inputs]

    def symbol(self, part: CheckpointCall | None, node: Node, xs: list[Any]) -> Any:
        """Make the symbol of a node from the symbols that it needs."""
        if not xs:
            return self.like.at_node(node)
        if part not in (node.part or ()):
            return xs[0].apply(Barrier(), self.arrived[part])  # type: ignore[index]
        if type(node.op) is ControlDep:
            return xs[0]
        y = xs[0].apply(node.op, *xs[1:])
        if isinstance(y.node, NamedNode):  # a graph that is being built has named the node
            y.node.place = node.place  # type: ignore[attr-defined]
        elif isinstance(node, NamedNode):
            y.node = NamedNode(node.op, y.node.inputs, y.node.spec, f"{node.name}_again", node.place)
        return y
