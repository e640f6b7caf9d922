"""The learner's predictions and quiz answers, stored in their folder: one line of JSON for each event.

    {"version": 1, "notebook": "01_…", "name": "boxes", "kind": "number", "question": "How many…", "options": [],
     "unit": "", "tolerance": 0.0, "answer": 4, "confidence": "certain", "right": null,
     "when": "2026-11-21T16:00:00+00:00"}

A line is written when an answer is locked, with `right` null, and again when `right` is known. Only the first answer
under a name counts. An answer that was locked after the result was shown also has "late": true. journal.py explains how
lines survive crashes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from minigrad.course.journal import Journal, Record, lines, place

FILE = ".minigrad-answers.jsonl"
KEYS = {"notebook", "name", "kind", "answer", "confidence", "right", "when"}


def answers(folder: Path) -> list[Record]:
    """All answers in a course folder, in the order of answering, merged: the first answer under each name, with its
    first `right`, or None if that is not known yet."""
    return merge_answers(lines(folder / FILE, KEYS))


def is_counted(record: Record) -> bool:
    """Whether an answer counts in the learner's calibration and status: a guess does not, nor does a late answer."""
    return bool(record.get("counted", True)) and not record.get("late", False)


def notebook() -> str:
    """The name of the running notebook, if its server provides it; else ""."""
    return Path(os.environ.get("JPY_SESSION_NAME", "")).stem


@dataclass
class AnswerJournal(Journal):
    """The answers of one notebook."""

    path: Path | None = field(default_factory=lambda: place(FILE))
    notebook: str = field(default_factory=notebook)

    def records(self) -> list[Record]:
        """All answers of the folder, merged."""
        return merge_answers(self.lines(KEYS))

    def find(self, name: str) -> Record | None:
        """The answer under this name in this notebook."""
        found = (record for record in self.records() if (record["notebook"], record["name"]) == (self.notebook, name))
        return next(found, None)

    def add(self, record: Record) -> str:
        """Store an answer. Returns why it could not be saved, or ""."""
        return self.write({"notebook": self.notebook, **record})


def merge_answers(records: list[Record]) -> list[Record]:
    """One record for each name in each notebook: the first answer, with the first verdict."""
    first: dict[tuple[str, str], Record] = {}
    for record in records:
        kept = first.setdefault((record["notebook"], record["name"]), dict(record))
        if kept["right"] is None and record["right"] is not None:
            kept |= {key: record[key] for key in ("right", "actual") if key in record}
    return list(first.values())
