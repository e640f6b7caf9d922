"""Scores in nbgrader's gradebook, where `nbgrader formgrader` shows them and takes points that a person gives.

For the person there is a notebook of each submission, of its code and its words and nothing else: no output, no HTML,
no link, each of which may be a program for the browser of whoever looks. One process writes; needs the extra
[instructor].
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from minigrad.course.errors import CourseError

from .letters import as_a_name, as_markdown, cut, in_a_line, spelled, tame
from .submission import Submission

Result = dict[str, Any]
Submissions = Mapping[str, Submission | None]
FILE = "gradebook.db"
NOBODY: Submissions = MappingProxyType({})
CONFIG = "nbgrader_config.py"
EXPORT = """# Written by minigrad: `nbgrader export` here leaves empty what nobody has graded, in place of a 0.
c = get_config()  # noqa: F821
c.ExportApp.plugin_class = "minigrad.grading.export.Scores"
"""
LONGEST = 50_000  # characters of a cell
MISSING = "*No cell of this name was handed in. What was written for this part may stand above.*"
NOTHING = Submission("", (), ())


def is_there() -> bool:
    """Whether nbgrader is installed."""
    return importlib.util.find_spec("nbgrader") is not None


def write(out: Path, results: Sequence[Result], submissions: Submissions = NOBODY) -> Path:
    """Bring the gradebook in a folder up to date; grading a submission again changes its scores, and adds none.

    submissions    where a submission lies → what it is: a text that has changed is to be read again

    Raises CourseError without nbgrader.
    """
    if not is_there():
        raise CourseError('the gradebook is nbgrader\'s: python -m pip install "minigrad-course[instructor]"')
    from nbgrader.api import Gradebook
    from sqlalchemy import text
    from sqlalchemy.exc import SAWarning

    with warnings.catch_warnings(), programs_of_this_python(), Gradebook(f"sqlite:///{out / FILE}") as book:
        warnings.simplefilter("ignore", SAWarning)  # of nbgrader's own queries
        # It writes after each cell of each submission; what is lost in a power cut is made again from results/.
        book.db.execute(text("PRAGMA synchronous = OFF"))
        for name in sorted({r["exercise"] for r in results if r["parts"]}):
            of_exercise = [r for r in results if r["exercise"] == name and r["parts"]]
            assign(book, name, of_exercise[0]["parts"])
            for result in of_exercise:
                enter(book, name, result, changed(out, result, submissions))
    if not (out / CONFIG).exists():
        (out / CONFIG).write_text(EXPORT, "utf-8")
    return out / FILE


def given(out: Path) -> dict[tuple[str, str, str], tuple[float | None, str]]:
    """(student, exercise, part) → the points and the words that a person gave, but for what is to be read again."""
    if not (is_there() and (out / FILE).exists()):
        return {}
    from nbgrader.api import Gradebook

    found: dict[tuple[str, str, str], tuple[float | None, str]] = {}
    with programs_of_this_python(), Gradebook(f"sqlite:///{out / FILE}") as book:
        for name in [assignment.name for assignment in book.assignments]:
            for notebook in book.notebook_submissions(name, name):
                words = {comment.name: comment.manual_comment or "" for comment in notebook.comments}
                for grade in notebook.grades:
                    part, points = grade.name.removeprefix("check-"), grade.manual_score
                    about = points if not grade.needs_manual_grade else None, words.get(part, "")
                    if about != (None, ""):
                        found[notebook.student.id, name, part] = about
    return found


def place(out: Path, result: Result) -> Path:
    """Where formgrader looks for a submission."""
    return Path(out, "autograded", tame(result["student"]), result["exercise"], f"{result['exercise']}.ipynb")


def changed(out: Path, result: Result, submissions: Submissions) -> set[str]:
    """The parts whose answer is another than the one that was there to read."""
    if result["where"] not in submissions or not place(out, result).exists():
        return set()
    before = answers(place(out, result).read_text("utf-8"))
    now = answers(readable(submissions[result["where"]], result))
    return {name for name in {**before, **now} if before.get(name) != now.get(name)}


def answers(notebook: str) -> dict[str, str]:
    """Name of a part → what stands in its cell."""
    cells = [(cell["metadata"].get("nbgrader", {}), cell["source"]) for cell in json.loads(notebook)["cells"]]
    return {marked["grade_id"]: source for marked, source in cells if marked.get("solution")}


@contextmanager
def programs_of_this_python() -> Iterator[None]:
    """A block in which nbgrader finds `alembic`, which it calls by name, also where no environment is activated."""
    before = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{before}"
    try:
        yield
    finally:
        os.environ["PATH"] = before


def assign(book: Any, name: str, parts: dict[str, Result]) -> None:
    """The exercise, with a cell for each part."""
    book.update_or_create_assignment(name)
    book.update_or_create_notebook(name, name)
    for part, facts in parts.items():
        kind = "markdown" if facts.get("manual") else "code"
        book.update_or_create_grade_cell(graded(part, facts), name, name, cell_type=kind, max_score=facts["of"])
        book.update_or_create_solution_cell(part, name, name)
        for source in {part, graded(part, facts)}:
            book.update_or_create_source_cell(source, name, name, cell_type=kind, locked=source != part)


def graded(part: str, facts: Result) -> str:
    """The cell that has the points: of prose the answer itself, else the check below it."""
    return part if facts.get("manual") else f"check-{part}"


def enter(book: Any, name: str, result: Result, changed: set[str]) -> None:
    """The points of a submission; those that a person gave stay, to be looked at again if the answer has changed."""
    first, _, last = as_a_name(result["name"]).partition(" ")
    student = tame(result["student"])
    book.update_or_create_student(student, first_name=first or None, last_name=last or None)
    book.update_or_create_submission(name, student)
    for part, facts in result["parts"].items():
        grade = book.find_grade(graded(part, facts), name, name, student)
        grade.auto_score = None if facts["state"] == "wait" else facts["points"]
        if grade.manual_score is None:
            grade.needs_manual_grade = facts["state"] in ("died", "wait")
        elif part in changed:
            grade.needs_manual_grade = True
    book.db.commit()


def readable(submission: Submission | None, result: Result) -> str:
    """A notebook for formgrader: code and words of a submission, the cells of its parts marked as nbgrader does.

    submission    None where nothing could be read: then the notebook says why
    """
    submission, parts = submission or NOTHING, result["parts"]
    prose = {part: facts for part, facts in parts.items() if facts.get("manual")}
    cells = [text("status", f"**{result['status']}** {as_markdown(in_a_line(' '.join(result['notes'])))}", None)]
    texts: dict[str, str] = {}  # of a part: all cells of its name, for formgrader has one field for each
    for i, cell in enumerate(submission.texts):
        name = cell.name if cell.name in prose else f"text-{i}"
        texts[name] = f"{texts[name]}\n\n{cell.source}" if name in texts else cell.source
    shown = {name: as_markdown(cut(source, LONGEST)) for name, source in texts.items()}
    for name, source in {**shown, **{part: MISSING for part in prose if part not in shown}}.items():
        cells.append(text(name, source, prose.get(name)))
    last = {cell.name: i for i, cell in enumerate(submission.cells) if cell.name in parts and cell.name not in prose}
    for i, cell in enumerate(submission.cells):
        marked = marks(cell.name, solution=True) if last.get(cell.name) == i else None
        cells.append(code(f"code-{i}", cut(spelled(cell.source), LONGEST), marked))
    for part, facts in parts.items():
        if part in prose:
            continue
        check = marks(f"check-{part}", grade=True, locked=True, points=facts["of"])
        cells.append(code(f"check-{part}", f'check("{part}")', check))
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}, ensure_ascii=False) + "\n"


def text(name: str, source: str, facts: Result | None) -> Result:
    """A cell of words; where they are an answer, with its points."""
    marked = marks(name, grade=True, solution=True, points=facts["of"], cell_type="markdown") if facts else None
    return {
        "cell_type": "markdown",
        "id": name,
        "metadata": {"nbgrader": marked} if marked else {},
        "source": source,
    }


def code(name: str, source: str, marked: Result | None) -> Result:
    """A cell of code without outputs."""
    metadata = {"nbgrader": marked} if marked else {}
    empty: Result = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "id": name, "metadata": metadata, "source": source, **empty}


def marks(name: str, **more: Any) -> dict[str, Any]:
    plain = {"grade": False, "solution": False, "locked": False, "task": False, "cell_type": "code"}
    return {"schema_version": 3, "grade_id": name, **plain, **more}
