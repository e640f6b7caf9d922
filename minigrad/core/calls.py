"""Which module is being called, by its path: noted where somebody follows, which every graph that is built does.

And blocks that have a name, such as an optimiser's step: told to those watchers that want to hear of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

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


@contextmanager
def told(kind: str, name: str) -> Iterator[None]:
    """A block with a name, told to those watchers that have `opened(kind, name)`, and `closed` of what that gave."""
    heard: list[Any] = [watcher for watcher in current.mode.watchers if hasattr(watcher, "opened")]
    blocks = [watcher.opened(kind, name) for watcher in heard]
    try:
        yield
    finally:
        for watcher, block in zip(heard, blocks):
            watcher.closed(block)


def path_of(module: Any, calls: tuple[tuple[Any, str], ...]) -> str:
    """Its path below the innermost of the calls that holds it; its class where none does."""
    for caller, path in reversed(calls):
        name = next((name for name, part in caller.named_modules() if part is module), None)
        if name is not None:
            return f"{path}.{name}" if name else path
    return type(module).__name__
