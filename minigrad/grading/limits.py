"""What a submission may use: told to the kernel, to bubblewrap, to who watches from outside, and to the inside."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a submission may use.

    cell, part, all    seconds: for one cell, for the probes of one part, for everything
    patience           how many times as long everything may take by the clock, where others keep the machine busy
    memory             bytes, of all its processes together
    disk               bytes, in each of three folders that are kept in memory
    processes          at once
    files              and folders, in the three folders together
    """

    cell: float = 10.0
    part: float = 10.0
    all: float = 60.0
    patience: float = 4.0
    memory: int = 2 << 30
    disk: int = 32 << 20
    processes: int = 64
    files: int = 20_000
