"""Every exercise proves itself: the solution earns full marks, the untouched exercise none, and each known-wrong answer
gets the hint that was written for it. One test for all exercises, those to come included.

nbval runs every cell of the solutions, in which each `check` must pass, and of the exercises as the learner gets them.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbgrader.preprocessors import CheckCellMetadata

from minigrad.course import exercise, feedback, score
from tests.support.root import ROOT
from tests.support.table import table

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import exercise as making
from notebooks.source import notebook

# In a notebook the overflow of a wrong answer only warns.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
SOURCES = sorted((ROOT / "solutions" / "source").glob("*.py"))
NAMES = [path.stem for path in SOURCES]
WRONG = [
    pytest.param(path, number, id=f"{path.stem}-{number}")
    for path in SOURCES
    for number in range(max(len(part.wrong) for part in exercise.load_exercise(path.stem).parts))
]


def cells(folder: str, name: str) -> list[dict[str, Any]]:
    return json.loads((ROOT / folder / f"{name}.ipynb").read_text("utf-8"))["cells"]


def with_answers(folder: str, name: str, answers: dict[str, str], tmp_path: Path) -> Path:
    """A copy of a notebook in which parts have these answers."""
    nb = json.loads((ROOT / folder / f"{name}.ipynb").read_text("utf-8"))
    for cell in nb["cells"]:
        cell["source"] = answers.get(cell["id"], cell["source"])
    path = tmp_path / f"{name}.ipynb"
    path.write_text(json.dumps(nb), "utf-8")
    return path


@pytest.mark.share(16)
@pytest.mark.parametrize("name", NAMES)
def test_the_solution_scores_full(name):
    marks = score(ROOT / "solutions" / f"{name}.ipynb")

    assert (marks["status"], marks["cells"]) == ("graded", {})
    assert {part["state"] for part in marks["parts"].values()} == {"pass"}
    assert marks["points"] == marks["of"] == 10


@pytest.mark.share(16)
@pytest.mark.parametrize("name", NAMES)
def test_the_probes_give_what_is_stored_on_the_solution_and_on_each_known_wrong_answer(name):
    stored = (ROOT / "minigrad" / "course" / "answers" / f"{name}.json").read_text("utf-8")

    assert making.answers(notebook(ROOT / "solutions" / "source" / f"{name}.py"), name, making.outcomes) == stored


@pytest.mark.share(16)
@pytest.mark.parametrize("name", NAMES)
def test_the_untouched_exercise_scores_nothing_and_is_said_to_be_untouched(name):
    marks = score(ROOT / "exercises" / f"{name}.ipynb")

    assert (marks["status"], marks["points"], marks["of"]) == ("graded", 0, 10)
    assert {part["state"] for part in marks["parts"].values()} == {"todo"}


@pytest.mark.share(84)
@pytest.mark.parametrize(("source", "number"), WRONG)
def test_a_known_wrong_answer_loses_its_part_and_gets_its_own_hint(source, number, tmp_path):
    """One of each part at a time, and one alone where it is made of what another part has defined."""
    written = defaultdict(list)
    for cell in notebook(source).cells:
        written[cell.metadata.get("wrong")].append(cell.source)
    tried = [part for part in exercise.load_exercise(source.stem).parts if number < len(part.wrong)]

    answers = {part.name: written[part.name][number] for part in tried}
    marks = score(with_answers("solutions", source.stem, answers, tmp_path))

    for part in tried:
        mine = marks["parts"][part.name]
        told = f"\n  {exercise.SAME}{part.wrong[number].shows}\n  Hint: {part.wrong[number].hint}"
        if told not in mine["says"]:
            alone = with_answers("solutions", source.stem, {part.name: answers[part.name]}, tmp_path)
            mine = score(alone)["parts"][part.name]
        assert (mine["state"], mine["points"]) == ("fail", 0), part.name
        assert told in mine["says"], part.name
        hints = [wrong.hint for wrong in part.wrong]
        assert len(set(hints)) == len(hints) >= 3


@table("name", NAMES)
def test_nothing_of_a_solution_is_in_the_exercise(name):
    source = notebook(ROOT / "solutions" / "source" / f"{name}.py").cells
    asides = [cell.source for cell in source if any(key in cell.metadata for key in making.ASIDE)]
    answers = [cell.source for cell in source if "answer" in cell.metadata]
    solved = [block.split("### END SOLUTION")[0] for text in answers for block in text.split("### BEGIN SOLUTION")[1:]]
    secrets = {line.strip() for text in [*solved, *asides] for line in text.splitlines() if line.strip()}
    ordinary = {cell.source for cell in source} - {*asides, *answers}

    written = {cell["id"]: "".join(cell["source"]) for cell in cells("exercises", name)}
    parts = {part.name for part in exercise.load_exercise(name).parts}

    assert {text for cell, text in written.items() if cell not in parts} == ordinary
    for part in exercise.load_exercise(name).parts:
        text = next(cell.source for cell in source if cell.metadata.get("answer") == part.name)
        outside = re.sub(r"### BEGIN.*?### END SOLUTION", "", text, flags=re.DOTALL)
        around = {line.strip() for line in outside.splitlines()}
        new = {line.strip() for line in written[part.name].splitlines()} - around
        dots = {f"{name} = ..." for name in part.defines}
        assert new in ({"# Your code here.", "raise NotImplementedError"}, dots)
        assert not new & secrets


@table("name", NAMES)
def test_no_hint_and_no_name_of_a_mistake_is_anywhere_in_the_file_of_the_exercise(name):
    """Not in a cell, its metadata, its outputs or the notebook's: the bytes are searched, as a learner could."""
    nb = json.loads((ROOT / "exercises" / f"{name}.ipynb").read_text("utf-8"))
    everything = [json.dumps(nb, ensure_ascii=False), *("".join(cell["source"]) for cell in nb["cells"])]
    for part in exercise.load_exercise(name).parts:
        known = [text for wrong in part.wrong for text in (wrong.shows, wrong.hint)]
        told = [part.shows, *part.hints, *filter(None, part.probe_hints), *known]
        for secret in [*told, part.solution, part.probes]:
            assert secret in part.defines or not any(secret in text for text in everything), secret


