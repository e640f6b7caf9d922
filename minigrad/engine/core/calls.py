"""Which module is being called, by its path: noted where somebody follows, which every graph that is built does.

And blocks that have a name, such as an optimiser's step: told to those watchers that want to hear of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from typing import Any, Self

from ..base.errors import MinigradError
from .modes import current, in_mode


def following() -> AbstractContextManager[None]:
    """A block in which calls of modules are noted."""
    return in_mode(calls=current.mode.calls or ())


def module_path() -> str:
    """The module that is being called, as in `GPT.blocks.0.mlp`: the outermost by its class. Empty outside of any."""
    calls = current.mode.calls
    return calls[-1][1] if calls else ""


@contextmanager
def calling(module: Any) -> Iterator[None]:
    """A block that is a call of the module."""
    calls = current.mode.calls or ()
    path = path_of(module, calls)
    with in_mode(calls=(*calls, (module, path))), told("module", path):
        try:
            yield
        except MinigradError as error:
            if not hasattr(error, "__notes__"):  # of the innermost, where it was raised
                error.add_note(f"in the module {path}")
            raise


class told(ContextDecorator):
    """A block, or a function, with a name: watchers that have `opened(kind, name)` give what is called at its end."""

    def __init__(self, kind: str, name: str):
        self.kind, self.name = kind, name
        self.open: list[list[Callable[[], None]]] = []

    def __enter__(self) -> Self:
        heard: list[Any] = [watcher for watcher in current.mode.watchers if hasattr(watcher, "opened")]
        self.open.append([watcher.opened(self.kind, self.name) for watcher in heard])
        return self

    def __exit__(self, *raised: Any) -> None:
        for close in self.open.pop():
            close()

    def _recreate_cm(self) -> told:
        return told(self.kind, self.name)  # each call of a decorated function, in whatever thread, is its own


def path_of(module: Any, calls: tuple[tuple[Any, str], ...]) -> str:
    """Its path below the innermost of the calls that holds it; its class where none does."""
    with in_mode(builder=None):  # so that a trace does not note this walk as reads
        inside = ((path, name) for caller, path in reversed(calls) for name, x in caller.named_modules() if x is module)
        path, name = next(inside, (type(module).__name__, ""))
    return f"{path}.{name}" if name else path
