"""A graph without its effects: backward reruns it to recompute the values inside a branch or a loop.

The rerun must not print again, nor call user code again. A print returns its operand unchanged, so it is left out; a
value that user code returned must be kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from ....engine.base.dimension import named_length
from ....engine.base.errors import NoGradientError
from ....engine.base.spec import Specs
from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.core.op import Op
from ....engine.ops import ControlDep, TupleGet
from ....engine.ops.effect import PassThroughEffect

STEPS: Any = named_length("?steps")  # the length of every While's stacks; only loops along that axis read them
Output = tuple[Node, int | None]  # a node, and the index of one of its results; None if it has only one


def purify(graph: Graph) -> tuple[Graph, dict[Node, Node]]:
    """The graph without effects, except those whose values it reads; and new node → original node."""
    before: dict[Node, Node] = {}

    def quiet(node: Node, inputs: tuple[Node, ...]) -> Node:
        if inputs and isinstance(node.op, ControlDep | PassThroughEffect):
            return inputs[0]
        new = node.with_inputs(inputs)
        if node.op.effect and graphs_of(node.op):
            new = node.naming(Node(without_effects(node.op), inputs, node.spec))
        before[new] = node
        return new

    return graph.rebuild(quiet), before


def find_effect_values(graph: Graph) -> list[Node]:
    """The values that effects produce and the graph reads: they cannot be recomputed.

    Stacks of unknown length are left out, and so not kept.
    """
    still, before = purify(graph)
    nodes = [before[node] for node in still.nodes if node.op.effect]
    several: list[tuple[Node, Any]] = [(node, node.spec) for node in nodes if isinstance(node.spec, Specs)]
    pieces = [Node(TupleGet(i), (node,)) for node, specs in several for i in range(len(specs))]
    single = [node for node in nodes if not isinstance(node.spec, Specs)]
    return single + [piece for piece in pieces if STEPS not in piece.spec.shape]


def output_of(node: Node) -> Output:
    """The node that computes this result, and which of its results this is; None if it has only one."""
    return (node.inputs[0], node.op.i) if isinstance(node.op, TupleGet) else (node, None)


def graphs_of(op: Op) -> dict[str, Graph]:
    """Field → graph, for an op made of graphs: a branch, a loop, a fused group."""
    values = {f.name: getattr(op, f.name) for f in fields(op)}
    return {name: value for name, value in values.items() if isinstance(value, Graph)}


def without_effects(op: Any) -> Any:
    """The op with effects removed from its graphs; unchanged if it reads values that effects produce."""
    graphs = graphs_of(op)
    if any(map(find_effect_values, graphs.values())):
        return op
    return replace(op, **{name: purify(g)[0] for name, g in graphs.items()})


def with_values(graph: Graph, before: Mapping[Node, Node], values: Mapping[Output, Node], op: Any) -> Graph:
    """The graph with the values of effects replaced by inputs. Raises NoGradientError if a value has no input.

    before    new node → original node, from purify()
    values    value of the original graph → the input that supplies it
    """

    def substitute_value(node: Node, inputs: tuple[Node, ...]) -> Node:
        source, i = output_of(node)
        return values.get((before.get(source, source), i)) or node.with_inputs(inputs)

    found = graph.rebuild(substitute_value)
    for node in found.nodes:
        if node.op.effect:
            raise NoGradientError(
                f"backward of {op} needs values that {node.op} returned in a loop inside it, and these are not kept: "
                "call it outside the inner loop, or apply stop_gradient() to its result"
            )
    return found
