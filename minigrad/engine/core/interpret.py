"""The interpreter: a graph run op by op. One walk, and whoever runs a graph op by op reads it in a way of their own.

interpret(graph, *arrays)           each op by its own `forward`: slow, and the oracle of all that is fast. Whatever
                                    a pass makes of a graph, and whatever code is generated for it, gives what this
                                    gives
applied(graph, xs, leaf)            each op applied to tensors or symbols: run where it is recorded, or written down
                                    in another graph
walked(graph, xs, value_of)         each node by what is said: timed, drawn, searched for a NaN
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
    """The outputs for these inputs, arrays of the graph's devices; None where an output is None."""
    return walked(graph, arrays, lambda node, xs: value(node, *xs))


def walked(graph: Graph, arrays: Sequence[Any], value_of: Callable[[Node, Sequence[Any]], Any]) -> tuple[Any, ...]:
    """The outputs, where each node is worth what value_of(node, values of its inputs) says."""
    values: dict[Node, Any] = dict(zip(graph.inputs, arrays, strict=True))
    for node in graph.nodes:
        if node not in values:
            values[node] = value_of(node, [values[x] for x in node.inputs])
    return tuple(None if y is None else values[y] for y in graph.outputs)


def applied(graph: Graph, xs: Sequence[Any], leaf: Callable[[Node], Any]) -> tuple[Any, ...]:
    """The outputs for operands that ops are applied to.

    leaf    a node without operands → what it is among such
    """
    return walked(graph, xs, lambda node, xs: xs[0].apply(node.op, *xs[1:]) if xs else leaf(node))


def value(node: Node, *xs: Any) -> Any:
    """What a node makes of its operands' arrays; of constants, which have a value, the array."""
    device = node.spec.device
    if is_constant(node):
        return device.array(node.op.value, node.spec.dtype)  # type: ignore[attr-defined]
    if not node.inputs and hasattr(node.op, "name"):
        raise TypeError(f"input {node.op.name!r} is read, and is not among the graph's inputs")
    y = array_function(node.op, node.spec, *(x.spec for x in node.inputs))(device.xp, *xs)
    return y if isinstance(node.spec, Specs) else device.array(y)  # NumPy gives numbers for arrays of no axes


def array_function(op: Op, y: Spec, *xs: Spec) -> Callable[..., Any]:
    """(xp, arrays of x₁, x₂, …) → that of y: `op.forward`, by way of float32 where that is how it computes."""
    if not op.widens(y, *xs):
        return op.forward

    def widened(xp: Any, *arrays: Any) -> Any:
        up = (array.astype(float32) if x.is_half else array for array, x in zip(arrays, xs, strict=True))
        return op.forward(xp, *up).astype(y.dtype)

    return widened


def is_constant(node: Node) -> bool:
    """Whether the node has its value in itself."""
    return not node.inputs and hasattr(node.op, "value")
