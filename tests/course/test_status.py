"""How far a learner is: what `minigrad status` and the start page say is what the folder keeps."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import replace

import pytest

from minigrad.course import dashboard, exercise, lessons, quiz
from minigrad.course.attempts import FILE, Attempts
from minigrad.course.progress import FILE as ANSWERS
from minigrad.course.progress import Ledger
from minigrad.course.standing import bar, standing
from tests.support.root import ROOT


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder in which one part was passed, one tried twice, and one revealed; and five questions answered."""
    (tmp_path / lessons.STATE).write_text("{}")
    tries = Attempts(tmp_path / FILE)
    tries.note("product", "passed")
    tries.note("order", "tried", "aa")
    tries.note("order", "tried", "bb", True)
    tries.note("order", "tried", "aa")
    tries.note("visits", "tried", "aa")
    tries.note("visits", "revealed")
    tries.note("visits", "passed")
    tries.note("a part that the course had once", "passed")
    asked = {"kind": "number", "answer": 4, "confidence": "certain"}
    for notebook, name, right in (
        ("01_what_a_graph_is", "boxes", None), ("01_what_a_graph_is", "boxes", True),
        ("01_what_a_graph_is", "arrows", False), ("00_start_here", "00_start_here/dot", True),
        ("00_start_here", "00_start_here/walk", False), ("", "<b>/free", None),
    ):  # fmt: skip
        Ledger(tmp_path / ANSWERS, notebook=notebook).add({**asked, "name": name, "right": right})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_points_parts_attempts_and_what_was_revealed_are_counted(home):
    first, *others = standing(home).exercises

    assert (first.points, first.of, first.passed_parts, first.revealed_points) == (2, 10, 1, 1)
    assert [(p.name, p.state, p.points, p.of, p.attempts) for p in first.parts] == [
        ("product", "passed", 2, 2, 1), ("order", "tried", 0, 3, 2), ("visits", "revealed", 0, 1, 1),
        ("gradients", "untried", 0, 2, 0), ("zero", "untried", 0, 1, 0), ("eight_signs", "untried", 0, 1, 0),
    ]  # fmt: skip
    assert [work.points for work in others] == [0] * len(others)


def test_predictions_and_quizzes_are_told_apart(home):
    now = standing(home)

    assert [(each.name, each.locked, each.right, each.of) for each in now.predictions] == [
        ("", 1, 0, None), ("01_what_a_graph_is", 2, 1, None)
    ]  # fmt: skip
    of = len(quiz.quiz("00_start_here"))
    first, *others = now.quizzes
    assert (first.name, first.locked, first.right, first.of) == ("00_start_here", 2, 1, of)
    assert {(each.locked, each.right) for each in others} == {(0, 0)}


def test_guesses_and_late_answers_are_not_counted(home):
    asked = {"kind": "number", "answer": 1, "confidence": "guess", "right": True, "question": "?"}
    for name, more in (("guessed", {"counted": False}), ("late", {"late": True})):
        Ledger(home / ANSWERS, notebook="02_chain_rule_backwards").add({**asked, "name": name, **more})
    now = standing(home)
    (each,) = [each for each in now.predictions if each.name == "02_chain_rule_backwards"]

    assert (each.locked, each.right, each.uncounted) == (0, 0, 2)
    assert "02_chain_rule_backwards: 0 locked, 0 right, 2 not counted" in repr(now)


def test_all_that_is_counted_is_in_the_text_and_in_the_table(home):
    bundle = dashboard()._repr_mimebundle_()

    for said in bundle.values():
        for words in ("✓ product (1 attempt)", "… order (2 attempts)", "◇ visits (1 attempt)", "2 of 10 points"):
            assert words in said, words
    assert "01_what_a_graph_is: 2 locked, 1 right" in bundle["text/plain"]
    for said in bundle.values():
        assert "road: one of the 9 lessons that stand alone" in said
    assert re.search(r"02_backward_by_hand +road +0 of 10", bundle["text/plain"])
    assert re.search(r"03_a_new_op +0 of 10", bundle["text/plain"])
    quizzes = len(standing(home).quizzes)
    assert bundle["text/html"].count("<svg") == len(list(exercise.all_exercises())) + 2 + quizzes
    assert "<b>" not in bundle["text/html"]


