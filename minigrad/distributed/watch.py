"""A board with the state of every process, which all can read: it turns deadlocks into errors that name the ranks.

The board is a memory-mapped file with a row for each rank. A rank waits for the members of its group that have not made
the same call, or for the rank that it exchanges a message with. It is stuck if it waits for a rank that has ended or is
stuck, too. The largest set of ranks for which this holds is a knot. A computing rank is never stuck, however slow.

A long wait checks the board four times a second. It reports a knot after each rank in the knot has checked twice
more, so that neither a message in transit nor a suspended process is taken for a deadlock.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .group import DistributedError

LAUNCHED = "MINIGRAD_BOARD"  # the environment variable with the path of the launcher's board
LOOK = 0.25  # seconds between two checks of the board
GROUPS = 256  # groups whose calls are counted; in later groups, knots are not found
TEXT = 400  # bytes of a call's description
RUNNING, WAITING, ENDED = range(3)


class Board:
    """Rows of all ranks; `me` is the rank of this process, None in the launcher.

    state       running, waiting or ended
    serial      number of waits so far
    looks       number of checks of the board
    moving      whether a message is arriving
    group       the group in whose call the rank waits, or -1; `arrived` counts the rank's calls of each group
    needs       the ranks that it waits for
    words       its last call, or its end
    verdict     the error that another rank has found for this rank's wait number `doomed`
    arriving    for each message that this rank receives, a test whether a part has arrived, but not all of it
    """

    def __init__(self, path: str, n: int, me: int | None = None):
        self.path, self.me, self.arriving = path, me, set[Callable[[], bool]]()
        rows: Any = np.asarray(np.memmap(path, row(n), "r+", shape=(n,)))  # memmap's indexing is slow
        self.state, self.serial, self.looks, self.moving = (rows[x] for x in ("state", "serial", "looks", "moving"))
        self.group, self.arrived, self.needs = rows["group"], rows["arrived"], rows["needs"]
        self.words, self.verdict, self.doomed = rows["words"], rows["verdict"], rows["doomed"]
        self.groups, self.seen, self.since = 0, [(-1, -1)], self.looks.copy()

    @staticmethod
    def create_file(n: int, folder: str | None = None) -> str:
        """Create a board's file, and return its path."""
        handle, path = tempfile.mkstemp(prefix="minigrad-board-", dir=folder)
        with os.fdopen(handle, "wb") as file:
            file.write(bytes(n * row(n).itemsize))  # not a sparse file, so that a full disk fails here
        return path

    def number(self) -> int:
        """The number of a new group: the same in all ranks, as all ranks make all groups."""
        self.groups += 1
        return self.groups - 1

    def arrive(self, group: int, words: bytes) -> None:
        """Note that this rank makes a call of a group. Every call does this; it takes half a microsecond."""
        if group < GROUPS:
            self.arrived[self.me, group] += 1
        self.words[self.me] = words

    def end(self, how: str) -> None:
        """Note that this rank will make no more calls."""
        if self.state[self.me] != ENDED:
            said = self.last_call(self.me)
            self.words[self.me] = fitting(f"{how}; its last call was {said}" if said else how)
            self.state[self.me] = ENDED

    def last_call(self, rank: Any) -> str:
        words: str = self.words[rank].decode(errors="replace").strip()
        return words

    def wait(
        self, is_done: Callable[[], bool], words: str, needs: Sequence[int], group: int | None, timeout: float
    ) -> None:
        """Return when is_done() is true. Raises DistributedError if it never will be, or is not in `timeout` seconds.

        needs    the ranks that this rank waits for
        group    the group of the call; ranks that have made this call too are no longer waited for
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
                    others = [f"rank {r} is {self.standing(r)}" for r in np.flatnonzero(self.lacking()[me])]
                    news = f"rank {me} waited {timeout:g} s in {self.last_call(me)}"
                    raise DistributedError("\n    ".join([news, *others]))
                time.sleep(min((now - began) / 100 + 1e-4, 1e-3))
        finally:
            self.state[me] = RUNNING

    def look(self) -> None:
        """Check the board. Raises DistributedError if this rank is in a knot."""
        me: Any = self.me
        self.looks[me] += 1
        self.moving[me] = any(is_arriving() for is_arriving in self.arriving)
        if self.doomed[me] == self.serial[me]:  # the first rank to see the knot reported it: others may have gone on
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
        late = self.arrived[np.arange(len(calls)), calls][:, None] > self.arrived[:, calls].T
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
        lines = [f"rank {r} waits in {self.last_call(r)}, for {ranks(lacks[r])}" for r in stuck]
        ended = np.flatnonzero(lacks[stuck].any(axis=0) & (self.state == ENDED))
        lines += [f"rank {r} has ended: {self.last_call(r)}" for r in ended]
        why = "these wait for a rank that has ended" if len(ended) else "these wait for one another, and none can go on"
        return "\n    ".join([f"{why}:", *lines])

    def standing(self, rank: Any) -> str:
        """What a rank is doing, or how it ended."""
        said = self.last_call(rank)
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
    """The text as bytes, cut in the middle if too long, as its end has the line number."""
    data = text.encode(errors="replace")
    return data if len(data) <= most else data[: most // 4] + b" ... " + data[5 - 3 * most // 4 :]
