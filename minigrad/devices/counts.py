"""What a device is made to do, counted: see simulated.py."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import DeviceError


@dataclass
class Counts:
    """What a block of code made the device do.

    launches    kernels started
    copies      transfers between host and device, and their bytes
    syncs       values read, for which everything before them had to finish
    """

    launches: int = 0
    copies: int = 0
    bytes: int = 0
    syncs: int = 0


ACTIVE: list[Counts] = []  # one list for all threads: a device is one, whoever uses it

Tape = list[Callable[[], Any]]


class Thread(threading.local):
    """What a thread does with what it launches.

    tapes     what is being recorded, the innermost last: CUDA records a stream, and each thread has one of its own
    inside    whether it is within one kernel
    """

    def __init__(self) -> None:
        self.tapes: list[Tape] = []
        self.inside = False

    @property
    def counts(self) -> list[Counts]:
        """Whom it is to tell."""
        return [] if self.inside else ACTIVE


THREAD = Thread()


@contextmanager
def counting() -> Iterator[Counts]:
    """Counts of a block; blocks nest, and the outer ones count on."""
    counts = Counts()
    ACTIVE.append(counts)
    try:
        yield counts
    finally:
        ACTIVE[:] = [c for c in ACTIVE if c is not counts]


@contextmanager
def recording() -> Iterator[Tape]:
    """A list of what is launched in a block, which is written down and, as far as it has an effect, not run."""
    tape: Tape = []
    THREAD.tapes.append(tape)
    try:
        yield tape
    finally:
        THREAD.tapes.pop()


@contextmanager
def uncounted() -> Iterator[None]:
    """A block that stands for one kernel, whatever is called in it."""
    before = THREAD.inside, THREAD.tapes
    THREAD.inside, THREAD.tapes = True, []
    try:
        yield
    finally:
        THREAD.inside, THREAD.tapes = before


def launched(again: Callable[[], Any], run: bool = False) -> None:
    """A kernel is started.

    again    does what it does, once more
    run      whether to do it now, unless this is being recorded
    """
    if THREAD.tapes:
        THREAD.tapes[-1].append(again)
        return
    for counts in THREAD.counts:
        counts.launches += 1
    if run:
        again()


def forbidden(what: str) -> None:
    """Raises DeviceError while launches are recorded: CUDA, or CuPy, does not record that."""
    if THREAD.tapes:
        raise DeviceError(f"{what} cannot be recorded: a stream that is being captured takes launches and nothing else")


def copied(host: np.ndarray) -> None:
    """An array went from host to device, or back."""
    forbidden("a copy between host and device")
    for counts in THREAD.counts:
        counts.copies += 1
        counts.bytes += host.nbytes


def read(host: np.ndarray) -> np.ndarray:
    """An array of the device, now that the host has waited for it and carried it over."""
    waited()
    copied(host)
    return host


def waited() -> None:
    """The host had to know something before it could go on."""
    forbidden("reading a value")
    for counts in THREAD.counts:
        counts.syncs += 1
