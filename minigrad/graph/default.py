"""The default graph: what placeholders, variables and constants are made in, where no graph is named.

It is that of the innermost `with graph.as_default():`, else that of the innermost `with Session(graph):`, and else
one that every thread has.
"""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any

from ..modes import current
from .graph import Graph


class Defaults(threading.local):
    """Of this thread: the graph outside all blocks, and the sessions whose blocks are open."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.sessions: list[Any] = []


defaults = Defaults()


def get_default_graph() -> Graph:
    """The graph that placeholders and variables are made in just now."""
    stage = current.mode.staging
    while stage is not None and not isinstance(stage, Graph):
        stage = stage.outer
    if stage is not None:
        return stage
    return defaults.sessions[-1].graph if defaults.sessions else defaults.graph


def reset_default_graph() -> None:
    """Begin anew with an empty graph outside all blocks."""
    defaults.graph = Graph()


def building() -> Any:
    """The stage that takes ops just now: a branch, say; outside all blocks the default graph."""
    return get_default_graph() if current.mode.staging is None else current.mode.staging


def name_scope(name: str | None) -> AbstractContextManager[str]:
    """A block of the default graph in which names begin with this one and a slash."""
    return get_default_graph().name_scope(name)


def get_collection(name: str) -> list[Any]:
    """What is in the default graph's collection of that name."""
    return get_default_graph().get_collection(name)


def add_to_collection(name: str, value: Any) -> None:
    """Put something into a collection of the default graph."""
    get_default_graph().add_to_collection(name, value)
