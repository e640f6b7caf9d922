"""Read a submitted file of any content. Nothing in it is trusted, and nothing is run here.

Cells of the exercise are identified by their nbgrader name or their id. All cells run as submitted, in their order. If
a student changed a cell of given code, the original runs after the changed cell.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

PAUSE = 15  # minutes; a longer gap between cells is a pause
LARGEST = 20 << 20  # bytes of a notebook
MOST_CELLS = 2_000
MOST_LISTS = 250_000  # lists and objects of the JSON: in memory each takes a hundred times its size in the file
MOST_ITEMS = 1_000_000  # items of these: a string takes fifty bytes more than its characters
MOST_TEXT = 4 << 20  # characters of all cells
LONGEST_NAME = 100  # characters of a cell's name
STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


class Unreadable(Exception):
    """The submission is not a valid notebook. The message says why, for a person to read."""


@dataclass(frozen=True)
class Cell:
    name: str
    source: str


@dataclass(frozen=True)
class Submission:
    """A submitted notebook.

    exercise    the exercise named in its metadata; "" if there is none
    cells       its code cells, in order
    texts       its Markdown cells, in order
    minutes     the time spent on it, from the recorded times of its cells, without pauses
    """

    exercise: str
    cells: tuple[Cell, ...]
    texts: tuple[Cell, ...]
    minutes: float = 0.0


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(data: bytes) -> Submission:
    """Read the submission in these bytes. Raises Unreadable."""
    if not data.strip():
        raise Unreadable("the file is empty")
    if len(data) > LARGEST:
        raise Unreadable(f"the file has more than {LARGEST >> 20} MB: clear the notebook's outputs, and save it")
    nb = parse(data)
    raw = cells_of(nb)
    cells = [(text(cell.get("cell_type")), Cell(name_of(cell, i), source_of(cell)))
             for i, cell in enumerate(raw) if isinstance(cell, dict)]  # fmt: skip
    if (letters := sum(len(cell.source) for _, cell in cells)) > MOST_TEXT:
        raise Unreadable(f"the notebook's cells have {letters} characters; at most {MOST_TEXT} are allowed")
    code, texts = (tuple(cell for kind, cell in cells if kind == wanted) for wanted in ("code", "markdown"))
    return Submission(text(within(nb, "metadata", "minigrad").get("exercise")), code, texts, minutes(raw))


def parse(data: bytes) -> dict[str, Any]:
    """Parse JSON. Raises Unreadable, also if the object would take much more memory than the file."""
    for encoding in (json.detect_encoding(data), "cp1252"):
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            break
    else:
        raise Unreadable("the file is not text")
    bare = STRING.sub("", text)
    for what, signs, most in (("lists and objects", "[{", MOST_LISTS), ("lines and numbers", ",", MOST_ITEMS)):
        if (n := sum(map(bare.count, signs))) > most:
            raise Unreadable(f"the file has {n} {what}; at most {most} are allowed: clear the outputs")
    try:
        nb = json.loads(text)
    except RecursionError:
        raise Unreadable("the file is JSON that is nested too deep") from None
    except ValueError as error:
        raise Unreadable(f"the file is not a notebook: {error}"[:200]) from None
    if not isinstance(nb, dict):
        raise Unreadable("the file is JSON, but not a notebook")
    return nb


def cells_of(nb: dict[str, Any]) -> list[Any]:
    """The cells of a notebook, unchecked; also in format 3, which keeps them in worksheets."""
    sheets = [nb] if isinstance(nb.get("cells"), list) else nb.get("worksheets")
    lists = [within(sheet).get("cells") for sheet in sheets] if isinstance(sheets, list) else []
    if not any(isinstance(cells, list) for cells in lists):
        raise Unreadable("the file is JSON without cells, not a notebook")
    cells = [cell for cells in lists if isinstance(cells, list) for cell in cells]
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"the notebook has {len(cells)} cells; at most {MOST_CELLS} are allowed")
    return cells


def minutes(cells: list[Any]) -> float:
    """The minutes between the first and last run of a cell, if JupyterLab recorded them, without gaps above PAUSE."""
    times = []
    for cell in cells:
        with suppress(ValueError, OverflowError):  # a cell without a time
            begun = text(within(cell, "metadata", "execution").get("iopub.execute_input"))
            times.append(datetime.fromisoformat(begun).astimezone(UTC))
    gaps = [(after - before).total_seconds() / 60 for before, after in pairwise(sorted(times))]
    return round(sum(gap for gap in gaps if gap <= PAUSE), 1)


def name_of(cell: dict[str, Any], number: int) -> str:
    name = text(within(cell, "metadata", "nbgrader").get("grade_id")) or text(cell.get("id"))
    return (name or f"cell {number}")[:LONGEST_NAME]


def source_of(cell: dict[str, Any]) -> str:
    source = cell.get("source", cell.get("input", ""))
    return "".join([each for each in (source if isinstance(source, list) else [source]) if isinstance(each, str)])


def within(nb: Any, *keys: str) -> dict[str, Any]:
    """The dict under these keys; {} if there is none."""
    for key in keys:
        nb = nb.get(key) if isinstance(nb, dict) else None
    return nb if isinstance(nb, dict) else {}


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class Release:
    """An exercise as it was released.

    given     name → given code of the exercise
    checks    the names of the cells that call check
    prose     name → the placeholder for an answer in prose
    """

    given: dict[str, str]
    checks: tuple[str, ...]
    prose: dict[str, str] = field(default_factory=dict)


def load_release(path: Path) -> Release:
    """Read the exercise in a notebook of exercises/."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    marked = [(cell["id"], source_of(cell), cell["cell_type"], within(cell, "metadata", "nbgrader")) for cell in cells]
    code = [(name, source, marks) for name, source, kind, marks in marked if kind == "code"]
    return Release(
        {name: source for name, source, marks in code if not marks.get("solution") and not marks.get("grade")},
        tuple(name for name, _, marks in code if marks.get("grade") and not marks.get("solution")),
        {name: source for name, source, kind, marks in marked if kind == "markdown" and marks.get("solution")},
    )


def to_run(submission: Submission, exercise: Release) -> list[Cell]:
    """The cells to run, in the learner's order. After a changed cell of the exercise comes the original.

    Each cell gets a unique name: copies of a cell are numbered.
    """
    names = {cell.name for cell in submission.cells}
    cells = [Cell(name, source) for name, source in exercise.given.items() if name not in names]
    for cell in submission.cells:
        if is_edited(cell, exercise):
            cells.append(Cell(f"{cell.name} (as handed in)", cell.source))
        cells.append(Cell(cell.name, exercise.given.get(cell.name, cell.source)))
    numbers: dict[str, Iterator[int]] = defaultdict(partial(count, 1))
    named = ((cell, next(numbers[cell.name])) for cell in cells)
    return [cell if number == 1 else Cell(f"{cell.name} ({number})", cell.source) for cell, number in named]


def is_edited(cell: Cell, exercise: Release) -> bool:
    """Whether a given cell of the exercise was changed, even by one line."""
    return visible_lines(cell.source) != visible_lines(exercise.given.get(cell.name, cell.source))


def visible_lines(source: str) -> list[str]:
    """The lines without white space at their ends, and without empty lines at the end."""
    return [line.rstrip() for line in source.rstrip().splitlines()]
