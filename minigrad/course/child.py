"""A process for what may have no end: a copy of this one that has a clock, says lines of plain data, and can be ended.

`check` looks at an answer in one (apart.py), and so does the grader, whose sandbox loads this file by itself
(course/grading/inside.py): it imports nothing of ours.
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

LOOK = 0.05  # seconds between two looks at how it is doing
LATE = 10  # times LOOK after the last look, and who looks has stood still too, as a virtual machine does
SLOWEST = 4  # times slower the clock on the wall may run
DRIFT = 1.0  # seconds of waiting or of work that a look may have missed, and a later one takes into account
CROWD = 100  # processes; a sandbox has 64 and some of its own
ENDING = 1.0  # seconds in which what it has started has to be gone
MOST = 4 << 20  # bytes that it may say; an answer is a few hundred


class Wall:
    """The clock on the wall, by which some processes are stopped; it runs slower while they are kept waiting.

    Between two looks it advances by at most LATE times LOOK: after a longer gap, this process had stopped as well.
    If a thread is ready to run, and all processes together worked for less time than one processor has, the missing
    time does not count; but the clock runs at least at 1/SLOWEST of its speed. A process that sleeps gains nothing
    from this, and neither does one that keeps its own threads waiting.

    processes    returns their ids
    after        seconds from which on it looks at them, which takes a millisecond
    """

    def __init__(self, processes: Callable[[], Iterable[int]] = tuple, after: float = 0.0):
        self.processes, self.after, self.looked = processes, after, time.monotonic()
        self.passed = self.waited = self.work = 0.0

    def seconds(self) -> float:
        """Seconds so far. Call it at each look."""
        if (now := time.monotonic()) - self.looked > LOOK / 2:
            gap = min(now - self.looked, LATE * LOOK)
            ready, work = demand(self.processes() if self.passed >= self.after else ())
            waited = self.waited + ready * gap - max(work - self.work, 0.0)
            spared = min(max(waited, 0.0), gap - gap / SLOWEST)
            self.waited = min(max(waited - spared, -DRIFT), DRIFT)
            self.passed, self.looked, self.work = self.passed + gap - spared, now, work
        return self.passed


class Clock:
    """The time that a process has: seconds of work, `patience` times as many on the wall, and no more than another."""

    def __init__(
        self, process: int, seconds: float, patience: float, whole: Clock | None = None, wall: Wall | None = None
    ):
        self.process, self.seconds, self.patience, self.whole = process, seconds, patience, whole
        self.on_wall: Wall = wall or (whole.on_wall if whole else Wall())
        self.before, self.began = worked(process), self.on_wall.seconds()

    def work(self) -> float:
        return worked(self.process) - self.before

    def wall(self) -> float:
        return self.on_wall.seconds() - self.began

    def left(self) -> float:
        mine = min(self.seconds - self.work(), self.patience * self.seconds - self.wall())
        return min(mine, self.whole.left()) if self.whole else mine


def worked(process: int) -> float:
    """Seconds that a process, and those of its children that have ended, have had of a processor.

    0 of one that is gone; on another system than Linux, which tells it otherwise, those of the wall.
    """
    try:
        numbers = status(f"{process}/stat")[1:]
    except OSError:
        return 0.0 if sys.platform == "linux" else time.monotonic()
    return sum(map(int, numbers[10:14])) / os.sysconf("SC_CLK_TCK")


def status(path: str) -> list[str]:
    """The words of a file of /proc after the program's name: a process's or a thread's state, and its numbers."""
    with open(f"/proc/{path}", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def demand(processes: Iterable[int]) -> tuple[bool, float]:
    """Whether a thread of these processes runs or could run, and the seconds that all have worked."""
    seconds, ready = 0.0, False
    for process in processes:
        seconds += worked(process)
        with contextlib.suppress(OSError):  # it has just ended
            threads = os.listdir(f"/proc/{process}/task")
            ready = ready or any(status(f"{process}/task/{thread}/stat")[0] == "R" for thread in threads)
    return ready, seconds


def others() -> list[int]:
    """All processes but this one and its parent; none if there are more than a sandbox may have, or none are listed."""
    with contextlib.suppress(OSError):
        found = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {os.getpid(), os.getppid()}
        return list(found) if len(found) <= CROWD else []
    return []


@contextlib.contextmanager
def copied(work: Callable[[int], None]) -> Iterator[tuple[int, int]]:
    """A copy of this process that does some work, and where to read what it writes; it is ended with the block.

    Raises OSError where none can be made.
    """
    reader, writer = os.pipe()
    try:
        with warnings.catch_warnings(action="ignore"):  # that there are threads: apart.py says what comes of it
            child = os.fork()
    except OSError:
        os.close(reader)
        os.close(writer)
        raise
    if child == 0:
        try:
            os.setsid()  # so that what interrupts this process does not come there, and all it starts can be ended
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
        with contextlib.suppress(ChildProcessError):  # where children's ends are ignored
            os.waitpid(child, 0)
        until = time.monotonic() + ENDING
        with contextlib.suppress(OSError):  # there is none left, and there is room for others
            while time.monotonic() < until:
                os.killpg(child, signal.SIGKILL)
                time.sleep(0.01)


def lines(child: int, reader: int, left: Callable[[], float]) -> Iterator[bytes]:
    """What a process writes, line by line, until it has ended, no time is left, or it writes too much."""
    pending, total, over, look = b"", 0, False, 0.0
    news = select.poll()
    news.register(reader, select.POLLIN)
    while total < MOST:
        if (now := time.monotonic()) >= look:  # a line comes sooner than a look takes
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
        elif over:  # what it has left running may hold the pipe open for ever
            return
        else:
            over = ended(child)


def ended(child: int) -> bool:
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:  # where children's ends are ignored
        return True
