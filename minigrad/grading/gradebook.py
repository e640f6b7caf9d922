"""Scores in nbgrader's gradebook, where `nbgrader formgrader` shows them and takes points that a person gives.

For the person there is a notebook of each submission, of its code and its words and nothing else: no output, which may
be a program for the browser of whoever looks. One process writes; needs the extra [instructor].
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from minigrad.course.errors import CourseError

from .submission import Submission

Result = dict[str, Any]
FILE = "gradebook.db"


def is_there() -> bool:
    """Whether nbgrader is installed."""
    return importlib.util.find_spec("nbgrader") is not None


def write(out: Path, results: Sequence[Result]) -> Path:
    """Bring the gradebook in a folder up to date; grading a submission again changes its scores, and adds none.

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
                enter(book, name, result)
    return out / FILE


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
        cell = {"cell_type": "code", "max_score": facts["of"]}
        book.update_or_create_grade_cell(f"check-{part}", name, name, **cell)
        book.update_or_create_solution_cell(part, name, name)
        for source in (part, f"check-{part}"):
            book.update_or_create_source_cell(source, name, name, cell_type="code", locked=source != part)


def enter(book: Any, name: str, result: Result) -> None:
    """The points of a submission; those that a person gave stay."""
    first, _, last = result["name"].partition(" ")
    book.update_or_create_student(result["student"], first_name=first or None, last_name=last or None)
    book.update_or_create_submission(name, result["student"])
    for part, facts in result["parts"].items():
        grade = book.find_grade(f"check-{part}", name, name, result["student"])
        grade.auto_score = facts["points"]
        grade.needs_manual_grade = facts["state"] == "died"
    book.db.commit()


def readable(submission: Submission, parts: dict[str, Result]) -> str:
    """A notebook for formgrader: code and words of a submission, the cells of its parts marked as nbgrader does."""
    cells = [{"cell_type": "markdown", "id": f"text-{i}", "metadata": {}, "source": cell.source}
             for i, cell in enumerate(submission.texts)]  # fmt: skip
    for i, cell in enumerate(submission.cells):
        cells.append(code(f"code-{i}", cell.source, marks(cell.name, solution=True) if cell.name in parts else None))
    for part, facts in parts.items():
        check = marks(f"check-{part}", grade=True, locked=True, points=facts["of"])
        cells.append(code(f"check-{part}", f'check("{part}")', check))
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}, ensure_ascii=False) + "\n"


def code(name: str, source: str, marked: Result | None) -> Result:
    """A cell of code without outputs."""
    metadata = {"nbgrader": marked} if marked else {}
    empty: Result = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "id": name, "metadata": metadata, "source": source, **empty}


def marks(name: str, **more: Any) -> dict[str, Any]:
    plain = {"grade": False, "solution": False, "locked": False, "task": False, "cell_type": "code"}
    return {"schema_version": 3, "grade_id": name, **plain, **more}
