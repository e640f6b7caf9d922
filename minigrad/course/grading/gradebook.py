"""Enter scores into nbgrader's gradebook, where `nbgrader formgrader` shows them and a person can change the points.

A result file holds what the grader found. The gradebook holds what a person entered, and keeps it. Tables and pages
combine both.

The gradebook is an SQLite file; `enter.sql` enters a class in one transaction. The person reads a notebook made
from each submission, with only its code and text: outputs, HTML and links are removed, because they could run programs
in the reader's browser.
"""

from __future__ import annotations

import importlib.util
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from minigrad.course import lessons

from .letters import as_a_name, as_markdown, cut, escape_unprintable, in_a_line, safe_name
from .submission import Submission, source_of, within

Result = dict[str, Any]
Submissions = Mapping[str, Submission | None]
Given = Mapping[tuple[str, str, str], tuple[float | None, str]]  # student, exercise, part → points, comment
FILE = "gradebook.db"
SCHEMA, ENTER, GIVEN = (Path(__file__).with_name(f"{name}.sql") for name in ("schema", "enter", "given"))
CONFIG = "nbgrader_config.py"
EXPORT = """# Written by minigrad: in this folder `nbgrader export` leaves ungraded scores empty instead of 0.
c = get_config()  # noqa: F821
c.ExportApp.plugin_class = "minigrad.course.grading.export.Scores"
"""
CAME = "student, first, last, exercise, answer, graded, kind, most, points, waits, changed"
LONGEST = 50_000  # characters of a cell
MISSING = "*The submission has no cell of this name. The answer to this part may be above.*"
NOTHING = Submission("", (), ())


def is_there() -> bool:
    """Whether nbgrader is installed. It reads the files that this module writes."""
    return importlib.util.find_spec("nbgrader") is not None


def write(out: Path, results: Sequence[Result], submissions: Submissions = MappingProxyType({})) -> None:
    """Update the gradebook in a folder. Grading a submission again replaces its scores instead of adding new ones.

    submissions    path of a submission → its content, to find changed answers, which a person must grade again
    """
    rows = [row for result in results for row in entries(result, changed_parts(out, result, submissions))]
    with closing(sqlite3.connect(out / FILE)) as book:
        book.create_function("uuid", 0, lambda: uuid4().hex)
        book.executescript(f"{SCHEMA.read_text('utf-8')} CREATE TEMP TABLE came ({CAME});")
        book.executemany(f"INSERT INTO came VALUES ({', '.join('?' * len(CAME.split()))})", rows)
        book.executescript(ENTER.read_text("utf-8"))
    if not (out / CONFIG).exists():
        lessons.write(out / CONFIG, EXPORT.encode())


def entries(result: Result, changed: set[str]) -> Iterator[tuple[Any, ...]]:
    """The gradebook rows of a submission, one for each part; without points where a person must give them."""
    first, _, last = as_a_name(result["name"]).partition(" ")
    who = safe_name(result["student"]), first or None, last or None, result["exercise"]
    for part, facts in result["parts"].items():
        graded, kind = (part, "markdown") if facts.get("manual") else (f"check-{part}", "code")
        points = None if facts["state"] == "wait" else facts["points"]
        waits = facts["state"] in ("died", "wait")
        yield *who, part, graded, kind, facts["of"], points, waits, part in changed


def manual_grades(out: Path) -> Given:
    """The points and comments that people gave, without points that must be checked again."""
    if not (out / FILE).exists():
        return {}
    with closing(sqlite3.connect(out / FILE)) as book:
        rows = book.execute(GIVEN.read_text("utf-8"))
        return {(student, exercise, part): (points, words or "") for student, exercise, part, points, words in rows}


def with_readers(results: Sequence[Result], given: Given) -> list[Result]:
    """The results with people's points and comments.

    The status is `waits` while a part waits for a person. A submission that could not be graded becomes `graded` once
    a person has given points for each part.
    """
    found = []
    for result in results:
        who, status = (safe_name(result["student"]), result["exercise"]), result["status"]
        parts = {name: read(part, *given.get((*who, name), (None, ""))) for name, part in result["parts"].items()}
        states = {part["state"] for part in parts.values()}
        if status == "graded" and "wait" in states:
            status = "waits"
        elif status in ("failed", "unreadable") and "read" in states and "wait" not in states:
            status = "graded"
        points = sum(part["points"] for part in parts.values())
        found.append(result | {"parts": parts, "points": points, "status": status})
    return found


