"""Right answers that are written in unusual ways, and wrong ones that come near: each has the verdict it deserves.

The answers are in tests/course/answers, a cell for each: `# %% right: order: a stack and a set` or `# %% wrong: …`.
Before them stands a table of short ones: "wrong: order: …": "code", or {"old": "new"}, which is the solution with that
change.
"""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from functools import lru_cache
from pathlib import Path

import pytest
from nbformat import NotebookNode

from minigrad.course import exercise
from minigrad.course.exercise import Part
from tests.support.root import ROOT
from tests.support.table import table

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import exercise as making
from notebooks.source import notebook

DIVIDED_BY_0 = """
def f(x):
    y = x
    while y.item() > 1:
        y = y / 2
    return 1 / (y - y)


inputs = [0.5, 1.5, 3.5]
"""
STATES = {"right": "pass", "wrong": "fail"}


def written(path: Path) -> dict[str, str | dict[str, str]]:
    """The answers of a file: what each is, and its code or its changes."""
    short, *cells = re.split(r"^# %% ", path.read_text("utf-8"), flags=re.MULTILINE)
    return literal_eval(short.strip() or "{}") | dict(cell.split("\n", 1) for cell in cells)


ANSWERS = [
    pytest.param(path.stem, *said.split(": ", 2), answer, id=f"{path.stem[:2]} {said}")
    for path in sorted((ROOT / "tests" / "course" / "answers").glob("*.py"))
    for said, answer in written(path).items()
]


@lru_cache
def known(name: str) -> tuple[NotebookNode, dict[str, Part]]:
    return notebook(ROOT / "solutions" / "source" / f"{name}.py"), {
        p.name: p for p in exercise.load_exercise(name).parts
    }


def code(part: Part, answer: str | dict[str, str]) -> str:
    """An answer's code; changes are made to the part's solution."""
    if isinstance(answer, str):
        return answer
    changed = part.solution
    for old, new in answer.items():
        assert changed.count(old) == 1, f"the solution of {part.name} has {old!r} {changed.count(old)} times"
        changed = changed.replace(old, new)
    return changed


@pytest.mark.share(8)
@table("name, deserves, part, what, answer", ANSWERS, groups=8)
def test_an_answer_has_the_verdict_it_deserves(name, deserves, part, what, answer):
    nb, parts = known(name)

    outcomes = making.outcomes(nb, part, code(parts[part], answer), parts[part].probes, what)

    said = exercise.verdict(parts[part], outcomes)
    assert said.state == STATES[deserves], said.says


def test_every_part_has_a_right_answer_besides_its_solution():
    answered = {(param.values[0], param.values[2]) for param in ANSWERS if param.values[1] == "right"}
    parts = {(each.name, part.name) for each in exercise.all_exercises() for part in each.parts if part.open}

    assert parts <= answered
    assert len(ANSWERS) >= 550


@table("expression, shown", [
    ("round(float(bound), 6)", "bound"), ('str(chosen.get("a")).strip().lower()', 'chosen["a"]'),
    ("round(float(counted('ab', 'c')), 4)", "counted('ab', 'c')"), ("int(weights)", "int(weights)"),
    ("letters([1.0], 1.0, 4)", "letters([1.0], 1.0, 4)"),
])  # fmt: skip
def test_a_probe_is_shown_without_the_conversions_around_it(expression, shown):
    assert exercise.asked_for(expression) == shown


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_is_infinite_is_not_said_to_stand_on_a_border():
    """In 08 a function that divides by 0 was told to move its inputs off the numbers that an `if` asks for."""
    nb, parts = known("08_the_road_taken")
    part, source = parts["own_road"], DIVIDED_BY_0

    said = exercise.verdict(part, making.outcomes(nb, "own_road", source, part.probes, "infinite"))

    assert said.state == "fail"
    assert not any("border" in sentence for sentence in (*said.says, said.hint))
