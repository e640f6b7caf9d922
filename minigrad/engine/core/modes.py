"""The mode that every op reads when it runs: is it recorded, and which watchers are notified?

A mode applies to one thread or asyncio task: in a `with` block, in a decorated function or from a call on. Blocks nest.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from inspect import iscoroutinefunction, isgeneratorfunction
from itertools import repeat
from operator import call
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from .node import Node
    from .op import Op


class Watcher(Protocol):
    """Notified of every op that runs, and of every derivative that backward computes."""

    def on_forward(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        """Forward: y is the result of op on xs."""

    def on_backward(self, node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
        """Backward: gradient gy reached `node`; gxs has a gradient for each input, None if the input gets none."""


@dataclass(slots=True)  # for speed neither frozen nor a tuple: each op reads it four times, each block makes one
class Mode:
    """How ops run at the moment.

    recording    whether ops are recorded for backward
    tracked      the attribute `tracked` of results that are not recorded: False; None in inference_mode
    watchers     the objects to notify, the outermost first
    builder      the graph under construction, which records ops instead of running them; None if no graph is built
    autocast     the object that casts the operands of each op: nn/amp/autocast.py; None outside of autocast blocks
    door         the object that receives each op first: `autocast`, which passes the op on, or else `builder`
    calls        (module, its path) of the open module calls, the innermost last; None if calls are not tracked
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
        """Whether Python runs once to build a graph that runs many times: in a traced function, a branch, a loop."""
        return self.builder is not None and self.builder.once


class Current(Mode):
    """Holds the mode of this thread or asyncio task; the default mode is this object. Only C code sets it: see Exit."""

    opened: ClassVar[ContextVar[Mode]] = ContextVar("mode")
    __call__ = opened.set
    mode: Mode = property(opened.get, call)  # type: ignore[assignment]  # calls opened.get(current) or current(mode)


current = Current()


class Exit:
    """`__exit__` of a mode block. It runs in C, so Ctrl-C cannot strike before the mode is restored."""

    def __get__(self, block: Any, owner: type) -> Callable[..., None]:
        if block is None:
            return lambda block, *raised: self.__get__(block, owner)(*raised)
        left = block.leaving()
        next(left)
        return partial(max, None, key=left.send)  # a C function that takes any arguments and returns None


class in_mode:
    """A block with some fields of the mode changed. At its end these fields are restored; changes of others stay.

    As a decorator it wraps every call of a function, and every step of a generator.
    """

    def __init__(self, **changes: Any):
        self.changes = changes
        self.open: Any = None  # a linked list, one item per time the block was entered: (mode before, inside, next)

    # Python raises KeyboardInterrupt as a function starts and as a call ends, so change the mode after the last call.

    def __enter__(self) -> None:
        self.open = current.mode, replace(current.mode, **self.changes), self.open
        current.mode = self.open[1]

    __exit__ = Exit()

    def leaving(self) -> Generator[int, Any]:
        is_open = True
        try:
            yield 0
        except GeneratorExit:  # the block was never entered
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
        """A new block with the same changes."""
        return in_mode(**self.changes)

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(f)
        def call_in_mode(*args: Any, **options: Any) -> Any:
            with self.again():
                return f(*args, **options)

        @wraps(f)
        async def await_in_mode(*args: Any, **options: Any) -> Any:
            with self.again():
                return await f(*args, **options)

        @wraps(f)
        def step_in_mode(*args: Any, **options: Any) -> Any:
            steps, sent = f(*args, **options), None
            while True:
                try:
                    with self.again():
                        y = steps.send(sent)
                except StopIteration as end:
                    return end.value
                sent = yield y

        return step_in_mode if isgeneratorfunction(f) else await_in_mode if iscoroutinefunction(f) else call_in_mode


def no_grad(f: Callable[..., Any] | None = None) -> Any:
    """A block, or a function, whose ops are not recorded: they cannot be differentiated, and save no arrays for it."""
    return block(f, recording=False)


def enable_grad(f: Callable[..., Any] | None = None) -> Any:
    """A block, or a function, whose ops are recorded, even inside a no_grad block."""
    return block(f, recording=True)


def inference_mode(mode: Callable[..., Any] | bool = True) -> Any:
    """As no_grad, but permanent: a tensor made in the block, or the function, can never take part in a recorded op."""
    return block(mode if callable(mode) else None, recording=not mode, tracked=None if mode else False)


def block(f: Callable[..., Any] | None, **changes: Any) -> Any:
    """A block with a changed mode, or the function f decorated with one."""
    return in_mode(**changes) if f is None else in_mode(**changes)(f)


class set_grad_enabled(in_mode):
    """Set whether ops are recorded: from this call on, in the block it opens, or in the function it decorates."""

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
    """A block that notifies the watcher of each op and each derivative."""
    with in_mode(watchers=(*current.mode.watchers, watcher)):
        yield watcher


def has_backward_watcher() -> bool:
    """Whether a watcher must see the ops of backward too, so backward has to run on tensors: forward over reverse."""
    return any(map(getattr, current.mode.watchers, repeat("follows"), repeat(False)))


def is_grad_enabled() -> bool:
    """Whether an op that ran now would be recorded; while tracing, whether the call that is traced would be."""
    mode = current.mode
    return mode.recording and (mode.builder is None or mode.builder.is_grad_enabled())


def is_inference_mode_enabled() -> bool:
    """Whether an inference_mode block is open."""
    return current.mode.tracked is None