def read(part: Result, points: float | None, words: str) -> Result:
    """A part with the points and the comment of a reader."""
    now = part if points is None else part | {"points": int(points) if points == int(points) else points}
    if points is not None and part["state"] == "wait":
        now = now | {"state": "read"}
    about = [f"A reader gave {now['points']} of {part['of']}."] if now != part else []
    said = [f"A reader says: {words}"] if words else []
    return now | {"says": [*part["says"], *about, *said]}


def place(out: Path, result: Result) -> Path:
    """The path at which formgrader expects a submission."""
    return Path(out, "autograded", safe_name(result["student"]), result["exercise"], f"{result['exercise']}.ipynb")


def changed_parts(out: Path, result: Result, submissions: Submissions) -> set[str]:
    """The parts whose answer has changed since the reader's notebook was written."""
    if result["where"] not in submissions or not result["parts"] or not place(out, result).exists():
        return set()
    before = answers(place(out, result).read_text("utf-8"))
    now = answers(readable(submissions[result["where"]], result))
    return {name for name, _ in before.items() ^ now.items()}


def answers(notebook: str) -> dict[str, str]:
    """Name of a part → the source of its cell."""
    cells = [(within(cell, "metadata", "nbgrader"), source_of(cell)) for cell in json.loads(notebook)["cells"]]
    return {marks["grade_id"]: source for marks, source in cells if marks.get("solution")}


def readable(submission: Submission | None, result: Result) -> str:
    """A notebook for formgrader: the code and text of a submission, with nbgrader's metadata on the cells of its parts.

    submission    None if it is unreadable: then the notebook says why
    """
    submission, parts = submission or NOTHING, result["parts"]
    prose = {part: facts for part, facts in parts.items() if facts.get("manual")}
    why = f"**{result['status']}** {as_markdown(in_a_line(' '.join(result['notes'])))}"
    cells = [cell("markdown", "status", why), *words(submission, prose)]
    last = {each.name: i for i, each in enumerate(submission.cells) if each.name in parts and each.name not in prose}
    for i, each in enumerate(submission.cells):
        marks = {"grade_id": each.name, "solution": True} if last.get(each.name) == i else {}
        cells.append(cell("code", f"code-{i}", cut(escape_unprintable(each.source), LONGEST), **marks))
    for part in (part for part in parts if part not in prose):
        marks = {"grade": True, "locked": True, "points": parts[part]["of"]}
        cells.append(cell("code", f"check-{part}", f'check("{part}")', **marks))
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}, ensure_ascii=False) + "\n"


def words(submission: Submission, prose: dict[str, Result]) -> Iterator[Result]:
    """The Markdown cells of a submission. Cells of one part are merged: formgrader has one field for each part."""
    texts: dict[str, str] = {}
    for i, each in enumerate(submission.texts):
        name = each.name if each.name in prose else f"text-{i}"
        texts[name] = f"{texts[name]}\n\n{each.source}" if name in texts else each.source
    shown = {name: as_markdown(cut(source, LONGEST)) for name, source in texts.items()}
    for name, source in (dict.fromkeys(prose, MISSING) | shown).items():
        marks = {"grade": True, "solution": True, "points": prose[name]["of"]} if name in prose else {}
        yield cell("markdown", name, source, **marks)


def cell(kind: str, name: str, source: str, **marks: Any) -> Result:
    """A cell without outputs. Any marks become nbgrader's metadata."""
    plain = {"grade": False, "solution": False, "locked": False, "task": False, "cell_type": kind}
    nbgrader = {"nbgrader": {"schema_version": 3, "grade_id": name, **plain, **marks}} if marks else {}
    empty: Result = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": name, "metadata": nbgrader, "source": source, **empty}
