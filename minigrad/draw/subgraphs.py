"""Branches and loops, expanded: the nodes inside them, as entries of the listing.

    p, k → the nodes of both branches → if             the if selects one branch's results
    c → carry → the nodes of test and body → while     the carry is the body's result from the second turn on

If a branch or a body reads a value from outside, an arrow comes from outside. All arrows point forward; only the word
"carry" shows that a body's results go into the next turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import inf
from typing import Any

from ..engine.core.graph import Graph
from ..engine.core.node import Node, toposort
from ..graph.compiler.control import Cond, Control
from ..graph.compiler.passes.purify import graphs_of
from .graphs import is_constant, pieces, whole
from .listing import Entry, Path, Scope
from .nested import NamedGraph, NamedOp, OpEntries
from .rules import sign_of

WORDS = {"true": "if it holds", "false": "if not", "test": "before each turn", "body": "at each turn"}


class NodeReader:
    """Describes nodes, and all nodes in their branches and loops.

    outside    returns the entry of a node that is in no part
    inside     returns the entry of a node in a part, from its name and its results that are read
    names      node → its name
    read       a node with several results → the results that are read
    """

    def __init__(
        self, outside: Callable[[Node], Entry], inside: Callable[[Node, str, Path | None, Sequence[Node]], Entry],
        names: Mapping[Node, str], read: Mapping[Node, Sequence[Node]],
    ):  # fmt: skip
        self.outside, self.inside, self.names, self.read = outside, inside, names, dict(read)
        self.leaves: dict[Node, Entry] = {}

    def entries(self, ops: Iterable[Node]) -> list[Entry]:
        found = OpEntries(inf)
        found.read(NamedGraph((op for node in ops for op in self.describe(node, None)), ()))
        return found.entries

    def entry(self, node: Node, part: Graph | None) -> Entry:
        """The entry of a node in a part; if `part` is None, of a node outside."""
        return self.outside(node) if part is None else self.inside(node, self.name(node), None, self.read.get(node, ()))

    def name(self, node: Node) -> str:
        return self.names.get(node, "")

    def source(self, node: Node, part: Graph | None) -> Any:
        """What a node reads: a node with operands, an input of the part, or the entry of a constant or of a leaf."""
        node = whole(node)
        if is_constant(node):
            return self.entry(node, part)
        if node.inputs or (part is not None and node in part.inputs):
            return node
        return self.leaves.get(node) or self.leaves.setdefault(node, self.entry(node, part))

    def describe(self, node: Node, part: Graph | None) -> Iterator[NamedOp]:
        """Describe a node of a part, after the carries of a loop."""
        xs = [self.source(x, part) for x in node.inputs]
        if not xs and not is_constant(node):
            leaf = self.source(node, part)
            yield NamedOp(leaf, outputs=[node], scopes=leaf.path or ())
        elif isinstance(node.op, Control):
            yield from self.control(node, node.op, xs, self.entry(node, part))
        else:
            found = self.entry(node, part)
            yield NamedOp(found, xs, [node], scopes=found.path or ())

    def control(self, node: Node, op: Control, xs: list[Any], found: Entry) -> Iterator[NamedOp]:
        """Describe the carries and rows of a loop, then a branch or a loop with its parts."""
        is_branch = isinstance(op, Cond)
        scopes = [*(found.path or ()), Scope("scope", sign_of(op), "branch" if is_branch else "loop", node)]
        own, given = (xs[:1], xs[1:]) if is_branch else ([], xs)
        graphs: dict[str, Graph] = {name: getattr(op, name) for name in graphs_of(op)}
        used = {x for graph in graphs.values() for x in self.live_nodes(node, graph)}
        updated = 0 if is_branch else op.carried + op.sliced  # type: ignore[attr-defined]
        for i, inputs in enumerate(zip(*(graph.inputs for graph in graphs.values()))):
            if i < updated and not used.isdisjoint(inputs):
                yield NamedOp(self.carry(node, i, inputs[-1]), [given[i]], [inputs[-1]], scopes=scopes)
                given[i] = inputs[-1]
        parts = []
        for name, graph in graphs.items():
            scope = Scope("scope", name, WORDS.get(name, ""), graph)
            operands = {x: outer for x, outer in zip(graph.inputs, given) if x in used}
            results = [self.source(y, graph) for y in self.results(node, graph)]
            parts.append(NamedGraph(self.inner(node, graph), results, operands, scope=scope))
        yield NamedOp(found, own, [node], scopes=scopes, parts=parts)

    def carry(self, control: Node, i: int, x: Node) -> Entry:
        """The entry of the carry or row with this number, whose name is that of the loop's result, if it has one."""
        found = self.inside(x, self.name(x), None, ())
        found.kind, found.sign = "op", "carry" if i < control.op.carried else "row"  # type: ignore[attr-defined]
        found.name = "" if found.name.startswith(found.sign) else found.name
        results = self.read.get(control, ()) if found.sign == "carry" else ()
        named = [self.name(y) for y in results if y.op.i == i]  # type: ignore[attr-defined]
        found.name = next(filter(None, named), found.name)
        return found

    def inner(self, control: Node, graph: Graph) -> Iterator[NamedOp]:
        """Describe the nodes of a part that its results and effects need."""
        self.read |= pieces(graph.nodes)
        for node in self.live_nodes(control, graph):
            if node.inputs and whole(node) is node:
                yield from self.describe(node, graph)

    def results(self, control: Node, graph: Graph) -> list[Node]:
        """The results of a part that are read or carried to the next turn, without those saved for backward."""
        op, count, read = control.op, len(graph.outputs), self.read.get(control)
        some = range(count - 1) if read is None else [piece.op.i for piece in read]  # type: ignore[attr-defined]
        wanted = {0} if graph is getattr(op, "test", None) else {*some, *range(getattr(op, "carried", 0))}
        return [y for i, y in enumerate(graph.outputs) if y is not None and i in wanted]

    def live_nodes(self, control: Node, graph: Graph) -> list[Node]:
        ends = [*self.results(control, graph), *(node for node in graph.nodes if node.op.effect)]
        return toposort(*ends) if ends else []
