"""A learner's function, watched while it runs: which line ran, what each op gave, what was printed, in order.

Nothing of the function is changed. Lines are heard of through Python's own tracing, ops through a watcher of the
engine.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from threading import Lock, Thread, current_thread, get_ident
from time import sleep
from types import FrameType
from typing import Any

from ...engine.core.modes import watching
from ...engine.core.node import place
from ...engine.core.op import Op
from ...engine.tensor.tensor import Tensor
from ...graph.autograph.scopes import from_library
from ..probe import GRACE, Stop, said_again, stop

MOST_LINES = 2000  # that are run before a function is taken for one that never ends,
SECONDS = 10.0  # and how long it may take, where Python tells of no lines


class TooLong(Exception):
    """The function has run for longer, or more lines, than can be shown."""


class Stopped(BaseException):
    """What is raised in the function then: a learner's `except Exception` does not catch it, and go on."""


@dataclass(frozen=True)
class Ran:
    """A line of the function is about to run."""

    line: int


@dataclass(frozen=True)
class Computed:
    """An op has given y."""

    line: int
    op: Op
    y: Tensor
    xs: tuple[Tensor, ...]


@dataclass(frozen=True)
class Printed:
    """Something was written to the standard output."""

    line: int
    text: str


Event = Ran | Computed | Printed


@dataclass
class Recording:
    """What happened while a function ran.

    names     id of a tensor → what the function called it last
    result    what it gave; None where it raised
    error     what it raised
    """

    events: list[Event] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    result: Any = None
    error: Exception | None = None


class Listening(StringIO):
    """The standard output, each piece noted with the user's line; of other threads, passed on."""

    def __init__(self, events: list[Event]):
        super().__init__()
        self.events, self.thread, self.before = events, get_ident(), sys.stdout

    def write(self, text: str) -> int:
        if get_ident() != self.thread:
            return self.before.write(text)
        at = place()
        self.events.append(Printed(at.line if at else 0, text))
        return len(text)


@dataclass
class Ops:
    """The watcher."""

    events: list[Event]

    def saw(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        at = place()
        self.events.append(Computed(at.line if at else 0, op, y, xs))

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


def recorded(f: Callable[..., Any], args: Sequence[Any]) -> Recording:
    """A run of f(*args). What it raises is part of the recording, and so is that it was stopped."""
    recording = Recording()
    events, names = recording.events, recording.names

    def heard(frame: FrameType, event: str) -> None:
        if frame.f_code is f.__code__:
            names.update((id(x), name) for name, x in frame.f_locals.items() if isinstance(x, Tensor))
            if event == "line":
                events.append(Ran(frame.f_lineno))

    try:
        with redirect_stdout(Listening(events)), watching(Ops(events)), patience(f.__name__, heard=heard):
            recording.result = f(*args)
    except Exception as error:
        recording.error = error
    return recording


@contextmanager
def patience(name: str, doing: str = "", heard: Callable[[FrameType, str], None] | None = None) -> Iterator[None]:
    """A block in which 2000 lines of a learner's code may run, for ten seconds; at one more it raises TooLong.

    name, doing    as told then: f, while it was traced
    heard          is told of each event of Python's tracing in such code
    """
    ran = 0

    def tracing(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal ran
        if from_library(frame.f_code.co_filename):
            return None
        ran += event == "line"
        if ran > MOST_LINES:
            raise Stopped(f"{name} has run {MOST_LINES} lines{doing}, and was stopped")
        if heard is not None:
            heard(frame, event)
        return tracing

    before = sys.gettrace()
    sys.settrace(tracing)
    try:
        with within(SECONDS, f"{name} has run for {SECONDS:g} seconds{doing}, and was stopped"):
            yield
    except Stopped as stopped:
        raise TooLong(str(stopped)) from None
    finally:
        sys.settrace(before)


@contextmanager
def within(seconds: float, otherwise: str) -> Iterator[None]:
    """A block that has so many seconds; else it is stopped at its next step in Python, and raises TooLong(otherwise).

    It is told again and again, for code that catches it, which may help. What cannot be stopped: one call into C that
    does not return, as of time.sleep(1e6), which a notebook's interrupt button ends; and anything in a browser.

    The word may come at any step, of the ending too: so that is made of bare locks, calls into C, done or not begun.
    """
    if sys.platform == "emscripten":
        yield
        return
    thread, block, watcher = current_thread(), Lock(), Lock()  # the locks are held by what they are named for

    def watch() -> None:
        with watcher:
            patience = seconds
            while not block.acquire(timeout=patience):
                stop(thread)
                patience = GRACE

    def end() -> None:
        if block.locked():
            block.release()
        while watcher.locked():
            sleep(0)

    block.acquire()
    watcher.acquire()
    Thread(target=watch, daemon=True, name="within").start()
    with said_again():
        try:
            try:
                watcher.release()  # now it begins to count
                yield
            finally:
                end()
        except Stop:
            end()
            raise TooLong(otherwise) from None
