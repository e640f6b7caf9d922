"""The graph that is meant where none is named.

The default graph is that of the innermost `with graph.as_default():`, else that of the innermost
`with Session(graph):` (tracing/tracer.py), and else one that every thread has.

Gradients as part of the graph: asked for once, run as often as one likes, and differentiated again.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from ..core.modes import current
from ..tracing.builder import GraphBuilder, Tracer
from ..tracing.tracer import get_default_session
from .graph import StaticGraph


class Defaults(threading.local):
    """Of this thread: the graph outside all blocks."""

    def __init__(self) -> None:
        self.graph = StaticGraph()


defaults = Defaults()


def get_default_graph() -> StaticGraph:
    """The graph that placeholders and variables are made in just now."""
    graph, session = open_graph(), get_default_session()
    return graph if graph is not None else defaults.graph if session is None else session.graph


def open_graph() -> StaticGraph | None:
    """The graph that is being built, for a session."""
    builder = current.mode.builder
    while builder is not None and not isinstance(builder, StaticGraph):
        builder = builder.outer
    return builder


def executing_eagerly() -> bool:
    """Whether ops run, rather than become nodes of a static graph."""
    return current.mode.builder is None


def reset_default_graph() -> None:
    """Begin anew with an empty graph outside all blocks."""
    defaults.graph = StaticGraph()


def builder_of(xs: Iterable[Any]) -> GraphBuilder | None:
    """What an op on these becomes part of: the graph that is being built, else theirs; None where values meet."""
    if current.mode.builder is not None:
        return current.mode.builder  # type: ignore[no-any-return]
    return next((x.builder for x in xs if isinstance(x, Tracer)), None)


def builder_or_default(xs: Iterable[Any]) -> GraphBuilder:
    """The same; the default graph, where values meet."""
    builder = builder_of(xs)
    return get_default_graph() if builder is None else builder


def name_scope(name: str | None) -> AbstractContextManager[str]:
    """A block of the default graph in which names begin with this one and a slash."""
    return get_default_graph().name_scope(name)


def get_collection(name: str) -> list[Any]:
    """What is in the default graph's collection of that name."""
    return get_default_graph().get_collection(name)


def add_to_collection(name: str, value: Any) -> None:
    """Put something into a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)


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
    builder = builder_or_default([*targets, *sources])
    arriving = None if grad_ys is None else several(grad_ys)
    stop = [] if stop_gradients is None else several(stop_gradients)
    with builder.name_scope(name) if isinstance(builder, StaticGraph) else nullcontext():
        return builder.gradients(targets, sources, arriving, stop)


def several(xs: Any) -> list[Any]:
    """One, or several, as a list."""
    return list(xs) if isinstance(xs, Sequence) else [xs]
