"""Scores as tables: plain, as Canvas and as Moodle take them, and as JSON for scripts.

A name may be a formula to a spreadsheet, and so no cell begins as one.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from .letters import cut, in_a_line

# Spreadsheets divide lines at what their country does: what stands behind a separator is the front of a cell to some.
FORMULA = re.compile(r"""(^|[;|])([\s"']*)(?=[=+@＝＋＠－-])""")
LONGEST = 30_000  # characters of a cell; Excel has 32,767
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("Identifier", "Full name", "Exercise", "Grade", "Maximum Grade", "Last modified (grade)", "Feedback comments")
Result = dict[str, Any]


def tables(results: Sequence[Result]) -> dict[str, str]:
    """File name → its text."""
    results = scored(results)
    return {
        "scores.csv": plain(results),
        "canvas.csv": canvas(results),
        "moodle.csv": moodle(results),
        "results.json": json.dumps(results, indent=1, ensure_ascii=False) + "\n",
    }


def scored(results: Sequence[Result]) -> list[Result]:
    """The results for whoever reads points: None where there are none."""
    return [r | {"points": score(r),
                 "parts": {name: part | {"points": None if part["state"] == "wait" else part["points"]}
                           for name, part in r["parts"].items()}} for r in results]  # fmt: skip


def score(result: Result) -> Any:
    """The points, or None where nothing could be graded or a part waits for a person: a 0 would say that it was."""
    waits = any(part["state"] == "wait" for part in result["parts"].values())
    return None if waits or result["status"] not in ("graded", "crashed") else result["points"]


def plain(results: Sequence[Result]) -> str:
    """A row for each submission, a column for each part."""
    parts = [{f"{r['exercise']}: {name}": part["points"] for name, part in r["parts"].items()} for r in results]
    rows = [r | {"notes": "; ".join(r["notes"])} | mine for r, mine in zip(results, parts)]
    columns = dict.fromkeys(column for mine in sorted(parts, key=list) for column in mine)
    return table(["student", "name", "exercise", "status", "points", "of", *columns, "notes"], rows)


def canvas(results: Sequence[Result]) -> str:
    """What Canvas's gradebook imports: a column for each exercise, students by ID, and no score where there is none.

    An exercise that Canvas does not know becomes an assignment; one that it knows is called there "Name (number)".
    """
    possible = {r["exercise"]: r["of"] for r in results if r["exercise"]}
    students: dict[str, Result] = {}
    for r in results:
        row = students.setdefault(r["student"], {"Student": r["name"] or r["student"], "ID": r["student"]})
        row[r["exercise"]] = r["points"]
    return table([*CANVAS, *sorted(possible)], [{"Student": "    Points Possible", **possible}, *students.values()])


def moodle(results: Sequence[Result]) -> str:
    """Moodle's grading worksheet: students by the number of their participation.

    It takes none without a column of when a grade was changed there, which nobody here knows.
    """
    rows = [
        (f"Participant {r['student']}", r["name"], r["exercise"], r["points"], r["of"], "", "; ".join(said(r)))
        for r in results
    ]
    return table(MOODLE, [dict(zip(MOODLE, row)) for row in rows])


def said(result: Result) -> list[str]:
    """What a student is told in a line for each part."""
    return [
        f"{name}: waits for a person, {part['of']} at most" if part["state"] == "wait" else
        f"{name}: {part['points']} of {part['of']}{'. ' + part['shows'] if part['shows'] else ''}"
        for name, part in result["parts"].items()
    ] or result["notes"]  # fmt: skip


def table(head: Sequence[str], rows: Iterable[Result]) -> str:
    """Rows under their headings, as CSV; where a row says nothing the cell is empty."""
    out = io.StringIO()
    writer = csv.DictWriter(out, head, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({heading: safe(cell) for heading, cell in row.items()} for row in rows)
    return out.getvalue()


def safe(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula, wherever it divides lines."""
    return FORMULA.sub(r"\1\2'", cut(in_a_line(cell), LONGEST)) if isinstance(cell, str) else cell
