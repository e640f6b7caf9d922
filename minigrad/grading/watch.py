"""Talking with a process that is not trusted: what it says is read up to a size, and what it uses is looked at."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from typing import Protocol

import psutil  # type: ignore[import-untyped]

LOOK = 0.1  # seconds between two looks at what a sandbox uses
GRACE = 10  # seconds beyond the time that the inside keeps by itself
REPLY = 8 << 20


class Bounds(Protocol):
    """Seconds for everything, how many times as long by the clock, and bytes of all its processes."""

    @property
    def all(self) -> float: ...
    @property
    def patience(self) -> float: ...
    @property
    def memory(self) -> int: ...


def talked(process: subprocess.Popen[bytes], job: bytes, limits: Bounds) -> tuple[bytes, str]:
    """What a process answers to a job; and in a word why it was stopped, if it was."""
    answer = bytearray()

    def write() -> None:
        try:
            assert process.stdin is not None
            process.stdin.write(job)
            process.stdin.close()
        except OSError:
            pass  # it ended before it had read its job

    def read() -> None:
        assert process.stdout is not None
        while len(answer) < REPLY and (data := os.read(process.stdout.fileno(), 1 << 16)):
            answer.extend(data)

    threads = [threading.Thread(target=work, daemon=True) for work in (write, read)]
    for thread in threads:
        thread.start()
    why = watched(process, threads[1], limits)
    stop(process)
    for thread in threads:
        thread.join(5)
    return bytes(answer), why


def watched(process: subprocess.Popen[bytes], reading: threading.Thread, limits: Bounds) -> str:
    """Wait for the end of the answer; why it did not come, in a word."""
    deadline = time.monotonic() + limits.patience * limits.all + GRACE
    while reading.is_alive():
        reading.join(LOOK)
        if used(process.pid) > limits.memory:
            return "memory"
        if time.monotonic() > deadline:
            return "time"
    return ""


def used(pid: int) -> int:
    """Bytes in memory of a process and all that it has started."""
    total = 0
    try:
        for each in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            total += each.memory_info().rss
    except psutil.Error:
        pass
    return total


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a sandbox, and with it all that is in it."""
    kill(process)
    process.wait(GRACE)
    for pipe in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(OSError):
            pipe.close()


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a sandbox at any moment: one that has only begun does not yet die with its parent."""
    if process.poll() is not None:
        return
    with contextlib.suppress(psutil.Error):
        outermost = psutil.Process(process.pid)
        outermost.suspend()  # so that it starts nothing more
        for each in outermost.children(recursive=True):
            each.kill()
    process.kill()
