"""What a learner has answered, kept as plain data in their own folder: one line of JSON for each event.

    {"version": 1, "notebook": "01_…", "name": "boxes", "kind": "number", "question": "How many…", "options": [],
     "unit": "", "tolerance": 0.0, "answer": 4, "confidence": "certain", "right": null,
     "when": "2026-11-21T16:00:00+00:00"}

A line is written when an answer is locked, with `right` null, and again when it is known whether it was right. The
first answer under a name is the answer. How a line is kept, whatever happens, is said in journal.py.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from minigrad.course.journal import Journal, Record, lines, place

FILE = ".minigrad-answers.jsonl"
KEYS = {"notebook", "name", "kind", "answer", "confidence", "right", "when"}


def answers(folder: Path) -> list[Record]:
    """Every question that was answered in a course folder, in the order of answering: what was answered first under
    its name, and `right` as it came out first; None if that is not known yet."""
    return merged(lines(folder / FILE, KEYS))


def notebook() -> str:
    """The name of the notebook that runs here, as far as its server tells; "" where it does not."""
    return Path(os.environ.get("JPY_SESSION_NAME", "")).stem


@dataclass
class Ledger(Journal):
    """The answers of one notebook."""

    path: Path | None = field(default_factory=lambda: place(FILE))
    notebook: str = field(default_factory=notebook)

    def records(self) -> list[Record]:
        """All answers of the folder, merged."""
        return merged(self.lines(KEYS))

    def find(self, name: str) -> Record | None:
        """What was answered under this name in this notebook."""
        found = (record for record in self.records() if (record["notebook"], record["name"]) == (self.notebook, name))
        return next(found, None)

    def add(self, record: Record) -> str:
        """Write an answer down; why it could not be put on the disk, or ""."""
        return self.write({"notebook": self.notebook, **record})


def merged(records: list[Record]) -> list[Record]:
    """One record for each name of each notebook: the first answer, with the first verdict."""
    first: dict[tuple[str, str], Record] = {}
    for record in records:
        kept = first.setdefault((record["notebook"], record["name"]), dict(record))
        if kept["right"] is None and record["right"] is not None:
            kept |= {key: record[key] for key in ("right", "actual") if key in record}
    return list(first.values())
