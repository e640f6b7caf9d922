"""Compact ops become the ops they are made of, so that forward and backward share what is dear.

An op such as softmax is one op for good reasons: it keeps one array for backward, and makes what else it needs again.
Where all of a graph is known, backward need not: it can read what forward made.

    ln Σ eˣ              its gradient reads the eˣ⁻ᵐ that were summed
    −ln softmax(x)[k]    likewise
    attention            its gradients read the weights, which are not computed a second time
    standardise          its gradients read (x − μ) / σ

What an op is made of it says itself: see `decomposed` in engine/ops/normalise.py and others. After this pass `share`
finds the parts that forward and backward have in common. It takes memory to save time; those of ONLY_TIME take none,
and give the same to the last bit.
"""

from __future__ import annotations

from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.ops import Exp, LogSumExp, Reshape, RMSNormalise, Standardise, Sub
from ....engine.ops.normalise import weights as exponentials_of
from ....engine.tensor.rewrite import Rewrite, about, again, simplify
from ....engine.tensor.symbol import Symbol
from .fast_math import POOLED

ONLY_TIME = (Standardise, RMSNormalise)  # what backward reads stands in for x, which it would have read


def decompose(graph: Graph, exact: bool = False) -> Graph:
    """Every op that says what it is made of, as that. Ops on no elements stay: there is nothing to share.

    exact    only those whose parts round as they do, and which cost no memory
    """

    def parts(node: Node, inputs: tuple[Node, ...]) -> Node:
        new = again(node, inputs)
        if not hasattr(node.op, "decomposed") or (exact and not isinstance(node.op, ONLY_TIME)):
            return new
        if not all(x.spec.size for x in inputs):
            return new
        made = node.op.decomposed(*map(Symbol, inputs)).node
        return made if made.spec == node.spec else new

    return (graph if exact else simplify(graph, SEEN)).rebuild(parts)


@about(Exp)
def weights(node: Node) -> Node | None:
    """e^(x − ln Σ eˣ)  →  e / Σ e, which shares its parts with ln Σ eˣ"""
    match node:
        case Node(Exp(), (Node(Sub(), (x, total)),)):
            y = total.inputs[0] if isinstance(total.op, Reshape) else total
            if isinstance(y.op, LogSumExp) and y.inputs == (x,) and len(y.op.axes) == 1:
                rows = LogSumExp(y.op.axes, keepdims=True).reduced(x.spec.shape)
                same: Symbol = exponentials_of(Symbol(x), y.op.axes)  # type: ignore[no-untyped-call]
                return same.node if total.spec.shape == rows else None
    return None


SEEN: tuple[Rewrite, ...] = (weights, *POOLED)  # what can be seen while ops are whole
