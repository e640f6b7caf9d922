"""check: the answer to an answer, in the notebook, at once.

It runs the probes on the learner's names, and shows a verdict: not attempted, not yet, right. It never raises, needs
no network, and says the same of the same answer. `score` is the same for a whole notebook, as data.
"""

from __future__ import annotations

import html
import json
import re
import sys
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from minigrad.course import exercise
from minigrad.course.exercise import Exercise, Part, Verdict
from minigrad.course.memory import memory
from minigrad.course.probe import Outcome, limited

CELL_SECONDS = 10.0
WORDS = {"todo": "not attempted yet", "fail": "not yet", "pass": "right"}
CODE = re.compile(r"`([^`]+)`")
MARKS = {"todo": "○", "fail": "✗", "pass": "✓"}
COLOURS = {"todo": "#767676", "fail": "#c2410c", "pass": "#15803d"}


@dataclass(frozen=True)
class Note:
    """Some sentences, the first of them the news, shown as text or as a box; read the same in light and dark."""

    state: str
    sentences: tuple[str, ...]
    code: str = ""  # what was run, for who wants to run it too

    @property
    def passed(self) -> bool:
        return self.state == "pass"

    def __repr__(self) -> str:
        return "\n  ".join(self.sentences)

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        first, *rest = (CODE.sub(r"<code>\1</code>", html.escape(sentence)) for sentence in self.sentences)
        lines = "".join(f'<div style="margin-top:.3em">{line}</div>' for line in rest)
        box = f"border-left:4px solid {COLOURS[self.state]};padding:.4em .8em;max-width:50em"
        news = f'<strong><span aria-hidden="true">{MARKS[self.state]} </span>{first}</strong>'
        if self.code:
            lines += f"<details><summary>What was run</summary><pre>{html.escape(self.code)}</pre></details>"
        return {"text/plain": repr(self), "text/html": f'<div role="status" style="{box}">{news}{lines}</div>'}


def check(part: str | None = None) -> Note:
    """Is what I wrote for this part of the exercise right? check() lists the parts."""
    namespace = sys._getframe(1).f_globals
    found = [p for e in exercise.every() for p in e.parts if p.name == part]
    if not found:
        return parts_there_are(part)
    earlier = memory(namespace).attempts.setdefault(found[0].name, [])
    return note(exercise.judged(found[0], namespace, earlier))


def note(verdict: Verdict) -> Note:
    """A verdict as the learner reads it."""
    part = verdict.part
    earned = "" if verdict.state == "todo" else f"{verdict.points} of "
    news = f"{part.name}: {WORDS[verdict.state]} ({earned}{points(part)})."
    says = list(verdict.says)
    if verdict.state == "todo":
        says.append("Write your answer in the cell above, run that cell, and then this one.")
    ran = verdict.probe if verdict.probe and part.open else None
    code = f"{ran.preparation}\n{ran.expression}".strip() if ran else ""
    return Note(verdict.state, tuple(filter(None, [news, *says, verdict.hint])), code)


def points(part: Part) -> str:
    return f"{part.points} point{'' if part.points == 1 else 's'}"


def parts_there_are(asked: Any) -> Note:
    """The parts that can be checked, for somebody who asked for none of them."""
    exercises = list(exercise.every())
    names = [part.name for each in exercises for part in each.parts]
    near = get_close_matches(str(asked), names, 1)
    news = "check takes the name of a part." if asked is None else f"There is no part {asked!r}."
    if near:
        news += f" Did you mean {near[0]!r}?"
    lists = [f"{each.name}: {', '.join(f'{p.name} ({points(p)})' for p in each.parts)}" for each in exercises]
    return Note("todo", (news, *lists))


# -- a whole notebook -------------------------------------------------------------------------


def score(work: str | Path | dict[str, Any], name: str | None = None) -> dict[str, Any]:
    """The points of an exercise, from its notebook or from the names it left, as plain data.

    status    graded, or why it could not be: never a silent 0
    points    of: the most there are
    parts     part → state, points, of, and what check says of it
    cells     number of a cell → the error it ended with

    The notebook's code runs in this process, with your rights: score work that you trust.
    """
    if isinstance(work, dict):
        if name is None:
            raise ValueError("to score names, say of which exercise: score(globals(), '01_…')")
        return marks(exercise.named(name), work)
    path = Path(work)
    try:
        notebook = json.loads(path.read_text("utf-8"))
        sources = [source_of(cell) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        name = name or notebook["metadata"].get("minigrad", {}).get("exercise", path.stem)
        the_exercise = exercise.named(str(name))
    except FileNotFoundError:
        return unscored(f"there is no {path}" if not path.exists() else f"{path.name} is of no exercise we know")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return unscored(f"{path.name} is no notebook: {type(error).__name__}: {error}")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    cells = {n: ran for n, source in enumerate(sources, 1) if (ran := run(source, namespace))}
    return {**marks(the_exercise, namespace), "cells": cells}


def marks(the_exercise: Exercise, namespace: dict[str, Any]) -> dict[str, Any]:
    verdicts = [exercise.judged(part, namespace, []) for part in the_exercise.parts]
    parts = {
        v.part.name: {"state": v.state, "points": v.points, "of": v.part.points, "says": repr(note(v))}
        for v in verdicts
    }
    earned = sum(v.points for v in verdicts)
    marked = {"exercise": the_exercise.name, "status": "graded", "points": earned, "of": the_exercise.points}
    return {**marked, "parts": parts, "cells": {}}


def unscored(why: str) -> dict[str, Any]:
    return {"exercise": None, "status": why, "points": 0, "of": 0, "parts": {}, "cells": {}}


def source_of(cell: dict[str, Any]) -> str:
    """A cell's Python: what is for IPython alone is left out."""
    lines = "".join(cell["source"]).splitlines()
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def run(source: str, namespace: dict[str, Any]) -> str:
    """Run a cell, going on after any error; what became of it, if it did not end well."""

    def work() -> Outcome:
        try:
            exec(compile(source, "<cell>", "exec"), namespace)
        except BaseException as error:
            return Outcome("raised", type(error).__name__)
        return Outcome("gave")

    outcome = limited(work, CELL_SECONDS)
    return "" if outcome.kind == "gave" else outcome.value or outcome.kind
