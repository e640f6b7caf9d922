"""Answers are kept as lines of JSON: added, never changed, and read again after a crash."""

from __future__ import annotations

import json

import pytest

from minigrad.course import journal, lessons
from minigrad.course.journal import place
from minigrad.course.progress import FILE, KEYS, AnswerJournal, answers

ANSWER = {"name": "boxes", "kind": "number", "answer": 4, "confidence": "certain", "right": None}


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A course folder, with the kernel of a lesson in it."""
    (tmp_path / lessons.STATE).write_text("{}")
    (tmp_path / "lessons").mkdir()
    monkeypatch.chdir(tmp_path / "lessons")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "lessons" / "01_what.ipynb"))
    return tmp_path


def test_an_answer_is_one_line_in_the_course_folder(home):
    assert AnswerJournal().add(ANSWER) == ""

    (line,) = (home / FILE).read_text("utf-8").splitlines()
    record = json.loads(line)
    when = record.pop("when")
    assert record == {"version": 1, "notebook": "01_what", **ANSWER}
    assert when.endswith("+00:00")
    assert answers(home) == [{**record, "when": when}]


def test_the_first_answer_and_the_first_verdict_count(home):
    ledger = AnswerJournal()
    for answer, right in ((4, None), (5, None), (4, False), (4, True)):
        ledger.add({**ANSWER, "answer": answer, "right": right})

    assert [(record["answer"], record["right"]) for record in answers(home)] == [(4, False)]


def test_two_notebooks_may_ask_under_one_name(home, monkeypatch):
    AnswerJournal().add(ANSWER)
    monkeypatch.setenv("JPY_SESSION_NAME", "02_chain.ipynb")

    assert AnswerJournal().find("boxes") is None
    AnswerJournal().add({**ANSWER, "answer": 7})
    assert [(r["notebook"], r["answer"]) for r in answers(home)] == [("01_what", 4), ("02_chain", 7)]


@pytest.mark.parametrize("damage", [
    b'{"version": 1, "name": "bo', b"\xff\xfe\n", b"[]\n", b'{"version": 99, "name": "boxes"}\n', b"\n\n",
    b'{"version": 1}',
])  # fmt: skip
def test_a_line_that_a_crash_cut_short_costs_that_line_only(home, damage):
    AnswerJournal().add(ANSWER)
    with (home / FILE).open("ab") as file:
        file.write(damage)

    AnswerJournal().add({**ANSWER, "name": "nodes"})

    assert [record["name"] for record in answers(home)] == ["boxes", "nodes"]


def test_outside_a_course_folder_answers_are_kept_beside_the_notebook(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert place(FILE) == tmp_path / FILE


def test_where_the_lessons_come_from_nothing_is_kept(monkeypatch):
    """A build must not depend on who has answered there."""
    monkeypatch.chdir(lessons.PACKAGE.parent / "lessons")

    assert place(FILE) is None
    ledger = AnswerJournal()
    ledger.add(ANSWER)
    assert ledger.find("boxes")["answer"] == 4
    assert AnswerJournal().find("boxes") is None


def test_a_disk_that_cannot_be_written_is_told_and_the_answer_holds_in_the_kernel(tmp_path):
    ledger = AnswerJournal(path=tmp_path / "no such folder" / FILE, notebook="n")

    assert "could not be saved" in ledger.add(ANSWER)
    assert ledger.find("boxes")["answer"] == 4


def test_no_answers_are_no_error(tmp_path):
    assert answers(tmp_path) == []
    assert journal.lines(tmp_path, KEYS) == []  # a folder is no file
