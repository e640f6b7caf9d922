"""Attributes and globals that still hold a symbol when a trace is over: Python's objects do not change as a graph runs.

`self.n += 1` in a loop over tensors is right within the graph, but leaves in self.n what only the graph can read.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import ref

from ...base.pytree import leaves
from ...core.modes import current
from ...core.node import place
from ...tracing.builder import Tracer


class Leftover(NamedTuple):
    """What a branch or a loop of the graph has assigned.

    of      gives the object that has it, if that is still there
    key     under which
    path    as the user writes it
    kind    of statement
    at      its line
    """

    of: Callable[[], Any]
    key: str
    path: str
    kind: str
    at: Any

    def value(self) -> Any:
        owner = self.of()
        return owner.get(self.key) if isinstance(owner, dict) else getattr(owner, self.key, None)


class Open(threading.local):
    """What was assigned in the outermost converted function that runs in this thread; None while none does."""

    found: list[Leftover] | None = None


opened = Open()


@contextmanager
def told_of() -> Iterator[None]:
    """A run of a converted function; after the outermost one, a warning for each thing that still holds a symbol."""
    if opened.found is not None:
        yield
        return
    opened.found = []
    try:
        yield
        found = {(id(its.of()), its.key): its for its in opened.found}
    finally:
        opened.found = None
    if current.mode.builder is None or not current.mode.builder.chained:
        return  # the graph of a session is still there, and its symbols may be used
    for its in found.values():
        symbols = [x for x in leaves(its.value()) if isinstance(x, Tracer)]
        if symbols and its.at is not None:
            warnings.warn_explicit(
                f"`{its.path}` is assigned in the {its.kind} over tensors here, and holds {symbols[0]} when the trace "
                "is over: a symbol, which has a value only while the graph runs. Return what it counts, and assign it "
                "outside the traced function; or let it be a tensor, and edit it in place: x.add_(1)",
                UserWarning,
                its.at.file,
                its.at.line,
            )


def assigned(names: Sequence[str], set_: Any, kind: str, at: Any = None) -> None:
    """Note the attributes and globals among what a branch or a loop has assigned."""
    if opened.found is None:
        return
    code = set_.__code__
    cells = dict(zip(code.co_freevars, set_.__closure__ or ()))
    for path in names:
        root, *way = path.split(".")
        if not way and (root in cells or root not in code.co_names):
            continue
        owner: Any = set_.__globals__
        for name in (root, *way)[:-1]:
            if owner is set_.__globals__:
                owner = cells[name].cell_contents if name in cells else owner.get(name)
            else:
                owner = getattr(owner, name, None)
        try:
            of: Callable[[], Any] = ref(owner)
        except TypeError:  # a dictionary of globals, an object with slots
            of = (lambda its: lambda: its)(owner)
        opened.found.append(Leftover(of, (root, *way)[-1], path, kind, at or place()))
