"""Events as a file of the Trace Event Format, which Perfetto, chrome://tracing and speedscope open.

    M    names of the process and of its threads
    X    an event: ts and dur in microseconds; the events inside it are within its bounds
    s, f an arrow from an op to its derivative
    b, e a transfer between processes, which may overlap others
    C    bytes allocated

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..engine.base.whole_file import replace_file
from .events import FunctionEvent

CATEGORIES = {"block": "user_annotation", "module": "python_function", "collective": "collective"}


def write_trace(events: Sequence[FunctionEvent], threads: Mapping[int, str], path: str | os.PathLike[str]) -> None:
    """Write the file; if that fails, leave an older file at this path unchanged."""
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
