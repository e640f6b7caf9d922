"""What happens in a thread, noted as it happens: five entries of one list, to be made sense of afterwards.

An op's time is from the moment it comes to the door (Tensor.apply) to the moment watchers are told of it: dispatch,
arithmetic and record together, as with PyTorch. What Python does between two ops is in neither. A watcher is told of
the end alone; the beginning is known because an op first asks the mode who takes it, and the mode of a profiled thread
looks at the clock when it is asked.

A derivative's time is from the end of the one before it in its pass: the sum of the gradients that arrive, and the
hooks of the user's there, are in it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from time import perf_counter_ns as clock
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..engine.base.errors import StateError
from ..engine.core.calls import told
from ..engine.core.modes import Mode, current, in_mode
from ..engine.core.node import ENGINE, Node, Place
from ..engine.core.op import Op
from ..engine.core.versions import owner
from ..engine.ops.leaf import Alias
from ..graph.compiler.blame import walk_now, walking
from .counting import additions, rule_of
from .events import Detail, FunctionEvent, events_of
from .programs import Timed, timed

DEPTH = 8  # lines of the user's that a stack has


class Wanted(NamedTuple):
    """What is noted besides names and times."""

    shapes: bool = False
    memory: bool = False
    stack: bool = False
    flops: bool = False
    modules: bool = False


class Log:
    """A watcher that notes (end, beginning, what, detail, birth), five by five, in the order of the ends.

    what     an op; a block, or a step of a program, as an event without times; bytes that came, or, below 0, went
    birth    of the record it left; negative of a derivative; 0 for none
    began    when something last came to the door; 0 once that was told of
    pulled   what each pass of backward has of its own: passing() gives it
    """

    pulled: Callable[[Node, Any, tuple[Any, ...]], None]
    holds = False
    again = property(lambda self: self, doc="Who is told of what a checkpoint computes a second time.")

    def __init__(self, wanted: Wanted):
        thread = threading.current_thread()
        native = getattr(threading, "get_native_id", threading.get_ident)  # a browser has no threads of a system
        self.ident, self.native, self.name = thread.ident, native(), thread.name
        self.wanted, self.memory, self.detailed = wanted, wanted.memory, wanted.shapes or wanted.flops or wanted.stack
        self.open: list[FunctionEvent] = []
        self.transfers: list[FunctionEvent] = []
        self.programs: dict[Any, Timed] = {}
        self.alive: dict[int, ref[Any]] = {}
        self.clear()

    def clear(self) -> None:
        """Begins anew; blocks that are open stay so."""
        self.since, self.began = clock(), 0
        self.entries: list[Any] = []
        self.add = self.entries.extend
        self.transfers = [each for each in self.transfers if not each.end]
        self.alive.clear()

    def events(self) -> list[FunctionEvent]:
        """What was noted as events, each after the one that it lies in; blocks that are still open end now."""
        if self.open:
            self.closed(self.open[0])
        events = events_of(self.entries, self.native)
        for event in events:  # of programs all is known anyway
            event.input_shapes = event.input_shapes if self.wanted.shapes else []
            event.flops = event.flops if self.wanted.flops else 0
        for each in self.transfers:
            begin, end = max(each.begin, self.since), each.end or clock()
            events.append(replace(each, begin=begin, end=end, ns=end - begin, thread=self.native))
        return events

    # -- as a watcher ------------------------------------------------------------------------------------

    def saw(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        now, node = clock(), y.node
        if self.memory and not isinstance(op, Alias):  # which makes none: what was edited in place was there
            self.note(now, [x.value for x in xs], [y.value])
        detail = Detail((y.spec, *[x.spec for x in xs]), self.lines()) if self.detailed else None
        self.add((now, self.began, op, detail, 0 if node is None else node.born))
        self.began = 0

    def passing(self) -> Callable[[Node, Any, tuple[Any, ...]], None]:
        """What a pass of backward, which begins now, is to tell of each derivative."""
        last, added = clock(), additions()

        def pulled(node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
            nonlocal last
            now = clock()
            if self.memory:
                self.note(now, [gy], gxs)
            detail = None
            if self.detailed:
                specs = node.spec, *[x.spec for x in node.inputs]
                detail = Detail(specs, (), rule_of(node, gy), added(node, gxs))
            self.add((now, last, node.op, detail, -node.born))
            last = now

        return pulled

    def stepped(self, optimizer: Any) -> None:
        """A step of an optimiser is done: what is remembered of a parameter, its first step has made."""
        made = [state for state in optimizer.state.values() if state.get("step") == 1] if self.memory else []
        self.note(clock(), (), [array for state in made for array in state.values()])

    def opened(self, kind: str, name: str) -> Callable[[], None]:
        """A block begins; what is returned is called at its end."""
        block = FunctionEvent(name, kind, begin=clock())
        if kind == "transfer":  # which others carry on, whatever this thread does: it lies in nothing
            self.transfers.append(block)
            return lambda: setattr(block, "end", clock())
        self.open.append(block)
        return partial(self.closed, block)

    def closed(self, block: FunctionEvent) -> None:
        """The end of a block, and of those in it; one that was open when the profiler ended has ended with it."""
        while block in self.open:
            inner = self.open.pop()
            self.add((clock(), max(inner.begin, self.since), inner, None, 0))

    # -- programs ------------------------------------------------------------------------------------------

    def walk(self, executable: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """A run of a compiled graph: its own program, which tells of each of its steps."""
        if threading.get_ident() != self.ident:  # in a helper's thread, to which the context was carried
            with walking(None):
                return executable(*arrays)  # type: ignore[no-any-return]
        program = self.timed(executable.program)
        close = self.opened("program", "program")
        try:
            ys = program(*arrays)
            if self.memory:
                self.note(clock(), arrays, ys)
        except Exception as error:
            executable.blame(error, arrays)
            raise
        finally:
            close()
        return ys

    def timed(self, program: Any) -> Timed:
        """The program, telling this log."""
        if program not in self.programs:
            with told("profiler", "[profiler] marks a program"):
                self.programs[program] = timed(program, lambda *entry: self.add((*entry, None, 0)))
        return self.programs[program]

    # -- details -------------------------------------------------------------------------------------------

    def lines(self) -> tuple[Place, ...]:
        """The user's lines that led here, the innermost first."""
        found: list[Place] = []
        frame = sys._getframe(2) if self.wanted.stack else None
        while frame is not None and len(found) < DEPTH:
            code = frame.f_code
            if not code.co_filename.startswith(ENGINE):
                found.append(Place(code.co_filename, frame.f_lineno, code.co_name))
            frame = frame.f_back
        return tuple(found)

    def note(self, now: int, before: Iterable[Any], after: Iterable[Any]) -> None:
        """Of arrays that were not there before: that they came; and, when they go, that."""
        known = {id(memory_of(x)) for x in before}
        for array in map(memory_of, after):
            if array is not None and id(array) not in known and id(array) not in self.alive:
                self.alive[id(array)] = ref(array, partial(self.forget, id(array), array.nbytes))
                self.add((now, now, array.nbytes, None, 0))

    def forget(self, key: int, nbytes: int, _: Any) -> None:
        """The array of that id goes."""
        if self.alive.pop(key, None) is not None:
            now = clock()
            self.add((now, now, -nbytes, None, 0))


