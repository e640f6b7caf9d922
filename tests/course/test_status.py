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
from minigrad.course.progress import AnswerJournal
from minigrad.course.standing import PartStanding, last_notebook, standing
from tests.support.root import ROOT


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder in which one part was passed, one tried twice, and one revealed; and five questions answered."""
    (tmp_path / lessons.STATE).write_text("{}")
    tries = Attempts(tmp_path / FILE)
    tries.record("product", "passed")
    tries.record("order", "tried", "aa")
    tries.record("order", "tried", "bb", True)
    tries.record("order", "tried", "aa")
    tries.record("visits", "tried", "aa")
    tries.record("visits", "revealed")
    tries.record("visits", "passed")
    tries.record("a part that the course had once", "passed")
    asked = {"kind": "number", "answer": 4, "confidence": "certain"}
    for notebook, name, right in (
        ("00_start_here", "00_start_here/dot", True), ("00_start_here", "00_start_here/walk", False),
        ("01_what_a_graph_is", "boxes", None), ("01_what_a_graph_is", "boxes", True),
        ("01_what_a_graph_is", "arrows", False), ("", "<b>/free", None),
    ):  # fmt: skip
        AnswerJournal(tmp_path / ANSWERS, notebook=notebook).add({**asked, "name": name, "right": right})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_points_parts_attempts_and_what_was_revealed_are_counted(home):
    first, *others = standing(home).exercises

    assert (first.points, first.of, first.passed_parts, first.is_done) == (2, 10, 1, False)
    assert [(p.name, p.state, p.points, p.of, p.attempts) for p in first.parts] == [
        ("product", "passed", 2, 2, 1), ("order", "tried", 0, 3, 2), ("gradients", "untried", 0, 2, 0),
        ("visits", "revealed", 0, 1, 1), ("zero", "untried", 0, 1, 0), ("eight_signs", "untried", 0, 1, 0),
    ]  # fmt: skip
    assert [work.points for work in others] == [0] * len(others)


def test_predictions_and_quizzes_are_told_apart(home):
    now = standing(home)

    predictions = [(each.name, each.locked, each.right, each.of) for each in now.predictions]
    assert predictions == [("", 1, 0, None), ("01_what_a_graph_is", 2, 1, None)]
    of = len(quiz.quiz("00_start_here"))
    first, *others = now.quizzes
    assert (first.name, first.locked, first.right, first.of) == ("00_start_here", 2, 1, of)
    assert {(each.locked, each.right) for each in others} == {(0, 0)}


def test_guesses_and_late_answers_are_not_counted(home):
    asked = {"kind": "number", "answer": 1, "confidence": "guess", "right": True, "question": "?"}
    for name, more in (("guessed", {"counted": False}), ("late", {"late": True})):
        AnswerJournal(home / ANSWERS, notebook="02_chain_rule_backwards").add({**asked, "name": name, **more})
    now = standing(home)
    (each,) = [each for each in now.predictions if each.name == "02_chain_rule_backwards"]

    assert (each.locked, each.right, each.uncounted) == (0, 0, 2)
    assert "3 predictions, 1 right, 2 not counted" in repr(now)


def test_the_text_fits_one_screen_and_says_where_to_go_on(home):
    said = repr(replace(standing(home), left_off="exercises/01_scalar_engine.ipynb")).splitlines()

    work = "exercise 01 The pieces of a scalar engine"
    assert said[:2] == [f"You left off in {work}.", f"Next: {work}"]
    assert said[2] == "2 of 250 points in 25 exercises; 3 predictions, 1 right; 2 quiz answers, 1"
    begun = " ".join(said[4:6])
    assert begun.startswith("Exercise 01, 2 of 10 points: ✓ product (1 attempt), … order (2 attempts), ○ gradients;")
    assert begun.endswith("optional: ◇ visits (1 attempt), ○ zero, ○ eight_signs")
    assert re.search(r"^… 00\*Start here {18} +○ 14 Memory and schedule$", "\n".join(said), re.M)
    assert re.search(r"^… 01 What a computation graph is +2/10 +○ 15 Compiled code$", "\n".join(said), re.M)
    assert "* road: 9 lessons for a short course" in said[-1]


def test_the_text_fits_one_screen_whatever_is_next(home):
    now = standing(home)
    for work in now.exercises:
        parts = tuple(replace(part, state="tried", attempts=10) for part in work.parts)
        done = tuple(replace(part, optional=True) for part in work.parts)
        works = tuple(replace(w, parts=parts if w is work else done) for w in now.exercises)
        file = f"exercises/{work.name}.ipynb"
        said = repr(replace(now, exercises=works, left_off=file)).splitlines()
        assert said[0] == f"You left off in exercise {work.name[:2]} {work.title}."
        assert len(said) <= 23, said  # the command says the folder first
        assert max(map(len, said)) <= 80, said


def test_the_page_has_a_box_for_each_lesson_and_all_parts_below_a_fold(home):
    said = dashboard()._repr_mimebundle_()["text/html"]

    for words in ("✓ product (1 attempt)", "… order (2 attempts)", "◇ visits (1 attempt)", "2 of 10 points"):
        assert words in said.partition("<details>")[2], words
    assert said.count("border-left:5px") == len(lessons.TITLES) == 27
    assert 'aria-label="exercise 01 The pieces of a scalar engine, 2/10 points">2/10</a>' in said
    assert ">Go on with exercise 01 The pieces of a scalar engine</a>" in said
    assert "* road: 9 lessons for a short course" in said
    assert "<b>" not in said


def test_you_left_off_where_the_latest_record_is():
    answers = [
        {"when": "2026-11-29T10:00:00+00:00", "notebook": "02_chain_rule_backwards"},
        {"when": "2026-11-29T12:00:00+00:00", "notebook": "a notebook of my own"},
    ]
    assert last_notebook([], []) == ""
    assert last_notebook([], answers) == "lessons/02_chain_rule_backwards.ipynb"
    tried = [{"when": "2026-11-29T11:00:00+00:00", "part": "product"}, {"when": "2026-11-30", "part": "no part"}]
    assert last_notebook(tried, answers) == "exercises/01_scalar_engine.ipynb"
    again = [*answers, {**answers[0], "notebook": "00_start_here"}]  # within one second
    assert last_notebook([], again) == "lessons/00_start_here.ipynb"


def test_a_box_says_how_a_lesson_stands(home):
    states = {box.name: box.state for box in standing(home).boxes}
    assert [states.pop(name) for name in ("00_start_here", "01_what_a_graph_is")] == ["begun"] * 2
    assert {*states.values()} == {"untried"}

    ask_all(home, "00_start_here")
    for part in standing(home).exercises[0].parts:
        Attempts(home / FILE).record(part.name, "passed")
    assert [box.state for box in standing(home).boxes[:2]] == ["done", "done"]
    Attempts(home / FILE).record("product", "broken")
    assert standing(home).boxes[1].state == "broken"


def test_an_exercise_is_done_without_its_optional_parts_and_the_status_counts_those_that_are_left(home):
    now = standing(home)
    for states, is_done, left in (
        (("passed", "revealed", "untried", "tried"), True, 2),
        (("passed", "passed", "passed", "broken"), True, 1),
        (("passed", "tried", "passed", "passed"), False, 0),
        (("passed", "broken", "untried", "untried"), False, 2),
        (("passed", "passed", "passed", "revealed"), True, 0),
    ):
        parts = [PartStanding(f"p{i}", state, 0, 1, 0, optional=i > 1) for i, state in enumerate(states)]
        work = replace(now.exercises[0], parts=tuple(parts))
        here = replace(now, exercises=(work, *now.exercises[1:]), left_off="exercises/01_scalar_engine.ipynb")
        assert (work.is_done, work.count_left(optional=True)) == (is_done, left), states
        assert (here.next == "exercises/01_scalar_engine.ipynb") != is_done, states
        words = f"{left} optional part{'s' * (left > 1)} left in finished exercises"
        assert (words in " ".join(repr(here).splitlines())) == bool(is_done and left), states
        assert (here.boxes[1].state == "done") == (is_done and "broken" not in states)
    assert work.summary == "2 of 10 points: ✓ p0, ✓ p1; optional: ✓ p2, ◇ p3"


def test_the_titles_are_those_of_the_headers():
    header = re.compile(r"^#     title: (.*)$", re.M)
    sources = sorted((ROOT / "lessons" / "source").glob("[0-9]*.py"))

    assert {file.stem: header.search(file.read_text("utf-8"))[1] for file in sources} == lessons.TITLES


def ask_all(home, lesson):
    """Lock all answers of a lesson's quiz."""
    answer = {"kind": "number", "answer": 4, "confidence": "certain", "right": None}
    for item in quiz.quiz(lesson):
        AnswerJournal(home / ANSWERS, notebook=lesson).add({**answer, "name": item.question.name})


