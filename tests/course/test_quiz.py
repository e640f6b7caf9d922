"""A quiz tells what is right when all is locked, and nothing of it is anywhere before."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from minigrad.course import CourseError, Quiz, quiz
from minigrad.course.progress import answers
from tests.support.root import ROOT
from tests.support.table import table

NAMES = sorted(path.stem for path in quiz.FOLDER.glob("*.toml"))
NAME = re.compile(r"\b[a-z]\w*_\w+\b")  # as in in_session
TWO = """
[[questions]]
name = "sum"
ask = "What is 2 + 2?"
kind = "number"
right = {right}
why = "Count on."
[[questions.wrong]]
answer = 22
shows = "You joined the digits."
hint = "Take two stones, and two more."

[[questions]]
name = "way"
ask = "Which way?"
kind = "option"
options = ["up", "down"]
right = "{way}"
why = "Look."
[[questions.wrong]]
answer = "{other}"
shows = "You took the other way."
hint = "Turn round."
"""


@pytest.fixture
def two(tmp_path, monkeypatch):
    """A quiz of two questions, in a notebook of its own; a second call is another kernel."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)

    def ask(right: int = 4, way: str = "up") -> Any:
        path = tmp_path / "two.toml"
        path.write_text(TWO.format(right=right, way=way, other={"up": "down", "down": "up"}[way]), "utf-8")
        return eval("Quiz('two', path)", {"Quiz": Quiz, "path": path})

    return ask


def state(widget: Any) -> str:
    """All that is sent to the browser, and so all that a notebook could keep."""
    own = {key: value for key, value in widget.get_state().items() if not key.startswith("_") and key != "layout"}
    return json.dumps([own, widget._repr_mimebundle_()[0]["text/html"], widget.page()], default=str)


def test_before_all_is_locked_the_state_is_the_same_whatever_is_right(two):
    def half(*key: Any) -> str:
        return state(two(*key).lock("sum", 4, "certain"))

    first = half(4, "up")
    (Path.cwd() / ".minigrad-answers.jsonl").unlink()

    assert half(5, "down") == first
    assert "stones" not in first


def test_when_all_is_locked_it_is_scored_with_what_a_wrong_answer_shows(two, tmp_path):
    asked = two()
    for name, answer in (("two/sum", "22"), ("two/way", "up")):
        assert asked.results == {}
        asked._handle_custom_msg({"name": name, "answer": answer, "confidence": "guess"}, [])

    assert asked.score == "1 of 2 right."
    says = ["Not so. The answer: 4.", "You joined the digits. Take two stones, and two more.", "Count on."]
    assert asked.results["two/sum"] == {"right": False, "answer": 4, "says": says}
    assert asked.results["two/way"] == {"right": True, "answer": "up", "says": ["Right.", "Look."]}
    assert [(each["name"], each["right"]) for each in answers(tmp_path)] == [("two/sum", False), ("two/way", True)]
    assert "Take two stones" in asked.text


def test_a_wrong_answer_that_nobody_foresaw_is_told_what_is_right(two):
    asked = two().lock("sum", 5, "guess").lock("way", "up", "guess")

    assert asked.results["two/sum"]["says"] == ["Not so. The answer: 4.", "Count on."]


def test_a_restart_shows_what_was_locked(two):
    two().lock("sum", 4, "certain")
    again = two()

    assert again.locked == {"two/sum": {"answer": 4, "confidence": "certain"}}
    assert again.score.startswith("1 of 2 locked.")
    with pytest.raises(ValueError, match="It is locked"):
        again.lock("sum", 5, "guess")
    again.lock("way", "down", "certain")
    assert two().score == "1 of 2 right."


def test_what_is_no_answer_is_told_beside_its_question(two):
    asked = two()
    asked._handle_custom_msg({"name": "two/sum", "answer": "x", "confidence": "guess"}, [])
    asked._handle_custom_msg({"name": "nothing", "answer": "x", "confidence": "guess"}, [])

    assert asked.says["two/sum"].startswith("'x' is not a number")
    assert asked.locked == {}
    with pytest.raises(ValueError, match="it has sum, way"):
        asked.lock("product", 4, "guess")


@pytest.mark.parametrize(("change", "words"), [
    (("questions", "question"), "questions"), (('kind = "number"', 'kind = "essay"'), "essay"),
    (("answer = 22", "answer = 4"), "a wrong answer to 'sum' is right"),
    (('answer = "down"', 'answer = "sideways"'), "sideways"),
    (('["up", "down"]', '["up", "down", "left"]'), "does not say what 'left' shows"),
    (("name", "= name"), "two.toml is not a quiz"),
])  # fmt: skip
def test_a_file_that_is_no_quiz_is_refused_with_what_it_lacks(two, tmp_path, change, words):
    two()
    path = tmp_path / "two.toml"
    path.write_text(path.read_text().replace(*change))

    with pytest.raises(CourseError, match=words):
        quiz.quiz("two", path)


def test_a_quiz_that_there_is_not_names_those_that_there_are():
    with pytest.raises(CourseError, match=r"no quiz '99' .* 00_start_here"):
        Quiz("99")


@table("name", NAMES)
def test_each_quiz_of_the_course_can_be_read_and_belongs_to_a_lesson(name):
    items = quiz.quiz(name)

    assert items
    assert (ROOT / "lessons" / f"{name}.ipynb").exists()
    for item in items:
        assert item.wrong or item.question.kind in ("order", "shape"), item.question.name


@table("name", NAMES)
def test_no_notebook_holds_what_is_said_with_an_answer(name):
    file = re.sub(r"\s+", " ", (ROOT / "lessons" / f"{name}.ipynb").read_text("utf-8"))

    for item in quiz.quiz(name):
        for words in (item.why, *(text for mistake in item.wrong for text in (mistake.shows, mistake.hint))):
            assert words not in file


@table("name", NAMES)
def test_what_a_quiz_calls_by_its_name_in_code_is_in_its_lesson(name):
    """The lesson's by_session had become in_session, and a hint asked for a line of by_session."""
    lesson = (ROOT / "lessons" / "source" / f"{name}.py").read_text("utf-8")
    asked = (quiz.FOLDER / f"{name}.toml").read_text("utf-8")

    told = {word for line in asked.splitlines() if not line.startswith("name = ") for word in NAME.findall(line)}

    assert sorted(word for word in told if word not in lesson) == []
