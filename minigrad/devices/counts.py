"""What a device is made to do, counted: see simulated.py."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np


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


@contextmanager
def counting() -> Iterator[Counts]:
    """Counts of a block; blocks nest, and the outer ones count on."""
    counts = Counts()
    ACTIVE.append(counts)
    try:
        yield counts
    finally:
        ACTIVE[:] = [c for c in ACTIVE if c is not counts]


def launched() -> None:
    """A kernel was started."""
    for counts in ACTIVE:
        counts.launches += 1


def copied(host: np.ndarray) -> None:
    """An array went from host to device, or back."""
    for counts in ACTIVE:
        counts.copies += 1
        counts.bytes += host.nbytes


def read(host: np.ndarray) -> np.ndarray:
    """An array of the device, now that the host has waited for it and carried it over."""
    waited()
    copied(host)
    return host


def waited() -> None:
    """The host had to know something before it could go on."""
    for counts in ACTIVE:
        counts.syncs += 1
