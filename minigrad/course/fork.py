"""Run probes in a forked process, so that any answer can be killed and the notebook goes on.

A thread cannot be stopped inside a call into C, such as `7**10**8` or a regular expression that backtracks for ever. So
where the system can fork, a copy of the notebook's process evaluates the probes. The copy has all the current names
and a memory limit. It returns plain data, one line for each probe. Its changes do not reach the notebook.

A fork copies one thread, so a lock that another thread held stays locked in the copy for ever. If the copy waits
without using the processor, its result is discarded: that probe and the rest run again in the notebook's own process.

Without fork (on Windows; on macOS, whose libraries do not survive it; with a GPU in use) all probes run on a thread
of the notebook's process. If one call keeps the interpreter lock for too long, the process exits and Jupyter starts a
new kernel: the blocked kernel no longer reacts, so the learner could not restart it by hand.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from minigrad.course.child import Clock, fork_process, has_ended, lines
from minigrad.course.probe import BUSY, SECONDS, SLEEPING, Outcome, ProbeSource, evaluate_probe, run_limited, silent
from minigrad.course.referee import inner_probes, judge

HELD = 5.0  # seconds beyond all other limits; a call that then still keeps the interpreter lock ends the process
MEMORY = (1 << 30) + (8 << 20) * (os.cpu_count() or 1)  # bytes: 1 GB for an answer, 8 MB for a thread on each core


def observe(probes: str, namespace: dict[str, Any], seconds: float = SECONDS) -> list[Outcome]:
    """Evaluate the probes on these names, in order, until one must be stopped or dies. Returns their outcomes."""
    return judge(probes, run_probes(inner_probes(probes), namespace, seconds))


def run_probes(asked: list[ProbeSource], namespace: dict[str, Any], seconds: float = SECONDS) -> list[Outcome]:
    """observe() for the inner halves of probes, without judging what they send."""
    outcomes = in_a_copy(asked, namespace, seconds) if forks() else []
    while len(outcomes) < len(asked) and not (outcomes and outcomes[-1].did_not_end):
        outcomes.append(in_this_process(asked[len(outcomes)], namespace, seconds))
    return outcomes


def forks() -> bool:
    """Whether probes can run in a fork: on Linux, unless this process uses a GPU, which does not survive a fork."""
    cuda = sys.modules.get("torch.cuda")  # imported with PyTorch, with or without a GPU
    return sys.platform == "linux" and "cupy" not in sys.modules and not (cuda and cuda.is_initialized())


def in_this_process(asked: ProbeSource, namespace: dict[str, Any], seconds: float) -> Outcome:
    """Run a probe on a thread. Returns its outcome. The process exits if the thread holds the GIL for too long."""
    look, before, full = partial(evaluate_probe, asked, namespace), resident(), list[bool]()

    def enough() -> bool:
        full.extend([True] if resident() - before > MEMORY else [])
        return bool(full)

    if sys.platform == "emscripten":
        return run_limited(look, seconds)
    with Path(os.devnull).open("w") as nowhere:
        faulthandler.dump_traceback_later(BUSY * seconds + HELD, exit=True, file=nowhere)
        try:
            outcome = run_limited(look, seconds, enough)
        finally:
            faulthandler.cancel_dump_traceback_later()
    return Outcome("raised", "MemoryError") if full and outcome.kind == "endless" else outcome


def resident() -> int:
    """The resident memory of this process in bytes; 0 without psutil, which every Jupyter kernel imports."""
    psutil = sys.modules.get("psutil")
    return psutil.Process().memory_info().rss if psutil else 0


def in_a_copy(asked: list[ProbeSource], namespace: dict[str, Any], seconds: float) -> list[Outcome]:
    """Run the probes in a forked copy. Returns their outcomes: fewer if the copy only waits, none if the fork fails."""

    def work(writer: int) -> None:
        # A new thread does not inherit the notebook's open blocks: no_grad, a graph, errstate.
        thread = threading.Thread(target=answer, args=(asked, namespace, seconds, writer))
        thread.start()
        thread.join()

    try:
        with fork_process(work) as (child, reader):
            return list(islice(read_outcomes(child, reader, seconds), len(asked)))
    except OSError:  # for example, too little memory
        return []


def read_outcomes(child: int, reader: int, seconds: float) -> Iterator[Outcome]:
    """Yield each outcome that the copy writes, then `endless` or `died`, or nothing if the copy is alive but idle."""
    clock = Clock(child, seconds, BUSY)

    def waits() -> bool:
        return clock.wall() >= seconds and clock.work() <= SLEEPING * clock.wall()

    def time_left() -> float:
        return 0.0 if waits() else clock.seconds_left()

    with contextlib.suppress(ValueError, TypeError):  # the learner's code wrote to the pipe
        for line in lines(child, reader, time_left):
            yield Outcome(*json.loads(line))
            clock = Clock(child, seconds, BUSY)
    if has_ended(child) or not waits():
        yield Outcome("endless" if clock.seconds_left() <= 0 else "died")


# -- in the copy ----------------------------------------------------------------------------------


def answer(asked: list[ProbeSource], namespace: dict[str, Any], seconds: float, writer: int) -> None:
    """Write the outcome of each probe as soon as it is known."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    limit(round(seconds * len(asked)) + 10)
    with silent():
        for each in asked:
            outcome = evaluate_probe(each, namespace)
            os.write(writer, json.dumps([outcome.kind, outcome.value, outcome.told]).encode() + b"\n")


def limit(seconds: int) -> None:
    """Limit memory, forbid core dumps, and limit processor time in case the notebook ends before this copy."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    for what, most in (
        (resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, seconds),
    ):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
