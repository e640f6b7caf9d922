"""Records a run of a learner's function: the lines that ran, the ops' results and the output, in order.

The function itself is not changed. Lines come from Python's sys.settrace, ops from the function's framework.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from threading import Lock, Thread, current_thread, get_ident
from time import sleep
from types import FrameType, ModuleType
from typing import Any

from ...draw.picture import Box
from ...draw.static_run import code_of, op_box
from ...draw.words import join_names
from ...engine.base.pytree import leaves
from ...engine.core.node import place
from ...graph.autograph.scopes import from_library
from ..probe import GRACE, Stop, ignore_late_stops, stop

MOST_PRINTED = 2000  # characters of output that a step shows
MOST_LINES = 2000  # lines that may run before a function counts as endless
SECONDS = 10.0  # time limit, for code whose lines Python does not trace


class TooLong(Exception):
    """The function has run for longer, or more lines, than a widget allows."""


class LineLimit(BaseException):
    """Raised inside the function at the line limit. A learner's `except Exception` does not catch it."""


def format_value(x: Any, framework: ModuleType) -> str:
    """An argument or a result as a short text."""
    return framework.describe(x).value if framework.is_tensor(x) else truncate_text(repr(x))


def truncate_text(text: str) -> str:
    """The text, cut after 2000 characters, with the number of characters that were cut."""
    more = len(text) - MOST_PRINTED
    return text if more <= 0 else f"{text[:MOST_PRINTED]}… {more:,} more character{'s' * (more > 1)}"


@dataclass(frozen=True)
class LineEvent:
    """A line of the function is about to run."""

    line: int


@dataclass(frozen=True)
class OpEvent:
    """An op has computed ys from xs. Its box and the boxes of its operands have the values of that moment."""

    line: int
    box: Box
    ys: Sequence[Any]
    xs: Sequence[Any]
    operands: Sequence[Box]


@dataclass(frozen=True)
class PrintEvent:
    """Text was written to the standard output."""

    line: int
    text: str


Event = LineEvent | OpEvent | PrintEvent


@dataclass
class RunRecording:
    """What happened while a function ran.

    given     the arguments that are tensors, each with a box that has the value before the run
    names     id of a tensor → the function's last variable name for it
    result    the return value; None if the function raised. `text` has its leaves
    made      the results of its ops
    error     the exception that the function raised, if any
    """

    events: list[Event] = field(default_factory=list)
    given: list[tuple[Any, Box]] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    result: Any = None
    text: str = ""
    made: list[Any] = field(default_factory=list)
    error: Exception | None = None


class PrintRecorder(StringIO):
    """A standard output that records each write with its line in the user's code. Others' writes are passed on."""

    def __init__(self, events: list[Event], user_line: Callable[[], int] | None = None):
        super().__init__()
        self.events, self.thread, self.before, self.user_line = events, get_ident(), sys.stdout, user_line

    def write(self, text: str) -> int:
        if get_ident() != self.thread:
            return self.before.write(text)
        at = place()
        line = self.user_line() if self.user_line else at.line if at else 0
        self.events.append(PrintEvent(line, text))
        return len(text)


def record_run(f: Callable[..., Any], args: Sequence[Any], framework: ModuleType) -> RunRecording:
    """Run f(*args) and record it. An exception, or TooLong at a limit, becomes the recording's `error`."""
    recording = RunRecording()
    events, names, code = recording.events, recording.names, code_of(f)

    def on_trace_event(frame: FrameType, event: str) -> None:
        if frame.f_code is code:
            names.update((id(x), name) for name, x in frame.f_locals.items() if framework.is_tensor(x))
            if event == "line":
                events.append(LineEvent(frame.f_lineno))

    def saw(sign: str, ys: Sequence[Any], xs: Sequence[Any], line: int = 0) -> None:
        box = op_box(sign, [framework.describe(y) for y in ys])
        recording.made += ys
        events.append(OpEvent(line, box, ys, xs, [framework.describe(x) for x in xs]))

    try:
        with framework.prepare(f, args) as args:
            recording.given = [(x, replace(framework.describe(x), kind="leaf")) for x in args if framework.is_tensor(x)]
            printing, limit = redirect_stdout(PrintRecorder(events)), limit_execution(f.__name__, heard=on_trace_event)
            with framework.watch(saw), printing, limit:
                recording.result = f(*args)
            recording.text = join_names([format_value(x, framework) for x in leaves(recording.result)])
    except Exception as error:
        recording.error = error
    return recording


@contextmanager
def limit_execution(
    name: str, doing: str = "", heard: Callable[[FrameType, str], None] | None = None
) -> Iterator[None]:
    """A block that may run 2000 lines of a learner's code and take ten seconds; beyond that it raises TooLong.

    name, doing    parts of the message, such as "f" and " while it was traced"
    heard          called with each frame and event of Python's tracing in the learner's code
    """
    ran = 0

    def tracing(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal ran
        file = frame.f_code.co_filename
        if file == "<string>" or from_library(file):  # <string>: the methods of a dataclass
            return None
        ran += event == "line"
        if ran > MOST_LINES:
            raise LineLimit(f"{name} has run {MOST_LINES} lines{doing}, and was stopped")
        if heard is not None:
            heard(frame, event)
        return tracing

    before = sys.gettrace()
    sys.settrace(tracing)
    try:
        with time_limit(SECONDS, f"{name} has run for {SECONDS:g} seconds{doing}, and was stopped"):
            yield
    except LineLimit as stopped:
        raise TooLong(str(stopped)) from None
    finally:
        sys.settrace(before)


@contextmanager
def time_limit(seconds: float, otherwise: str) -> Iterator[None]:
    """A block with a time limit: when time is up, the block stops at its next bytecode and raises TooLong(otherwise).

    The exception is raised repeatedly, in case code catches it. Two things cannot be stopped: a call into C that does
    not return, such as time.sleep(1e6) (a notebook's interrupt button ends it), and anything in a browser.

    The exception may arrive at any bytecode, also in the cleanup, so the cleanup uses bare locks, whose C calls are
    atomic.
    """
    if sys.platform == "emscripten":
        yield
        return
    thread, block, watcher = current_thread(), Lock(), Lock()  # locks held while the block or the watcher runs

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
    with ignore_late_stops():
        try:
            try:
                watcher.release()  # starts the clock
                yield
            finally:
                end()
        except Stop:
            end()
            raise TooLong(otherwise) from None
