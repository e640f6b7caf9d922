"""score: the verdicts of check on a whole notebook, as data.

The notebook runs in this process with your permissions, so score only work that you trust. minigrad.course.grading
grades the work of others in a sandbox.
"""

from __future__ import annotations

import json
import linecache
from pathlib import Path
from typing import Any
from zlib import crc32

from minigrad.course import exercise
from minigrad.course.attempts import Attempts
from minigrad.course.exercise import Exercise
from minigrad.course.feedback import verdict_note
from minigrad.course.notebook_state import NAME, NotebookState
from minigrad.course.probe import Outcome, run_limited

CELL_SECONDS = 10.0


def score(work: str | Path | dict[str, Any], name: str | None = None) -> dict[str, Any]:
    """The points of an exercise, from its notebook or from the names that it defined, as plain data.

    status    "graded", or why it could not be graded: never a silent 0
    points    the points; `of` is the maximum
    parts     part → state, points, of, and the text of check
    cells     number of a cell → the error it ended with
    """
    if isinstance(work, dict):
        if name is None:
            raise ValueError("to score names, give the exercise too: score(globals(), '01_…')")
        return marks(exercise.load_exercise(name), work)
    path = Path(work)
    try:
        notebook = json.loads(path.read_text("utf-8"))
        sources = [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        name = name or notebook["metadata"].get("minigrad", {}).get("exercise", path.stem)
        the_exercise = exercise.load_exercise(str(name))
    except FileNotFoundError:
        return empty_score(f"there is no {path}" if not path.exists() else f"{path.name} belongs to no known exercise")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return empty_score(f"{path.name} is not a notebook: {type(error).__name__}: {error}")
    # No file stores these attempts, because the scored work is somebody else's.
    namespace: dict[str, Any] = {"__name__": "__main__", NAME: NotebookState(attempts=Attempts(path=None))}
    cells = {n: ran for n, source in enumerate(sources, 1) if (ran := run(source, namespace))}
    return {**marks(the_exercise, namespace), "cells": cells}


def marks(the_exercise: Exercise, namespace: dict[str, Any]) -> dict[str, Any]:
    verdicts = [exercise.check_answer(part, namespace) for part in the_exercise.parts]
    parts = {
        v.part.name: {"state": v.state, "points": v.points, "of": v.part.points, "says": repr(verdict_note(v))}
        for v in verdicts
    }
    earned = sum(v.points for v in verdicts)
    marked = {"exercise": the_exercise.name, "status": "graded", "points": earned, "of": the_exercise.points}
    return {**marked, "parts": parts, "cells": {}}


def empty_score(why: str) -> dict[str, Any]:
    return {"exercise": None, "status": why, "points": 0, "of": 0, "parts": {}, "cells": {}}


def source_of(cell: dict[str, Any]) -> str:
    """The Python code of a cell, without magics and shell commands."""
    lines = "".join(cell["source"]).splitlines()
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def run(source: str, namespace: dict[str, Any]) -> str:
    """Run a cell and catch any error. Returns the kind of the error, or ""."""
    file = f"<cell {crc32(source.encode()):x}>"
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file  # AutoGraph reads the source

    def work() -> Outcome:
        try:
            exec(compile(source, file, "exec"), namespace)
        except BaseException as error:
            return Outcome("raised", type(error).__name__)
        return Outcome("gave")

    outcome = run_limited(work, CELL_SECONDS)
    return "" if outcome.kind == "gave" else outcome.value or outcome.kind
