"""Events as a file of the Trace Event Format, which Perfetto, chrome://tracing and speedscope open.

    M    names of the process and of its threads
    X    an event: ts and dur in microseconds, what lies in it being within its bounds
    s, f an arrow from an op to its derivative
    C    bytes that are there

https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from .events import FunctionEvent

CATEGORIES = {"block": "user_annotation", "module": "python_function"}


def write_trace(
    events: Sequence[FunctionEvent],
    memory: Sequence[tuple[int, int]],
    threads: Mapping[int, str],
    path: str | os.PathLike[str],
) -> None:
    """Write the file: whole, or not at all."""
    start = min([event.begin for event in events] + [when for when, _ in memory], default=0)
    trace = {
        "schemaVersion": 1,
        "displayTimeUnit": "ms",
        "traceEvents": [*names(threads), *since(start, [*map(complete, events), *arrows(events), *counters(memory)])],
    }
    target = Path(path)
    with NamedTemporaryFile("w", encoding="utf-8", dir=target.parent, suffix=".tmp", delete=False) as file:
        try:
            json.dump(trace, file, allow_nan=False)
        except BaseException:
            file.close()
            Path(file.name).unlink()
            raise
    Path(file.name).replace(target)


def names(threads: Mapping[int, str]) -> Iterator[dict[str, Any]]:
    """What the process and its threads are called."""
    yield {"ph": "M", "name": "process_name", "pid": os.getpid(), "tid": 0, "args": {"name": "minigrad"}}
    for thread, name in threads.items():
        yield {"ph": "M", "name": "thread_name", "pid": os.getpid(), "tid": thread, "args": {"name": name}}


def since(start: int, events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The events, their nanoseconds as microseconds since the first.

    In steps of 1/1024, which add up exactly: one bit beyond where the next begins, an event would seem to overlap it.
    """
    for event in events:
        begin = event["ts"] - start
        ends = {"dur": grid(begin + event["dur"]) - grid(begin)} if "dur" in event else {}
        yield {**event, "ts": grid(begin), **ends}


def grid(ns: int) -> float:
    """Microseconds, of which a double has all digits."""
    return round(ns * 1.024) / 1024


def complete(event: FunctionEvent) -> dict[str, Any]:
    """An event with a beginning and a length."""
    told = {
        "Module": event.module,
        "Call stack": "\n".join(event.stack),
        "Input Dims": event.input_shapes,
        "FLOPs": event.flops,
        "Bytes": event.cpu_memory_usage,
    }
    return {
        "ph": "X",
        "cat": CATEGORIES.get(event.kind, "cpu_op"),
        "name": event.name,
        "pid": os.getpid(),
        "tid": event.thread,
        "ts": event.begin,
        "dur": event.end - event.begin,
        "args": {name: value for name, value in told.items() if value},
    }


def arrows(events: Iterable[FunctionEvent]) -> Iterator[dict[str, Any]]:
    """From each op to its derivative."""
    forward = {event.birth: event for event in events if event.birth > 0}
    for number, event in enumerate(events):
        origin = forward.get(-event.birth)
        if event.birth < 0 and origin is not None:
            for ph, end in (("s", origin), ("f", event)):
                at = {"pid": os.getpid(), "tid": end.thread, "ts": end.begin}
                yield {"ph": ph, "cat": "fwdbwd", "name": "fwdbwd", "id": number, **at, "bp": "e"}


def counters(memory: Iterable[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """How many bytes there are, of what came while the profiler was open."""
    changes = [*memory]
    for (when, _), now in zip(changes, accumulate(nbytes for _, nbytes in changes)):
        yield {"ph": "C", "name": "memory", "pid": os.getpid(), "tid": 0, "ts": when, "args": {"bytes": now}}
