"""Track which module is being called, as a path, inside a `following()` block. Building a graph opens such a block.

Named blocks, such as an optimiser's step, notify the watchers that have an `on_block` method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ContextDecorator, contextmanager
from typing import Any, Self

from ..base.errors import MinigradError
from .modes import current, in_mode


def following() -> AbstractContextManager[None]:
    """A block in which the calls of modules are tracked."""
    return in_mode(calls=current.mode.calls or ())


def module_path() -> str:
    """The path of the module being called, as `GPT.blocks.0.mlp`, starting at a class name. Empty outside of calls."""
    calls = current.mode.calls
    return calls[-1][1] if calls else ""


@contextmanager
def calling(module: Any) -> Iterator[None]:
    """A block that counts as a call of the module: it extends the module path, and notes the module in errors."""
    calls = current.mode.calls or ()
    path = path_of(module, calls)
    with in_mode(calls=(*calls, (module, path))), named_scope("module", path):
        try:
            yield
        except MinigradError as error:
            if not hasattr(error, "__notes__"):  # only the innermost module is named
                error.add_note(f"in the module {path}")
            raise


class named_scope(ContextDecorator):
    """A named block or function. At the start, a watcher's `on_block(kind, name)` returns what to call at the end."""

    def __init__(self, kind: str, name: str):
        self.kind, self.name = kind, name
        self.open: list[list[Callable[[], None]]] = []

    def __enter__(self) -> Self:
        heard: list[Any] = [watcher for watcher in current.mode.watchers if hasattr(watcher, "on_block")]
        self.open.append([watcher.on_block(self.kind, self.name) for watcher in heard])
        return self

    def __exit__(self, *raised: Any) -> None:
        for close in self.open.pop():
            close()

    def _recreate_cm(self) -> named_scope:
        return named_scope(self.kind, self.name)  # a separate block for each call of a decorated function


def path_of(module: Any, calls: tuple[tuple[Any, str], ...]) -> str:
    """The path of the innermost running module that contains `module`, then the name in it; else its class name."""
    with in_mode(builder=None):  # so that a trace does not record the attribute reads of this search
        inside = ((path, name) for caller, path in reversed(calls) for name, x in caller.named_modules() if x is module)
        path, name = next(inside, (type(module).__name__, ""))
    return f"{path}.{name}" if name else path
