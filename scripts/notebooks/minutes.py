"""How long a notebook takes, computed from its source, so that no header promises less.

    a lesson       words of prose / 180 + 1.5 for each Predict or Guess + lines of code / 8 + 2 for each widget
    an exercise    words of prose / 180 + lines of given code / 8 + 5 for each part that is not optional

What is folded and what is for the lecturer is not counted, nor are empty lines and comments: so optional parts of an
exercise, which are folded, take no minutes. A header states the figure in whole minutes, rounded up to the next five;
so does the text, if it says "About 45 minutes". The header of an exercise may state more, because its parts have
minutes of their own. Lessons from 90 on are reference material, which nobody reads from top to bottom: they are not
checked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator

from nbformat import NotebookNode

from minigrad.course.lessons import is_on_road
from minigrad.course.widgets import HOMES
from notebooks import folding
from notebooks.exercise import ASIDE
from notebooks.source import BuildError

WORDS_A_MINUTE, LINES_A_MINUTE = 180, 8
QUESTION, WIDGET, PART = 1.5, 2, 5  # minutes
STEP, LONGEST = 5, 60
REFERENCE = 90  # the number of the first notebook that is reference material
QUESTIONS = re.compile(r"\b(?:Predict|Guess)\(")
WIDGETS = re.compile(rf"\b(?:{'|'.join(sorted(HOMES.keys() - {'Predict', 'Guess'}))})\(")
STATED = re.compile(r"\bAbout\s+(\d+)\s+minutes\b")


def lesson_minutes(nb: NotebookNode) -> float:
    """The minutes of a lesson's cells that are not folded."""
    cells = folding.unfolded_cells(nb)
    code = "\n".join(sources(cells, "code"))
    asked, shown = len(QUESTIONS.findall(code)), len(WIDGETS.findall(code))
    return reading_minutes(cells) + QUESTION * asked + WIDGET * shown


def exercise_minutes(nb: NotebookNode) -> float:
    """The minutes of an exercise, computed from its solution: without probes, hints, and what is only for `check`."""
    cells = folding.unfolded_cells(nb)
    given = [cell for cell in cells if not any(key in cell.metadata for key in (*ASIDE, "answer"))]
    return reading_minutes(given) + PART * sum("answer" in cell.metadata for cell in cells)


def reading_minutes(cells: list[NotebookNode]) -> float:
    words = sum(len(source.split()) for source in sources(cells, "markdown"))
    lines = (line.strip() for source in sources(cells, "code") for line in source.splitlines())
    return words / WORDS_A_MINUTE + sum(bool(line) and line[0] != "#" for line in lines) / LINES_A_MINUTE


def sources(cells: Iterable[NotebookNode], kind: str) -> Iterator[str]:
    return (cell.source for cell in cells if cell.cell_type == kind)


def minutes_of(nb: NotebookNode) -> float:
    """The minutes of a lesson or, if the header names the lesson that it belongs to, of an exercise."""
    return exercise_minutes(nb) if "lesson" in nb.metadata.minigrad else lesson_minutes(nb)


def rounded_up(minutes: float) -> int:
    """The minutes that a header states."""
    return STEP * math.ceil(max(round(minutes), 1) / STEP)


def refuse_dishonest(nb: NotebookNode, name: str) -> None:
    """Raise BuildError for a lesson that is too long, or a header or text that states other minutes than it takes."""
    for problem in problems(nb, name.rpartition("/")[2]):
        raise BuildError(f"{name}: {problem}")


def problems(nb: NotebookNode, stem: str) -> Iterator[str]:
    if int(stem[:2]) >= REFERENCE:
        return
    facts, minutes = nb.metadata.minigrad, minutes_of(nb)
    honest = rounded_up(minutes)
    if round(minutes) > LONGEST and "lesson" not in facts:
        yield f"it takes {minutes:.1f} minutes, and {LONGEST} are allowed: shorten it, or fold side topics"
    stated = facts["minutes"]
    if stated < honest or (stated > honest and "lesson" not in facts):
        yield f"the header says {stated} minutes, and it takes {minutes:.1f}: say {honest}"
    for other in STATED.findall("\n".join(sources(nb.cells, "markdown"))):
        if int(other) != stated:
            yield f"the text says about {other} minutes, and the header {stated}"


def report(lessons: dict[str, NotebookNode], solutions: dict[str, NotebookNode]) -> str:
    """A line for each notebook with the honest and the stated minutes, and the sums in hours."""
    counted = {name: nb for name, nb in lessons.items() if int(name[:2]) < REFERENCE}
    rows = [*counted.items(), *solutions.items()]
    lines = [f"{minutes_of(nb):5.1f}  stated {nb.metadata.minigrad['minutes']:3}  {name}" for name, nb in rows]
    on_road = {name: nb for name, nb in counted.items() if is_on_road(name)}
    theirs = [nb for nb in solutions.values() if nb.metadata.minigrad["lesson"] in on_road]
    sums = (
        ("the lessons", counted.values()),
        ("the course, with exercises", [*counted.values(), *solutions.values()]),
        ("the road", on_road.values()),
        ("the road, with exercises", [*on_road.values(), *theirs]),
    )
    return "\n".join([*lines, *(f"{hours(each):5.1f} hours: {words}" for words, each in sums)])


def hours(notebooks: Iterable[NotebookNode]) -> float:
    return sum(map(minutes_of, notebooks)) / 60
