"""What a learner has tried in the exercises, kept in their own folder as the locked answers are: one line for each.

    {"version": 1, "part": "product", "event": "tried", "attempt": "5f0c…", "known": false, "when": "2026-…"}

event      tried: a wrong answer that differs from those before; passed: the first right one; revealed: the solution;
           broken: a wrong answer after a right one, and then passed says that it is right again
attempt    a digest of what the probes gave, so that the same attempt is known when it comes again
known      whether it is one of the known-wrong answers, which have a hint of their own

So hints, and the worked solution after them, do not start over with the kernel. Lines are read at each question, and
so two notebooks, or a kernel and its successor, agree.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minigrad.course.exercise import Part, Verdict
from minigrad.course.journal import Journal, Record, lines, place
from minigrad.course.lessons import STATE

FILE = ".minigrad-attempts.jsonl"
KEYS = {"part", "event", "attempt", "known"}
EVENTS = {"tried", "passed", "revealed", "broken"}
BROKEN = "passed before; what is in the notebook now is wrong"
LARGEST = 1 << 24  # bytes of a file that is read of somebody else's folder


@dataclass(frozen=True)
class Tried:
    """What was tried in one part.

    different    wrong attempts that differ, oldest first
    general      those of them that are no known-wrong answer: each has brought a general hint
    passed       whether a right answer came, and came before the solution was shown
    revealed     whether the solution was shown, and no right answer had come
    broken       whether it passed, and the answer that was checked last was wrong
    """

    different: tuple[str, ...] = ()
    general: tuple[str, ...] = ()
    passed: bool = False
    revealed: bool = False
    broken: bool = False

    def earned_points(self, part: Part) -> int:
        return part.points if self.passed and not self.broken else 0


@dataclass
class Attempts(Journal):
    """The attempts of a course folder, as the notebook that runs here sees and adds to them."""

    path: Path | None = field(default_factory=lambda: place(FILE))

    def at(self, part: str) -> Tried:
        return summarize(self.lines(KEYS), part)

    def add(self, verdict: Verdict) -> str:
        """Note a verdict, if it is news; why it could not be put on the disk, or ""."""
        before = self.at(verdict.part.name)
        if verdict.state == "pass" and (before.broken or not (before.passed or before.revealed)):
            return self.note(verdict.part.name, "passed")
        if verdict.state == "fail" and before.passed and not before.broken:
            self.note(verdict.part.name, "broken")
        if verdict.attempt and verdict.attempt not in before.different:
            return self.note(verdict.part.name, "tried", verdict.attempt, verdict.wrong is not None)
        return ""

    def note(self, part: str, event: str, attempt: str = "", known: bool = False) -> str:
        return self.write({"part": part, "event": event, "attempt": attempt, "known": known})


def attempts(folder: Path) -> list[Record]:
    """All that was tried in a course folder."""
    return lines(folder / FILE, KEYS)


def summarize(records: list[Record], part: str) -> Tried:
    """What these records say of a part. The first of `passed` and `revealed` counts."""
    mine = [record for record in records if record["part"] == part and str(record["event"]) in EVENTS]
    known: dict[str, bool] = {}
    for record in mine:
        if record["event"] == "tried":
            known.setdefault(str(record["attempt"]), bool(record["known"]))
    end = next((record["event"] for record in mine if record["event"] in ("passed", "revealed")), "")
    general = tuple(attempt for attempt in known if not known[attempt])
    last = next((record["event"] for record in reversed(mine) if record["event"] in ("passed", "broken")), "")
    broken = end == "passed" and last == "broken"
    return Tried(tuple(known), general, end == "passed", end == "revealed", broken)


def add_broken(notebook: Path, result: dict[str, Any]) -> None:
    """Add a sentence to the result of a notebook for each wrong part that its own course folder keeps as passed."""
    home = notebook.absolute().parent.parent
    with suppress(OSError, ValueError):  # a path from a zip may be none on this disk
        if (home / STATE).is_file() and (home / FILE).stat().st_size <= LARGEST:
            records = attempts(home)
            for part, facts in result["parts"].items():
                if facts["state"] in ("fail", "died") and summarize(records, part).passed:
                    facts["says"].append(f"{BROKEN.capitalize()}.")
                    result["warnings"].append(f"{part}: {BROKEN}")
