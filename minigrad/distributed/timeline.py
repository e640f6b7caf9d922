"""A timeline with a lane for each worker, as a picture and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ..draw.charts import LEFT, RIGHT, WIDTH, Report, picture, sample
from ..draw.svg import text
from ..draw.words import took
from ..engine.base.table import Table

Span = tuple[str, float, float]  # kind, start, end
KINDS = {"forward": 0, "backward": 3, "all-reduce": 5, "work": 0, "lost": 1, "restart": 7}  # → series
LETTERS, PIXELS, LANE, TOP = 64, (RIGHT - LEFT) // 2, 20, 10


@dataclass(frozen=True, repr=False)
class Timeline(Report):
    """A simulated run. It prints as lanes of letters; a notebook adds a picture.

    events    number of simulated steps and messages
    busy      useful share of all workers' time
    lanes     worker → its spans until second `until`; only workers that are drawn
    """

    seconds: float
    events: int
    busy: float
    lanes: Mapping[str, Sequence[Span]]
    summary: str
    until: float
    title = "Who does what, and when"

    @property
    def tables(self) -> list[Table]:
        """The lanes, with a letter for the work in each 64th of the time."""
        kinds = [kind for kind in KINDS if any(kind == span[0] for lane in self.lanes.values() for span in lane)]
        rows = [(name, "".join(kind[:1] or "." for kind in self.sample_lane(name, LETTERS))) for name in self.lanes]
        note = f"From 0 to {took(self.until)}: {', '.join(f'{kind[0]} {kind}' for kind in kinds)}, . waits"
        return [Table({"worker": "", "what it does": "<"}, rows, note)]

    @property
    def charts(self) -> list[str]:
        size, parts = (RIGHT - LEFT) / PIXELS, []
        for i, name in enumerate(self.lanes, 1):
            low, at = TOP + i * LANE, 0
            parts.append(text("mg-number mg-dim", LEFT - 6, low - 5, name))
            for kind, group in groupby(self.sample_lane(name, PIXELS)):
                start, at = at, at + len([*group])
                if kind:
                    width, letter = (at - start) * size, kind[0].upper() * ((at - start) * size > 12)
                    parts.append(sample(KINDS[kind], LEFT + start * size, low - LANE + 2, letter, width))
        bottom = TOP + len(self.lanes) * LANE
        parts.append(text("mg-number mg-dim", RIGHT, bottom + 16, took(self.until)))
        return [picture(self.title, WIDTH, bottom + 24, parts)]

    def _repr_html_(self) -> str:
        return f'<div style="font-family: monospace">{super()._repr_html_()}</div>'

    def sample_lane(self, name: str, columns: int) -> list[str]:
        """The kind of work of a worker in each of `columns` equal periods; "" if it waits."""
        found = [""] * columns
        for kind, *span in self.lanes[name]:
            first, end = (round(t / self.until * columns) for t in span)
            found[first:end] = [kind] * (min(end, columns) - first)
        return found
