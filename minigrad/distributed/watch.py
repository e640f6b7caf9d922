"""What every process is doing, where all of them see it: a wait that nobody will end is an error that says who waits.

The board is a file in memory with a row for each rank. A rank lacks those of its group that have not come to its call,
or the one that it exchanges a message with. It is stuck if one that it lacks has ended, or is stuck itself: the largest
set of which that is true has a knot in it. A rank that computes is waited for, be it ever so slow.

A wait that lasts looks four times a second. It believes a knot when each of its ranks has tried twice more in vain
since it was there, so that neither a message on its way nor a process that the machine has put aside makes one.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .group import DistributedError

LAUNCHED = "MINIGRAD_BOARD"  # the variable of the environment in which the launcher says where its board is
LOOK = 0.25  # seconds
GROUPS = 256  # whose calls are counted; of others no knot is found
TEXT = 400  # bytes of what a rank says of its call
RUNNING, WAITING, ENDED = range(3)


class Receipt(Protocol):
    """A message that is being received."""

    def moving(self) -> bool:
        """Whether some of it has come, and not all."""


class Board:
    """Rows of all ranks; `me` is that of this process, and None in who only looks on.

    state       running, waiting, ended
    serial      how many waits there were
    looks       how often a wait has looked here
    moving      whether a message is arriving
    group       in whose call it waits, or -1; `arrived` counts its calls of each group
    needs       whom it waits for
    words       its last call, or its end
    verdict     what another rank has found of wait `doomed`
    """

    def __init__(self, path: str, n: int, me: int | None = None):
        self.path, self.me, self.receipts = path, me, set[Receipt]()
        rows: Any = np.asarray(np.memmap(path, row(n), "r+", shape=(n,)))  # whose own __getitem__ is of Python
        self.state, self.serial, self.looks, self.moving = (rows[x] for x in ("state", "serial", "looks", "moving"))
        self.group, self.arrived, self.needs = rows["group"], rows["arrived"], rows["needs"]
        self.words, self.verdict, self.doomed = rows["words"], rows["verdict"], rows["doomed"]
        self.groups, self.seen, self.since = 0, [(-1, -1)], self.looks.copy()

    @staticmethod
    def made(n: int, folder: str | None = None) -> str:
        """The path of a new board."""
        handle, path = tempfile.mkstemp(prefix="minigrad-board-", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(bytes(n * row(n).itemsize))  # and no hole in the file: a full disk is found here
        return path

    def number(self) -> int:
        """Of a new group: the same in all ranks, for all of them make it."""
        self.groups += 1
        return self.groups - 1

    def arrive(self, group: int, words: bytes) -> None:
        """This rank has come to a call of a group. It costs half a microsecond, and each call does it."""
        if group < GROUPS:
            self.arrived[self.me, group] += 1
        self.words[self.me] = words

    def end(self, how: str) -> None:
        """This rank will make no more calls."""
        if self.state[self.me] != ENDED:
            said = self.said(self.me)
            self.words[self.me] = fitting(f"{how}; its last call was {said}" if said else how)
            self.state[self.me] = ENDED

    def said(self, rank: Any) -> str:
        words: str = self.words[rank].decode(errors="replace").strip()
        return words

    def wait(
        self, is_done: Callable[[], bool], words: str, needs: Sequence[int], group: int | None, timeout: float
    ) -> None:
        """Return when it is done. Raises DistributedError if it never will be, or not in `timeout` seconds.

        needs    ranks without which it will not be
        group    in whose call they are, so that those who have come to it are not needed any more
        """
        me: Any = self.me
        self.words[me], self.group[me] = fitting(words), -1 if group is None else group
        self.needs[me] = False
        self.needs[me, [*needs] if group is None or group < GROUPS else []] = True
        self.serial[me] += 1
        self.state[me] = WAITING
        began = looked = time.monotonic()
        try:
            while not is_done():
                now = time.monotonic()
                if now - looked > LOOK:
                    looked = now
                    self.look()
                if now - began > timeout:
                    raise DistributedError(self.late(timeout))
                time.sleep(min((now - began) / 100 + 1e-4, 1e-3))
        finally:
            self.state[me] = RUNNING

    def look(self) -> None:
        """Raises DistributedError if this rank is in a knot."""
        me: Any = self.me
        self.looks[me] += 1
        self.moving[me] = any(receipt.moving() for receipt in self.receipts)
        if self.doomed[me] == self.serial[me]:  # said by who saw it first: by now others may have gone on
            raise DistributedError(self.verdict[me].decode(errors="replace"))
        stuck, lacks = self.stuck()
        seen = [(r, int(self.serial[r])) for r in stuck]
        if me not in stuck or seen != self.seen:
            self.seen, self.since = seen, self.looks.copy()
        elif (self.looks[stuck] - self.since[stuck] >= 2).all():
            text = self.knot(stuck, lacks)
            self.verdict[stuck] = fitting(text, 4 * TEXT)
            self.doomed[stuck] = self.serial[stuck]
            raise DistributedError(text)

    def lacking(self) -> np.ndarray:
        """lacks[r, m]: whether rank r waits for m."""
        calls: Any = np.where(self.group >= 0, self.group, 0)
        mine = self.arrived[np.arange(len(calls)), calls]
        late = mine[:, None] > self.arrived[:, calls].T
        lacks: np.ndarray = (self.needs != 0) & (late | (self.group < 0)[:, None]) & (self.state == WAITING)[:, None]
        return lacks

    def stuck(self) -> tuple[np.ndarray, np.ndarray]:
        lacks, ended = self.lacking(), self.state == ENDED
        held = (self.state == WAITING) & (self.moving == 0)
        while True:
            still = held & (lacks & (held | ended)).any(axis=1)
            if (still == held).all():
                return np.flatnonzero(held), lacks
            held = still

    def knot(self, stuck: np.ndarray, lacks: np.ndarray) -> str:
        lines = [f"rank {r} waits in {self.said(r)}, for {ranks(lacks[r])}" for r in stuck]
        ended = np.flatnonzero(lacks[stuck].any(axis=0) & (self.state == ENDED))
        lines += [f"rank {r} has ended: {self.said(r)}" for r in ended]
        why = "these wait for who has ended" if len(ended) else "these wait for one another, and none can go on"
        return "\n    ".join([f"{why}:", *lines])

    def late(self, timeout: float) -> str:
        others = [f"rank {r} is {self.standing(r)}" for r in np.flatnonzero(self.lacking()[self.me])]
        return "\n    ".join([f"rank {self.me} waited {timeout:g} s in {self.said(self.me)}", *others])

    def standing(self, rank: Any) -> str:
        """What a rank is at, or was when it ended."""
        said = self.said(rank)
        if self.state[rank] == RUNNING:
            return f"computing; its last call was {said}" if said else "computing, and has made no call yet"
        return f"waiting in {said}" if self.state[rank] == WAITING else f"over: {said}"


def row(n: int) -> np.dtype[Any]:
    counts: Any = [(name, "i4") for name in ("state", "serial", "looks", "moving", "group", "doomed")]
    texts = [("words", f"S{TEXT}"), ("verdict", f"S{4 * TEXT}")]
    return np.dtype([*counts, ("arrived", "i4", GROUPS), ("needs", "i1", n), *texts])


def ranks(some: np.ndarray) -> str:
    numbers = [str(r) for r in np.flatnonzero(some)]
    return ("rank " if len(numbers) == 1 else "ranks ") + ", ".join(numbers)


def fitting(text: str, most: int = TEXT) -> bytes:
    """As much as there is room for; the end of it has the line."""
    data = text.encode(errors="replace")
    return data if len(data) <= most else data[: most // 4] + b" ... " + data[5 - 3 * most // 4 :]
