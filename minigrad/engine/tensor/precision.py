"""Half precision in graphs: add casts for the conversions of float16 and bfloat16 that eager ops make implicitly.

    t0 = Cast(float32)(x0)            # bf16[64, 10] → f32[64, 10]
    t1 = Exp(t0)
    t2 = Cast(bfloat16)(t1)           # rounded once, to the stored dtype

So code generators see half precision only in casts, and in ops that only move elements.
"""

from __future__ import annotations

from ..base.dtypes import float32
from ..core.graph import Graph
from ..core.node import Node
from ..ops import Cast


def widen_graph(graph: Graph) -> Graph:
    """The graph with casts to float32 around each op that computes with half precision: see Op.widens."""
    return graph.rebuild(in_single) if True in {node.spec.is_half for node in graph.nodes} else graph


def in_single(node: Node, inputs: tuple[Node, ...]) -> Node:
    """The node on these inputs, computed in float32 if the op widens half precision."""
    if not inputs or not node.op.widens(node.spec, *(x.spec for x in inputs)):
        return node.with_inputs(inputs)
    y = Node(node.op, tuple(Node(Cast(float32), (x,)) if x.spec.is_half else x for x in inputs))
    return y if y.spec == node.spec else Node(Cast(node.spec.dtype), (y,))
