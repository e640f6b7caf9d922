"""Gradients as part of the graph: asked for once, run as often as one likes, and differentiated again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from ..compiler.gradient import gradients as backpropagated
from ..node import Node
from .default import name_scope, stage_or_default
from .graph import Graph


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    stop_gradients: Any = None,
) -> list[Any]:
    """Σ ⟨grad_y, ∂y/∂x⟩ for each x, over all ys; None where no y depends on x.

    ys, xs            one tensor, or several; an x may be a result inside the graph
    grad_ys           what arrives at each y: ones, where it is None
    stop_gradients    what is taken as constant: ∂y/∂x is along the ways that do not pass there
    """
    targets, sources = several(ys), several(xs)
    stage = stage_or_default([*targets, *sources])
    if not isinstance(stage, Graph):
        return stage.gradients(targets, sources, None if grad_ys is None else several(grad_ys))
    with stage.building(), name_scope(name):
        seeds: dict[Node, Any] = {}
        for y, gy in zip(targets, [None] * len(targets) if grad_ys is None else several(grad_ys), strict=True):
            target = stage.lift(y)
            seed = stage.arriving(target, gy)
            seeds[target.node] = seeds[target.node] + seed if target.node in seeds else seed
        places = [reads(stage, x) for x in sources]
        stopped = {node for x in several(stop_gradients or ()) for node in reads(stage, x)}
        found = backpropagated(seeds, {node for nodes in places for node in nodes}, stopped)
        return [total([found[node] for node in nodes if node in found]) for nodes in places]


def several(xs: Any) -> list[Any]:
    """One, or several, as a list."""
    return list(xs) if isinstance(xs, Sequence) else [xs]


def reads(graph: Graph, x: Any) -> list[Node]:
    """The nodes that are x: of a variable, or a captured tensor, each that reads it."""
    node = graph.lift(x).node
    name = node.name  # type: ignore[attr-defined]
    return [node, *(n for n in graph.reads_of(name) if n is not node)] if name in graph.states else [node]


def total(gs: list[Any]) -> Any:
    """Their sum; None of none."""
    return reduce(add, gs) if gs else None
