"""The log of one profiled thread. Each event appends five values to a flat list, read as FunctionEvents afterwards.

An op's time runs from its dispatch (Tensor.apply) to its report to watchers: dispatch, arithmetic and record together,
as in PyTorch. Python between two ops belongs to neither. Watchers are notified only at the end of an op. Its start is
known because dispatch begins by reading fields of the mode, and the mode of a profiled thread reads the clock whenever
one of these fields is read.

A derivative's time starts when the previous derivative of its pass ends. It includes the accumulation of its incoming
gradients, and the user's hooks on them.
"""

from __future__ import annotations

import ast
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import fields, replace
from functools import cache, partial
from itertools import islice, pairwise
from time import perf_counter_ns as clock
from traceback import walk_stack
from types import CodeType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np

from ..engine.base.errors import StateError
from ..engine.core.calls import named_scope
from ..engine.core.modes import Mode, current, in_mode
from ..engine.core.node import ENGINE, Node, Place
from ..engine.core.op import Op
from ..engine.core.versions import owner
from ..engine.ops.leaf import Alias
from ..graph.backends.cuda.replay import Replay
from ..graph.compiler.blame import walk_now, walking
from ..graph.compiler.program.program import Program
from .counting import additions, rule_of
from .events import Detail, FunctionEvent, events_of, step

Timed = Callable[..., tuple[Any, ...]]
Tell = Callable[[int, int, FunctionEvent], None]  # end, start, event
COMPOUND = ast.If | ast.For | ast.While
DEPTH = 8  # most lines of the user's code in a stack


class ProfileOptions(NamedTuple):
    """What a profile records besides names and times."""

    shapes: bool = False
    memory: bool = False
    stack: bool = False
    flops: bool = False
    modules: bool = False


