"""The books of memory: which arrays are alive, and which consumer each belongs to.

The books hold each array by a weak reference, and count for each consumer how many holders it has. An array with
several consumers is counted once, for the first of them in CONSUMERS. Each entry updates only the sums it touches, so
its cost does not depend on the number of arrays.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple, Self, cast
from weakref import ref

from ..engine.core.node import Place
from ..engine.core.versions import owner

CONSUMERS = (
    "parameters", "optimizer state", "inputs", "gradients",
    "saved for backward", "other activations", "compiler's workspace",
)  # fmt: skip
Live = tuple[int, ...]  # bytes of each of CONSUMERS
NOTHING: Live = (0,) * len(CONSUMERS)
PYTHONS = 1 << 13  # bytes: a smaller rise is Python objects, not arrays


class Consumer:
    """Indices into CONSUMERS."""

    PARAMETERS, STATE, INPUTS, GRADIENTS, SAVED, OTHER, WORKSPACE = range(7)


class About(NamedTuple):
    """Where something happens: the op's symbol, the module being called, the user's line."""

    op: str = ""
    module: str = ""
    place: Place | None = None


UNKNOWN = About()


class WeakEntry(ref[Any]):
    """A weak reference, compared and hashed by its own identity; `key` is the id of the object it refers to."""

    __slots__ = ("key",)
    __hash__, __eq__ = object.__hash__, object.__eq__

    def __new__(cls, x: Any, callback: Callable[[Any], None], *more: Any) -> Self:
        return super().__new__(cls, x, callback)


class Holding(WeakEntry):
    """The entry of an array.

    about           where it was first seen
    held            consumer → its number of holders
    story           (moment, consumer), each time its consumer changes
    born, died      the moments at which it was entered and freed
    old             its bytes, if it is older than the ledger and so unknown to tracemalloc; otherwise 0
    """

    __slots__ = ("about", "born", "died", "held", "nbytes", "old", "story")

    def __init__(self, x: Any, callback: Callable[[Any], None], nbytes: int, about: About, born: int, is_old: bool):
        self.key, self.nbytes, self.about, self.old = id(x), nbytes, about, nbytes * is_old
        self.held: dict[int, int] = {}
        self.story = [(born, Consumer.OTHER)]
        self.born, self.died = born, cast(int | None, None)

    def live_consumer(self, k: int, since: int | None) -> int | None:
        """The consumer at moment k; None if the array is not alive. An array saved just before `since` is SAVED."""
        if since is not None and self.live_consumer(since - 1, None) == Consumer.SAVED:
            return Consumer.SAVED
        return self.consumer(k) if self.born <= k and (self.died is None or k < self.died) else None

    def consumer(self, k: int) -> int:
        """The array's consumer at moment k."""
        return next(consumer for moment, consumer in reversed(self.story) if moment <= k)


class Books:
    """The entries of all arrays that are alive.

    number     index of the next moment
    counted    bytes of each consumer
    moved      change in each consumer's bytes during this event, due to arrays that were entered before it
    freed      bytes saved for backward that were freed since the last moment
    old        bytes of arrays that are older than the ledger
    log        every entry ever made
    """

    def __init__(self) -> None:
        self.number = self.freed = self.old = 0
        self.went = self.remove_holding  # one callback for all weak references
        self.counted, self.moved = [*NOTHING], [*NOTHING]
        self.log: list[Holding] = []
        self.holdings: dict[int, Holding] = {}  # by id of the array, or of the program whose workspace it is

    def find_or_add(self, array: Any, about: About = UNKNOWN, is_new: bool = False) -> Holding:
        """The array's entry, added if it is missing.

        is_new    whether an array without an entry was certainly created just now
        """
        array = array if array.base is None else owner(array)
        return self.holdings.get(id(array)) or self.add_holding(array, array.nbytes, about, is_new)

    def find_holding(self, array: Any) -> Holding | None:
        """The array's entry; None if it has none."""
        return self.holdings.get(id(owner(array)))

    def add_holding(self, x: Any, nbytes: int, about: About, is_new: bool = False) -> Holding:
        """Add an entry for an array, or for a program with its workspace."""
        is_old = not is_new and tracemalloc.get_object_traceback(x) is None
        found = self.holdings[id(x)] = Holding(x, self.went, nbytes, about, self.number, is_old)
        self.log.append(found)
        self.counted[Consumer.OTHER] += nbytes
        self.old += found.old
        return found

    def remove_holding(self, holding: Any) -> None:
        """Close the entry of an array that was freed."""
        del self.holdings[holding.key]
        holding.died = self.number
        consumer = holding.story[-1][1]
        self.counted[consumer] -= holding.nbytes
        self.old -= holding.old
        self.freed += holding.nbytes * (consumer == Consumer.SAVED)

    def hold(self, array: Any, consumer: int, about: About = UNKNOWN, is_new: bool = False) -> None:
        """Count the array as this consumer's until it is freed."""
        holding = self.find_or_add(array, about, is_new)
        if consumer not in holding.held:
            self.change_holders(holding, consumer, 1)

    def change_holders(self, holding: Holding, consumer: int, by: int) -> None:
        """Add `by`, which is 1 or −1, to the consumer's number of holders."""
        if holding.died is not None:
            return
        held = holding.held
        held[consumer] = held.get(consumer, 0) + by
        if not held[consumer]:
            del held[consumer]
        before, after = holding.story[-1][1], min(held, default=Consumer.OTHER)
        if before != after:
            holding.story.append((self.number, after))
            was_there = by > 0 and holding.born < self.number
            for sums in (self.counted, self.moved) if was_there else (self.counted,):
                sums[before] -= holding.nbytes
                sums[after] += holding.nbytes


class Gauge:
    """The memory that tracemalloc measures between two events, NumPy's included. Does nothing unless it is open.

    now      bytes at the start of this event
    extra    bytes by which the peak since the last event exceeds `now`; 0 unless it also exceeds that event's end
    own      bytes that the ledger has allocated for itself
    """

    def __init__(self) -> None:
        self.is_open, self.now, self.extra, self.own, self.level, self.start = False, 0, 0, 0, 0, 0

    def open(self) -> None:
        """Start tracing. Raises RuntimeError if tracemalloc is already on."""
        if tracemalloc.is_tracing():
            raise RuntimeError(
                "tracemalloc is already on, in this thread or another, and the ledger resets its peak at each op: "
                "stop it first, or pass exact=False, which does not use it"
            )
        tracemalloc.start()
        self.is_open, self.start = True, tracemalloc.get_traced_memory()[0]

    def close(self) -> None:
        if self.is_open:
            tracemalloc.stop()
        self.is_open = False

    def begin(self) -> None:
        """Start an event."""
        if self.is_open:
            self.now, peak = tracemalloc.get_traced_memory()
            self.extra = peak - self.now if peak > max(self.now, self.level) + PYTHONS else 0

    def end(self) -> None:
        """End the event. Memory allocated since its start is the ledger's own."""
        if self.is_open:
            self.level, _ = tracemalloc.get_traced_memory()
            self.own += self.level - self.now
            tracemalloc.reset_peak()
