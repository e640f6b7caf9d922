"""A part that a person reads: it waits, is never a silent 0, and what a person gave is kept."""

import csv
import io
import json

import pytest

pytest.importorskip(
    "nbgrader", reason="exercises are made by nbgrader's steps, and its gradebook keeps what people give"
)

from minigrad.course import exercise
from minigrad.course.grading import gradebook, tables
from minigrad.course.grading.gradebook import with_readers
from minigrad.course.grading.submission import load_release
from tests.course.grading import prose
from tests.course.grading.test_batch import grade_class, hand_in


@pytest.fixture
def course(tmp_path, monkeypatch):
    prose.install(monkeypatch, tmp_path)
    return prose.made(tmp_path)


def graded(folder, capsys, **submissions):
    """Hand in, grade, and read what the command says and has written: student → result."""
    hand_in(folder / "in", prose.NAME, **submissions)
    assert grade_class(folder, "--json") == 0
    capsys.readouterr()
    return {r["student"]: r for r in json.loads((folder / "out" / "results.json").read_text("utf-8"))}


def give(folder, student, points, words="", part="why"):
    """What formgrader writes for a reader."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'out' / gradebook.FILE}") as book:
        grade = book.find_grade(part, prose.NAME, prose.NAME, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        if words:
            book.find_comment(part, prose.NAME, prose.NAME, student).manual_comment = words
        book.db.commit()


def table(folder, name):
    return csv.DictReader(io.StringIO((folder / "out" / name).read_text("utf-8")))


def page(folder, student):
    (found,) = (folder / "out" / "feedback").glob(f"{student}_*.html")
    return found.read_text("utf-8")


def test_an_exercise_with_prose_is_built(course, tmp_path):
    cell = next(cell for cell in course["cells"] if cell["id"] == "why")
    marks = cell["metadata"]["nbgrader"]
    assert (cell["source"], marks["grade"], marks["solution"], marks["points"]) == (
        ["*Your answer here.*"], True, True, 2,
    )  # fmt: skip
    assert load_release(tmp_path / "exercises" / f"{prose.NAME}.ipynb").prose == {"why": "*Your answer here.*"}
    part = exercise.load_exercise(prose.NAME).parts[1]
    assert (part.manual, part.points, part.probes) == (True, 2, "")
    verdict = exercise.check_answer(part, {})
    assert (verdict.state, verdict.points) == ("wait", 0)


def test_what_waits_is_no_0_and_what_is_given_stays(course, tmp_path, capsys):
    without = json.dumps({**course, "cells": [cell for cell in course["cells"] if cell["id"] != "why"]}).encode()
    handed = {"ada": prose.answered(course, "It is linear."), "bob": json.dumps(course).encode(), "eve": without}
    first = graded(tmp_path, capsys, **handed)
    assert {who: (r["status"], r["points"], r["parts"]["why"]["state"]) for who, r in first.items()} == {
        "ada": ("waits", None, "wait"), "bob": ("graded", 3, "todo"), "eve": ("waits", None, "wait"),
    }  # fmt: skip
    rows = {row["ID"]: row for row in table(tmp_path, "canvas.csv")}
    assert (rows["ada"][prose.NAME], rows["bob"][prose.NAME]) == ("", "3")
    rows = {row["student"]: row for row in table(tmp_path, "scores.csv")}
    assert (rows["ada"][f"{prose.NAME}: why"], rows["bob"][f"{prose.NAME}: why"]) == ("", "0")
    assert "waits for a person" in page(tmp_path, "ada")

    give(tmp_path, "ada", 1.5, "Say what is linear.")
    for _ in range(2):
        again = graded(tmp_path, capsys)["ada"]
        assert (again["status"], again["points"], again["parts"]["why"]["state"]) == ("graded", 4.5, "read")
        assert "A reader gave 1.5 of 2." in page(tmp_path, "ada")
        assert "Say what is linear." in page(tmp_path, "ada")
    rows = {row["ID"]: row for row in table(tmp_path, "canvas.csv")}
    assert rows["ada"][prose.NAME] == "4.5"

    for _ in range(2):  # another text, and it is to be read again
        other = graded(tmp_path, capsys, ada=prose.answered(course, "A nudge of x moves it by twice as much."))["ada"]
        assert (other["status"], other["points"]) == ("waits", None)
    give(tmp_path, "ada", 2)
    assert graded(tmp_path, capsys)["ada"]["points"] == 5

    give(tmp_path, "bob", 1, part="check-doubled")  # for code, too, a person has the last word
    assert graded(tmp_path, capsys)["bob"]["points"] == 1


def test_what_crashed_and_waits_has_no_score_yet():
    part = {"state": "wait", "points": 0, "of": 2, "says": [], "shows": ""}
    crashed = {"student": "ada", "exercise": "x", "status": "crashed", "points": 3, "parts": {"why": part}}
    (waits,) = with_readers([crashed], {})
    (read,) = with_readers([crashed], {("ada", "x", "why"): (1.0, "")})
    assert [(r["status"], tables.score(r)) for r in (waits, read)] == [("crashed", None), ("crashed", 1)]
