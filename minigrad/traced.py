"""Traced: an operand in a graph that is being built. What is done to it goes to that graph: see staging.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from .inplace import InPlace
from .modes import current
from .node import Node
from .op import Op
from .opened import session_or_default
from .ops import Input
from .symbol import Symbol
from .valueless import Valueless

if TYPE_CHECKING:
    from .graph.session import Session
    from .staging import Stage


class Traced(InPlace, Valueless, Symbol):
    """An operand in a graph that is being built.

    stage     the graph
    root      what it is a view of, if it is one
    look      how: (what it was taken of, the op, whether that was recorded)
    views     what looks at its memory, or may do so: it came of a branch or a loop that may have passed it on
    passed    what it may be itself, having come of a branch or a loop
    is_given  whether it is read, not computed: an argument, a captured tensor
    """

    __slots__ = ("edited", "is_given", "look", "passed", "root", "stage", "views")

    def __init__(self, node: Node, stage: Stage, root: Traced | None = None):
        super().__init__(node)
        self.stage, self.root, self.edited = stage, root, False
        self.look: tuple[Traced, Op, bool] | None = None
        self.views: WeakSet[Traced] = WeakSet()
        self.passed: list[Traced] = []
        self.is_given = isinstance(node.op, Input)

    def at_node(self, node: Node) -> Self:
        return type(self)(node, self.stage)

    def apply(self, op: Op, *others: Any) -> Any:
        return (current.mode.staging or self.stage).apply(op, (self, *others))

    def lift(self, o: Any) -> Any:
        return (current.mode.staging or self.stage).lift(o, self.spec)

    memory = property(lambda self: self if self.root is None else self.root, doc="The symbol whose memory it looks at.")

    def origins(self) -> list[Traced]:
        """Whose memory it may look at: what owns it, what that may be itself, and so on; each once."""
        found = [self.memory]
        for x in found:  # which grows meanwhile
            found += [y for y in x.passed if not any(y is z for z in found)]
        return found

    name = property(lambda self: self.node.name, doc="Its name, unique in its graph.")
    graph = property(lambda self: self.stage, doc="The graph that it is part of.")
    op = property(lambda self: self.node.op, doc="The op that makes it.")
    way_out = property(lambda self: self.stage.way_out, doc="How one comes to see a value.")

    def eval(self, feed_dict: Mapping[Any, Any] | None = None, session: Session | None = None) -> Any:
        """Its value in the session, or in the one whose block is open; of an op, what it does."""
        return session_or_default(session).run(self, feed_dict)

    run = eval

    def backward(self, gradient: Any = None, **options: Any) -> None:
        """Add ∂self/∂leaf to `.grad` of every captured leaf that requires it: more nodes of the same graph."""
        self.stage.backward(self, gradient)

    def __repr__(self) -> str:
        return f"<{self.name}: {self.spec}>"
