"""Other costs: memory, the first call, cores.

Each is a generator of (name, figures, table), so that a table is printed as soon as it is complete.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import minigrad as mg
from minigrad.engine.base.threads import share
from minigrad.graph.compiler.program import program

from . import report, rounds
from .engines import PEERS
from .engines import run as run_on
from .workloads import WORKLOADS

Found = Iterator[tuple[str, Any, str]]

WEIGHED = ["mlp", "cnn", "transformer", "hvp", "fused", "softmax", "layernorm"]
COMPILERS = ["minigrad-compiled", "minigrad-native", "jax"]
UNSEEN = ["jax"]  # engines whose memory is neither NumPy's nor shown by a profiler


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


def cores(engines: list[str], turns: int) -> Found:
    """Large native loops on two threads, relative to one, in a process of their own."""
    rows = rounds.told("benchmarks.costs")
    yield "cores", rows, report.grid("native loops on two threads, relative to one", rows)


def share_equally(run: Callable[..., Any], count: int, threads: int, others: Any) -> None:
    """Like `share`, but two threads get equal shares: then the caller's CPU time is the wall time on idle cores."""
    ranges = [(count * i // 8, count * (i + 1) // 8) for i in range(8)]
    done = SimpleQueue[None]()
    others(lambda: done.put([run(*ends, 1) for ends in ranges[1::2]]))
    for ends in ranges[::2]:
        run(*ends, 0)
    done.get()


def on_two_threads(turns: int = 7) -> dict[str, dict[str, float]]:
    """Loop → clock → the median figure of two threads, which take turns with one."""
    rows: dict[str, dict[str, float]] = {}
    clocks = {"s": time.perf_counter, "CPU s": time.process_time, "caller's CPU s": time.thread_time}
    for name in ("fused", "softmax", "layernorm", "mlp", "hvp", "tiny"):
        for stage, step in run_on("minigrad-native", WORKLOADS[name]).stages.items():
            found: dict[Any, list[float]] = {(clock, n): [] for clock in clocks for n in (1, 2)}
            for clock, n in [*found] * (turns + 1):
                mg.set_num_threads(n)
                vars(program)["share"] = share_equally if clock.startswith("caller") else share
                start = clocks[clock]()
                for _ in range(5):
                    step()
                found[clock, n].append(clocks[clock]() - start)
            rows[f"{name} {stage}"] = {c: median(found[c, 2][1:]) / median(found[c, 1][1:]) for c in clocks}
    return rows


COSTS: dict[str, Callable[[list[str], int], Found]] = {"bytes": alive, "first": first_calls, "cores": cores}

if __name__ == "__main__":
    print(json.dumps(on_two_threads()))
