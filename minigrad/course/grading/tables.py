"""Scores as tables: plain CSV, CSV for Canvas and for Moodle, and JSON for scripts.

A spreadsheet could read a student's name as a formula, so no cell begins like a formula.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from .letters import cut, in_a_line

# Spreadsheets of some countries split lines at ; or |, so the text after these may become the start of a cell.
FORMULA = re.compile(r"""(^|[;|])([\s"']*)(?=[=+@＝＋＠－-])""")
LONGEST = 30_000  # characters of a cell; Excel has 32,767
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("Identifier", "Full name", "Exercise", "Grade", "Maximum Grade", "Last modified (grade)", "Feedback comments")
Result = dict[str, Any]


def tables(results: Sequence[Result]) -> dict[str, str]:
    """The tables: file name → text."""
    results = blank_missing_points(results)
    sheets = {"scores.csv": plain(results), "canvas.csv": canvas(results), "moodle.csv": moodle(results)}
    return sheets | {"results.json": json.dumps(results, indent=1, ensure_ascii=False) + "\n"}


def blank_missing_points(results: Sequence[Result]) -> list[Result]:
    """The results with None in place of missing points."""
    return [r | {"points": score(r),
                 "parts": {name: part | {"points": None if part["state"] == "wait" else part["points"]}
                           for name, part in r["parts"].items()}} for r in results]  # fmt: skip


def score(result: Result) -> Any:
    """The points; None if nothing could be graded or a part waits for a person, because a 0 would look earned."""
    waits = any(part["state"] == "wait" for part in result["parts"].values())
    return None if waits or result["status"] not in ("graded", "crashed") else result["points"]


def plain(results: Sequence[Result]) -> str:
    """A row for each submission, a column for each part."""
    parts = [{f"{r['exercise']}: {name}": part["points"] for name, part in r["parts"].items()} for r in results]
    rows = [r | {"notes": "; ".join(r["notes"])} | mine for r, mine in zip(results, parts)]
    columns = dict.fromkeys(column for mine in sorted(parts, key=list) for column in mine)
    return table(["student", "name", "exercise", "status", "points", "of", *columns, "notes"], rows)


def canvas(results: Sequence[Result]) -> str:
    """CSV for Canvas's gradebook: a column for each exercise, students by ID, empty cells for missing scores.

    An exercise that Canvas does not know becomes an assignment; Canvas calls a known exercise "Name (number)".
    """
    possible = {r["exercise"]: r["of"] for r in results if r["exercise"]}
    students: dict[str, Result] = {}
    for r in results:
        row = students.setdefault(r["student"], {"Student": r["name"] or r["student"], "ID": r["student"]})
        row[r["exercise"]] = r["points"]
    return table([*CANVAS, *sorted(possible)], [{"Student": "    Points Possible", **possible}, *students.values()])


def moodle(results: Sequence[Result]) -> str:
    """Moodle's grading worksheet: students by their participant number.

    Moodle requires a column for the time of the last change of a grade, which is unknown here and stays empty.
    """
    rows = [
        (f"Participant {r['student']}", r["name"], r["exercise"], r["points"], r["of"], "", "; ".join(remarks(r)))
        for r in results
    ]
    return table(MOODLE, [dict(zip(MOODLE, row)) for row in rows])


def remarks(result: Result) -> list[str]:
    """The feedback for a student, one line for each part."""
    return [
        f"{name}: waits for a person, {part['of']} at most" if part["state"] == "wait" else
        f"{name}: {part['points']} of {part['of']}{'. ' + part['shows'] if part['shows'] else ''}"
        for name, part in result["parts"].items()
    ] or result["notes"]  # fmt: skip


def table(head: Sequence[str], rows: Iterable[Result]) -> str:
    """Rows as CSV with a heading; missing values become empty cells."""
    out = io.StringIO()
    writer = csv.DictWriter(out, head, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({heading: safe(cell) for heading, cell in row.items()} for row in rows)
    return out.getvalue()


def safe(cell: Any) -> Any:
    """Escape formula prefixes in a cell, also after separators."""
    return FORMULA.sub(r"\1\2'", cut(in_a_line(cell), LONGEST)) if isinstance(cell, str) else cell
