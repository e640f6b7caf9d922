"""A ledger as tables: by consumer, by module, and by op that saves arrays for backward."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..engine.base.table import Table
from .books import CONSUMERS, UNKNOWN, About, Consumer, Holding, Live

if TYPE_CHECKING:
    from .ledger import Ledger

Said = str | tuple[Any, ...]
FEW = 0.1  # share of a peak in Python objects, above which a note is added
BEYOND = "made and dropped inside the op", "Python's objects, and arrays of others"  # rows for bytes of no consumer


class Moment(NamedTuple):
    """What ran, and the bytes alive at that time.

    said      what ran: a text, or a format and its arguments, formatted when it is read
    live      bytes by consumer
    inside    bytes of temporaries inside the op, at their peak
    untold    bytes that tracemalloc sees and the books do not; may be slightly negative
    since     index of a moment: memory that backward freed from then on still counts; it was alive until the op's end
    """

    phase: str
    said: Said
    live: Live
    about: About = UNKNOWN
    inside: int = 0
    untold: int = 0
    since: int | None = None

    @property
    def what(self) -> str:
        """What ran, in words."""
        return self.said if isinstance(self.said, str) else str.format(*self.said)

    @property
    def when(self) -> str:
        return f"{'at the' if self.phase in ('start', 'end') else 'in'} {self.phase}"

    @property
    def total(self) -> int:
        return sum(self.live) + self.inside + self.untold

    @property
    def by_consumer(self) -> dict[str, int]:
        """Bytes alive by consumer: "parameters", "saved for backward", …"""
        return dict(zip(CONSUMERS, self.live))

    def __str__(self) -> str:
        there = [f"in {self.about.module}"] * bool(self.about.module)
        there += [f"at {self.about.place}"] * (self.about.place is not None)
        return ", ".join([f"{self.total:,} bytes {self.when}: {self.what}", *there])

    def __repr__(self) -> str:
        return str(self)


@dataclass(eq=False, slots=True)
class Saving:
    """An array kept for the backward of an op, from moment `first` until moment `last`.

    slot    0 for the op's result, 1, 2, … for its operands; None if unknown
    """

    about: About
    slot: int | None
    spec: Any
    holding: Holding
    first: int
    last: int | None = None

    def words(self, k: int) -> tuple[str, str]:
        """The array's role (operand or result); its spec, and its consumer at k, if parameters, state or inputs."""
        part = "" if self.slot is None else f"operand {self.slot - 1}" if self.slot else "its result"
        consumer = self.holding.consumer(k)
        belongs = f", of the {CONSUMERS[consumer]}" * (consumer <= Consumer.INPUTS)
        return part, f"{self.spec}{belongs}"


def by_consumer(ledger: Ledger) -> Table:
    """Bytes of each consumer, now and at the peak."""
    now, peak = ledger.timeline()[-1], ledger.peak
    rows: list[Any] = list(zip(CONSUMERS, now.live, peak.live))
    if ledger.exact:
        rows += zip(BEYOND, (0, now.untold), (peak.inside, peak.untold))
    rows += [("all", now.total - now.inside, peak.total)]
    head = {"bytes": "", "now": ",", "at the peak": ",", "share": ".1%"}
    note = f"The peak: {peak}"
    if peak.untold > FEW * peak.total:
        note += ". Much of it is Python objects, such as compiled code in a first run: run the step once before"
    return Table(head, [(*row, row[2] / max(peak.total, 1)) for row in rows], note)


def by_module(ledger: Ledger) -> Table:
    """Bytes at the peak by the module that made or first used each array; modules inside it have their own rows."""
    peak = ledger.peak
    k = ledger.moments.index(peak)
    held: dict[str, list[int]] = {}
    for holding in ledger.books.log:
        consumer = holding.live_consumer(k, peak.since)
        if consumer is not None:
            row = held.setdefault(holding.about.module or "(outside of modules)", [0] * len(CONSUMERS))
            row[consumer] += holding.nbytes
    used = [i for i in range(len(CONSUMERS)) if any(row[i] for row in held.values())]
    head = {"module": ""} | {CONSUMERS[i]: "," for i in used} | {"all": ","}
    rows = sorted(held.items(), key=lambda each: -sum(each[1]))
    return Table(head, [(module, *[row[i] for i in used], sum(row)) for module, row in rows], f"At {peak}")


def savings(ledger: Ledger, head: dict[str, str], names: Callable[[Saving, int], tuple[str, ...]]) -> Table:
    """The arrays saved for backward at the moment when most bytes are saved, grouped by `names`."""
    moments = ledger.timeline()
    k = max(range(len(moments)), key=lambda i: moments[i].live[Consumer.SAVED])
    rows: dict[tuple[str, ...], list[int]] = {}
    seen = set()
    for saving in ledger.savings:
        if saving.first <= k and (saving.last is None or k < saving.last):
            row = rows.setdefault(names(saving, k), [0, 0])
            row[0] += 1
            if saving.holding.consumer(k) == Consumer.SAVED and saving.holding not in seen:
                row[1] += saving.holding.nbytes
                seen.add(saving.holding)
    note = "An array counts once, at the first op that keeps it, and as 0 bytes if it is alive anyway."
    return Table(head | {"times": ",", "bytes": ","}, [(*each, *counts) for each, counts in rows.items()], note)


def by_op(ledger: Ledger) -> Table:
    """The arrays that each op saves for backward."""
    head = {"op": "", "in": "<", "keeps": "<", "which is": "<"}
    return savings(ledger, head, lambda saving, k: (saving.about.op, saving.about.module, *saving.words(k)))


def by_line(ledger: Ledger) -> Table:
    """The bytes that the ops of each line of code save for backward, most first."""
    head = {"line": "", "in": "<", "op": "<"}
    found = savings(ledger, head, lambda saving, _: tuple(map(str, reversed(saving.about))))
    found.rows.sort(key=lambda row: -row[-1])
    return found


TABLES = {"consumer": by_consumer, "module": by_module, "op": by_op, "line": by_line}


def table(ledger: Ledger, by: str) -> Table:
    """The table of this kind. Raises ValueError for an unknown kind."""
    if by not in TABLES:
        raise ValueError(f"a ledger's table is by {', '.join(map(repr, TABLES))}, and not by {by!r}")
    return TABLES[by](ledger)
