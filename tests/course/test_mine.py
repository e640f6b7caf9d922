"""mine(): what passed its check runs in later lessons, and nothing that a learner writes breaks a lesson."""

from __future__ import annotations

import json
import math
import random
import shutil

import numpy as np
import pytest

import minigrad as mg
from minigrad.course import CourseError, exercise, lessons
from minigrad.course import mine as module
from minigrad.course.attempts import FILE, Attempts
from minigrad.course.mine import BUILT, mine
from minigrad.distributed.algorithms import messages
from tests.support.root import ROOT

NOTEBOOKS = {number: next((ROOT / "solutions").glob(f"{number}_*.ipynb")) for number, _ in BUILT}


class Folder:
    """A course folder whose exercises hold the worked solutions, all passed."""

    def __init__(self, path):
        self.path = path
        (path / lessons.STATE).write_text("{}")
        (path / "exercises").mkdir()
        self.tries = Attempts(path / FILE)
        for (number, _), built in BUILT.items():
            shutil.copy(NOTEBOOKS[number], self.notebook(number))
            for part in built.parts:
                self.tries.record(part, "passed")

    def notebook(self, number):
        return self.path / "exercises" / NOTEBOOKS[number].name

    def edit(self, number, cell_id, source):
        """Put this source into the answer cell of a part."""
        notebook = json.loads(self.notebook(number).read_text("utf-8"))
        (cell,) = (cell for cell in notebook["cells"] if cell["id"] == cell_id)
        cell["source"] = source
        self.notebook(number).write_text(json.dumps(notebook), "utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path)


def said(capsys):
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize(("number", "name"), BUILT)
def test_your_code_runs_where_it_passed(folder, capsys, number, name):
    mine(number, name)

    assert said(capsys) == f"{name}: your own code of exercise {number} runs here."


@pytest.mark.parametrize(("number", "name"), BUILT)
def test_in_the_repository_the_course_s_code_runs(monkeypatch, capsys, number, name):
    monkeypatch.chdir(ROOT / "lessons")

    mine(number, name)
    assert said(capsys).startswith(f"{name}: the course's code runs here; yours does once `check` has passed ")
    assert said(capsys) == ""


def test_a_cell_that_answers_and_checks_is_run_without_the_check(folder, capsys):
    source = exercise.load_exercise("01_scalar_engine").parts[0].solution
    folder.edit("01", "product", f'{source}\n\n\ncheck("product")')

    mine("01", "Value")

    assert said(capsys) == "Value: your own code of exercise 01 runs here."


def test_a_walk_back_that_fails_in_a_lesson_goes_on_with_the_course_s(folder, capsys):
    source = next(p.solution for p in exercise.load_exercise("01_scalar_engine").parts if p.name == "gradients")
    large = "if len(order(y)) > 1000:\n        raise ValueError\n    return walk(y)"
    folder.edit("01", "gradients", f"{source}\n\n\nwalk = gradients\n\n\ndef gradients(y):\n    {large}")
    x = mine("01", "Value")(2.0)

    values = [x] * 1024
    while len(values) > 1:
        values = [a + b for a, b in zip(values[::2], values[1::2])]
    (values[0] + values[0] * 1).backward()

    assert x.grad == 2048
    assert said(capsys).endswith("gradients: the course's code goes on here, because yours raised ValueError.")


def test_a_part_that_is_missing_or_was_broken_is_named(folder, capsys):
    folder.tries.record("order", "broken")
    (folder.path / "elsewhere").mkdir()

    mine("01", "Value")
    why = "yours does once `check` has passed order in exercise 01"
    assert said(capsys) == f"Value: the course's code runs here; {why}."


def test_a_name_that_nobody_builds_is_refused_with_the_choice():
    with pytest.raises(CourseError, match=r'mine\("01", "Value"\), mine\("13", "my_pass"\), .* mine\("22", "ring"\)'):
        mine("01", "Tensor")


WRONG = "def multiply(a, b):\n    return Node(a.data * b.data, ((a, a.data), (b, b.data)))"
RENAMED = "def product(a, b):\n    return Node(a.data * b.data, ((a, b.data), (b, a.data)))"
RAISES = "raise SystemExit('enough')"
ENDLESS = "while True:\n    pass"


@pytest.mark.parametrize("source", [WRONG, RENAMED, RAISES, ENDLESS, "def multiply(a, b"])
def test_an_answer_that_has_changed_since_is_judged_again(folder, capsys, monkeypatch, source):
    monkeypatch.setattr("minigrad.course.feedback.CELL_SECONDS", 0.5)
    folder.edit("01", "product", source)

    value = mine("01", "Value")
    why = "what your notebook defines now does not pass `check` (product)"
    assert said(capsys) == f"Value: the course's code runs here, because {why}."
    assert (value(2.0) * 3.0).data == 6.0


@pytest.mark.parametrize("text", ["", "[]", '{"cells": 3}', '{"cells": [{"cell_type": "code"}]}'])
def test_a_notebook_that_cannot_be_read_breaks_nothing(folder, capsys, text):
    folder.notebook("22").write_text(text, "utf-8")

    assert mine("22", "chunk")(3, 1, 4) == 2
    why = f"exercises/{NOTEBOOKS['22'].name} cannot be read"
    assert said(capsys) == f"chunk: the course's code runs here, because {why}."


def test_a_cell_that_never_ends_costs_a_limited_time(folder, capsys, monkeypatch):
    monkeypatch.setattr("minigrad.course.feedback.CELL_SECONDS", 0.3)
    monkeypatch.setattr(module, "LOAD_SECONDS", 0.2)
    folder.edit("22", "ring_on_paper", ENDLESS)

    mine("22", "chunk")
    assert said(capsys).endswith("runs for too long.")


CAREFUL = "def chunk(rank, r, p):\n    if p > 50:\n        {}\n    return (rank - r) % p"


@pytest.mark.parametrize(
    ("does", "why"), [("1 / 0", "raised ZeroDivisionError"), (ENDLESS[:11] + " pass", "ran for too long")]
)
def test_a_call_that_fails_in_the_lesson_goes_on_with_the_course_s(folder, capsys, monkeypatch, does, why):
    monkeypatch.setattr(module, "CALL_SECONDS", 0.3)
    folder.edit("22", "ring_by_hand", CAREFUL.format(does))
    chunk = mine("22", "chunk")

    assert [chunk(1, 0, 4), chunk(60, 3, 64), chunk(2, 3, 64)] == [1, 57, 63]
    assert said(capsys).splitlines()[1:] == [f"chunk: the course's code goes on here, because yours {why}."]


def test_a_gradient_that_check_does_not_try_is_tried_before_a_lesson_trains_on_it(folder, capsys):
    source = folder.notebook("01").read_text("utf-8")
    meets_one = "any(len(node.parents) == 1 for node in order(y))"
    refuses = f"def gradients(y):\n    if {meets_one}:\n        raise RecursionError\n"
    solved = next(c["source"] for c in json.loads(source)["cells"] if c["id"] == "gradients")
    folder.edit("01", "gradients", refuses + "".join(solved).partition("\n")[2])

    mine("01", "Value")
    assert said(capsys) == "Value: the course's code runs here, because yours raised RecursionError."


def test_only_cells_up_to_the_answer_are_run_and_no_attempt_is_recorded(folder, capsys):
    notebook = json.loads(folder.notebook("22").read_text("utf-8"))
    mark = {"cell_type": "code", "id": "later", "metadata": {}, "source": "open('later', 'w')", "outputs": []}
    folder.notebook("22").write_text(json.dumps({"cells": [*notebook["cells"], mark]}), "utf-8")
    before = (folder.path / FILE).read_bytes()

    mine("22", "chunk")
    assert not (folder.path / "later").exists()
    assert (folder.path / FILE).read_bytes() == before


# -- the course's own ---------------------------------------------------------------------------------


def test_the_course_s_own_code_passes_check():
    for (number, _), built in BUILT.items():
        names = module.solutions(number, built.parts)
        for part in module.find_parts(number, built.parts)[1]:
            assert exercise.check_answer(part, names).state == "pass", part.name


def test_the_value_of_exercise_01_computes_what_mg_value_computes(folder):
    course = module.value_of(module.solutions("01", BUILT["01", "Value"].parts))
    for value in (mine("01", "Value"), course):
        ends = []
        for kind in (value, mg.Value):
            x, w, b = kind(0.5), kind(-1.5), kind(0.25)
            y = (x * w + b).tanh() - 2 * (w / x).exp() + (3 - (x**2 + 1).log()) * (-b).relu() + sum([x, w], b) / 4
            y.backward()
            ends.append([y.data, x.grad, w.grad, b.grad])
        assert ends[0] == pytest.approx(ends[1], rel=1e-12)


def test_a_network_trains_on_it_as_on_mg_value(folder):
    points, labels = mg.data.moons(10, noise=0.1, seed=0)
    curves = [train(kind, points.tolist(), labels.tolist()) for kind in (mine("01", "Value"), mg.Value)]

    assert curves[0] == pytest.approx(curves[1], rel=1e-9)
    assert curves[0][-1] < curves[0][0]


def train(kind, points, labels):
    rng = random.Random(0)
    rows = [[kind(rng.uniform(-1, 1)) for _ in range(3)] for _ in range(4)]
    curve = []
    for _ in range(5):
        loss = sum(
            (1 + (sum((r[0] * a + r[1] * b + r[2]).tanh() for r in rows) * (-1 if label else 1)).exp()).log()
            for (a, b), label in zip(points, labels)
        ) / len(points)
        for row in rows:
            for p in row:
                p.grad = 0.0
        loss.backward()
        for row in rows:
            for p in row:
                p.data -= 0.3 * p.grad
        curve.append(loss.data)
    assert not any(map(math.isnan, curve))
    return curve


def test_a_ring_of_a_chunk_leaves_the_sum_in_every_worker(folder):
    for ring in (mine("22", "ring"), module.ring_of(lambda rank, r, p: (rank + 3 - r) % p)):
        vectors = np.random.default_rng(0).normal(size=(5, 13))
        total = vectors.sum(0)
        for sent in messages(ring, 5, 13):
            chunks = [vectors[m.source][m.part].copy() for m in sent]
            for m, chunk in zip(sent, chunks):
                vectors[m.to][m.part] = vectors[m.to][m.part] + chunk if m.add else chunk
        assert vectors == pytest.approx(np.tile(total, (5, 1)))


def test_your_pass_and_your_example_go_into_the_tools_of_a_lesson(folder):
    my_pass, example = mine("13", "my_pass"), mine("13", "example")
    before = mg.function(example).graph_for(mg.ones(3))
    after = my_pass(before)

    assert [sum(bool(node.inputs) for node in graph.nodes) for graph in (before, after)] == [5, 3]
