"""A question with a structured answer: how answers are read, compared, and put into words."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import minigrad as mg
from minigrad.course import question as questions
from minigrad.course.question import Question, question
from tests.support.table import table

KINDS = {
    "number": Question("n", "How much?", tolerance=0.5, unit="m"),
    "option": Question("o", "Which?", "option", ("same", "larger")), "truth": Question("t", "Is it?", "truth"),
    "shape": Question("s", "Which shape?", "shape"),
    "order": Question("r", "In which order?", "order", ("a", "b", "c")),
}  # fmt: skip


@table("kind, given, value", [
    ("number", "4", 4), ("number", " −2.5 ", -2.5), ("number", "1e-3", 0.001), ("number", np.int64(3), 3),
    ("number", 10**400, 10**400), ("option", "same", "same"), ("truth", "True", True), ("truth", False, False),
    ("shape", "(2, 3)", [2, 3]), ("shape", "2x3", [2, 3]), ("shape", "4", [4]), ("shape", "()", []),
    ("shape", (2, 3), [2, 3]), ("shape", 7, [7]), ("order", ["c", "a", "b"], ["c", "a", "b"]),
])  # fmt: skip
def test_an_answer_is_read_from_text_and_from_values(kind, given, value):
    read = KINDS[kind].read(given)

    assert read == value
    assert type(read) is type(value)


# What is typed, and what is read: of a question "How many bytes?", or of "How many percent?".
TYPED = [
    ("24,000", 24_000), ("1,234,567.5", 1_234_567.5), ("-24,000", -24_000), ("24,000 bytes", 24_000),
    ("24 Bytes", 24), ("0.5bytes", 0.5), ("7/4", 1.75), ("8 / 4", 2), ("−1/2", -0.5), ("1e3", 1000.0), ("4_000", 4000),
]  # fmt: skip
NOT_TYPED = ["24 kB", "24 %", "0,250", "2,5", "24,00", "1,2345", "7/0", "7/4/2", "bytes", "1/2.5", "24e", "a 24"]


@table("given, value", TYPED)
def test_a_number_may_be_typed_as_the_lessons_print_it(given, value):
    read = Question("b", "How many bytes?").read(given)

    assert (read, type(read)) == (value, type(value))


def test_a_percent_sign_is_read_where_the_question_asks_for_percent():
    assert Question("p", "By how many percent?").read("4.5 %") == 4.5
    assert Question("p", "Which part?", unit="%").read("45%") == 45


@table("given", [(given,) for given in NOT_TYPED])
def test_what_is_no_such_number_is_refused(given):
    with pytest.raises(ValueError, match="is not a number"):
        Question("b", "How many bytes?").read(given)


@pytest.mark.skipif(not shutil.which("node"), reason="node runs the form's code")
def test_the_form_accepts_the_same_numbers():
    form = Path(questions.__file__).with_name("widgets") / "question.js"
    asked = json.dumps([*[given for given, _ in TYPED], *NOT_TYPED])
    run = f"""{form.read_text("utf-8")}
    const asked = {{ kind: "number", unit: "", text: "How many bytes?" }};
    const begins = (text) => [...text].every((_, i) => !slip(asked, text.slice(0, i + 1), false));
    console.log(JSON.stringify({asked}.map((text) => [slip(asked, text, true) === "", begins(text)])));"""

    said = subprocess.run(["node", "-"], input=run, capture_output=True, text=True, encoding="utf-8", check=True)

    accepted = json.loads(said.stdout)
    assert accepted[: len(TYPED)] == [[True, True]] * len(TYPED)
    assert [whole for whole, _ in accepted[len(TYPED) :]] == [False] * len(NOT_TYPED)


@table("kind, given, words", [
    ("number", "four", "'four' is not a number, such as 12 or 0.25."),
    ("number", "1,5", "A decimal fraction has a point: 1.5."), ("number", "nan", "is not a number"),
    ("number", "9" * 5000, "is not a number"), ("number", True, "True is not a number"),
    ("number", int, "is not a number"), ("option", "smaller", "'smaller' is not one of 'same', 'larger'."),
    ("truth", "perhaps", "is not true or false."), ("shape", "(2, -3)", "is not a shape"),
    ("shape", "(2.5,)", "is not a shape"), ("shape", "", "is not a shape"), ("shape", [True], "is not a shape"),
    ("order", ["a", "b"], "is not all of 'a', 'b', 'c', in an order."), ("order", ["a", "a", "b"], "is not all of"),
    ("order", "a", "is not all of"),
])  # fmt: skip
def test_what_is_no_answer_is_refused_with_what_is_wanted(kind, given, words):
    with pytest.raises(ValueError) as refused:
        KINDS[kind].read(given)

    assert words in str(refused.value)


@table("guess, actual, words", [
    (6, 6.0, "and so it is."), (0.3, 0.1 + 0.2, "and so it is."), (4, 2, "it is 2: 2 too many."),
    (1, 3, "it is 3: 2 too few."), (0.5, 2.0, "it is 2: 1.5 too little, a factor of 4."),
    (-2, 2, "it is 2: 4 too few, and of the other sign."), (0, 5, "it is 5: 5 too few."),
    (3, mg.tensor(1.0), "it is 1: 2 too many."), (3, mg.Value(1.0), "it is 1: 2 too many."),
    (1, 2345.5, "it is 2345.5: 2344.5 too little, a factor of 2350."),
    (3, np.float64(1.5), "it is 1.5: 1.5 too much, a factor of 2."), (3, float("nan"), "it is nan."),
    (3, float("inf"), "it is inf."), (3, [1, 2], "it is [1, 2]."), (3, None, "it is None."),
])  # fmt: skip
def test_the_gap_between_numbers_is_told_in_words(guess, actual, words):
    asked = Question("n", "How much?")

    assert asked.gap(asked.read(guess), asked.came(actual)) == words


def test_the_gap_of_other_kinds_names_the_first_difference():
    shape, order = KINDS["shape"], KINDS["order"]

    assert shape.gap([2, 3], shape.came(mg.ones(3, 2).shape)) == "it is (3, 2): axis 0 is 3, and not 2."
    assert shape.gap([2], [2, 3]) == "it is (2, 3): 2 axes, and not 1."
    assert order.gap(["a", "c", "b"], ["a", "b", "c"]) == "it is a → b → c: place 2 is b, and not c."
    assert KINDS["truth"].gap(True, KINDS["truth"].came(np.bool_(False))) == "it is false."
    assert KINDS["option"].gap("same", "larger") == "it is larger."


def test_a_number_within_the_tolerance_is_right_and_one_beyond_is_not():
    assert KINDS["number"].right(4.5, 5)
    assert not KINDS["number"].right(4.4, 5)
    assert not KINDS["number"].right(4.4, float("nan"))


@table("said, words", [
    ({"kind": "essay"}, "number, option, truth, shape, order, got 'essay'"),
    ({"kind": "option", "options": ("a",)}, "at least two options"),
    ({"tolerance": float("nan")}, "tolerance of 0 or more, got nan"),
    ({"tolerance": -1.0}, "tolerance of 0 or more, got -1"),
    ({"kind": "order", "options": ("a", "a")}, "at least two options"), ({"name": ""}, "needs a name"),
])  # fmt: skip
def test_a_question_without_an_answer_is_refused(said, words):
    with pytest.raises(ValueError, match=words):
        Question(**{"name": "n", "text": "How much?", **said})


@table("asked", KINDS.values(), ids=KINDS)
def test_a_question_survives_being_written_down(asked):
    assert question({**asked.plain(), "when": "now"}) == asked
