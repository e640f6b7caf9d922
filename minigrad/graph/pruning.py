"""Extract the part of a graph that a run needs, as a pure function: (feeds, variables) → (fetches, new variables).

The walk starts at the fetches, goes backwards, and stops at the feeds. The nodes it reaches run in the order in which
they were built. A variable that is read becomes an input; a variable that is assigned becomes one more output. This
fixes the order of reads and assignments once, and the remaining function is pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..engine import ops
from ..engine.base.errors import GraphError
from ..engine.base.spec import Spec, Specs
from ..engine.core.graph import Graph
from ..engine.core.node import NamedNode, Node
from .graph import StaticGraph, name_of

DONE = Node(ops.const(True), (), Spec((), bool))


@dataclass(frozen=True)
class PrunedGraph:
    """The part of a graph that a run needs, as a function.

    graph       the function: its outputs are the fetches, then the new values of `writes`, then, if there are effects,
                one output that waits for all effects
    reads       for each input, the fed node, or the name of a variable or a captured tensor
    writes      the names of the variables and captured tensors that get a new value
    executed    the names of the nodes that run
    """

    graph: Graph
    reads: tuple[Node | str, ...]
    writes: tuple[str, ...]
    executed: tuple[str, ...]


def reachable_nodes(graph: StaticGraph, fetches: Iterable[Node], fed: frozenset[Node]) -> list[Node]:
    """Every node that the fetches depend on, in the order in which they were built, each once."""
    found: set[Node] = set()
    stack = list(fetches)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            if node not in fed:
                stack += node.inputs[:1] if isinstance(node.op, ops.StopGradient) else node.inputs
                default = graph.given.get(node)
                stack += [] if default is None else [default.node]
    found.update(p for p in graph.probes if p.inputs[0] in found)
    return sorted(found, key=graph.order.__getitem__)


class Pruning:
    """Builds the function by a walk through the needed nodes.

    new       node → its node in the function
    inputs    fed node, or name of a variable → its input
    holds     name of a variable → its value at this point of the walk
    last      the latest effect
    """

    def __init__(self, graph: StaticGraph, fed: frozenset[Node]):
        self.graph, self.fed = graph, fed
        self.new: dict[Node, Node] = {}
        self.inputs: dict[Node | str, Node] = {}
        self.holds: dict[str, Node] = {}
        self.written: dict[str, None] = {}
        self.last: Node | None = None

    def step(self, node: Node) -> None:
        """Add one node to the function."""
        match node:
            case _ if node in self.fed:
                self.new[node] = self.input_for(node, node)
            case Node(ops.Input()):
                self.new[node] = self.default_for(node) if node in self.graph.given else self.state(name_of(node), node)
            case Node(ops.Read(variable), waits):
                is_assigned = variable in self.holds and (waits or node in self.graph.late)
                self.new[node] = self.holds[variable] if is_assigned else self.state(variable, node)
            case Node(ops.Assign(variable), (x, *_)):
                self.assign(node, variable, self.new[x])
            case Node(ops.ControlDep() | ops.StopGradient(), (x, *_)) if not isinstance(node.op, ops.Barrier):
                self.new[node] = self.new[x]  # its dependencies are in the function too, and effects keep their order
            case Node(ops.Group()):
                pass
            case _:
                self.run(node)

    def input_for(self, what: Node | str, like: Node) -> Node:
        """The input for a fed node, or for a variable or a captured tensor that is read."""
        if what not in self.inputs:
            word = re.sub(r"\W|^(?=\d)", "_", name_of(like))
            self.inputs[what] = like.naming(Node(ops.Input(f"{word}_{len(self.inputs)}"), (), like.spec))
        return self.inputs[what]

    def state(self, name: str, like: Node) -> Node:
        """The value of a variable or a captured tensor at the start of the run."""
        start = self.input_for(name, like)
        self.holds.setdefault(name, start)
        return start

    def default_for(self, node: Node) -> Node:
        """The default of a placeholder that is not fed. Raises GraphError if it has none."""
        default = self.graph.given[node]
        if default is not None:
            return self.new[default.node]
        raise GraphError(
            f"this run needs the placeholder {name_of(node)}, {node.spec}, made at {node.place}: "  # type: ignore[attr-defined]
            f"say its value, as in session.run(…, {{{name_of(node)}: value}})"
        )

    def assign(self, node: Node, variable: str, x: Node) -> None:
        """Set the value of the variable for the rest of the walk."""
        if type(node.op) is not ops.Assign:
            before = self.holds[variable] if variable in self.holds else self.state(variable, node)
            x = node.naming(Node(ops.Add() if isinstance(node.op, ops.AssignAdd) else ops.Sub(), (before, x)))
        self.new[node] = self.holds[variable] = x
        self.written[variable] = None

    def run(self, node: Node) -> None:
        """Copy an op onto the new operands. An op with an effect waits for the previous effect."""
        xs = tuple(self.new[x] for x in node.inputs if not isinstance(x.op, ops.Group))
        if node.op.effect and self.last is not None:
            xs = (Node(ops.ControlDep(), (xs[0], self.last)), *xs[1:]) if xs else (self.last,)
        self.new[node] = new = NamedNode(node.op, xs, node.spec, name_of(node), node.place, node.born)  # type: ignore[attr-defined]
        new.worker = node.worker
        if node.op.effect:
            self.last = self.new[node]


def prune_graph(graph: StaticGraph, fetches: Sequence[Node], fed: Sequence[Node]) -> PrunedGraph:
    """The part of the graph that computes the fetches from the feeds."""
    chosen = frozenset(fed)
    order = reachable_nodes(graph, fetches, chosen)
    walk = Pruning(graph, chosen)
    for node in order:
        walk.step(node)
    results = [None if isinstance(x.spec, Specs) and not x.spec else walk.new[x] for x in fetches]
    effects = [] if walk.last is None else [Node(ops.ControlDep(), (DONE, walk.last))]
    outputs = [*results, *(walk.holds[name] for name in walk.written), *effects]
    pruned = Graph(tuple(walk.inputs.values()), tuple(outputs))
    names = tuple(name_of(node) for node in order if node not in chosen)
    return PrunedGraph(pruned, tuple(walk.inputs), tuple(walk.written), names)