def test_where_nothing_is_done_the_dashboard_is_the_same_everywhere(tmp_path, monkeypatch):
    (tmp_path / lessons.STATE).write_text("{}")
    (tmp_path / "lessons").mkdir()
    monkeypatch.chdir(tmp_path / "lessons")
    here = dashboard()._repr_mimebundle_()
    monkeypatch.chdir(ROOT / "lessons")

    assert here == dashboard()._repr_mimebundle_() == standing(None)._repr_mimebundle_()
    assert here["text/plain"].startswith("You have not begun yet.\nNext: lesson 00 Start here\n0 of ")
    assert str(tmp_path) not in here["text/plain"] + here["text/html"]


def test_it_leads_to_the_lesson_then_to_its_exercise_and_then_to_the_next(home, monkeypatch):
    assert standing(home).next == "exercises/01_scalar_engine.ipynb"
    for part in standing(home).exercises[0].parts:
        Attempts(home / FILE).record(part.name, "passed")
    assert standing(home).next == "lessons/02_chain_rule_backwards.ipynb"
    ask_all(home, "02_chain_rule_backwards")
    assert standing(home).next == "exercises/02_backward_by_hand.ipynb"
    assert "Next: exercise 02 Backward, by hand" in repr(dashboard())
    (home / "lessons").mkdir()
    monkeypatch.chdir(home / "lessons")
    assert 'href="../exercises/02_backward_by_hand.ipynb"' in dashboard()._repr_mimebundle_()["text/html"]
    for part in (part for work in standing(home).exercises for part in work.parts):
        Attempts(home / FILE).record(part.name, "passed")
    assert standing(home).next == ""
    assert "Next:" not in repr(dashboard())


