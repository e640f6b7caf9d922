"""profile: records what runs in a block, op by op, and evaluates it at the end, with PyTorch's names and meanings."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ContextDecorator, ExitStack, contextmanager
from enum import Enum
from threading import get_ident
from time import perf_counter_ns as clock
from typing import Any, Self

from ..engine.base.errors import StateError
from ..engine.base.whole_file import replace_file
from ..engine.core.calls import named_scope
from .event_table import EventList
from .events import FunctionEvent
from .icicle import icicle
from .log import EventLog, ProfileOptions, attach_log


class ProfilerAction(Enum):
    """What the profiler does in a step."""

    NONE = 0  # nothing
    WARMUP = 1  # record it, so that one-time work is done, and discard the result
    RECORD = 2  # record it
    RECORD_AND_SAVE = 3  # record it; it is the last of its cycle: call on_trace_ready at its end


Schedule = Callable[[int], ProfilerAction]
CATEGORIES = {"block": "user_annotation", "module": "python_function", "collective": "collective"}
RECORDED = {ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE}


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0) -> Schedule:
    """Number of a step → its action: `skip_first` idle steps, then cycles of wait, warmup and active steps.

    repeat    number of cycles; 0 for no limit
    """
    numbers = {"wait": wait, "warmup": warmup, "active": active, "repeat": repeat, "skip_first": skip_first}
    for name, n in numbers.items():
        least = int(name == "active")
        if not isinstance(n, int) or n < least:
            raise ValueError(f"a schedule needs {name} to be a whole number of at least {least}, and got {n!r}")
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        turn, place = divmod(step - skip_first, cycle)
        if turn < 0 or place < wait or (repeat and turn >= repeat):
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


class ProfilerActivity(Enum):
    """The devices to profile. With either one, the profiler waits for each step of a compiled GPU program."""

    CPU = 0
    CUDA = 1


class record_function(named_scope):
    """A block, or a function, that a profiler shows under this name."""

    def __init__(self, name: str, args: str | None = None):
        """args    shown behind the name"""
        if not isinstance(name, str):
            raise TypeError(f"record_function takes the name of a block, a text, and got {name!r}")
        super().__init__("block", name if args is None else f"{name}: {args}")


class profile(ContextDecorator):
    """A block, or a function, whose ops, derivatives, programs, modules and named blocks are timed.

    activities        a list of ProfilerActivity; both by default
    schedule          number of a step → its ProfilerAction; without a schedule, everything is recorded
    on_trace_ready    called with the profiler at the end of each cycle of the schedule, or of the block
    record_shapes     record the shapes of operands
    profile_memory    record bytes of results allocated and freed, without a program's workspace and sums of gradients
    with_stack        record the user's lines
    with_flops        count scalar operations, a multiply-add being two
    with_modules      record calls of modules; steps of a traced function have their module anyway

    The time of an op includes dispatch, arithmetic and record; the time of a derivative includes the sums of its
    incoming gradients. Python between ops counts for the blocks around it, and for no op. An op on a GPU is timed until
    it is launched, a step of a compiled program until the GPU has finished it.

    Only this thread is profiled; another thread takes part in its own `with prof.thread():`. A profiled program has a
    workspace of its own. Profilers do not nest: the inner one raises StateError.
    """

    def __init__(
        self, activities: Iterable[ProfilerActivity] | None = None, schedule: Schedule | None = None,
        on_trace_ready: Callable[[profile], Any] | None = None, record_shapes: bool = False,
        profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
    ):  # fmt: skip
        if activities is not None and not all(isinstance(a, ProfilerActivity) for a in activities):
            raise ValueError(f"activities must be a list of ProfilerActivity.CPU and .CUDA, got {activities!r}")
        for name, f in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if f is not None and not callable(f):
                raise TypeError(f"{name} must be a function, such as mg.profiler.schedule(…) returns; got {f!r}")
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.wanted = ProfileOptions(record_shapes, profile_memory, with_stack, with_flops, with_modules)
        self.ident = 0
        self.found: EventList | None = None
        self.cycle, self.named = ExitStack(), ExitStack()

    # -- open and closed ------------------------------------------------------------------------------

    def start(self) -> None:
        """Open the profiler, as `with` does. Raises StateError if a profiler is open in this thread."""
        self.logs, self.step_num, self.action, self.found = [EventLog(self.wanted)], 0, ProfilerAction.NONE, None
        self.turn(self.next_action())
        self.ident = get_ident()

    def stop(self) -> None:
        """Close the profiler."""
        if get_ident() != self.ident:
            raise StateError("only the thread that opened a profiler can close it, and only once")
        self.ident = 0
        self.turn(ProfilerAction.NONE)
        self.logs = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.stop()

    def step(self) -> None:
        """End this step and begin the next, whose action the schedule decides."""
        if not self.ident:
            raise StateError("step() needs an open profiler, and this one is closed")
        self.step_num += 1
        self.turn(self.next_action())

    def next_action(self) -> ProfilerAction:
        """The action that the schedule gives for this step."""
        action = ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)
        if not isinstance(action, ProfilerAction):
            raise TypeError(f"a schedule returns a ProfilerAction for each step; for {self.step_num}, got {action!r}")
        return action

    def turn(self, action: ProfilerAction) -> None:
        """End the current action and start this one."""
        before, self.action = self.action, action
        self.named.close()
        if before is not ProfilerAction.RECORD or action not in RECORDED:
            self.cycle.close()
            if action is not ProfilerAction.NONE:
                self.cycle.enter_context(self.record_cycle(action in RECORDED))
        if self.schedule is not None and action is not ProfilerAction.NONE:
            self.named.enter_context(named_scope("block", f"ProfilerStep#{self.step_num}"))

    @contextmanager
    def record_cycle(self, kept: bool) -> Iterator[None]:
        """Record the steps of one cycle; at its end, evaluate them and call on_trace_ready.

        kept    whether they are active; warm-up steps are discarded
        """
        with attach_log(self.logs[0]):
            for log in self.logs:
                log.clear()
            began = clock()
            yield
            wall = clock() - began
        if kept:
            events = [event for log in self.logs for event in log.events()]
            self.found = EventList(events, wall - sum(event.ns for event in events if event.kind == "profiler"))
            self.threads = {log.native: log.name for log in self.logs}
        for log in self.logs:
            log.clear()
        if kept and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    @contextmanager
    def thread(self) -> Iterator[None]:
        """A block in another thread; the profiler records that thread too."""
        log = EventLog(self.wanted)
        with attach_log(log):
            self.logs.append(log)
            yield

    # -- results --------------------------------------------------------------------------------------

    def events(self) -> EventList:
        """All events of the schedule's last cycle, thread by thread, each after the event around it.

        Raises StateError if no cycle has ended yet.
        """
        if self.found is None:
            advice = "read them after its `with` block, or in on_trace_ready"
            raise StateError(f"a profiler has results once it is closed, or a cycle of its schedule is over: {advice}")
        return self.found

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_module: bool = False
    ) -> EventList:
        """Merge events of the same name; on request, only if shapes, innermost user lines or modules are equal too."""
        return self.events().key_averages(group_by_input_shape, group_by_stack_n, group_by_module)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Write the events for a trace viewer: https://ui.perfetto.dev, chrome://tracing, speedscope."""
        write_trace(self.events(), self.threads, path)

    def __str__(self) -> str:
        return self.key_averages().table(sort_by="self_cpu_time_total")

    def __repr__(self) -> str:
        return "<profile: open>" if self.ident else "<profile>" if self.found is None else str(self)

    def _repr_html_(self) -> str | None:
        if self.found is None:
            return None
        table = self.key_averages().to_table("self_cpu_time_total")
        return f"<div class='mg-widget'>{icicle(self.found)}{table._repr_html_()}</div>"


