"""A prediction is a number or a choice, made before the answer is shown, and kept after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import minigrad as mg
from minigrad.course import predict, reveal
from minigrad.course.prediction import AGAIN


@pytest.fixture
def notebook():
    """The cells of a notebook, run one by one; the last result."""
    names: dict[str, Any] = {"predict": predict, "reveal": reveal, "mg": mg, "np": np}
    return lambda *cells: [eval(cell, names) for cell in cells][-1]


def test_dots_are_no_prediction_yet(notebook):
    assert repr(notebook("predict('slope', ...)")) == (
        "slope: not predicted yet. Put a number in place of the dots, and run this cell."
    )
    assert "Put one of 'up', 'down' in place" in repr(notebook("predict('way', ..., options=['up', 'down'])"))


def test_a_guess_is_kept_and_the_gap_is_told(notebook):
    notebook("predict('slope', 4)")

    assert repr(notebook("reveal('slope', 2)")) == (
        "slope: you predicted 4; it is 2: 2 too many, a factor of 2."
    )  # fmt: skip


@pytest.mark.parametrize(
    ("guess", "actual", "words"),
    [
        ("6", "6.0", "and so it is."),
        ("0.3", "0.1 + 0.2", "and so it is."),
        ("1", "3", "it is 3: 2 too few, a factor of 3."),
        ("0.5", "2.0", "it is 2: 1.5 too little, a factor of 4."),
        ("-2", "2", "it is 2: 4 too few, and of the other sign."),
        ("0", "5", "it is 5: 5 too few."),
        ("3", "mg.tensor(1.0)", "it is 1: 2 too many, a factor of 3."),
        ("3", "mg.Value(1.0)", "it is 1: 2 too many, a factor of 3."),
        ("3", "np.float64(1.5)", "it is 1.5: 1.5 too much, a factor of 2."),
        ("np.int64(3)", "3", "and so it is."),
        ("3", "float('nan')", "it is nan."),
        ("3", "float('inf')", "it is inf."),
        ("3", "[1, 2]", "it is [1, 2]."),
        ("3", "None", "it is None."),
    ],
)
def test_the_gap_is_told_in_words(notebook, guess, actual, words):
    told = repr(notebook(f"predict('n', {guess})", f"reveal('n', {actual})"))

    assert told.endswith(words), told


def test_a_guess_may_be_changed_until_the_answer_is_shown_and_never_after(notebook):
    notebook("predict('n', 1)", "predict('n', 2)")
    assert "you predicted 2" in repr(notebook("reveal('n', 3)"))

    late = notebook("predict('n', 3)")

    assert repr(late) == f"n: the answer has been shown, your prediction stays 2; 3 comes too late. {AGAIN}"
    assert "you predicted 2" in repr(notebook("reveal('n', 3)"))
    assert repr(notebook("predict('n', 2)")) == "n: you predict 2."  # the same cell, run again


def test_after_the_answer_no_prediction_can_be_made(notebook):
    assert repr(notebook("reveal('n', 3)")) == "n: it is 3. You made no prediction."
    assert repr(notebook("predict('n', 3)")) == f"n: the answer has been shown; 3 comes too late. {AGAIN}"
    assert repr(notebook("predict('n', ...)")) == "n: the answer has been shown."
    assert repr(notebook("reveal('n', 3)")) == "n: it is 3. You made no prediction."


@pytest.mark.parametrize(
    ("guess", "words"),
    [
        ("'four'", "'four' is a str, and the prediction is a number, such as 2 or 0.5."),
        ("[4]", "[4] is a list, and the prediction is a number"),
        ("True", "True is a bool, and the prediction is a number"),
        ("None", "None is a NoneType, and"),
        ("int", "<class 'int'> is a type, and"),
        ("float('nan')", "nan is no finite number"),
    ],
)
def test_what_is_no_number_is_refused_with_a_sentence_and_the_guess_before_it_stays(notebook, guess, words):
    notebook("predict('n', 1)")

    assert words in repr(notebook(f"predict('n', {guess})"))
    assert "you predicted 1" in repr(notebook("reveal('n', 1)"))


def test_a_choice_is_one_of_the_options(notebook):
    options = "options=['same', 'larger']"

    assert repr(notebook(f"predict('c', 'smaller', {options})")) == (
        "c: 'smaller' is not one of 'same', 'larger'. Choose one of them."
    )
    notebook(f"predict('c', 'same', {options})")
    assert repr(notebook("reveal('c', 'larger')")) == "c: you predicted same; it is larger."
    assert repr(notebook("predict('d', True, options=[True, False])", "reveal('d', True)")).endswith("and so it is.")
    assert "not one of" in repr(notebook("predict('e', 1, options=[True, False])"))


def test_two_notebooks_do_not_share_their_predictions(notebook):
    notebook("reveal('n', 3)")

    assert repr(eval("predict('n', 3)", {"predict": predict})) == "n: you predict 3."


def test_what_is_shown_is_the_same_text_and_safe_to_show(notebook):
    shown = notebook("predict('<b>', 3)")._repr_mimebundle_()

    assert shown["text/plain"] == "<b>: you predict 3."
    assert "&lt;b&gt;: you predict 3." in shown["text/html"]


def test_a_decimal_comma_is_explained(notebook):
    assert repr(notebook("predict('n', 1,5)")).endswith("A decimal fraction has a point: 1.5")


def test_a_number_beyond_every_float_is_a_number(notebook):
    assert "you predict" in repr(notebook("predict('n', 10**400)"))
