"""Reading what somebody handed in: a file of any content, of which nothing is believed and nothing is run.

Cells of the exercise are known by the name that nbgrader gave them, or by their id. All are run as they came back, in
their order; where the exercise gives code, its own text is run after what came back in its place.
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

PAUSE = 15  # minutes
LARGEST = 20 << 20  # bytes of a notebook
MOST_CELLS = 2_000
MOST_LISTS = 250_000  # lists and objects of the JSON: each takes a hundred times the memory that it has in the file
MOST_ITEMS = 1_000_000  # in them: a string costs fifty bytes in addition to its characters
MOST_TEXT = 4 << 20  # characters of all cells
LONGEST_NAME = 100  # characters of a cell's name
STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


class Unreadable(Exception):
    """What was handed in is no notebook; the argument says why, in words for a person."""


@dataclass(frozen=True)
class Cell:
    name: str
    source: str


@dataclass(frozen=True)
class Submission:
    """A notebook that was handed in.

    exercise    the name that it says it answers; "" if it says none
    cells       its code, in order
    texts       its Markdown, in order
    minutes     spent on it, as far as the notebook tells when its cells were run; pauses are left out
    """

    exercise: str
    cells: tuple[Cell, ...]
    texts: tuple[Cell, ...]
    minutes: float = 0.0


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read(data: bytes) -> Submission:
    """The submission in these bytes. Raises Unreadable."""
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
    """The object in JSON, which takes little more memory than room in its file. Raises Unreadable."""
    for encoding in (json.detect_encoding(data), "cp1252"):
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            break
    else:
        raise Unreadable("the file is no text")
    bare = STRING.sub("", text)
    lists, items = bare.count("[") + bare.count("{"), bare.count(",")
    if lists > MOST_LISTS:
        raise Unreadable(f"the file has {lists} lists and objects, and may have {MOST_LISTS}: clear the outputs")
    if items > MOST_ITEMS:
        raise Unreadable(f"the file has {items} lines and numbers; at most {MOST_ITEMS} are allowed: clear the outputs")
    try:
        nb = json.loads(text)
    except RecursionError:
        raise Unreadable("the file is JSON inside JSON without end") from None
    except ValueError as error:
        raise Unreadable(f"the file is no notebook: {error}"[:200]) from None
    if not isinstance(nb, dict):
        raise Unreadable("the file is JSON, and no notebook")
    return nb


def cells_of(nb: dict[str, Any]) -> list[Any]:
    """The cells of a notebook, whatever they are; also in format 3, which keeps them in worksheets."""
    sheets = [nb] if isinstance(nb.get("cells"), list) else nb.get("worksheets")
    lists = [within(sheet).get("cells") for sheet in sheets] if isinstance(sheets, list) else []
    if not any(isinstance(cells, list) for cells in lists):
        raise Unreadable("the file is JSON without cells, and no notebook")
    cells = [cell for cells in lists if isinstance(cells, list) for cell in cells]
    if len(cells) > MOST_CELLS:
        raise Unreadable(f"the notebook has {len(cells)} cells, and may have {MOST_CELLS}")
    return cells


def minutes(cells: list[Any]) -> float:
    """From each run of a cell to the next, where JupyterLab has kept the times; what is longer than a pause is one."""
    times = []
    for cell in cells:
        with suppress(ValueError, OverflowError):  # where there is no time
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
    """What lies under these keys, if it is an object; else an empty one."""
    for key in keys:
        nb = nb.get(key) if isinstance(nb, dict) else None
    return nb if isinstance(nb, dict) else {}


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


@dataclass(frozen=True)
class Released:
    """An exercise as it was given out.

    given     name → code that is the exercise's own
    checks    names of the cells that check
    prose     name → text that stood where the learner's goes, for a person to read
    """

    given: dict[str, str]
    checks: tuple[str, ...]
    prose: dict[str, str] = field(default_factory=dict)


def released(path: Path) -> Released:
    """The exercise in a notebook of exercises/."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    marked = [(cell["id"], source_of(cell), cell["cell_type"], within(cell, "metadata", "nbgrader")) for cell in cells]
    code = [(name, source, marks) for name, source, kind, marks in marked if kind == "code"]
    return Released(
        {name: source for name, source, marks in code if not marks.get("solution") and not marks.get("grade")},
        tuple(name for name, _, marks in code if marks.get("grade") and not marks.get("solution")),
        {name: source for name, source, kind, marks in marked if kind == "markdown" and marks.get("solution")},
    )


def to_run(submission: Submission, exercise: Released) -> list[Cell]:
    """The code to run, in the learner's order, with the exercise's own after what a learner made of it.

    Each cell has a name of its own: one that was copied keeps its name with a number.
    """
    names = {cell.name for cell in submission.cells}
    cells = [Cell(name, source) for name, source in exercise.given.items() if name not in names]
    for cell in submission.cells:
        if edited(cell, exercise):
            cells.append(Cell(f"{cell.name} (as handed in)", cell.source))
        cells.append(Cell(cell.name, exercise.given.get(cell.name, cell.source)))
    numbers: dict[str, Iterator[int]] = defaultdict(partial(count, 1))
    named = ((cell, next(numbers[cell.name])) for cell in cells)
    return [cell if number == 1 else Cell(f"{cell.name} ({number})", cell.source) for cell, number in named]


def edited(cell: Cell, exercise: Released) -> bool:
    """Whether a cell is the exercise's own, and came back with another text, be it one line more."""
    return visible_lines(cell.source) != visible_lines(exercise.given.get(cell.name, cell.source))


def visible_lines(source: str) -> list[str]:
    """Its lines, but for what nobody sees at their ends."""
    return [line.rstrip() for line in source.rstrip().splitlines()]