def test_it_leads_on_from_where_you_left_off_and_back_to_what_was_left_out_at_the_end(home):
    """Somebody on the road, who has left out lesson 01's exercise, was sent back to it after each lesson."""
    now = standing(home)
    at = {name: f"lessons/{name}.ipynb" for name in ("06_the_dynamic_graph", "25_a_small_gpt", "90_gallery")}

    assert replace(now, left_off=at["06_the_dynamic_graph"]).next == "lessons/06_the_dynamic_graph.ipynb"
    done = tuple(replace(work, parts=()) if work.name[:2] == "25" else work for work in now.exercises)
    assert replace(now, exercises=done, left_off=at["25_a_small_gpt"]).next == "exercises/01_scalar_engine.ipynb"
    assert replace(now, left_off=at["90_gallery"]).next == "exercises/01_scalar_engine.ipynb"
    assert replace(now, left_off="lessons/00_start_here.ipynb").next == "lessons/00_start_here.ipynb"


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

    assert links[0] == "./lessons/00_start_here.ipynb"
    assert len(links) == 1 + len(lessons.TITLES) + len(list(exercise.all_exercises()))
    assert all((lessons.course() / link).is_file() for link in links)


def test_the_command_says_the_same_as_data(checkout):
    checkout.minigrad("copy")
    Attempts(checkout.work / FILE).record("product", "passed")

    data = checkout.done("status")

    work = data["exercises"][0]
    assert (work["name"], work["points"], work["of"], work["passed"]) == ("01_scalar_engine", 2, 10, 1)
    product = {"name": "product", "state": "passed", "points": 2, "of": 2, "attempts": 1, "optional": False}
    assert work["parts"][0] == product
    assert (work["done"], work["optional_left"]) == (False, sum(part["optional"] for part in work["parts"]))
    assert data["predictions"] == []
    first = '{"name": "00_start_here", "locked": 0, "right": 0, "of": 4, "uncounted": 0}'
    assert json.dumps(data["quizzes"][0]) == first
    assert "✓ product (1 attempt)" in checkout.minigrad("status").stdout


@pytest.mark.skipif(os.name != "posix", reason="a pipe whose reader has gone is POSIX's")
def test_a_reader_who_has_enough_is_no_error(checkout):
    checkout.minigrad("copy")
    reader, writer = os.pipe()
    os.close(reader)
    process = checkout.minigrad("status", capture_output=False, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (process.returncode, process.stderr) == (0, "")
