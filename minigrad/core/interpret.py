"""The interpreter: a graph run op by op, each by its own `forward`. Slow, and the oracle of all that is fast.

Whatever a pass makes of a graph, and whatever code is generated for it, gives what this gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.spec import Specs
from .graph import Graph
from .node import Node


def interpret(graph: Graph, *arrays: Any) -> tuple[Any, ...]:
    """The outputs for these inputs, arrays of the graph's devices; None where an output is None."""
    return walked(graph, arrays, lambda node, xs: value(node, *xs))


def walked(graph: Graph, arrays: Sequence[Any], value_of: Callable[[Node, Sequence[Any]], Any]) -> tuple[Any, ...]:
    """The outputs, where each node is worth what value_of(node, values of its inputs) says."""
    values: dict[Node, Any] = dict(zip(graph.inputs, arrays, strict=True))
    for node in graph.nodes:
        if node not in values:
            values[node] = value_of(node, [values[x] for x in node.inputs])
    return tuple(None if y is None else values[y] for y in graph.outputs)


def value(node: Node, *xs: Any) -> Any:
    """What a node makes of its operands' arrays; of constants, which have a value, the array."""
    device = node.spec.device
    if is_constant(node):
        return device.array(node.op.value, node.spec.dtype)  # type: ignore[attr-defined]
    if not node.inputs and hasattr(node.op, "name"):
        raise TypeError(f"input {node.op.name!r} is read, and is not among the graph's inputs")
    y = node.op.forward(device.xp, *xs)
    return y if isinstance(node.spec, Specs) else device.array(y)  # NumPy gives numbers for arrays of no axes


def is_constant(node: Node) -> bool:
    """Whether the node has its value in itself."""
    return not node.inputs and hasattr(node.op, "value")
