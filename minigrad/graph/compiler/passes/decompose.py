"""Replace compound ops by the ops they are made of, so that forward and backward share expensive parts.

Eagerly, an op such as softmax keeps one array for backward and recomputes the rest. When the whole graph is known,
backward can read what forward computed:

    ln Σ eˣ              its gradient reads the eˣ⁻ᵐ that were summed
    −ln softmax(x)[k]    its gradient reads the same eˣ⁻ᵐ
    attention            its gradients read the weights, so they are not recomputed; attention in blocks is left whole
    standardise          its gradients read (x − μ) / σ

An op defines its parts in `decompose`, as in engine/ops/normalise.py. After this pass, `share` merges the parts that
forward and backward have in common. This costs memory to save time. The ops in ONLY_TIME cost no memory, and their
parts give the same result to the last bit.
"""

from __future__ import annotations

from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.ops import Attention, Exp, LogSumExp, Reshape, RMSNormalise, Standardise, Sub
from ....engine.ops.normalise import softmax
from ....engine.tensor.rewrite import Rewrite, applies_to, simplify
from ....engine.tensor.symbol import Symbol
from .fast_math import POOLED

ONLY_TIME = (Standardise, RMSNormalise)  # backward reads their result instead of x


def decompose(graph: Graph, exact: bool = False) -> Graph:
    """Replace every op that has `decompose` by its parts, except ops on empty arrays.

    exact    only the ops in ONLY_TIME, whose parts round as the op does and cost no memory
    """

    def parts(node: Node, inputs: tuple[Node, ...]) -> Node:
        is_whole = type(node.op) is Attention and node.op.in_blocks(inputs[0].spec)  # type: ignore[no-untyped-call]
        if is_whole or not all(x.spec.size for x in inputs):
            return node.again(inputs)
        made = node.op.decompose(*map(Symbol, inputs)).node  # type: ignore[attr-defined]
        return made if made.spec == node.spec else node.again(inputs)

    graph = graph if exact else simplify(graph, SEEN)
    kinds = {kind for kind in graph.kinds if (kind in ONLY_TIME if exact else hasattr(kind, "decompose"))}
    return graph.rebuild(parts, kinds) if kinds else graph


@applies_to(Exp)
def weights(node: Node) -> Node | None:
    """e^(x − ln Σ eˣ)  →  e / Σ e, which shares its parts with ln Σ eˣ"""
    match node:
        case Node(Exp(), (Node(Sub(), (x, total)),)):
            y = total.inputs[0] if isinstance(total.op, Reshape) else total
            if x.spec.size and isinstance(y.op, LogSumExp) and y.inputs == (x,) and len(y.op.axes) == 1:
                rows = LogSumExp(y.op.axes, keepdims=True).reduced_shape(x.spec.shape)
                same: Symbol = softmax(Symbol(x), y.op.axes)  # type: ignore[no-untyped-call]
                return same.node if total.spec.shape == rows else None
    return None


SEEN: tuple[Rewrite, ...] = (weights, *POOLED)  # rules that match compound ops, so they run before decomposition