@table("name", NAMES)
def test_every_probe_has_a_hint(name):
    """A hint that went by the number of attempts was about `second` where `fourth` was wrong."""
    for part in exercise.load_exercise(name).parts:
        assert part.manual or len(part.probe_hints) == len(part.expected)
        assert all(part.probe_hints), part.name
        assert not set(part.probe_hints) & set(part.hints), part.name


@table("name", NAMES)
def test_every_part_says_its_points_and_minutes_to_the_learner_too(name):
    header = notebook(ROOT / "solutions" / "source" / f"{name}.py").metadata.minigrad
    tasks = {cell["id"]: "".join(cell["source"]) for cell in cells("exercises", name)}
    parts = exercise.load_exercise(name).parts

    for part in parts:
        assert f"**{feedback.points(part)}, {part.minutes} minutes.**" in tasks[f"task-{part.name}"]
    assert sum(part.minutes for part in parts if not part.optional) <= header["minutes"]
    assert header["concepts"]
    assert all(re.fullmatch(r"[A-Z]\d+", concept) for concept in header["concepts"])


@pytest.mark.parametrize("name", NAMES)
def test_nbgrader_accepts_the_exercise(name):
    for folder in ("exercises", "solutions"):
        nb = nbformat.read(ROOT / folder / f"{name}.ipynb", 4)
        CheckCellMetadata().preprocess(nb, {})
        nbformat.validate(nb)
        marked = [cell for cell in nb.cells if "nbgrader" in cell.metadata]
        assert sum(cell.metadata.nbgrader.get("points", 0) for cell in marked) == 10
        assert all(cell.id == cell.metadata.nbgrader.grade_id for cell in marked)
    nb = nbformat.read(ROOT / "exercises" / f"{name}.ipynb", 4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in nb.cells)


def test_no_two_parts_of_the_course_have_one_name():
    names = [part.name for each in exercise.all_exercises() for part in each.parts]

    assert len(set(names)) == len(names) >= 9
    assert sorted(each.name for each in exercise.all_exercises()) == NAMES


def test_no_probe_goes_through_all_that_a_learner_has_in_memory():
    """A collection takes as long as there are objects: a right answer beside twenty million was out of time."""
    assert not [part.name for each in exercise.all_exercises() for part in each.parts if "gc.collect" in part.probes]


# -- submissions that are not as they should be -------------------------------------------------


NAME = "01_scalar_engine"


