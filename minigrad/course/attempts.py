"""The attempts at exercises, stored in the learner's folder: one line of JSON for each event.

    {"version": 1, "part": "product", "event": "tried", "attempt": "5f0c…", "known": false, "when": "2026-…"}

event      tried: a wrong answer that differs from earlier ones; passed: the first right answer; revealed: the solution
           was shown; broken: a wrong answer after a right one; the next `passed` line cancels it
attempt    a digest of the probes' outcomes: a repeated attempt has the same digest
known      whether it is a known-wrong answer, which has a hint of its own

So a kernel restart does not reset the attempts that unlock the worked solution. The file is read again
at each call, so two notebooks agree, and so do a kernel and the one started after it.
"""

from __future__ import annotations

from collections.abc import Iterable
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
BROKEN = "passed before, but the current answer is wrong"
LARGEST = 1 << 24  # bytes; a larger file of attempts in a submission's folder is ignored


@dataclass(frozen=True)
class AttemptSummary:
    """The attempts at one part.

    different    the distinct wrong attempts, oldest first
    passed       whether a right answer was checked before the solution was shown
    revealed     whether the solution was shown before any right answer
    broken       whether the part passed, but the latest checked answer was wrong
    """

    different: tuple[str, ...] = ()
    passed: bool = False
    revealed: bool = False
    broken: bool = False

    def earned_points(self, part: Part) -> int:
        return part.points if self.passed and not self.broken else 0


@dataclass
class Attempts(Journal):
    """The attempts of a course folder, which the running notebook reads and extends."""

    path: Path | None = field(default_factory=lambda: place(FILE))

    def at(self, part: str) -> AttemptSummary:
        return self.at_each([part])[part]

    def at_each(self, parts: Iterable[str]) -> dict[str, AttemptSummary]:
        """The attempts at some parts, from one reading of the file."""
        records = self.lines(KEYS)
        return {part: summarize(records, part) for part in parts}

    def add(self, verdict: Verdict) -> str:
        """Record a verdict if it is new. Returns why it could not be saved, or ""."""
        before = self.at(verdict.part.name)
        if verdict.state == "pass" and (before.broken or not (before.passed or before.revealed)):
            return self.record(verdict.part.name, "passed")
        if verdict.state == "fail" and before.passed and not before.broken:
            self.record(verdict.part.name, "broken")
        if verdict.attempt and verdict.attempt not in before.different:
            return self.record(verdict.part.name, "tried", verdict.attempt, verdict.wrong is not None)
        return ""

    def record(self, part: str, event: str, attempt: str = "", known: bool = False) -> str:
        return self.write({"part": part, "event": event, "attempt": attempt, "known": known})


def attempts(folder: Path) -> list[Record]:
    """The records of all attempts in a course folder."""
    return lines(folder / FILE, KEYS)


def summarize(records: list[Record], part: str) -> AttemptSummary:
    """Summarize these records for one part. Of `passed` and `revealed`, the event that came first counts."""
    mine = [record for record in records if record["part"] == part and str(record["event"]) in EVENTS]
    different = dict.fromkeys(str(record["attempt"]) for record in mine if record["event"] == "tried")
    end = next((record["event"] for record in mine if record["event"] in ("passed", "revealed")), "")
    last = next((record["event"] for record in reversed(mine) if record["event"] in ("passed", "broken")), "")
    broken = end == "passed" and last == "broken"
    return AttemptSummary(tuple(different), end == "passed", end == "revealed", broken)


def add_broken(notebook: Path, result: dict[str, Any]) -> None:
    """For each wrong part that the notebook's own course folder records as passed, add a sentence to the result."""
    home = notebook.absolute().parent.parent
    with suppress(OSError, ValueError):  # a path in a zip may be invalid on this disk
        if (home / STATE).is_file() and (home / FILE).stat().st_size <= LARGEST:
            records = attempts(home)
            for part, facts in result["parts"].items():
                if facts["state"] in ("fail", "died") and summarize(records, part).passed:
                    facts["says"].append(f"{BROKEN.capitalize()}.")
                    result["warnings"].append(f"{part}: {BROKEN}")