class EventLog:
    """A watcher that appends (end, begin, what, detail, birth) for each event, in the order of the ends.

    what         an op; an event without times, for a block or a step of a program; or allocated bytes (freed: negative)
    birth        serial number of the op's record; negated for a derivative; 0 without a record
    began        when the last op was dispatched; 0 once it was reported
    on_backward  the callback of one backward pass; passing() makes it
    """

    on_backward: Callable[[Node, Any, tuple[Any, ...]], None]
    holds = False
    again = property(lambda self: self, doc="The watcher of what a checkpoint recomputes.")

    def __init__(self, wanted: ProfileOptions):
        thread = threading.current_thread()
        native = getattr(threading, "get_native_id", threading.get_ident)  # a browser has no system threads
        self.ident, self.native, self.name = thread.ident, native(), thread.name
        self.wanted, self.memory, self.detailed = wanted, wanted.memory, wanted.shapes or wanted.flops or wanted.stack
        self.open: list[FunctionEvent] = []
        self.transfers: list[FunctionEvent] = []
        self.programs: dict[Any, Timed] = {}
        self.alive: dict[int, ref[Any]] = {}
        self.clear()

    def clear(self) -> None:
        """Drop all entries and start again; open blocks stay open."""
        self.since, self.began = clock(), 0
        self.entries: list[Any] = []
        self.add = self.entries.extend
        self.transfers = [each for each in self.transfers if not each.end]
        self.alive.clear()

    def events(self) -> list[FunctionEvent]:
        """The entries as events, each after the event around it; blocks that are still open end now."""
        if self.open:
            self.close_block(self.open[0])
        events = events_of(self.entries, self.native)
        for event in events:  # steps of programs have shapes and FLOPs, wanted or not
            event.input_shapes = event.input_shapes if self.wanted.shapes else []
            event.flops = event.flops if self.wanted.flops else 0
        for each in self.transfers:
            begin, end = max(each.begin, self.since), each.end or clock()
            events.append(replace(each, begin=begin, end=end, ns=end - begin, thread=self.native))
        return events

    # -- as a watcher ------------------------------------------------------------------------------------

    def on_forward(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        now, node = clock(), y.node
        if self.memory and not isinstance(op, Alias):  # an edit in place allocates no memory
            self.note(now, [x.value for x in xs], [y.value])
        detail = Detail((y.spec, *[x.spec for x in xs]), self.lines()) if self.detailed else None
        self.add((now, self.began, op, detail, 0 if node is None else node.born))
        self.began = 0

    def passing(self) -> Callable[[Node, Any, tuple[Any, ...]], None]:
        """Make the callback that the backward pass starting now calls for each derivative."""
        last, added = clock(), additions()

        def on_pullback(node: Node, gy: Any, gxs: tuple[Any, ...]) -> None:
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

        return on_pullback

    def on_step(self, optimizer: Any) -> None:
        """Note the optimiser state that a parameter's first step has allocated."""
        made = [state for state in optimizer.state.values() if state.get("step") == 1] if self.memory else []
        self.note(clock(), (), [array for state in made for array in state.values()])

    def on_block(self, kind: str, name: str) -> Callable[[], None]:
        """Begin a block; call the result at its end."""
        block = FunctionEvent(name, kind, begin=clock())
        if kind == "transfer":  # runs concurrently with this thread: it is inside no event
            self.transfers.append(block)
            return lambda: setattr(block, "end", clock())
        self.open.append(block)
        return partial(self.close_block, block)

    def close_block(self, block: FunctionEvent) -> None:
        """End a block and those inside it. A block that was open at the profiler's end has ended already."""
        while block in self.open:
            inner = self.open.pop()
            self.add((clock(), max(inner.begin, self.since), inner, None, 0))

    # -- programs ------------------------------------------------------------------------------------------

    def walk(self, executable: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run a compiled graph as a program that reports each of its steps to this log."""
        if threading.get_ident() != self.ident:  # in a worker thread, which inherits this context
            with walking(None):
                return executable(*arrays)  # type: ignore[no-any-return]
        program = self.timed_program(executable.program)
        close = self.on_block("program", "program")
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

    def timed_program(self, program: Any) -> Timed:
        """The program, instrumented to report its steps to this log."""
        if program not in self.programs:
            with named_scope("profiler", "[profiler] marks a program"):
                self.programs[program] = time_steps(program, lambda *entry: self.add((*entry, None, 0)))
        return self.programs[program]

    # -- details -------------------------------------------------------------------------------------------

    def lines(self) -> tuple[Place, ...]:
        """The user's lines on the call stack, innermost first."""
        frames = walk_stack(sys._getframe(2)) if self.wanted.stack else ()
        own = ((frame.f_code, line) for frame, line in frames if not frame.f_code.co_filename.startswith(ENGINE))
        return tuple(Place(code.co_filename, line, code.co_name) for code, line in islice(own, DEPTH))

    def note(self, now: int, before: Iterable[Any], after: Iterable[Any]) -> None:
        """Log the allocation of arrays that are in `after` but not in `before`; when one is freed, log that too."""
        known = {id(memory_of(x)) for x in before}
        for array in map(memory_of, after):
            if array is not None and id(array) not in known and id(array) not in self.alive:
                self.alive[id(array)] = ref(array, partial(self.forget, id(array), array.nbytes))
                self.add((now, now, array.nbytes, None, 0))

    def forget(self, key: int, nbytes: int, _: Any) -> None:
        """Log that the array of this id was freed."""
        if self.alive.pop(key, None) is not None:
            now = clock()
            self.add((now, now, -nbytes, None, 0))


def memory_of(value: Any) -> Any:
    """The array that owns the memory of an array or a tensor; None for a number or a tracer."""
    array = getattr(value, "value", value)  # derivatives of higher order run on tensors
    return owner(array) if hasattr(array, "base") and not isinstance(array, np.generic) else None


def clock_on_read(name: str) -> Any:
    """A field of ProfiledMode that notes the time whenever it is read."""
    slot = getattr(Mode, name)
    get = slot.__get__

    def read(self: ProfiledMode) -> Any:
        self.log.began = clock()
        return get(self)

    return property(read, slot.__set__)


class ProfiledMode(Mode):
    """A mode that notes the time at each dispatch of an op, as long as an EventLog is among its watchers.

    door       the field that an op reads first
    builder    the field that a Function, or a compiled call, reads first
    """

    __slots__ = ("log",)

    log: EventLog
    door = clock_on_read("door")
    builder = clock_on_read("builder")

    def __new__(cls, **fields: Any) -> Any:
        log = log_of(fields["watchers"])
        if log is None:
            return Mode(**fields)
        self = object.__new__(cls)
        self.log = log
        return self


def log_of(watchers: Sequence[Any]) -> EventLog | None:
    """The EventLog among the watchers, if any."""
    return next((watcher for watcher in watchers if isinstance(watcher, EventLog)), None)


@contextmanager
def attach_log(log: EventLog) -> Iterator[None]:
    """A block of this thread that the log records.

    Raises StateError if a profiler is open in this thread.
    """
    mode = current.mode
    if log_of(mode.watchers) is not None:
        raise StateError("a profiler is open in this thread already, and a second one would time the first: close it")
    walk = log.walk if walk_now.get() is None else walk_now.get()  # a search for NaN that has begun goes on
    calls = (mode.calls or ()) if log.wanted.modules else mode.calls
    with walking(walk), in_mode(watchers=(*mode.watchers, log), calls=calls):
        mode = current.mode
        current.mode = ProfiledMode(**{field.name: getattr(mode, field.name) for field in fields(Mode) if field.init})
        yield


# -- steps of compiled programs --------------------------------------------------------------------------------


def time_steps(program: Any, tell: Tell) -> Timed:
    """The program, instrumented to report its steps; unchanged if it has none.

    The program's own text runs, with a mark after the last line of each node, and one after each whole branch or loop.
    Its results are the same to the last bit. It has its own workspace, which lives for as long as the profiler is open.

        def program(x0, x1):
            since = clock()
            dot(x0, x1, b0)
            since = mark(0, since)
            tanh(b0, b0)
            since = mark(1, since)

    On a GPU, the first call reports each node, and waits for the device after each node. From the third call on, a
    program replays a few recordings, and each recording is a step.
    """
    if isinstance(program, Program):
        return instrument(program, tell)
    return TimedReplay(program, tell) if isinstance(program, Replay) else program


MARKED: WeakKeyDictionary[Program, tuple[CodeType, list[FunctionEvent]]] = WeakKeyDictionary()  # a cache


def instrument(program: Program, tell: Tell) -> Program:
    """A copy of the program, with marks in its text."""
    if program not in MARKED:
        MARKED[program] = with_marks(program)
    code, steps = MARKED[program]

    def mark(number: int, since: int) -> int:
        now = clock()
        tell(now, since, steps[number])
        return now

    twin = copy(program)
    twin.idle, twin.code = [], code
    twin.text = replace(program.text, scope=program.text.scope | {"clock": clock, "mark": mark})
    return twin


def with_marks(program: Program) -> tuple[CodeType, list[FunctionEvent]]:
    """The program's text with marks in it, and the event that each mark reports."""
    text = ast.parse(program.source)
    body = next(f for f in text.body if isinstance(f, ast.FunctionDef) and f.name == "program")
    marks = Marks(program)
    body.body = [*lines("since = clock()"), *marks.put(body.body)]
    return compile(text, "<profiled program>", "exec"), marks.steps


class Marks:
    """Puts marks into a program's text.

    nodes      line of the text → its node
    last       the last of each node's successive lines; lines without a node may stand between these
    parts      name of a C++ function → the part of the program that it computes
    steps      the event that each mark reports
    counted    nodes whose FLOPs a step counts
    alone      nodes that have a step of their own
    """

    def __init__(self, program: Program):
        self.nodes = program.text.nodes
        self.last = {line for (line, node), (_, after) in pairwise([*self.nodes.items(), (0, None)]) if node != after}
        self.parts = {part.name: part for part in getattr(program, "parts", ())}
        self.steps: list[FunctionEvent] = []
        self.counted: set[Node] = set()
        self.alone: set[Node] = set()

    def put(self, statements: Sequence[ast.stmt], depth: int = 0) -> list[ast.stmt]:
        """The statements with marks. The mark of a branch or loop measures from its start."""
        out: list[ast.stmt] = []
        for statement in statements:
            node, compound = self.nodes.get(statement.lineno), isinstance(statement, COMPOUND)
            for inside in ("body", "orelse"):
                if found := getattr(statement, inside, []):
                    setattr(statement, inside, self.put(found, depth + compound))
            if node is None or not (compound or statement.lineno in self.last):
                out.append(statement)
            elif compound:
                out += [*lines(f"since{depth} = since"), statement, *self.mark(statement, node, f"since{depth}")]
            else:
                out += [statement, *self.mark(statement, node, "since")]
        return out

    def mark(self, statement: ast.stmt, node: Node, since: str) -> list[ast.stmt]:
        """The mark after a statement of the node."""
        part = self.parts.get(callee(statement))
        nodes, name = ((node,), "") if part is None else (part.nodes, f"{part.name} ({part.steps} in C)")
        self.steps.append(step(nodes, [n for n in nodes if n not in self.counted], name))
        if part is None:  # the node's lines before and after a part in C count as one call
            self.steps[-1].count = int(node not in self.alone)
            self.alone.add(node)
        self.counted.update(nodes)
        return lines(f"since = mark({len(self.steps) - 1}, {since})")


def lines(text: str) -> list[ast.stmt]:
    return ast.parse(text).body


def callee(statement: ast.stmt) -> str:
    """The function that a line calls, if the line is only a call; else ""."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            return name
    return ""


class TimedReplay(Replay):
    """A GPU program that shares the state of `program`, and waits for the GPU after each step."""

    def __init__(self, program: Replay, tell: Tell):
        vars(self).update(vars(program))
        self.tell = tell
        self.told = cache(lambda *nodes: step(nodes, nodes, f"replay of {len(nodes)} nodes" * (len(nodes) > 1)))

    def step(self, nodes: Sequence[Node], run: Callable[..., None], *given: Node) -> None:
        start = clock()
        run(*given)
        self.machine.wait()
        self.tell(clock(), start, self.told(*nodes))
