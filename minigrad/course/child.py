"""A forked process for code that may never end: it has a time limit, writes lines of plain data, and can be killed.

`check` evaluates each answer in such a process (fork.py), and so does the grader. The grader's sandbox loads this file
without the package (course/grading/inside.py), so this file imports nothing of minigrad.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator

LOOK = 0.05  # seconds between two measurements of the process
LATE = 10  # a gap of more than LATE * LOOK seconds: this process was stopped too, as in a suspended virtual machine
SLOWEST = 4  # the slowed wall clock runs at 1/SLOWEST of its normal speed or faster
DRIFT = 1.0  # seconds of waiting or work that one measurement may miss and a later measurement corrects
CROWD = 100  # more processes are not measured; a sandbox has at most 64 and a few of its own
ENDING = 1.0  # seconds to wait until the processes that the fork started have ended
MOST = 4 << 20  # bytes that the fork may write; an answer takes a few hundred


class Wall:
    """A wall clock for the time limit of some processes. It runs slower while other programs keep them waiting.

    Between two measurements it advances by at most LATE * LOOK, because in a longer gap this process had stopped too.
    If a thread is ready to run, and all the processes together used less than one processor, the missing time does
    not count; but the clock runs at least at 1/SLOWEST of its speed. A process that sleeps gains nothing from this,
    and neither does a process that keeps its own threads waiting.

    processes    a function that returns the ids of the processes
    after        seconds before the first measurement: each takes a millisecond
    """

    def __init__(self, processes: Callable[[], Iterable[int]] = tuple, after: float = 0.0):
        self.processes, self.after, self.looked = processes, after, time.monotonic()
        self.passed = self.waited = self.work = 0.0

    def seconds(self) -> float:
        """Seconds so far. Call it at each measurement."""
        if (now := time.monotonic()) - self.looked > LOOK / 2:
            gap = min(now - self.looked, LATE * LOOK)
            ready, work = demand(self.processes() if self.passed >= self.after else ())
            waited = self.waited + ready * gap - max(work - self.work, 0.0)
            spared = min(max(waited, 0.0), gap - gap / SLOWEST)
            self.waited = min(max(waited - spared, -DRIFT), DRIFT)
            self.passed, self.looked, self.work = self.passed + gap - spared, now, work
        return self.passed


class Clock:
    """The limits of a process: `seconds` of CPU time, `wall_factor` times that by the wall, and the rest of `whole`."""

    def __init__(
        self, process: int, seconds: float, wall_factor: float, whole: Clock | None = None, wall: Wall | None = None
    ):
        self.process, self.seconds, self.wall_factor, self.whole = process, seconds, wall_factor, whole
        self.on_wall: Wall = wall or (whole.on_wall if whole else Wall())
        self.before, self.began = cpu_seconds(process), self.on_wall.seconds()

    def work(self) -> float:
        return cpu_seconds(self.process) - self.before

    def wall(self) -> float:
        return self.on_wall.seconds() - self.began

    def seconds_left(self) -> float:
        mine = min(self.seconds - self.work(), self.wall_factor * self.seconds - self.wall())
        return min(mine, self.whole.seconds_left()) if self.whole else mine


def cpu_seconds(process: int) -> float:
    """The CPU seconds of a process and of those of its children that have ended.

    0 if the process is gone. Only Linux has /proc: elsewhere these are wall-clock seconds.
    """
    try:
        numbers = status(f"{process}/stat")[1:]
    except OSError:
        return 0.0 if sys.platform == "linux" else time.monotonic()
    return sum(map(int, numbers[10:14])) / os.sysconf("SC_CLK_TCK")


def status(path: str) -> list[str]:
    """The fields of a /proc stat file after the program's name: the state of a process or thread, and its numbers."""
    with open(f"/proc/{path}", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def demand(processes: Iterable[int]) -> tuple[bool, float]:
    """Whether any thread of these processes runs or is ready to run, and the CPU seconds of all of them."""
    seconds, ready = 0.0, False
    for process in processes:
        seconds += cpu_seconds(process)
        with contextlib.suppress(OSError):  # the process has just ended
            threads = os.listdir(f"/proc/{process}/task")
            ready = ready or any(status(f"{process}/task/{thread}/stat")[0] == "R" for thread in threads)
    return ready, seconds


def others() -> list[int]:
    """All processes except this one and its parent; none if there are more than CROWD, or without /proc."""
    with contextlib.suppress(OSError):
        found = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {os.getpid(), os.getppid()}
        return list(found) if len(found) <= CROWD else []
    return []


@contextlib.contextmanager
def fork_process(work: Callable[[int], None]) -> Iterator[tuple[int, int]]:
    """Fork this process to do some work. Yields the fork's id and a pipe to read from. Kills the fork at the end.

    Raises OSError if the fork fails.
    """
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings(action="ignore"):  # Python warns of threads in a fork; fork.py handles them
            child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if child == 0:
        try:
            os.setsid()  # Ctrl-C does not reach it, and all its own processes can be killed as a group
            work(writer)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        yield child, reader
    finally:
        os.close(reader)
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(OSError):
                kill(child, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored
            os.waitpid(child, 0)
        until = time.monotonic() + ENDING
        with contextlib.suppress(OSError):  # raised when the whole group has ended
            while time.monotonic() < until:
                os.killpg(child, signal.SIGKILL)
                time.sleep(0.01)


def lines(child: int, reader: int, left: Callable[[], float]) -> Iterator[bytes]:
    """The lines that a process writes, until it ends, its time is up, or it has written more than MOST bytes."""
    pending, total, over, look = b"", 0, False, 0.0
    news = select.poll()
    news.register(reader, select.POLLIN)
    while total < MOST:
        if (now := time.monotonic()) >= look:  # not for each line: measuring takes longer than reading a line
            seconds, look = left(), now + LOOK / 2
            if seconds <= 0:
                return
        if news.poll(0 if over else 1000 * min(LOOK, seconds)):
            data = os.read(reader, 1 << 16)
            if not data:
                return
            total += len(data)
            *whole, pending = (pending + data).split(b"\n")
            yield from whole
        elif over:  # a process that the child left running may keep the pipe open for ever
            return
        else:
            over = has_ended(child)


def has_ended(child: int) -> bool:
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # where SIGCHLD is ignored
        return True
