"""What a learner has answered, kept as plain data in their own folder: one line of JSON for each event.

    {"version": 1, "notebook": "01_…", "name": "boxes", "kind": "number", "question": "How many…", "options": [],
     "unit": "", "tolerance": 0.0, "answer": 4, "confidence": "certain", "right": null,
     "when": "2026-11-21T16:00:00+00:00"}

A line is written when an answer is locked, with `right` null, and again when it is known whether it was right. The
first answer under a name is the answer. Lines are only ever added, each is on the disk before the next thing happens,
and a line that a crash has cut short is passed over: so a crash costs at most the line that was being written.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from minigrad.course.lessons import PACKAGE, STATE, checkout

FILE = ".minigrad-answers.jsonl"
VERSION = 1
Record = dict[str, Any]


def answers(folder: Path) -> list[Record]:
    """Every question that was answered in a course folder, in the order of answering: what was answered first under
    its name, and `right` as it came out first; None if that is not known yet."""
    return merged(lines(folder / FILE))


def place() -> Path | None:
    """The file for the notebook that runs here: in the course folder it is in, and else beside the notebook.

    None where the lessons come from: there they are built and tested, and a build must not depend on who worked there.
    """
    here = Path.cwd()
    home = next((folder for folder in (here, *here.parents) if (folder / STATE).is_file()), None)
    if home is None and checkout() is not None and here.is_relative_to(PACKAGE.parent):
        return None
    return (home or here) / FILE


def notebook() -> str:
    """The name of the notebook that runs here, as far as its server tells; "" where it does not."""
    return Path(os.environ.get("JPY_SESSION_NAME", "")).stem


@dataclass
class Ledger:
    """The answers of one notebook, and where they are written down.

    path       None: they live as long as the kernel
    unsaved    records that are in no file
    """

    path: Path | None = field(default_factory=place)
    notebook: str = field(default_factory=notebook)
    unsaved: list[Record] = field(default_factory=list)

    def records(self) -> list[Record]:
        """All answers of the folder, merged."""
        return merged([*(lines(self.path) if self.path else []), *self.unsaved])

    def find(self, name: str) -> Record | None:
        """What was answered under this name in this notebook."""
        found = (record for record in self.records() if (record["notebook"], record["name"]) == (self.notebook, name))
        return next(found, None)

    def add(self, record: Record) -> str:
        """Write a record down; why it could not be put on the disk, or ""."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        record = {"version": VERSION, "notebook": self.notebook, **record, "when": now}
        try:
            if self.path is None:
                self.unsaved.append(record)
            else:
                append(self.path, record)
        except OSError as error:
            self.unsaved.append(record)
            return f"It could not be saved in {self.path} ({error.strerror}), and holds until the kernel is restarted."
        return ""


def append(path: Path, record: Record) -> None:
    """Add a line, on the disk when this returns; behind a line that was cut short it starts on a new one."""
    with path.open("a+b") as file:
        if file.tell() and not ends_well(file):
            file.write(b"\n")
        file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def ends_well(file: Any) -> bool:
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) == b"\n")


def lines(path: Path) -> list[Record]:
    """The records of a file that can be read: whole lines of a version that is known."""
    try:
        text = path.read_bytes().decode("utf-8", errors="replace")
    except OSError:
        return []
    return [record for line in text.split("\n") if (record := parsed(line))]


def parsed(line: str) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    known = isinstance(record, dict) and record.get("version") == VERSION
    whole = known and {"notebook", "name", "kind", "answer", "confidence", "right", "when"} <= record.keys()
    return record if whole else None


def merged(records: list[Record]) -> list[Record]:
    """One record for each name of each notebook: the first answer, with the first verdict."""
    first: dict[tuple[str, str], Record] = {}
    for record in records:
        kept = first.setdefault((record["notebook"], record["name"]), dict(record))
        if kept["right"] is None and record["right"] is not None:
            kept |= {key: record[key] for key in ("right", "actual") if key in record}
    return list(first.values())
