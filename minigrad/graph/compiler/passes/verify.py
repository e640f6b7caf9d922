"""The verifier: what is true of every graph, checked node by node. The tests run it after each pass.

specs       each node's spec is what its op infers from its operands'
inputs      are Input nodes, each listed once, each by a name of its own; and no other Input is reached
leaves      nothing else stands without operands but constants, and ops with an effect
order       no node depends on itself
names       no two named nodes have one name
effects     a pass has left each exactly once
subgraphs   (a fused loop, a branch) are graphs of which all this is true
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
    """The graph itself. Raises GraphError where it breaks a law, CycleError where a node depends on itself.

    before    the graph that a pass made this one from: arguments, results and effects must be the same
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
    """Arguments are Input nodes, listed once; every Input that is read is an argument."""
    for node in graph.inputs:
        if not isinstance(node.op, Input):
            raise GraphError(f"an argument of a graph is an Input, and this is {node}")
    twice = [node for node, n in Counter(graph.inputs).items() if n > 1]
    if twice:
        raise GraphError(f"an argument is listed once, and {twice[0]} stands there twice")
    for node in nodes:
        if isinstance(node.op, Input) and node not in graph.inputs:
            raise GraphError(f"{node} is read, and is not among the graph's arguments {list(graph.inputs)}")


def names_are_unique(nodes: Iterable[Node]) -> None:
    """No two inputs, and no two named nodes, have one name."""
    for names in (
        Counter(n.op.name for n in nodes if isinstance(n.op, Input)),
        Counter(n.name for n in nodes if isinstance(n, NamedNode)),
    ):
        for name, count in names.items():
            if count > 1:
                raise GraphError(f"a name belongs to one node, and {count} are called {name!r}")


def a_leaf_is_known(node: Node) -> None:
    """What has no operands is an input, a constant, or an op with an effect."""
    if not (node.inputs or isinstance(node.op, Input) or hasattr(node.op, "value") or node.op.effect):
        raise GraphError(f"{node} has no operands, and is neither an Input, nor a constant, nor has it an effect")


def spec_is_inferred(node: Node) -> None:
    """A node is of the spec that its op infers; a leaf's is given."""
    if node.inputs:
        operands = [x.spec for x in node.inputs]
        inferred = node.op.infer(*operands)
        if inferred != node.spec:
            raise GraphError(f"{node.op} of {operands} is {inferred}, and its node says {node.spec}")


def body_is_a_loop(op: Fused) -> None:
    """A fused body is elementwise over one shape, but for full reductions at its end; its inputs are a0, a1, …"""
    body = op.body
    names = [x.op.name for x in body.inputs if isinstance(x.op, Input)]
    if names != [f"a{i}" for i in range(len(names))]:
        raise GraphError(f"the inputs of a fused body are a0, a1, … in order, and these are {names}")
    for node in body.nodes:
        if is_full_reduction(node):
            inner = [n for n in body.nodes if node in n.inputs]
            if inner:
                raise GraphError(f"a reduction ends a fused body, and {inner[0]} reads {node}")
        elif node.inputs and not isinstance(node.op, Elementwise | BroadcastTo):
            raise GraphError(f"a fused body is made of elementwise ops, and {node} is none")
        if node.inputs and loop_shape(node) != op.shape:
            raise GraphError(f"a fused body loops over one shape, {op.shape}, and {node} over {loop_shape(node)}")


def same_outside(before: Graph, after: Graph) -> None:
    """What a pass may not touch: arguments, the specs of the results, and what has an effect."""
    if after.inputs != before.inputs:
        raise GraphError(f"a pass keeps the arguments {list(before.inputs)}, and left {list(after.inputs)}")
    came, gone = ([y and y.spec for y in graph.outputs] for graph in (before, after))
    if came != gone:
        raise GraphError(f"a pass keeps the results' specs {came}, and left {gone}")
    had, has = map(effects, (before, after))
    if had != has:
        raise GraphError(f"a pass keeps every effect as often as it was, {dict(had)}, and left {dict(has)}")


def effects(graph: Graph) -> Counter[Op]:
    """How often each op with an effect stands in the graph, and in the graphs inside its ops."""
    inside = (effects(sub) for node in graph.nodes if node.op.effect for sub in graphs_of(node.op).values())
    return sum(inside, Counter(node.op for node in graph.nodes if node.op.effect and not graphs_of(node.op)))
