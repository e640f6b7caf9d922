"""What a running op consults: is it recorded, and who is watching?

A mode holds for a `with` block, or for a decorated function, in one thread; blocks nest.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .node import Node
    from .tensor import Tensor


class Watcher(Protocol):
    """Told of every op as it runs, and of every derivative as backward passes it."""

    def saw(self, y: Tensor, node: Node) -> None:
        """Forward: `node` was computed, and its value is y's."""

    def pulled(self, node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
        """Backward: gradient gy reached `node`, which sends gxs on to its inputs (None where it sends nothing)."""


@dataclass(frozen=True)
class Mode:
    """How ops run just now.

    recording    whether what backward needs is kept
    watchers     who is told
    """

    recording: bool = True
    watchers: tuple[Watcher, ...] = ()


current: ContextVar[Mode] = ContextVar("minigrad mode", default=Mode())  # noqa: B039  (frozen, so it can be shared)


@contextmanager
def set_mode(mode: Mode) -> Iterator[None]:
    """The mode of a block."""
    token = current.set(mode)
    try:
        yield
    finally:
        current.reset(token)


@contextmanager
def set_grad_enabled(recording: bool) -> Iterator[None]:
    """Whether ops in this block are recorded for backward."""
    with set_mode(replace(current.get(), recording=recording)):
        yield


@contextmanager
def no_grad() -> Iterator[None]:
    """A block whose ops are computed and not recorded: no backward, and no memory kept for one."""
    with set_grad_enabled(False):
        yield


@contextmanager
def enable_grad() -> Iterator[None]:
    """A block whose ops are recorded again, inside a no_grad block."""
    with set_grad_enabled(True):
        yield


@contextmanager
def watching(watcher: Watcher) -> Iterator[Watcher]:
    """A block that tells the watcher of each op and each derivative."""
    mode = current.get()
    with set_mode(replace(mode, watchers=(*mode.watchers, watcher))):
        yield watcher


def is_grad_enabled() -> bool:
    """Whether an op that ran now would be recorded."""
    return current.get().recording
