"""Gradients as part of the graph: asked for once, run as often as one likes, and differentiated again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

from .default import stage_or_default
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
    arriving = None if grad_ys is None else several(grad_ys)
    stop = [] if stop_gradients is None else several(stop_gradients)
    with stage.name_scope(name) if isinstance(stage, Graph) else nullcontext():
        return stage.gradients(targets, sources, arriving, stop)


def several(xs: Any) -> list[Any]:
    """One, or several, as a list."""
    return list(xs) if isinstance(xs, Sequence) else [xs]
