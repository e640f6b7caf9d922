"""Other costs: memory, the first call, threads, cores, a session, a profiler, a checkpoint.

Each is a generator of (name, figures, table), so that a table is printed as soon as it is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from tempfile import TemporaryDirectory
from typing import Any

from . import report, rounds
from .engines import PEERS
from .workloads import WORKLOADS

Found = Iterator[tuple[str, Any, str]]

WEIGHED = ["mlp", "cnn", "transformer", "hvp", "fused", "softmax", "layernorm"]
COMPILERS = ["minigrad-compiled", "minigrad-native", "jax"]
UNSEEN = ["jax"]  # engines whose memory is neither NumPy's nor shown by a profiler
ONE_AND_TWO = ["numpy-blocked", "minigrad-compiled", "minigrad-threads"]


def alive(engines: list[str], turns: int) -> Found:
    """Bytes alive at the peak of a step, for workloads whose arrays outweigh an engine's records."""
    for name in WEIGHED:
        seen = [e for e in PEERS[name] if e in engines and e not in UNSEEN]
        found = rounds.answers(WORKLOADS[name], seen, "bytes")
        yield f"bytes {name}", found, report.bytes_alive(name, found)


def first_calls(engines: list[str], turns: int) -> Found:
    """The first call of engines that compile, each in its own process; native ones again with a warm build cache."""
    rows: dict[str, dict[str, float]] = {}
    for name, peers in PEERS.items():
        asked = [e for e in COMPILERS if e in engines and e in peers]
        for _ in range(min(turns, 3)):
            with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                settings = rounds.THREADS | {"MINIGRAD_CACHE": folder}
                for again, some in (("", asked), (" again", [e for e in asked if e == "minigrad-native"])):
                    for engine, told in rounds.answers(WORKLOADS[name], some, "first", settings).items():
                        if seconds := told.get("seconds"):
                            row = f"{name} {engine.removeprefix('minigrad-')}{again}"
                            best = rows.get(row, seconds)
                            rows[row] = {column: min(s, best[column]) for column, s in seconds.items()}
    yield "first", rows, report.grid("first call: seconds that pass, CPU seconds, and what these are spent on", rows)


def threads(engines: list[str], turns: int) -> Found:
    """One thread against two, in wall time."""
    found = rounds.figures(WORKLOADS["fused"], [e for e in ONE_AND_TWO if e in engines], turns, "wall")
    yield "threads", found, report.times("fused", found, ", seconds that pass")


def of_its_own(name: str, title: str) -> Callable[[list[str], int], Found]:
    """A cost of minigrad alone, measured by own.py in a process of its own."""

    def cost(engines: list[str], turns: int) -> Found:
        rows = rounds.told("benchmarks.own", name)
        yield name, rows, report.grid(title, rows)

    return cost


COSTS: dict[str, Callable[[list[str], int], Found]] = {
    "bytes": alive,
    "first": first_calls,
    "threads": threads,
    "cores": of_its_own("cores", "native loops on two threads, relative to one"),
    "session": of_its_own("session", "Session.run: µs a call"),
    "profiler": of_its_own("profiler", "the chain under a profiler"),
    "checkpoint": of_its_own("checkpoint", "64 layers in 8 checkpoints: CPU time and bytes, of none"),
}