def submission(tmp_path: Path, change: Any) -> dict[str, Any]:
    """The score of a solved notebook after `change` was made to its cells."""
    nb = json.loads((ROOT / "solutions" / f"{NAME}.ipynb").read_text("utf-8"))
    nb["cells"] = [cell for cell in nb["cells"] if cell["cell_type"] != "raw"]
    change(nb["cells"])
    path = tmp_path / "handed in.ipynb"
    path.write_text(json.dumps(nb), "utf-8")
    return score(path)


def put_first(source: str) -> Any:
    return lambda cells: cells.insert(1, {"cell_type": "code", "source": source, "metadata": {}, "outputs": []})


def without_checks(cells: list[dict[str, Any]]) -> None:
    cells[:] = [cell for cell in cells if not str(cell.get("id")).startswith("check-")]


def doubled(cells: list[dict[str, Any]]) -> None:
    cells += list(cells)


@pytest.mark.share(12)
@pytest.mark.parametrize(
    "change",
    [
        without_checks, doubled, lambda cells: [cell.update(metadata={}) for cell in cells],
        put_first("import sys; sys.exit(0)"), put_first("1 / 0"),
        lambda cells: [cell.update(source=["%matplotlib inline\n", "!ls\n", *cell["source"]]) for cell in cells],
        put_first("print('spam\\n' * 100_000)"),
        put_first("def check(*_): return 'full marks'\ndef print(*_): raise SystemExit"),
    ],
    ids=[
        "checks deleted", "cells doubled", "metadata lost", "sys.exit", "an error", "magics", "flood",
        "check redefined",
    ],
)  # fmt: skip
def test_a_right_submission_in_a_bad_state_keeps_its_points(change, tmp_path):
    marks = submission(tmp_path, change)

    assert (marks["status"], marks["points"]) == ("graded", 10), marks


@pytest.mark.share(12)
@pytest.mark.parametrize(("part", "answer"), [
    ("zero", "class Spoof(str):\n    __eq__ = lambda *_: True\n    __hash__ = None\nzero_says = Spoof('a')"),
    ("visits", "class Any:\n    __eq__ = lambda *_: True\ntimes_at_x = nodes = Any()"),
    ("visits", "times_at_x = nodes = float('nan')"), ("visits", "times_at_x, nodes = True, 11"),
    ("product", "from unittest.mock import MagicMock\nmultiply = MagicMock()"),
    ("product", "import sys\ndef multiply(a, b): sys.exit(0)"),
    ("product", "def multiply(a, b):\n    a.data = b.data = 0.0\n    return Node(0.0, ((a, 0.0), (b, 0.0)))"),
    ("order", "order = list"), ("gradients", "def gradients(y): return 6.0"),
])  # fmt: skip
def test_a_wrong_answer_in_disguise_scores_nothing_for_its_part(part, answer, tmp_path):
    marks = score(with_answers("solutions", NAME, {part: answer}, tmp_path))

    assert marks["parts"][part]["state"] == "fail"
    assert marks["parts"][part]["points"] == 0


def test_what_cannot_be_scored_says_why(tmp_path):
    (tmp_path / "no.ipynb").write_text("not JSON", "utf-8")
    (tmp_path / "empty.ipynb").write_text("", "utf-8")
    (tmp_path / "list.ipynb").write_text("[]", "utf-8")
    (tmp_path / "other.ipynb").write_text('{"cells": [], "metadata": {}}', "utf-8")

    status = {name: score(tmp_path / f"{name}.ipynb")["status"] for name in ("no", "empty", "list", "other", "missing")}

    assert all(status[name].startswith(f"{name}.ipynb is not a notebook: ") for name in ("no", "empty", "list")), status
    assert status["other"] == "other.ipynb belongs to no known exercise"
    assert status["missing"].startswith("there is no ")
    with pytest.raises(ValueError, match="give the exercise"):
        score({})
    assert score({}, NAME)["points"] == 0


def test_feedback_tells_no_more_than_one_hint(tmp_path):
    path = with_answers("solutions", NAME, {"product": "def multiply(a, b): return add(a, b)"}, tmp_path)

    says = score(path)["parts"]["product"]["says"]

    hints = next(iter(exercise.load_exercise(NAME).parts)).hints
    assert "Hint: " in says
    assert not any(hint in says for hint in hints)
    assert feedback.WORDS["fail"] in says


def test_names_that_are_given_a_meaning_inside_a_with_are_asked_for():
    source = "with mg.Graph().as_default():\n    x, _y = 1, 2\n    def f(): ...\nclass C: ...\nz[0] = 3"
    assert making.defined(source) == ["x", "f", "C", "z"]
