"""The filter of system calls, run step by step as the kernel runs it, for machines that are not there."""

import errno
import re
import struct
from pathlib import Path

import pytest

from minigrad.course.grading.seccomp import CLONE, CLONE3, FCNTL, MACHINES, REFUSED, SOCKET, SOCKETPAIR, program

pytestmark = pytest.mark.share(1)

THREAD = 0x3D0F00  # the flags that C's library makes a thread with
HEADERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm-generic/unistd.h")


def judged(machine, number, argument=0, audit=None, second=0):
    """The error that the kernel would give; 0 if it lets the call through."""
    data = struct.pack("=IIQQQ", number, MACHINES[machine][0] if audit is None else audit, 0, argument, second)
    steps = [*struct.iter_unpack("=HBBI", program(machine))]
    at, loaded = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:
                (loaded,) = struct.unpack_from("=I", data, value)
            case 0x15 | 0x25 | 0x45:
                holds = {0x15: loaded == value, 0x25: loaded > value, 0x45: bool(loaded & value)}[code]
                at += if_true if holds else if_false
            case 0x06:
                return 0 if value == 0x7FFF0000 else value & 0xFFFF if value >> 16 == 5 else None


@pytest.mark.parametrize("machine", MACHINES)
def test_what_is_in_the_list_is_refused_and_nothing_else(machine):
    column = MACHINES[machine][1]
    for numbers in REFUSED.values():
        assert judged(machine, numbers[column]) == errno.EPERM
    special = {call[column] for call in (CLONE3, SOCKET, SOCKETPAIR)}
    others = {*range(424)} - {numbers[column] for numbers in REFUSED.values()} - special
    assert {judged(machine, number) for number in others} == {0}


@pytest.mark.parametrize("machine", MACHINES)
def test_processes_and_threads_are_made_and_namespaces_are_not(machine):
    clone, clone3 = CLONE[MACHINES[machine][1]], CLONE3[MACHINES[machine][1]]
    assert (judged(machine, clone, 17), judged(machine, clone, THREAD)) == (0, 0)
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert judged(machine, clone, flag | 17) == errno.EPERM
    assert judged(machine, clone3) == errno.ENOSYS  # so that C's library takes clone


@pytest.mark.parametrize("machine", MACHINES)
def test_only_sockets_of_the_family_unix_are_allowed(machine):
    """Buffers of loopback connections held 2.1 GB, which no memory limit counts."""
    for call in (SOCKET, SOCKETPAIR):
        number = call[MACHINES[machine][1]]
        through = [family for family in range(64) if judged(machine, number, family) == 0]
        assert through == [1]
        assert judged(machine, number, 40) == errno.EAFNOSUPPORT


@pytest.mark.parametrize("machine", MACHINES)
def test_files_can_be_locked_but_not_leased(machine):
    fcntl = FCNTL[MACHINES[machine][1]]
    assert [judged(machine, fcntl, second=command) for command in (1, 6, 1024)] == [0, 0, errno.EPERM]


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_other_machines_and_of_later_kernels_are_unknown(machine):
    assert judged(machine, 0, audit=0x40000003) == errno.ENOSYS  # of 32 bits
    assert judged(machine, 0x40000000 | 39) == errno.ENOSYS  # of x32
    assert judged(machine, 999) == errno.ENOSYS


@pytest.mark.parametrize("column", [0, 1])
def test_the_numbers_are_those_of_the_kernel(column):
    header = Path(HEADERS[column])
    if not header.exists():
        pytest.skip("the kernel's headers are not installed")
    told = {name: int(n) for name, n in re.findall(r"^#define __NR_(\w+) (\d+)", header.read_text(), re.MULTILINE)}
    ours = REFUSED | {"clone": CLONE, "clone3": CLONE3, "socket": SOCKET, "socketpair": SOCKETPAIR, "fcntl": FCNTL}
    assert {name: numbers[column] for name, numbers in ours.items() if name in told} == {
        name: told[name] for name in ours if name in told
    }
    assert len(ours.keys() & told.keys()) > len(ours) - 4


def test_an_unknown_machine_has_no_filter():
    assert program("m68k") == b""