def memory_of(value: Any) -> Any:
    """The array that has the memory of a value, or of a tensor's; None of a number, and of a tracer."""
    array = getattr(value, "value", value)  # of a tensor, where a derivative runs on those
    return owner(array) if hasattr(array, "base") and not isinstance(array, np.generic) else None


def clocked(name: str) -> Any:
    """A field of a ProfiledMode that looks at the clock when it is read."""
    slot = getattr(Mode, name)
    get = slot.__get__

    def read(self: ProfiledMode) -> Any:
        self.log.began = clock()
        return get(self)

    return property(read, slot.__set__)


class ProfiledMode(Mode):
    """A mode that looks at the clock whenever it is asked who takes an op, as long as a Log is among its watchers.

    door       what an op asks for first
    builder    what a Function, or a compiled call, asks for first
    """

    __slots__ = ("log",)

    log: Log
    door = clocked("door")
    builder = clocked("builder")

    def __new__(cls, **fields: Any) -> Any:
        log = log_of(fields["watchers"])
        if log is None:
            return Mode(**fields)
        self = object.__new__(cls)
        self.log = log
        return self


def log_of(watchers: Sequence[Any]) -> Log | None:
    """The Log among them."""
    return next((watcher for watcher in watchers if isinstance(watcher, Log)), None)


@contextmanager
def logging(log: Log) -> Iterator[None]:
    """A block of this thread of which the log is told.

    Raises StateError where a profiler is open in this thread.
    """
    mode = current.mode
    if log_of(mode.watchers) is not None:
        raise StateError("a profiler is open in this thread already, and a second one would time the first: close it")
    walk = log.walk if walk_now.get() is None else walk_now.get()  # who looks for a NaN goes on doing so
    calls = (mode.calls or ()) if log.wanted.modules else mode.calls
    with walking(walk), in_mode(watchers=(*mode.watchers, log), calls=calls):
        mode = current.mode
        current.mode = ProfiledMode(**{field.name: getattr(mode, field.name) for field in fields(Mode) if field.init})
        yield
