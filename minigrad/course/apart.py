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
import select
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from minigrad.course.probe import BUSY, SECONDS, SLEEPING, UNENDED, Outcome, Probe, evaluated, limited, parsed, silent

LOOK = 0.02  # seconds between two looks at how a copy is doing
HELD = 5.0  # seconds beyond all other limits, after which one call has held Python for too long
MEMORY = (1 << 30) + (8 << 20) * (os.cpu_count() or 1)  # bytes for an answer, and for a thread on each core


def observe(probes: str, namespace: dict[str, Any], seconds: float = SECONDS) -> list[Outcome]:
    """What each probe gives on these names. After one that had to be stopped, the rest are not run."""
    asked = list(parsed(probes))
    outcomes = in_a_copy(asked, namespace, seconds) if forks() else []
    while len(outcomes) < len(asked) and not (outcomes and outcomes[-1].kind in UNENDED):
        outcomes.append(in_this_process(asked[len(outcomes)], namespace, seconds))
    return outcomes


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
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings(action="ignore"):  # that there are threads: see above
            child = os.fork()
    except OSError:  # there is no memory for it, say
        os.close(reader)
        os.close(writer)
        return []
    if child == 0:
        try:
            os.setsid()  # so that what interrupts the notebook does not come here
            # On a thread, where no block of the notebook's is open: no_grad, a graph, errstate.
            thread = threading.Thread(target=answer, args=(asked, namespace, seconds, writer))
            thread.start()
            thread.join()
        finally:
            os._exit(0)
    os.close(writer)
    try:
        return list(islice(told(child, reader, seconds), len(asked)))
    finally:  # also when the learner interrupts the kernel
        os.close(reader)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # where children's ends are ignored
            os.waitpid(child, 0)


def told(child: int, reader: int, seconds: float) -> Iterator[Outcome]:
    """What the copy says; at last `endless` or `died`, if it comes to that, and nothing if it waits."""
    line, since, before = b"", time.monotonic(), 0.0
    news = select.poll()
    news.register(reader, select.POLLIN)
    while True:
        if news.poll(LOOK * 1000):
            data = os.read(reader, 1 << 16)
            if not data:
                yield Outcome("died")
                return
            *lines, line = (line + data).split(b"\n")
            try:
                yield from [Outcome(*json.loads(each)) for each in lines]
            except (ValueError, TypeError):  # the answer has written here
                yield Outcome("died")
                return
            since, before = time.monotonic(), worked(child)
        past, work = time.monotonic() - since, worked(child) - before
        if work >= seconds or past >= BUSY * seconds:
            yield Outcome("endless")
            return
        if past >= seconds and work <= SLEEPING * past:
            yield from [Outcome("died")] if ended(child) else []
            return


def ended(child: int) -> bool:
    """Whether a process is over, though one that it has started may keep its pipe open."""
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def worked(child: int) -> float:
    """Seconds that a process has had of the cores; 0 of one that is gone."""
    try:
        return time.clock_gettime(~child << 3 | 2)  # its clock, as clock_getcpuclockid(3) gives it
    except OSError:
        return 0.0


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
