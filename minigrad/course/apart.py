"""Probes in a process of their own: whatever an answer does, it can be stopped, and the notebook goes on.

A thread cannot be stopped within a call into C, as `7**10**8` or a regular expression that tries everything. So where a
process can be forked, a copy of the notebook's looks at the answer. It has all names as they are now, it may take so
much memory and no more, and it answers with plain data, a line for each probe. What it changes is changed in the copy.

A fork copies one thread; a lock that another thread held is held for ever in the copy. So of a copy that waits, and
does not work, nothing is believed: that probe and the rest are looked at again in the notebook's own process.

There, and where no process is forked (Windows; macOS, whose libraries do not bear it; beside a GPU), probes run on a
thread. If nothing else has run for long, for one call holds Python, the process ends, and Jupyter starts another:
what restarting the kernel by hand would do, and what nobody can ask for any more.
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

from minigrad.course.child import Clock, copied, ended, lines
from minigrad.course.probe import BUSY, SECONDS, SLEEPING, UNENDED, Outcome, Probe, evaluated, limited, silent
from minigrad.course.referee import inside, judge

HELD = 5.0  # seconds beyond all other limits, after which one call has held Python for too long
MEMORY = (1 << 30) + (8 << 20) * (os.cpu_count() or 1)  # bytes for an answer, and for a thread on each core


def observe(probes: str, namespace: dict[str, Any], seconds: float = SECONDS) -> list[Outcome]:
    """What each probe gives on these names. After one that had to be stopped, the rest are not run."""
    asked = inside(probes)
    outcomes = in_a_copy(asked, namespace, seconds) if forks() else []
    while len(outcomes) < len(asked) and not (outcomes and outcomes[-1].kind in UNENDED):
        outcomes.append(in_this_process(asked[len(outcomes)], namespace, seconds))
    return judge(probes, outcomes)


def forks() -> bool:
    """Whether a copy of this process can look at an answer: what holds a GPU does not survive a fork."""
    cuda = sys.modules.get("torch.cuda")  # which is there with PyTorch, GPU or not
    return sys.platform == "linux" and "cupy" not in sys.modules and not (cuda and cuda.is_initialized())


def in_this_process(asked: Probe, namespace: dict[str, Any], seconds: float) -> Outcome:
    """What a probe gives on a thread; the process ends if that thread lets no other run."""
    look, before, full = partial(evaluated, asked, namespace), resident(), list[bool]()

    def enough() -> bool:
        full.extend([True] if resident() - before > MEMORY else [])
        return bool(full)

    if sys.platform == "emscripten":
        return limited(look, seconds)
    with Path(os.devnull).open("w") as nowhere:
        faulthandler.dump_traceback_later(BUSY * seconds + HELD, exit=True, file=nowhere)
        try:
            outcome = limited(look, seconds, enough)
        finally:
            faulthandler.cancel_dump_traceback_later()
    return Outcome("raised", "MemoryError") if full and outcome.kind == "endless" else outcome


def resident() -> int:
    """Bytes that this process has in memory, as what every kernel has loaded says; 0 where it is not."""
    psutil = sys.modules.get("psutil")
    return psutil.Process().memory_info().rss if psutil else 0


def in_a_copy(asked: list[Probe], namespace: dict[str, Any], seconds: float) -> list[Outcome]:
    """What a copy of this process gives for each probe; fewer if it was left waiting, none if it cannot be made."""

    def work(writer: int) -> None:
        # On a thread, where no block of the notebook's is open: no_grad, a graph, errstate.
        thread = threading.Thread(target=answer, args=(asked, namespace, seconds, writer))
        thread.start()
        thread.join()

    try:
        with copied(work) as (child, reader):
            return list(islice(told(child, reader, seconds), len(asked)))
    except OSError:  # there is no memory for it, say
        return []


def told(child: int, reader: int, seconds: float) -> Iterator[Outcome]:
    """What the copy says; at last `endless` or `died`, if it comes to that, and nothing if it waits."""
    clock = Clock(child, seconds, BUSY)

    def waits() -> bool:
        return clock.wall() >= seconds and clock.work() <= SLEEPING * clock.wall()

    def left() -> float:
        return 0.0 if waits() else clock.left()

    with contextlib.suppress(ValueError, TypeError):  # the answer has written here
        for line in lines(child, reader, left):
            yield Outcome(*json.loads(line))
            clock = Clock(child, seconds, BUSY)
    if ended(child) or not waits():
        yield Outcome("endless" if clock.left() <= 0 else "died")


# -- in the copy ----------------------------------------------------------------------------------


def answer(asked: list[Probe], namespace: dict[str, Any], seconds: float, writer: int) -> None:
    """Say what each probe gives, as soon as it has."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    limit(round(seconds * len(asked)) + 10)
    with silent():
        for each in asked:
            outcome = evaluated(each, namespace)
            os.write(writer, json.dumps([outcome.kind, outcome.value, outcome.told]).encode() + b"\n")


def limit(seconds: int) -> None:
    """So much memory, no file of what a crash leaves, and an end of its own if the notebook ends before it."""
    import resource

    pages = int(Path("/proc/self/statm").read_text().split()[0])
    for what, most in (
        (resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, seconds),
    ):
        hard = resource.getrlimit(what)[1]
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
