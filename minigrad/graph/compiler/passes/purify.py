"""A graph without its effects: what backward runs of a branch or a loop a second time, to have its values again.

It must not print again, nor ask user code for a number again. A print gives its operand as it is, and can be left out;
what user code gave is a value to be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ....engine.base.dimension import named
from ....engine.base.errors import NoGradientError
from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.core.op import Op
from ....engine.ops import ControlDep, TupleGet
from ....engine.ops.effect import Shown

STEPS: Any = named("?steps")  # of every While: its stacks are read by loops only, which go along them
Output = tuple[Node, int | None]  # a node of one result; or which one of several


def purify(graph: Graph) -> tuple[Graph, dict[Node, Node]]:
    """The graph without its effects, but for those whose values it reads; and which of its nodes was which before."""
    before: dict[Node, Node] = {}

    def quiet(node: Node, inputs: tuple[Node, ...]) -> Node:
        if inputs and isinstance(node.op, ControlDep | Shown):
            return inputs[0]
        new = node.with_inputs(inputs)
        if node.op.effect and graphs_of(node.op):
            new = node.naming(Node(without_effects(node.op), inputs, node.spec))
        before[new] = node
        return new

    return graph.rebuild(quiet), before


def drawn(graph: Graph) -> list[Node]:
    """The nodes for values that come of effects, and are read: those that cannot be had by computing again.

    How many rows a stack has is not known, and so it is not kept.
    """
    still, before = purify(graph)
    nodes = [before[node] for node in still.nodes if node.op.effect]
    several: list[tuple[Node, Any]] = [(node, node.spec) for node in nodes if isinstance(node.spec, Specs)]
    pieces = [Node(TupleGet(i), (node,)) for node, specs in several for i in range(len(specs))]
    single = [node for node in nodes if not isinstance(node.spec, Specs)]
    return single + [piece for piece in pieces if STEPS not in piece.spec.shape]


def output_of(node: Node) -> Output:
    """Which output a node is, if it is one of several, or one alone."""
    return (node.inputs[0], node.op.i) if isinstance(node.op, TupleGet) else (node, None)


def graphs_of(op: Op) -> dict[str, Graph]:
    """Field → graph, of an op made of graphs: a branch, a loop, a fused group."""
    values = {f.name: getattr(op, f.name) for f in fields(op)}
    return {name: value for name, value in values.items() if isinstance(value, Graph)}


def without_effects(op: Any) -> Any:
    """The op made of graphs without effects; itself, if values in them come of effects."""
    graphs = graphs_of(op)
    return op if any(map(drawn, graphs.values())) else replace(op, **{name: purify(g)[0] for name, g in graphs.items()})


def with_values(graph: Graph, before: Mapping[Node, Node], values: Mapping[Output, Node], op: Any) -> Graph:
    """The graph that is given the values that come of effects. Raises NoGradientError where it would need others.

    before    as purify() says it
    values    value of the original graph → the input that gives it
    """

    def given(node: Node, inputs: tuple[Node, ...]) -> Node:
        source, i = output_of(node)
        return values.get((before.get(source, source), i)) or node.with_inputs(inputs)

    found = graph.rebuild(given)
    for node in found.nodes:
        if node.op.effect:
            raise NoGradientError(
                f"backward of {op} would need values that {node.op} gave in a loop inside it, and these are not kept: "
                "call it outside the inner loop, or stop_gradient() what comes of it"
            )
    return found
