"""Pruning: what no result needs is not computed.

What cannot be reached from an output is in no graph, so most dead code is dead without a pass. What is left to do
is to say which results are wanted, and to let go of waiting for what has no effect.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from ..node import Node
from ..ops import After
from .graph import Graph
from .rewrite import again


def wanted(graph: Graph, results: Collection[int]) -> Graph:
    """The graph of some of its results, by their places; the others are None. The arguments stay as they are."""
    return replace(graph, outputs=tuple(y if i in results else None for i, y in enumerate(graph.outputs)))


def prune(graph: Graph) -> Graph:
    """x after (waits)  →  x after those of the waits that have an effect, or depend on one;  x after nothing  →  x"""
    effects: set[Node] = set()

    def waiting(node: Node, inputs: tuple[Node, ...]) -> Node:
        new = again(node, inputs)
        if isinstance(node.op, After):
            x, *waits = inputs
            needed = tuple(dict.fromkeys(w for w in waits if w in effects and w is not x))
            new = x if not needed else new if len(needed) == len(waits) else Node(node.op, (x, *needed), node.spec)
        if new.op.effect or not effects.isdisjoint(new.inputs):
            effects.add(new)
        return new

    return graph.rebuild(waiting)
