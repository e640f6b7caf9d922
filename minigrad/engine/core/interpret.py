"""The interpreter: run a graph op by op. All functions share one walk over the nodes.

interpret(graph, *arrays)           runs each op's own `forward`. It is slow, but the oracle: every compiler pass and
                                    all generated code must give the same results
apply_graph(graph, xs, leaf)        applies each op to tensors or symbols: runs and records it, or adds it to
                                    another graph
walk_graph(graph, xs, value_of)     computes each node by a given function: to time it, draw it or search for a NaN
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.dtypes import float32
from ..base.spec import Spec, Specs
from .graph import Graph
from .node import Node
from .op import Op


def interpret(graph: Graph, *arrays: Any) -> tuple[Any, ...]:
    """The outputs for these input arrays, on the graph's devices; None for an output that is None."""
    return walk_graph(graph, arrays, lambda node, xs: value(node, *xs))


def walk_graph(graph: Graph, arrays: Sequence[Any], value_of: Callable[[Node, Sequence[Any]], Any]) -> tuple[Any, ...]:
    """The outputs, with the value of each node computed by value_of(node, values of its inputs)."""
    values: dict[Node, Any] = dict(zip(graph.inputs, arrays, strict=True))
    for node in graph.nodes:
        if node not in values:
            values[node] = value_of(node, [values[x] for x in node.inputs])
    return tuple(None if y is None else values[y] for y in graph.outputs)


def apply_graph(graph: Graph, xs: Sequence[Any], leaf: Callable[[Node], Any]) -> tuple[Any, ...]:
    """The outputs, with each op applied to tensors or symbols.

    leaf    a node without operands → its tensor or symbol
    """
    return walk_graph(graph, xs, lambda node, xs: xs[0].apply(node.op, *xs[1:]) if xs else leaf(node))


def value(node: Node, *xs: Any) -> Any:
    """The array that a node computes from its operands' arrays; for a constant, its value as an array."""
    device = node.spec.device
    if is_constant(node):
        return device.array(node.op.value, node.spec.dtype)  # type: ignore[attr-defined]
    if not node.inputs and hasattr(node.op, "name"):
        raise TypeError(f"input {node.op.name!r} is read, but is not among the graph's inputs")
    y = array_function(node.op, node.spec, *(x.spec for x in node.inputs))(device.xp, *xs)
    return y if isinstance(node.spec, Specs) else device.array(y)  # NumPy returns scalars for 0-d arrays


def array_function(op: Op, y: Spec, *xs: Spec) -> Callable[..., Any]:
    """The function (xp, arrays of x₁, x₂, …) → the array of y: `op.forward`, computed in float32 if the op widens."""
    if not op.widens(y, *xs):
        return op.forward

    def forward_in_float32(xp: Any, *arrays: Any) -> Any:
        up = (array.astype(float32) if x.is_half else array for array, x in zip(arrays, xs, strict=True))
        return op.forward(xp, *up).astype(y.dtype)

    return forward_in_float32


def is_constant(node: Node) -> bool:
    """Whether the node is a constant, which holds its own value."""
    return not node.inputs and hasattr(node.op, "value")
