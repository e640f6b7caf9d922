"""A process for what may have no end: a copy of this one that has a clock, says lines of plain data, and can be ended.

`check` looks at an answer in one (apart.py), and so does the grader, whose sandbox loads this file by itself
(grading/inside.py): it imports nothing of ours.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

LOOK = 0.05  # seconds between two looks at how it is doing
LATE = 10  # times LOOK after the last look, and who looks has stood still too, as a virtual machine does
ENDING = 1.0  # seconds in which what it has started has to be gone
MOST = 4 << 20  # bytes that it may say; an answer is a few hundred


class Clock:
    """The time that a process has: seconds of work, `patience` times as many on the wall, and no more than another.

    Ask it at each look. Of what goes by between two looks, LATE times LOOK counts at most: the rest went by for both.
    """

    def __init__(self, process: int, seconds: float, patience: float, whole: Clock | None = None):
        self.process, self.seconds, self.patience, self.whole = process, seconds, patience, whole
        self.before, self.seen, self.looked = worked(process), 0.0, time.monotonic()

    def work(self) -> float:
        return worked(self.process) - self.before

    def wall(self) -> float:
        now = time.monotonic()
        self.seen += min(now - self.looked, LATE * LOOK)
        self.looked = now
        return self.seen

    def left(self) -> float:
        mine = min(self.seconds - self.work(), self.patience * self.seconds - self.wall())
        return min(mine, self.whole.left()) if self.whole else mine


def worked(process: int) -> float:
    """Seconds that a process, and those of its children that have ended, have had of a processor.

    0 of one that is gone; on another system than Linux, which tells it otherwise, those of the wall.
    """
    try:
        told = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0.0 if sys.platform == "linux" else time.monotonic()
    return sum(map(int, told.rpartition(")")[2].split()[11:15])) / os.sysconf("SC_CLK_TCK")


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
    pending, total, over = b"", 0, False
    news = select.poll()
    news.register(reader, select.POLLIN)
    while (seconds := left()) > 0 and total < MOST:
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
