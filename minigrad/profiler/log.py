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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from time import perf_counter_ns as clock
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from ..compiler.blame import walk_now, walking
from ..core.calls import told
from ..core.modes import Mode, current, in_mode
from ..core.node import ENGINE, Node, spot
from ..core.op import Op
from ..core.versions import owner
from .programs import Timed, timed

DEPTH = 8  # lines of the user's that a stack has


class Block(NamedTuple):
    """A stretch with a name: kind is block, module, step or program."""

    kind: str
    name: str


class Detail(NamedTuple):
    """What is noted of an op where it is asked for.

    spec, operands    of the result and of the operands
    stack             the user's lines, the innermost first
    rule              of a derivative, what was computed, as a graph
    """

    spec: Any
    operands: tuple[Any, ...]
    stack: tuple[str, ...]
    rule: Any = None


Open = tuple[int, Block]


class Log:
    """A watcher that notes (end, beginning, what, detail, birth), five by five, in the order of the ends.

    what     an op; a Line of a program; a Block
    birth    of the record it left; negative of a derivative; 0 for none
    began    when something last came to the door; 0 once that was told of
    memory   (when, bytes) of what was made, and, below 0, of what was let go
    pulled   what each pass of backward has of its own: passing() gives it
    """

    pulled: Callable[[Node, Any, tuple[Any, ...]], None]
    holds = False

    def __init__(self, detailed: bool, memory: bool, stack: bool):
        self.ident, self.native, self.name = (
            *(threading.get_ident(), threading.get_native_id()),
            threading.current_thread().name,
        )
        self.detailed, self.stacked, self.with_memory = detailed or stack, stack, memory
        self.open: list[tuple[int, Block]] = []
        self.programs: dict[Any, Timed] = {}
        self.alive: dict[int, ref[Any]] = {}
        self.clear()

    def clear(self) -> None:
        """Begins anew; blocks that are open stay so."""
        self.since = clock()
        self.entries: list[Any] = []
        self.memory: list[tuple[int, int]] = []
        self.add = self.entries.extend
        self.began = 0
        self.alive.clear()

    # -- as a watcher ------------------------------------------------------------------------------------

    def saw(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        now, node = clock(), y.node
        detail = Detail(y.spec, tuple([x.spec for x in xs]), self.lines()) if self.detailed else None
        self.add((now, self.began, op, detail, 0 if node is None else node.born))
        self.began = 0
        if self.with_memory:
            self.note(now, [x.value for x in xs], [y.value])

    def passing(self) -> Callable[[Node, Any, tuple[Any, ...]], None]:
        """What a pass of backward, which begins now, is to tell of each derivative."""
        last = clock()

        def pulled(node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
            nonlocal last
            now = clock()
            detail = None
            if self.detailed:
                detail = Detail(node.spec, tuple([x.spec for x in node.inputs]), (), getattr(node.rule, "graph", None))
            self.add((now, last, node.op, detail, -node.born))
            if self.with_memory:
                self.note(now, [gy], gxs)
            last = now

        return pulled

    def opened(self, kind: str, name: str) -> Open:
        block = clock(), Block(kind, name)
        self.open.append(block)
        return block

    def closed(self, block: Open) -> None:
        """The end of a block, and of those in it; one that was open when the profiler ended has ended with it."""
        while block in self.open:
            start, what = self.open.pop()
            self.add((clock(), max(start, self.since), what, None, 0))

    # -- programs ------------------------------------------------------------------------------------------

    def walk(self, executable: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """A run of a compiled graph: its own program, which tells of each of its steps."""
        if threading.get_ident() != self.ident:  # in a helper's thread, to which the context was carried
            with walking(None):
                return executable(*arrays)  # type: ignore[no-any-return]
        program = self.timed(executable.program)
        block = self.opened("program", "program")
        try:
            ys = program(*arrays)
        except AssertionError:
            raise
        except Exception as error:
            executable.blame(error, arrays)
            raise
        finally:
            self.closed(block)
        if self.with_memory:
            self.note(self.entries[-5], arrays, ys)
        return ys

    def timed(self, program: Any) -> Timed:
        """The program, telling this log."""
        if program not in self.programs:
            with told("block", "[profiler] marks a program"):
                self.programs[program] = timed(program, lambda *entry: self.add((*entry, None, 0)))
        return self.programs[program]

    # -- details -------------------------------------------------------------------------------------------

    def lines(self) -> tuple[str, ...]:
        """The user's lines that led here, the innermost first."""
        found: list[str] = []
        frame = sys._getframe(2) if self.stacked else None
        while frame is not None and len(found) < DEPTH:
            if not frame.f_code.co_filename.startswith(ENGINE):
                found.append(f"{spot(frame.f_code.co_filename, frame.f_lineno)}, in {frame.f_code.co_name}")
            frame = frame.f_back
        return tuple(found)

    def note(self, now: int, before: Sequence[Any], after: Sequence[Any]) -> None:
        """Arrays that were there, and those that there are now: of the new ones, that they came, and when they go."""
        for i, value in enumerate((*before, *after)):
            array = getattr(value, "value", value)  # of a tensor, where a derivative runs on those
            if hasattr(array, "base") and not isinstance(array, np.generic):  # no number, and no tracer
                array = owner(array)
                if id(array) not in self.alive:
                    nbytes = array.nbytes if i >= len(before) else 0
                    self.alive[id(array)] = ref(array, partial(self.forget, id(array), nbytes))
                    self.memory.append((now, nbytes))

    def forget(self, key: int, nbytes: int, _: Any) -> None:
        """The array of that id goes."""
        if self.alive.pop(key, None) is not None:
            self.memory.append((clock(), -nbytes))


def clocked(name: str) -> Any:
    """A field of a ProfiledMode that looks at the clock when it is read."""
    slot = f"_{name}"

    def read(self: ProfiledMode) -> Any:
        self.log.began = clock()
        return getattr(self, slot)

    return property(read, lambda self, value: setattr(self, slot, value))


class ProfiledMode(Mode):
    """A mode that looks at the clock whenever it is asked who takes an op, as long as a Log is among its watchers.

    door       what an op asks for first
    builder    what a Function, or a compiled call, asks for first
    """

    __slots__ = ("_builder", "_door", "log")

    log: Log
    door = clocked("door")
    builder = clocked("builder")

    def __new__(cls, **fields: Any) -> Any:
        log = next((watcher for watcher in fields["watchers"] if isinstance(watcher, Log)), None)
        if log is None:
            return Mode(**fields)
        self = object.__new__(cls)
        self.log = log
        return self


@contextmanager
def logging(log: Log, modules: bool) -> Iterator[None]:
    """A block of this thread of which the log is told.

    modules    whether calls of modules are among it
    """
    mode = current.mode
    walk = log.walk if walk_now.get() is None else walk_now.get()  # who looks for a NaN goes on doing so
    calls = (mode.calls or ()) if modules else mode.calls
    with walking(walk), in_mode(watchers=(*mode.watchers, log), calls=calls):
        mode = current.mode
        current.mode = ProfiledMode(**{field.name: getattr(mode, field.name) for field in fields(Mode) if field.init})
        try:
            yield
        finally:
            if log.open:
                log.closed(log.open[0])
