"""The books of memory: which arrays there are, and whose each is.

An array is held by a weak reference, and with it, for each consumer, how many hold it as theirs. One that is several's
is counted once, as that of the first in CONSUMERS. An entry changes the sums of what it touches, however many arrays
there are.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple, Self, cast
from weakref import ref

from ..engine.core.node import Place
from ..engine.core.versions import owner

CONSUMERS = (
    "parameters",
    "optimizer state",
    "inputs",
    "gradients",
    "saved for backward",
    "other activations",
    "compiler's workspace",
)
Live = tuple[int, ...]  # bytes of each of CONSUMERS
NOTHING: Live = (0,) * len(CONSUMERS)
PYTHONS = 1 << 13  # bytes: what rises by less are Python's objects


class Of:
    """The numbers of CONSUMERS."""

    PARAMETERS, STATE, INPUTS, GRADIENTS, SAVED, OTHER, WORKSPACE = range(7)


class About(NamedTuple):
    """Where something happens: the sign of the op, the module that is being called, the user's line."""

    op: str = ""
    module: str = ""
    place: Place | None = None


UNKNOWN = About()


class Known(ref[Any]):
    """A weak reference that is itself, and not what it refers to; it knows the id of that."""

    __slots__ = ("key",)
    __hash__, __eq__ = object.__hash__, object.__eq__

    def __new__(cls, x: Any, callback: Callable[[Any], None], *more: Any) -> Self:
        return super().__new__(cls, x, callback)


class Holding(Known):
    """An array that is there.

    about           where it was first seen
    held            consumer → how many hold it as theirs
    story           (moment, consumer), each time it becomes another's
    born, died      the moments
    old             its bytes, if it is older than the ledger, and so unknown to tracemalloc
    """

    __slots__ = ("about", "born", "died", "held", "nbytes", "old", "story")

    def __init__(self, x: Any, callback: Callable[[Any], None], nbytes: int, about: About, born: int, is_old: bool):
        self.key, self.nbytes, self.about, self.old = id(x), nbytes, about, nbytes * is_old
        self.held: dict[int, int] = {}
        self.story = [(born, Of.OTHER)]
        self.born, self.died = born, cast(int | None, None)

    def at(self, k: int, since: int | None) -> int | None:
        """Whose it is at a moment; None if it is not there. What backward lets go since a moment is still kept."""
        if since is not None and self.at(since - 1, None) == Of.SAVED:
            return Of.SAVED
        return self.consumer(k) if self.born <= k and (self.died is None or k < self.died) else None

    def consumer(self, k: int) -> int:
        """Whose it is at a moment."""
        return next(consumer for moment, consumer in reversed(self.story) if moment <= k)


class Books:
    """What is alive.

    number     of the moment that is next
    counted    bytes of each consumer
    moved      of them, those that were there before this event began, and became another's in it
    freed      bytes saved for backward that were let go since the last moment
    old        bytes of arrays that are older than the ledger
    log        every array that there ever was
    """

    def __init__(self) -> None:
        self.number = self.freed = self.old = 0
        self.went = self.gone  # one object for all references
        self.counted, self.moved = [*NOTHING], [*NOTHING]
        self.log: list[Holding] = []
        self.holdings: dict[int, Holding] = {}  # by id of the array, or of the program whose workspace it is

    def noted(self, array: Any, about: About = UNKNOWN, is_new: bool = False) -> Holding:
        """An array that is there.

        is_new    whether it was surely made just now, if it was not known
        """
        array = array if array.base is None else owner(array)
        return self.holdings.get(id(array)) or self.added(array, array.nbytes, about, is_new)

    def known(self, array: Any) -> Holding | None:
        """An array as it is in the books, if it is."""
        return self.holdings.get(id(owner(array)))

    def added(self, x: Any, nbytes: int, about: About, is_new: bool = False) -> Holding:
        """An array, or a program with its workspace, that was not known."""
        is_old = not is_new and tracemalloc.get_object_traceback(x) is None
        found = self.holdings[id(x)] = Holding(x, self.went, nbytes, about, self.number, is_old)
        self.log.append(found)
        self.counted[Of.OTHER] += nbytes
        self.old += found.old
        return found

    def gone(self, holding: Any) -> None:
        """An array went."""
        del self.holdings[holding.key]
        holding.died = self.number
        consumer = holding.story[-1][1]
        self.counted[consumer] -= holding.nbytes
        self.old -= holding.old
        self.freed += holding.nbytes * (consumer == Of.SAVED)

    def hold(self, array: Any, consumer: int, about: About = UNKNOWN, is_new: bool = False) -> None:
        """The array is that consumer's, until it goes."""
        holding = self.noted(array, about, is_new)
        if consumer not in holding.held:
            self.changed(holding, consumer, 1)

    def changed(self, holding: Holding, consumer: int, by: int) -> None:
        """One more, or one less, holds it as that."""
        if holding.died is not None:
            return
        held = holding.held
        held[consumer] = held.get(consumer, 0) + by
        if not held[consumer]:
            del held[consumer]
        before, after = holding.story[-1][1], min(held, default=Of.OTHER)
        if before != after:
            holding.story.append((self.number, after))
            was_there = by > 0 and holding.born < self.number
            for sums in (self.counted, self.moved) if was_there else (self.counted,):
                sums[before] -= holding.nbytes
                sums[after] += holding.nbytes


class Gauge:
    """What tracemalloc, to which NumPy reports, has seen between two events; nothing, unless it is open.

    now      bytes at the beginning of this event
    extra    how much more there was since the last event, if that is more than there was then, too
    own      bytes of what the ledger has written
    """

    def __init__(self) -> None:
        self.is_open, self.now, self.extra, self.own, self.level, self.start = False, 0, 0, 0, 0, 0

    def open(self) -> None:
        """Begin. Raises RuntimeError where tracemalloc is somebody else's."""
        if tracemalloc.is_tracing():
            raise RuntimeError(
                "tracemalloc is on, in this thread or another, and the ledger would start its peak anew at each op: "
                "stop it first, or say exact=False, which does without"
            )
        tracemalloc.start()
        self.is_open, self.start = True, tracemalloc.get_traced_memory()[0]

    def close(self) -> None:
        if self.is_open:
            tracemalloc.stop()
        self.is_open = False

    def begin(self) -> None:
        """An event."""
        if self.is_open:
            self.now, peak = tracemalloc.get_traced_memory()
            self.extra = peak - self.now if peak > max(self.now, self.level) + PYTHONS else 0

    def end(self) -> None:
        """The ledger has done with the event, and what it has written of it is its own."""
        if self.is_open:
            self.level, _ = tracemalloc.get_traced_memory()
            self.own += self.level - self.now
            tracemalloc.reset_peak()