# -- as a trace file --------------------------------------------------------------------------------


def write_trace(events: Sequence[FunctionEvent], threads: Mapping[int, str], path: str | os.PathLike[str]) -> None:
    """Write a file of the Trace Event Format, which Perfetto, chrome://tracing and speedscope open.

    M    names of the process and of its threads
    X    an event: ts and dur in microseconds; the events inside it are within its bounds
    s, f an arrow from an op to its derivative
    b, e a transfer between processes, which may overlap others
    C    bytes allocated

    https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    If writing fails, an older file at this path stays unchanged.
    """
    start = min((event.begin for event in events), default=0)

    def at(ns: int) -> float:
        """Microseconds since the first event, in steps of 1/1024: sums are exact, so no event overlaps another."""
        return round((ns - start) * 1.024) / 1024

    ran = [event for event in events if event.kind not in ("memory", "transfer")]
    told = [*names(threads), *(complete(event, at) for event in ran), *arrows(ran, at), *counters(events, at)]
    told += transfers((event for event in events if event.kind == "transfer"), at)
    trace = {"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": told}
    replace_file(path, [json.dumps(trace, allow_nan=False).encode()])


def record(ph: str, name: str, thread: int, **more: Any) -> dict[str, Any]:
    return {"ph": ph, "name": name, "pid": os.getpid(), "tid": thread, **more}


def names(threads: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """The names of the process and its threads."""
    yield record("M", "process_name", 0, args={"name": "minigrad"})
    for thread, name in threads.items():
        yield record("M", "thread_name", thread, args={"name": name})


def complete(event: FunctionEvent, at: Callable[[int], float]) -> dict[str, Any]:
    """An event with its start and duration."""
    told = {
        "Module": event.module, "Call stack": "\n".join(event.stack),
        "Input Dims": event.input_shapes, "FLOPs": event.flops, "Bytes": event.cpu_memory_usage,
    }  # fmt: skip
    ts, args = at(event.begin), {name: value for name, value in told.items() if value}
    category = CATEGORIES.get(event.kind, "cpu_op")
    return record("X", event.name, event.thread, cat=category, ts=ts, dur=at(event.end) - ts, args=args)


def arrows(events: Iterable[FunctionEvent], at: Callable[[int], float]) -> Iterator[dict[str, Any]]:
    """An arrow from each op to its derivative."""
    forward = {event.birth: event for event in events if event.birth > 0}
    for number, event in enumerate(events):
        origin = forward.get(-event.birth)
        for ph, end in (("s", origin), ("f", event)) if origin is not None else ():
            yield record(ph, "fwdbwd", end.thread, cat="fwdbwd", id=number, ts=at(end.begin), bp="e")


def transfers(events: Iterable[FunctionEvent], at: Callable[[int], float]) -> Iterator[dict[str, Any]]:
    """The start and the end of each transfer; a viewer draws overlapping ones in separate rows."""
    for number, event in enumerate(events):
        for ph, ns in (("b", event.begin), ("e", event.end)):
            yield record(ph, event.name, event.thread, cat="transfer", id=number, ts=at(ns))


def counters(events: Iterable[FunctionEvent], at: Callable[[int], float]) -> Iterator[dict[str, Any]]:
    """The bytes alive at each change, of arrays allocated while the profiler was open."""
    nbytes = 0
    for change in sorted((event for event in events if event.kind == "memory"), key=lambda event: event.begin):
        nbytes += change.cpu_memory_usage
        yield record("C", "memory", 0, ts=at(change.begin), args={"bytes": nbytes})
