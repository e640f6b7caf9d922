"""What a running op consults: is it recorded, and who is watching?

A mode holds for a `with` block, for a decorated function, or from a call on; in one thread, or one task; blocks nest.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from inspect import iscoroutinefunction, isgeneratorfunction
from operator import call
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from .node import Node
    from .op import Op


class Watcher(Protocol):
    """Told of every op as it runs, and of every derivative as backward passes it."""

    def saw(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        """Forward: y is the result of op on xs."""

    def pulled(self, node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
        """Backward: gradient gy reached `node`, which sends gxs on to its inputs (None where it sends nothing)."""


@dataclass(slots=True)  # not frozen, and no tuple: each op reads it four times, and each block makes one
class Mode:
    """How ops run just now.

    recording    whether what backward needs is kept
    tracked      what a result is told that was not recorded: False, or None where it never may be
    watchers     who is told, the outermost first
    builder      the graph being built, which takes every op instead of its being run; None if there is none
    autocast     who casts the operands of each op (nn/amp/autocast.py); None where nobody does
    door         who is given each op first, and gives it on: autocast, or the builder
    calls        (module, its path) of the calls that are open, the innermost last; None where nobody follows them
    """

    recording: bool = True
    tracked: bool | None = False
    watchers: tuple[Watcher, ...] = ()
    builder: Any = None
    calls: tuple[tuple[Any, str], ...] | None = None
    autocast: Any = None
    door: Any = field(init=False)

    def __post_init__(self) -> None:
        self.door = self.builder if self.autocast is None else self.autocast

    @property
    def is_traced(self) -> bool:
        """Whether Python runs once for many runs of the graph it leaves: in a traced function, a branch, a loop."""
        return self.builder is not None and self.builder.once


class Current(Mode):
    """The mode of this thread, and of this task of asyncio: itself, where none was opened. Calls are of C: see Exit."""

    opened: ClassVar[ContextVar[Mode]] = ContextVar("mode")
    __call__ = opened.set
    mode: Mode = property(opened.get, call)  # type: ignore[assignment]  # opened.get(current), and current(mode)


current = Current()


class Exit:
    """The way out of a block: no Python function begins, for there an interrupt would keep it from its work."""

    def __get__(self, block: Any, owner: type) -> Callable[..., None]:
        if block is None:
            return lambda block, *raised: self.__get__(block, owner)(*raised)
        left = block.leaving()
        next(left)
        return partial(max, None, key=left.send)  # written in C, called with anything, and gives None


class in_mode:
    """A block in which the mode is another, and what else is said there of the mode stays said.

    Of a function: its calls are such blocks; of a generator: each of its steps is.
    """

    def __init__(self, **changes: Any):
        self.changes = changes
        self.open: Any = None  # (the mode before, the mode inside, the same of the time before): one for each time

    # Ctrl-C is heard where a function of Python begins, and where a call ends: the mode is changed after all of them.

    def __enter__(self) -> None:
        self.open = current.mode, replace(current.mode, **self.changes), self.open
        current.mode = self.open[1]

    __exit__ = Exit()

    def leaving(self) -> Generator[int, Any]:
        is_open = True
        try:
            yield 0
        except GeneratorExit:  # it was never opened
            is_open = False
            raise
        finally:
            if is_open:
                now = current.mode
                current.mode, inside, self.open = self.open
                if now is not inside:
                    current.mode = replace(now, **{name: getattr(current.mode, name) for name in self.changes})
        while True:
            yield 0

    def again(self) -> in_mode:
        """A block of its own with the same changes."""
        return in_mode(**self.changes)

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(f)
        def called(*args: Any, **options: Any) -> Any:
            with self.again():
                return f(*args, **options)

        @wraps(f)
        async def awaited(*args: Any, **options: Any) -> Any:
            with self.again():
                return await f(*args, **options)

        @wraps(f)
        def stepped(*args: Any, **options: Any) -> Any:
            steps, sent = f(*args, **options), None
            while True:
                try:
                    with self.again():
                        y = steps.send(sent)
                except StopIteration as end:
                    return end.value
                sent = yield y

        return stepped if isgeneratorfunction(f) else awaited if iscoroutinefunction(f) else called


def no_grad(f: Callable[..., Any] | None = None) -> Any:
    """A block, or a function, whose ops are computed and not recorded: no backward, and no memory kept for one."""
    return block(f, recording=False)


def enable_grad(f: Callable[..., Any] | None = None) -> Any:
    """A block, or a function, whose ops are recorded again, inside a no_grad block."""
    return block(f, recording=True)


def inference_mode(mode: Callable[..., Any] | bool = True) -> Any:
    """no_grad for good: what is made in the block, or the function, can never take part in a recorded op."""
    return block(mode if callable(mode) else None, recording=not mode, tracked=None if mode else False)


def block(f: Callable[..., Any] | None, **changes: Any) -> Any:
    """The mode of a block; of a function, if one is given."""
    return in_mode(**changes) if f is None else in_mode(**changes)(f)


class set_grad_enabled(in_mode):
    """Whether ops are recorded: from this call on, in the block that it opens, or in the function below it."""

    def __init__(self, mode: bool):
        super().__init__(recording=mode)
        super().__enter__()

    def __enter__(self) -> None:
        if self.open is None:
            super().__enter__()

    def __call__(self, f: Callable[..., Any]) -> Any:
        self.__exit__(None, None, None)
        return super().__call__(f)


@contextmanager
def watching(watcher: Any) -> Iterator[Any]:
    """A block that tells the watcher of each op and each derivative."""
    with in_mode(watchers=(*current.mode.watchers, watcher)):
        yield watcher


def followed() -> bool:
    """Whether a watcher must see the ops of a backward pass, which is then run on tensors: forward mode over it."""
    return any(getattr(watcher, "follows", False) for watcher in current.mode.watchers)


def is_grad_enabled() -> bool:
    """Whether an op that ran now would be recorded."""
    return current.mode.recording


def is_inference_mode_enabled() -> bool:
    """Whether an inference_mode block is open."""
    return current.mode.tracked is None
