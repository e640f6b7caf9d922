"""The bubble of a pipeline, measured: python -m benchmarks.pipeline

Four processes, whose stages sleep: a sleeping process needs no core, so two cores are enough for four. Backward sleeps
twice as long as forward, and one chunk of two half as long as a stage. The figure is the share of time in which
processes wait, from the first start to the last end, in the best run of three; the formula is (p - 1) / (v m + p - 1).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import minigrad as mg
import minigrad.distributed as dist
from minigrad.autograd import Function
from minigrad.distributed.schedules import bubble, bubble_fraction, most_kept, schedule

PROCESSES, FORWARD = 4, 0.03  # seconds
RUNS = [("gpipe", m, 1) for m in (1, 2, 4, 8, 16)] + [("1f1b", m, v) for v in (1, 2) for m in (4, 8, 16)]


class Sleep(Function):
    """y = x, after a sleep; backward sleeps twice as long."""

    @staticmethod
    def forward(ctx: Any, x: Any, seconds: float) -> Any:
        ctx.seconds = seconds
        time.sleep(seconds)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, gy: Any) -> Any:
        time.sleep(2 * ctx.seconds)
        return gy, None


class Sleeper(mg.nn.Module):
    """A stage that only sleeps this long."""

    def __init__(self, seconds: float):
        self.seconds, self.weight = seconds, mg.nn.Parameter(mg.zeros(1))

    def forward(self, x: Any) -> Any:
        return Sleep.apply(x + self.weight, self.seconds)


def measured(name: str, m: int, v: int) -> list[Any]:
    """The tasks of the run with the smallest bubble."""
    plan, rank = schedule(name, PROCESSES, m, v), dist.get_rank()
    stages = [dist.PipelineStage(Sleeper(FORWARD / v), c * PROCESSES + rank, plan.stages) for c in range(v)]
    pipe = dist.Pipeline(stages, plan, lambda y, target: y.sum())
    x, runs = mg.zeros(m, 1), []
    for _ in range(3):
        pipe.step(*([x] if rank == 0 else []), target=x)
        runs.append(pipe.measured())
    return min(runs, key=bubble)


def table() -> None:
    """Runs in every process; the first one prints."""
    dist.init_process_group()
    say = print if dist.get_rank() == 0 else lambda *_, **__: None
    say(f"{'schedule':<18}{'m':>4}{'measured':>10}{'formula':>9}{'microbatches that the first process keeps':>44}")
    measured("gpipe", 2, 1)  # compiles
    for name, m, v in RUNS:
        tasks = measured(name, m, v)
        kept = most_kept(task.step for task in tasks if task.worker == 0) / v
        words = name + (", interleaved" if v > 1 else "")
        say(f"{words:<18}{m:>4}{bubble(tasks):>10.3f}{bubble_fraction(PROCESSES, m, v):>9.3f}{kept:>44g}", flush=True)


def main() -> int:
    """Start the processes, with the mpiexec in this Python's folder."""
    command = [Path(sys.executable).with_name("mpiexec"), "-n", str(PROCESSES), sys.executable, "-m", "mpi4py"]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    where = Path(__file__).parents[1]
    return subprocess.run(
        [*command, "-m", __spec__.name, "rank"], env=os.environ | threads, cwd=where, check=False
    ).returncode


if __name__ == "__main__":
    if sys.argv[1:] == ["rank"]:
        table()
    else:
        raise SystemExit(main())
