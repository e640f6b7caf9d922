"""Where one step of minigrad spends its time: by op, and by function.

By op: mg.profiler.profile, whose docstring defines the time of an op. By function: cProfile, which adds some tenths of
a microsecond to every Python call, and so overstates functions with many small calls. Both show proportions; the plain
time above them is the measurement.
"""

from __future__ import annotations

import cProfile
import io
import pstats
import sys
from collections.abc import Callable
from typing import Any

from minigrad import profiler

from . import engines
from .worker import sample
from .workloads import WORKLOADS

FUNCTIONS, ROUNDS = 25, 15


def by_op(step: Callable[[], Any], repeats: int) -> str:
    """A line for each op or derivative and its operands' shapes, over all steps."""
    with profiler.profile(record_shapes=True) as prof:
        for _ in range(repeats):
            step()
    rows = prof.key_averages(group_by_input_shape=True)
    return rows.table(sort_by="self_cpu_time_total", row_limit=-1)


def by_function(step: Callable[[], Any], repeats: int) -> str:
    """A line for each function, by the time spent in itself, over all steps."""
    profiler, text = cProfile.Profile(), io.StringIO()
    profiler.runcall(lambda: [step() for _ in range(repeats)])
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(FUNCTIONS)
    return text.getvalue()


def profile(name: str) -> str:
    """The whole profile of a workload on minigrad; backward is the rest of a step after forward and update."""
    run = engines.run("minigrad", WORKLOADS[name])

    def step() -> None:
        for stage in run.stages.values():
            stage()

    parts = engines.Run({"step": step, **run.parts}, run.answer)
    step()
    steps = max(1, int(0.05 / sample(parts, 1)["step"]))
    turns = [sample(parts, steps) for _ in range(ROUNDS)]
    seconds = {part: min(turn[part] for turn in turns) for part in parts.stages}
    if run.parts:
        seconds["backward"] = seconds["step"] - sum(seconds[part] for part in run.parts)
    repeats = max(1, int(0.25 / seconds["step"]))
    plainly = ", ".join(f"{part} {s * 1e6:.1f}" for part, s in seconds.items())
    return "\n\n".join([f"{name}, µs a step: {plainly}", by_op(step, repeats), by_function(step, repeats)])


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print(profile(sys.argv[1]))
