"""A checkpoint in a graph that is being built: what backward reads of it is computed again, of what it was given.

Eager code calls the function a second time. A graph has its nodes already, and those of the part are marked. Where a
derivative reads one of them, it reads a copy, made of copies, back to what the part took from outside: and that is read
behind a Barrier, which waits for the gradient that arrives. So no pass takes the copy for what forward computed, and it
is made when it is wanted, and no earlier. (`jax.checkpoint` does the same, by an optimization_barrier.)
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
    """The call of a checkpoint's function.

    outer      the part around it
    keeps      (op, specs of its operands) → whether its result is kept all the same; None where nothing is
    is_shelf   whether it is what is kept of the part around it
    """

    outer: CheckpointCall | None
    keeps: Callable[..., bool] | None = None
    is_shelf: bool = False

    def of(self, op: Op, inputs: tuple[Node, ...]) -> CheckpointCall | None:
        """The part that a new node is in: none if it must not run twice, the shelf if it is kept."""
        if isinstance(op, TupleGet):
            return inputs[0].part  # type: ignore[no-any-return]
        if op.effect or isinstance(op, Read | Assign | Group):
            return None
        if self.keeps is not None and inputs and self.keeps(op, *(x.spec for x in inputs)):
            return CheckpointCall(self, is_shelf=True)
        return self

    @property
    def home(self) -> CheckpointCall | None:
        """Where the operands of what is in it are found."""
        return self.outer if self.is_shelf else self

    def __iter__(self) -> Iterator[CheckpointCall]:
        """The parts in which what is in it is computed again, the innermost first."""
        part = self.outer.outer if self.is_shelf and self.outer else self
        while part is not None:
            yield part
            part = part.outer


class Recomputation:
    """What one backward pass reads of a graph.

    like       a symbol of the kind that is wanted
    open       the parts inside which the gradient is taken, where all is as it was
    arrived    part → the first gradient that came to it
    made       (part, node) → what stands for the node inside the part
    """

    def __init__(self, like: Any):
        builder = getattr(like, "builder", None) and (modes.current.mode.builder or like.builder)
        self.like = like
        self.open = set(getattr(builder, "part", None) or ())
        self.arrived: dict[CheckpointCall, Any] = {}
        self.made: dict[Key, Any] = {}

    def operands(self, node: Node, gy: Any) -> list[Any]:
        """The node and its inputs as its derivative reads them, for a gradient that arrives."""
        home = node.part and node.part.home
        for part in home or ():
            self.arrived.setdefault(part, gy)
        return [self.read((home, x)) for x in (node, *node.inputs)]

    def read(self, wanted: Key) -> Any:
        """The symbol that stands for a node inside a part. A part may be deep: no recursion."""
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
        """What that is made of."""
        if part is None or part in self.open or isinstance(node.op, Const):
            return []
        if part not in (node.part or ()):
            return [(part.outer, node)]
        inputs = node.inputs[:1] if type(node.op) is ControlDep else node.inputs  # what it waited for is done
        return [(part, x) for x in inputs]

    def symbol(self, part: CheckpointCall | None, node: Node, xs: list[Any]) -> Any:
        """The symbol, of what it needs."""
        if not xs:
            return self.like.at_node(node)
        if part not in (node.part or ()):
            return xs[0].apply(Barrier(), self.arrived[part])  # type: ignore[index]
        if type(node.op) is ControlDep:
            return xs[0]
        y = xs[0].apply(node.op, *xs[1:])
        if isinstance(y.node, NamedNode):  # of a graph that is being built, which has named it
            y.node.place = node.place  # type: ignore[attr-defined]
        elif isinstance(node, NamedNode):
            y.node = NamedNode(node.op, y.node.inputs, y.node.spec, f"{node.name}_again", node.place)
        return y
