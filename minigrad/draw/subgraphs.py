"""Branches and loops, expanded: the nodes inside them, as entries of the listing.

    p, k → the nodes of both branches → if             the if selects one branch's results
    c → carry → the nodes of test and body → while     the carry is the body's result from the second turn on

If a branch or a body reads a value from outside, an arrow comes from outside. All arrows point forward; only the word
"carry" shows that a body's results go into the next turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..engine.core.graph import Graph
from ..engine.core.node import Node, toposort
from ..graph.compiler.control import Cond, Control
from ..graph.compiler.passes.purify import graphs_of
from .graphs import is_constant, pieces, whole
from .listing import Entry, Path, Scope, entries_of
from .rules import sign_of

WORDS = {"true": "if it holds", "false": "if not", "test": "before each turn", "body": "at each turn"}


class InnerNode(NamedTuple):
    """A node, and the part of a branch or a loop that it is in; None for a node outside."""

    node: Node
    part: SubgraphPart | None = None


class SubgraphPart(NamedTuple):
    """One of the graphs of a branch or a loop: true, false, test or body."""

    control: InnerNode
    name: str

    @property
    def graph(self) -> Graph:
        found: Graph = getattr(self.control.node.op, self.name)
        return found


class NestedEntries:
    """Entries of some ops and of everything inside them.

    outside    returns the entry of a node that is in no part
    inside     returns the entry of a node in a part, from its name, its scopes, and its results that are read
    names      node → its name
    read       a node with several results → the results that are read
    """

    def __init__(
        self, outside: Callable[[Node], Entry], inside: Callable[[Node, str, Path, Sequence[Node]], Entry],
        names: Mapping[Node, str], read: Mapping[Node, Sequence[Node]],
    ):  # fmt: skip
        self.outside, self.inside, self.names, self.read = outside, inside, names, dict(read)
        self.scopes: dict[InnerNode | SubgraphPart, Scope] = {}

    def entries(self, ops: Iterable[Node]) -> list[Entry]:
        nodes = [each for node in ops for each in self.unfold(InnerNode(node))]
        return entries_of(nodes, self.operands, lambda each: is_constant(each.node), self.entry)

    def unfold(self, at: InnerNode) -> Iterator[InnerNode]:
        """Yield the nodes inside the op, then the op."""
        for part in parts_of(at):
            if part.name == "body":
                used = {x for other in parts_of(at) for x in self.live_nodes(other)}
                places = enumerate(zip(*(other.graph.inputs for other in parts_of(at))))
                yield from (InnerNode(xs[-1], part) for i, xs in places if i < turning(at) and not used.isdisjoint(xs))
        for part in parts_of(at):
            self.read |= pieces(part.graph.nodes)
            for node in self.live_nodes(part):
                if node.inputs and whole(node) is node:
                    yield from self.unfold(InnerNode(node, part))
        yield at

    def results(self, part: SubgraphPart) -> list[Node]:
        """The results of a part that are read or carried to the next turn, without those saved for backward."""
        op, count = part.control.node.op, len(part.graph.outputs)
        read = self.read.get(part.control.node)
        some = range(count - 1) if read is None else [piece.op.i for piece in read]  # type: ignore[attr-defined]
        wanted = {0} if part.name == "test" else {*some, *range(getattr(op, "carried", 0))}
        return [y for i, y in enumerate(part.graph.outputs) if y is not None and i in wanted]

    def live_nodes(self, part: SubgraphPart) -> list[Node]:
        """The nodes that the part's results and effects need."""
        ends = [*self.results(part), *(node for node in part.graph.nodes if node.op.effect)]
        return toposort(*ends) if ends else []

    def operands(self, at: InnerNode) -> list[InnerNode]:
        if at.part is not None and not at.node.inputs and not is_constant(at.node):  # a carry, or a row
            return [self.outer_operand(at.part, at.part.graph.inputs.index(at.node))]
        if not isinstance(at.node.op, Control):
            return [self.source(x, at.part) for x in at.node.inputs]
        first = [self.source(at.node.inputs[0], at.part)] if isinstance(at.node.op, Cond) else []
        return first + [self.source(y, part) for part in parts_of(at) for y in self.results(part)]

    def source(self, node: Node, part: SubgraphPart | None) -> InnerNode:
        """The origin of a value read in a part: a node of the part, a carry or row of the loop, or a node outside."""
        node = whole(node)
        if part is None or node not in part.graph.inputs:
            return InnerNode(node, part)
        i = part.graph.inputs.index(node)
        if i < turning(part.control):
            body = SubgraphPart(part.control, "body")
            return InnerNode(body.graph.inputs[i], body)
        return self.outer_operand(part, i)

    def outer_operand(self, part: SubgraphPart, i: int) -> InnerNode:
        """The operand of the branch or loop that the i-th input of a part stands for."""
        first = isinstance(part.control.node.op, Cond)  # a branch has no input for the condition
        return self.source(part.control.node.inputs[i + first], part.control.part)

    # -- names and scopes ---------------------------------------------------------------------------------

    def entry(self, at: InnerNode) -> Entry:
        if at.part is None:
            found = self.outside(at.node)
        else:
            name, read = self.names.get(at.node, ""), self.read.get(at.node, ())
            found = self.inside(at.node, name, self.path(at.part), read)
            if not at.node.inputs and not is_constant(at.node):
                control, i = at.part.control, at.part.graph.inputs.index(at.node)
                found.kind, found.sign = "op", "carry" if i < control.node.op.carried else "row"  # type: ignore[attr-defined]
                found.name = "" if found.name.startswith(found.sign) else found.name
                found.name = (self.result(control, i) if found.sign == "carry" else "") or found.name
                found.path = (*self.around(control), self.scope(control))
        if isinstance(at.node.op, Control):
            found.path = (*(found.path or ()), self.scope(at))
        return found

    def result(self, control: InnerNode, i: int) -> str:
        """The name of the i-th result."""
        read = self.read.get(control.node, ())
        return next((self.names.get(piece, "") for piece in read if piece.op.i == i), "")  # type: ignore[attr-defined]

    def path(self, part: SubgraphPart) -> Path:
        """The scopes that the nodes of a part are in."""
        scope = Scope("scope", part.name, WORDS.get(part.name, ""), part.graph)
        return (*self.around(part.control), self.scope(part.control), self.scopes.setdefault(part, scope))

    def around(self, control: InnerNode) -> Path:
        """The scopes around a branch or a loop."""
        return (self.outside(control.node).path or ()) if control.part is None else self.path(control.part)

    def scope(self, control: InnerNode) -> Scope:
        kind = "branch" if isinstance(control.node.op, Cond) else "loop"
        return self.scopes.setdefault(control, Scope("scope", sign_of(control.node.op), kind, control.node))


def parts_of(at: InnerNode) -> list[SubgraphPart]:
    return [SubgraphPart(at, name) for name in graphs_of(at.node.op)] if isinstance(at.node.op, Control) else []


def turning(control: InnerNode) -> int:
    """How many inputs of a loop's parts change at each turn: its carries and rows."""
    op: Any = control.node.op
    return 0 if isinstance(op, Cond) else op.carried + op.sliced