def test_where_nothing_is_done_the_dashboard_is_the_same_everywhere(tmp_path, monkeypatch):
    (tmp_path / lessons.STATE).write_text("{}")
    (tmp_path / "lessons").mkdir()
    monkeypatch.chdir(tmp_path / "lessons")
    here = dashboard()._repr_mimebundle_()
    monkeypatch.chdir(ROOT / "lessons")

    assert here == dashboard()._repr_mimebundle_() == standing(None)._repr_mimebundle_()
    assert here["text/plain"].startswith("0 of ")
    assert str(tmp_path) not in here["text/plain"] + here["text/html"]


def test_it_leads_to_the_lesson_then_to_its_exercise_and_then_to_the_next(home, monkeypatch):
    assert standing(home).next == "exercises/01_scalar_engine.ipynb"
    for part in standing(home).exercises[0].parts:
        Attempts(home / FILE).note(part.name, "passed")
    assert standing(home).next == "lessons/02_chain_rule_backwards.ipynb"
    Ledger(home / ANSWERS, notebook="02_chain_rule_backwards").add(
        {"kind": "number", "answer": 4, "confidence": "certain", "name": "steps", "right": None}
    )
    assert standing(home).next == "exercises/02_backward_by_hand.ipynb"
    assert "Go on with exercises/02_backward_by_hand.ipynb." in repr(dashboard())
    (home / "lessons").mkdir()
    monkeypatch.chdir(home / "lessons")
    assert 'href="../exercises/02_backward_by_hand.ipynb"' in dashboard()._repr_mimebundle_()["text/html"]
    for part in (part for work in standing(home).exercises for part in work.parts):
        Attempts(home / FILE).note(part.name, "passed")
    assert standing(home).next == ""
    assert "Go on" not in repr(dashboard())


def test_of_an_exercise_that_belongs_to_no_lesson_it_leads_to_the_exercise(home):
    before = standing(home)
    theirs = replace(before.exercises[3], name="my_own")

    assert replace(before, exercises=(theirs,)).next == "exercises/my_own.ipynb"


def test_the_standing_of_a_folder_that_no_way_leads_to_can_be_had(home, monkeypatch):
    """As on Windows, of a folder on another disk."""

    def no_way(*of):
        raise ValueError("path is on mount 'D:', start on mount 'C:'")

    monkeypatch.setattr("os.path.relpath", no_way)
    assert standing(home).points == 2


def test_every_link_of_the_dashboard_leads_to_a_notebook_of_the_course(tmp_path, monkeypatch):
    (tmp_path / lessons.STATE).write_text("{}")
    monkeypatch.chdir(tmp_path)
    links = re.findall('href="([^"]*)"', dashboard()._repr_mimebundle_()["text/html"])

    assert len(links) == len(list(exercise.all_exercises())) + len(list(quiz.FOLDER.glob("*.toml"))) + 1
    assert all((lessons.course() / link).is_file() for link in links)


def test_a_bar_is_as_long_as_what_it_tells():
    assert 'width="80.0"' in bar(5, 0, 10)
    assert 'width="80.0"' in bar(5, 5, 10)
    assert 'width="79.0"' in bar(5, 5, 10)
    assert 'fill="#009e73"' not in bar(0, 0, 10)
    assert bar(0, 0, 0)


def test_the_command_says_the_same_as_data(checkout):
    checkout.minigrad("copy")
    Attempts(checkout.work / FILE).note("product", "passed")

    data = checkout.done("status")

    work = data["exercises"][0]
    assert (work["name"], work["points"], work["of"], work["passed"]) == ("01_scalar_engine", 2, 10, 1)
    assert work["parts"][0] == {"name": "product", "state": "passed", "points": 2, "of": 2, "attempts": 1}
    assert data["predictions"] == []
    assert (
        json.dumps(data["quizzes"][0]) == '{"name": "00_start_here", "locked": 0, "right": 0, "of": 4, "uncounted": 0}'
    )
    assert "✓ product (1 attempt)" in checkout.minigrad("status").stdout


@pytest.mark.skipif(os.name != "posix", reason="a pipe whose reader has gone is POSIX's")
def test_a_reader_who_has_enough_is_no_error(checkout):
    checkout.minigrad("copy")
    reader, writer = os.pipe()
    os.close(reader)
    process = checkout.minigrad("status", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (process.returncode, process.stderr) == (0, "")
