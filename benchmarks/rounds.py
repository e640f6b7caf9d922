"""Taking turns: in every round each engine runs briefly, so that other load on the machine affects all of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from functools import cached_property
from math import inf
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from threading import TIMEOUT_MAX, Timer
from typing import Any

from . import engines
from .workloads import Workload

MOMENT = 0.03  # CPU seconds of a turn: a thousand times the clock's resolution
GRACE = 10.0  # seconds for a round to end
PATIENCE = 8.0  # CPU seconds on one engine; a slow one gets fewer rounds, but at least three

# One thread each; set before an engine is imported, which is why engines are processes.
THREADS = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"], "1")


def alone(
    module: str, *arguments: str, env: dict[str, str] = THREADS, ranks: int = 0, **pipes: Any
) -> subprocess.Popen[str]:
    """A module of the benchmarks in a process of its own, with one thread unless `env` changes that.

    ranks    start this number of processes by the mpiexec in this Python's folder
    """
    command = [sys.executable, "-m", *(["mpi4py", "-m"] if ranks else []), module, *arguments]
    if ranks:
        command = [str(Path(sys.executable).with_name("mpiexec")), "-n", str(ranks), *command]
    settings = {name: value for name, value in os.environ.items() if name not in THREADS} | env
    return subprocess.Popen(command, env=settings, cwd=Path(__file__).parents[1], text=True, **pipes)


def told(module: str, *arguments: str, ranks: int = 0) -> Any:
    """The JSON that such a process prints."""
    process = alone(module, *arguments, ranks=ranks, stdout=subprocess.PIPE)
    return json.loads(process.communicate()[0])


class Worker:
    """An engine in its own process, started and checked.

    until     when it is ended in any case, on the clock of time.monotonic
    status    {"status": "ok"}, or the problem; waits until the process reports it
    rounds    stage → CPU seconds of one step, a number for each round
    """

    def __init__(self, engine: str, workload: str, *what: str, env: dict[str, str] = THREADS, until: float = inf):
        self.until = until
        self.errors = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  closed in close()
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        self.process = alone("benchmarks.worker", engine, workload, *what, env=env, **pipes)
        self.steps, self.spent = 1, 0.0
        self.rounds: dict[str, list[float]] = {}

    @cached_property
    def status(self) -> dict[str, Any]:
        told = self.heard()
        return told if told["status"] != "failed" else told | {"stderr": self.said()}

    def heard(self) -> Any:
        """The next message; a profiler may write lines of its own in between."""
        watch = Timer(max(0.0, min(self.until - time.monotonic(), TIMEOUT_MAX)), self.process.kill)
        watch.daemon = True
        watch.start()
        try:
            for line in self.process.stdout or []:
                if line.startswith("{"):
                    return json.loads(line)
        finally:
            watch.cancel()
        ended = self.process.wait()
        late = time.monotonic() >= self.until
        return {"status": "failed", "why": "out of time" if late else f"its process ended with {ended}"}

    def said(self) -> str:
        """The end of its stderr."""
        self.errors.seek(0)
        return self.errors.read()[-2000:]

    def turn(self) -> None:
        """One round, of as many steps as fill a MOMENT."""
        assert self.process.stdin
        with suppress(OSError):  # if it has ended; the next read reports that
            self.process.stdin.write(f"{self.steps}\n")
            self.process.stdin.flush()
        seconds = self.heard()
        if "status" in seconds:
            self.status = seconds | {"stderr": self.said()}
            return
        for stage, s in seconds.items():
            self.rounds.setdefault(stage, []).append(s)
        step = sum(seconds.values())
        self.spent += step * self.steps
        self.steps = max(1, round(MOMENT / step))

    def dismiss(self) -> None:
        """Let the process end, by closing its input."""
        if self.process.stdin:
            with suppress(OSError):
                self.process.stdin.close()

    def close(self) -> None:
        """End the process."""
        self.dismiss()
        try:
            self.process.wait(min(max(self.until - time.monotonic(), 5), TIMEOUT_MAX))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()
        if self.process.stdout:
            self.process.stdout.close()


def figures(
    workload: Workload,
    names: list[str],
    rounds: int,
    *what: str,
    env: dict[str, str] = THREADS,
    ready: float = inf,
    until: float = inf,
) -> dict[str, dict[str, Any]]:
    """Engine → its status and, if it is right, {"stages": {stage: {"best": seconds, "median": seconds}}}.

    what     "wall" for wall seconds instead of CPU seconds
    ready    when engines that are not ready are ended, on the clock of time.monotonic
    until    when the last round may begin
    """
    workers = {
        name: Worker(name, workload.name, *what, env=env, until=ready) for name in names if engines.installed(name)
    }
    timed = [worker for worker in workers.values() if worker.status["status"] == "ok"]
    for worker in timed:
        worker.until = until + GRACE
    for turn in range(rounds + 1):
        for worker in timed:
            if worker.status["status"] == "ok" and (turn <= 3 or worker.spent < PATIENCE):
                worker.turn()
        if turn and time.monotonic() > until:
            break
    absent = {name: {"status": "not installed"} for name in names if name not in workers}
    found: dict[str, dict[str, Any]] = {name: worker.status for name, worker in workers.items()}
    for worker in workers.values():
        worker.dismiss()
    for name, worker in workers.items():
        worker.close()
        if worker.rounds and found[name]["status"] == "ok":
            found[name] |= {"stages": {stage: summary(samples) for stage, samples in worker.rounds.items()}}
    return found | absent


def summary(samples: list[float]) -> dict[str, float]:
    """Best and median of all rounds but the first, a single step that sets the number of steps."""
    samples = samples[1:] or samples
    return {"best": min(samples), "median": median(samples), "rounds": len(samples)}


def answers(
    workload: Workload, names: list[str], what: str, env: dict[str, str] = THREADS
) -> dict[str, dict[str, Any]]:
    """Engine → its process's answer for "bytes" or the "first" call: see worker.py."""
    found = {}
    for name in names:
        if engines.installed(name):
            worker = Worker(name, workload.name, what, env=env)
            found[name] = worker.status
            worker.close()
    return found
