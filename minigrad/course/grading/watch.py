"""Watch an untrusted process: read its reply up to a size limit, and enforce its limits."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from functools import partial
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from minigrad.course.child import Wall
from minigrad.course.probe import SLEEPING

from .cgroup import ControlGroup, Limits

LOOK = 0.1  # seconds between two measurements of a sandbox
GRACE = 10  # seconds beyond the limits that the program inside enforces itself
ENDING = 10  # seconds to wait for a killed process to end
REPLY = 8 << 20  # bytes
HOME = "/home/student"
IN_MEMORY = ("/dev/shm", "/tmp", HOME)  # the folders that a submission can write to
Process = subprocess.Popen[bytes]
STILL = (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def answer(process: Process, limits: Limits, group: ControlGroup, first: int | None = None) -> tuple[bytes, str]:
    """The reply of a process, and the name of the limit that stopped it, or "".

    first    the pidfd of its first process, from `first_inside`
    """
    assert process.stdout is not None
    said, why, wall = bytearray(), "", Wall(partial(members, process.pid, group), limits.all)
    while not why and len(said) < REPLY:
        if select.select([process.stdout], [], [], LOOK)[0]:
            if not (data := os.read(process.stdout.fileno(), 1 << 16)):
                break
            said += data
        why = overdone(process, limits, group, wall.seconds())
        why = why or ("files" if first is not None and inodes(first) > limits.files else "")
    kill(process)
    return bytes(said), "memory" if group.out_of_memory() else why


def overdone(process: Process, limits: Limits, group: ControlGroup, past: float) -> str:
    """The name of a limit that the sandbox has exceeded, or "". `past` is its wall-clock time in seconds."""
    seconds, memory = group.seconds(), 0
    if seconds is None or "memory" not in group.folders:
        seconds, memory = resource_usage(process.pid)
    passed = {
        "memory": memory > limits.memory,
        "cpu": seconds > limits.all + GRACE,
        "asleep": past > limits.all + GRACE and seconds < SLEEPING * past,
        "late": past > limits.wall_factor * limits.all + GRACE,
    }
    return next((why for why, is_so in passed.items() if is_so), "")


def members(process: int, group: ControlGroup) -> list[int]:
    """The ids of all processes in a sandbox."""
    if found := group.processes():
        return found
    with contextlib.suppress(psutil.Error):
        return [each.pid for each in psutil.Process(process).children(recursive=True)]
    return []


def inodes(first: int) -> int:
    """The number of files and folders in a sandbox. Even an empty file takes a kilobyte of kernel memory."""
    with contextlib.suppress(OSError, IndexError):  # the process has just ended
        pid = Path(f"/proc/self/fdinfo/{first}").read_text().split("Pid:")[1].split()[0]
        found = [os.statvfs(f"/proc/{pid}/root{folder}") for folder in IN_MEMORY]
        return sum(each.f_files - each.f_ffree for each in found)
    return 0


def resource_usage(pid: int) -> tuple[float, int]:
    """The CPU seconds and bytes of memory of a process and all its descendants."""
    seconds, memory = 0.0, 0
    with contextlib.suppress(psutil.Error):
        for each in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
            with contextlib.suppress(psutil.Error):
                seconds += sum(each.cpu_times()[:4])  # of the process, and of its children that have ended
                memory += share(each)
    return seconds, memory


def share(process: psutil.Process) -> int:
    """The memory of a process in bytes: its proportional share (PSS) if readable, else all resident memory."""
    try:
        return int(process.memory_full_info().pss)
    except (psutil.AccessDenied, AttributeError):
        return int(process.memory_info().rss)


def stop(process: Process, first: int | None = None) -> None:
    """End a sandbox with all its processes, and close `first`.

    first    as in `answer`
    """
    kill(process)
    if first is not None:
        select.select([first], [], [], ENDING)
        os.close(first)


def kill(process: Process) -> None:
    """Kill a sandbox at any moment, even while it starts and its processes do not yet die with their parent."""
    if process.poll() is not None:
        return
    with contextlib.suppress(psutil.Error):
        outermost = psutil.Process(process.pid)
        outermost.suspend()  # so that it starts nothing more
        while outermost.status() not in STILL:  # it may just be starting a process
            time.sleep(0.001)
        for each in outermost.children(recursive=True):
            each.kill()
    process.kill()


def first_inside(process: Process) -> int | None:
    """A pidfd of a sandbox's first process, which ends last: readable once it has ended. None if it is gone already."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    with contextlib.suppress(OSError):
        while process.poll() is None:
            if first := children.read_text().split():
                return os.pidfd_open(int(first[0]))
            time.sleep(0.001)
    return None
