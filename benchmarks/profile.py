"""Where one step of minigrad spends its time: by op, and by function.

By op: mg.profiler.profile, whose docstring defines the time of an op. By function: cProfile, which adds some tenths of
a microsecond to every Python call, and so overstates functions with many small calls. Both show proportions; the plain
time above them is the measurement.
"""

from __future__ import annotations

import cProfile
import gc
import pstats
import sys
import time
from collections.abc import Callable
from typing import Any

from minigrad import profiler

from . import engines
from .workloads import WORKLOADS

FUNCTIONS = 25


def by_op(step: Callable[[], Any], repeats: int) -> str:
    """A line for each op or derivative and its operands' shapes, over all steps."""
    with profiler.profile(record_shapes=True) as prof:
        for _ in range(repeats):
            step()
    rows = prof.key_averages(group_by_input_shape=True)
    return rows.table(sort_by="self_cpu_time_total", row_limit=-1)


def by_function(step: Callable[[], Any], repeats: int) -> str:
    """A line for each function, by the time spent in itself."""
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(repeats):
        step()
    profiler.disable()
    stats: Any = pstats.Stats(profiler)
    rows = sorted(stats.stats.items(), key=lambda row: -row[1][2])[:FUNCTIONS]
    lines = [f"{'calls':>8}{'own µs':>10}{'with calls':>12}  function"]
    for (file, line, name), (_, calls, own, inclusive, _) in rows:
        where = name if file == "~" else f"{'/'.join(file.split('/')[-2:])}:{line} {name}"
        lines.append(f"{calls / repeats:>8.0f}{own / repeats * 1e6:>10.1f}{inclusive / repeats * 1e6:>12.1f}  {where}")
    return "\n".join(lines)


def plain(step: Callable[[], Any], rounds: int = 15) -> float:
    """Best CPU seconds of an undisturbed step."""
    step()
    start = time.process_time()
    step()
    steps = max(1, int(0.05 / (time.process_time() - start)))
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        for _ in range(steps):
            step()
        best = min(best, (time.process_time() - start) / steps)
    return best


def profile(name: str) -> str:
    """The whole profile of a workload on minigrad; backward is the rest of a step after forward and update."""
    run = engines.run("minigrad", WORKLOADS[name])

    def step() -> None:
        for stage in run.stages.values():
            stage()

    seconds = {"step": plain(step)} | {part: plain(f) for part, f in run.parts.items()}
    if run.parts:
        seconds["backward"] = seconds["step"] - sum(seconds[part] for part in run.parts)
    repeats = max(1, int(0.25 / seconds["step"]))
    plainly = ", ".join(f"{part} {s * 1e6:.1f}" for part, s in seconds.items())
    return "\n\n".join([f"{name}, µs a step: {plainly}", by_op(step, repeats), by_function(step, repeats)])


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print(profile(sys.argv[1]))
