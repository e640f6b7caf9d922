"""A filter of system calls: the kernel runs it before each call, and it refuses calls that no submission needs.

Calls that need privileges are not listed, because a submission has none. The listed calls give memory that belongs to
no process, keys that outlive their process, the memory of other processes, namespaces with privileges, ways around the
missing network, or a large part of the kernel in which to find bugs.

The filter is a classic BPF program: man 2 seccomp, linux/filter.h and linux/seccomp.h.
"""

from __future__ import annotations

import errno
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

REFUSED = {  # name: (number on x86-64, number elsewhere)
    name: (int(x86), int(other))
    for name, x86, other in map(str.split, Path(__file__).with_name("system_calls.txt").read_text("utf-8").splitlines())
}
CLONE, CLONE3, SOCKET, SOCKETPAIR, FCNTL = (56, 220), (435, 435), (41, 198), (53, 199), (72, 25)
NEWEST = 462  # mseal, of Linux 6.10: later calls are unknown, and so are x32's, whose numbers start at 2³⁰
NAMESPACES = 0x7E02_0000  # the flags of clone that make namespaces: CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET
AF_UNIX = 1  # the only family allowed: memory limits do not count data queued in Internet sockets
F_SETLEASE = 1024  # opening a leased file blocks until the holder releases the lease
MACHINES = {"x86_64": (0xC000_003E, 0), "aarch64": (0xC000_00B7, 1), "riscv64": (0xC000_00F3, 1)}  # linux/audit.h

LOAD, EQUAL, GREATER, ANY_BIT, RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
NUMBER, MACHINE, FIRST_ARGUMENT, SECOND_ARGUMENT = 0, 4, 16, 24  # offsets in struct seccomp_data
ERROR = 0x0005_0000


def step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One instruction. if_true and if_false are the numbers of instructions that a test skips."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


ALLOW = step(RETURN, 0x7FFF_0000)


def program(machine: str) -> bytes:
    """The filter for a machine, by its name in platform.machine(); empty if the machine is unknown."""
    if machine not in MACHINES:
        return b""
    audit, column = MACHINES[machine]
    same_namespaces = [step(LOAD, FIRST_ARGUMENT), *when(ANY_BIT, NAMESPACES, refuse(errno.EPERM)), ALLOW]
    local = [step(LOAD, FIRST_ARGUMENT), *when(EQUAL, AF_UNIX, ALLOW), refuse(errno.EAFNOSUPPORT)]
    no_lease = [step(LOAD, SECOND_ARGUMENT), *when(EQUAL, F_SETLEASE, refuse(errno.EPERM)), ALLOW]
    calls = {
        CLONE3: [refuse(errno.ENOSYS)],  # a filter cannot read its flags; libc then uses clone
        **{numbers: [refuse(errno.EPERM)] for numbers in REFUSED.values()},
        CLONE: same_namespaces, SOCKET: local, SOCKETPAIR: local, FCNTL: no_lease,
    }  # fmt: skip
    lines = [step(LOAD, MACHINE), step(EQUAL, audit, 1, 0), refuse(errno.ENOSYS)]
    lines += [step(LOAD, NUMBER), *when(GREATER, NEWEST, refuse(errno.ENOSYS))]
    lines += chain.from_iterable(when(EQUAL, numbers[column], *answer) for numbers, answer in calls.items())
    return b"".join([*lines, ALLOW])


def when(test: int, value: int, *lines: bytes) -> list[bytes]:
    """Instructions that run only if a test of the loaded value holds."""
    return [step(test, value, 0, len(lines)), *lines]


def refuse(error: int) -> bytes:
    return step(RETURN, ERROR | error)


@contextmanager
def file() -> Iterator[int]:
    """A file descriptor with the filter for this machine, to read once."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"):
        with os.fdopen(writer, "wb") as file:
            file.write(program(platform.machine()))
        yield reader


def missing() -> list[str]:
    """The protection that is missing here, in words."""
    machine = platform.machine()
    return [] if machine in MACHINES else [f"system calls are not filtered: the filter knows no {machine}"]
