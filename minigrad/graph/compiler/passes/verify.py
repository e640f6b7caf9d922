"""The verifier checks the invariants of every graph, node by node. The tests run it after each pass.

specs       each node has the spec that its op infers from its operands
inputs      are Input nodes, each listed once, with unique names; every Input that is read is listed
leaves      the only other nodes without operands are constants and ops with an effect
order       no node depends on itself
names       named nodes have unique names
effects     a pass keeps each effect exactly once
subgraphs   (a fused loop, a branch) satisfy all of this too
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ....engine.base.errors import GraphError
from ....engine.core.graph import Graph
from ....engine.core.node import NamedNode, Node
from ....engine.core.op import Elementwise, Op
from ....engine.ops import BroadcastTo, Input
from .fuse import Fused, is_full_reduction, loop_shape
from .purify import graphs_of


def verify(graph: Graph, before: Graph | None = None) -> Graph:
    """The graph itself. Raises GraphError if it breaks an invariant, CycleError if a node depends on itself.

    before    the graph before a pass: arguments, results and effects must be the same
    """
    nodes = graph.nodes
    inputs_are_listed(graph, nodes)
    names_are_unique(nodes)
    for node in nodes:
        a_leaf_is_known(node)
        spec_is_inferred(node)
        if isinstance(node.op, Fused):
            body_is_a_loop(node.op)
        for inside in graphs_of(node.op).values():
            verify(inside)
    if before is not None:
        same_outside(before, graph)
    return graph


def inputs_are_listed(graph: Graph, nodes: Iterable[Node]) -> None:
    """Check that arguments are Input nodes listed once, and that every Input read is an argument."""
    for node in graph.inputs:
        if not isinstance(node.op, Input):
            raise GraphError(f"every argument of a graph must be an Input, got {node}")
    twice = [node for node, n in Counter(graph.inputs).items() if n > 1]
    if twice:
        raise GraphError(f"the argument {twice[0]} is listed more than once")
    for node in nodes:
        if isinstance(node.op, Input) and node not in graph.inputs:
            raise GraphError(f"{node} is read, but is not among the graph's arguments {list(graph.inputs)}")


def names_are_unique(nodes: Iterable[Node]) -> None:
    """Check that no two inputs and no two named nodes share a name."""
    inputs = Counter(n.op.name for n in nodes if isinstance(n.op, Input))
    for names in (inputs, Counter(n.name for n in nodes if isinstance(n, NamedNode))):
        for name, count in names.items():
            if count > 1:
                raise GraphError(f"node names must be unique, but {count} nodes are named {name!r}")


def a_leaf_is_known(node: Node) -> None:
    """Check that a node without operands is an input, a constant, or an op with an effect."""
    if not (node.inputs or isinstance(node.op, Input) or hasattr(node.op, "value") or node.op.effect):
        raise GraphError(f"{node} has no operands, but is no Input, no constant, and has no effect")


def spec_is_inferred(node: Node) -> None:
    """Check that a node has the spec its op infers. A leaf's spec is given."""
    if node.inputs:
        operands = [x.spec for x in node.inputs]
        inferred = node.op.infer(*operands)
        if inferred != node.spec:
            raise GraphError(f"{node.op} of {operands} is {inferred}, but its node says {node.spec}")


def body_is_a_loop(op: Fused) -> None:
    """Check a fused body: elementwise over one shape, except full reductions at its end; its inputs are a0, a1, …"""
    body = op.body
    names = [x.op.name for x in body.inputs if isinstance(x.op, Input)]
    if names != [f"a{i}" for i in range(len(names))]:
        raise GraphError(f"the inputs of a fused body must be a0, a1, … in order, got {names}")
    for node in body.nodes:
        if is_full_reduction(node):
            inner = [n for n in body.nodes if node in n.inputs]
            if inner:
                raise GraphError(f"a reduction must end a fused body, but {inner[0]} reads {node}")
        elif node.inputs and not isinstance(node.op, Elementwise | BroadcastTo):
            raise GraphError(f"a fused body must be elementwise, got {node}")
        if node.inputs and loop_shape(node) != op.shape:
            raise GraphError(f"a fused body loops over one shape, {op.shape}, but {node} over {loop_shape(node)}")


def same_outside(before: Graph, after: Graph) -> None:
    """Check that a pass kept the arguments, the specs of the results, and the effects."""
    if after.inputs != before.inputs:
        raise GraphError(f"a pass must keep the arguments {list(before.inputs)}, but left {list(after.inputs)}")
    came, gone = ([y and y.spec for y in graph.outputs] for graph in (before, after))
    if came != gone:
        raise GraphError(f"a pass must keep the results' specs {came}, but left {gone}")
    had, has = map(effects, (before, after))
    if had != has:
        raise GraphError(f"a pass must keep every effect, {dict(had)}, but left {dict(has)}")


def effects(graph: Graph) -> Counter[Op]:
    """How often each op with an effect occurs in the graph and in the graphs inside its ops."""
    inside = (effects(sub) for node in graph.nodes if node.op.effect for sub in graphs_of(node.op).values())
    return sum(inside, Counter(node.op for node in graph.nodes if node.op.effect and not graphs_of(node.op)))
