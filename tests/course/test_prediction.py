"""A prediction is locked before the answer is computed, and stays what it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import minigrad
from minigrad.course import Guess, Predict, reveal, reveal_range
from minigrad.course.prediction import AT_ONCE, HELD, LATE, LECTURE, LOCK_FIRST, LOCK_LATE
from minigrad.course.progress import FILE, answers
from minigrad.course.stopwatch import Rounds

ASK = "Predict('boxes', 'How many boxes?', unit='boxes')"


class Kernel:
    """The cells of a notebook, run one by one; a new one is a restart."""

    def __init__(self) -> None:
        course = (Guess, Predict, reveal, reveal_range)
        self.names: dict[str, Any] = {each.__name__: each for each in course}

    def __call__(self, *cells: str) -> Any:
        return [eval(cell, self.names) for cell in cells][-1]


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    monkeypatch.delenv(AT_ONCE, raising=False)
    return Kernel()


def press(widget: Any, answer: Any, confidence: Any = "certain") -> None:
    """What the browser sends when the button is pressed."""
    widget._handle_custom_msg({"name": widget.label, "answer": answer, "confidence": confidence}, [])


def test_an_unanswered_prediction_says_so_the_same_way_every_time(kernel):
    asked = kernel(ASK)

    assert repr(asked) == "Predict('boxes': open)"
    text = "How many boxes?\nNot predicted yet. The answer is a number, such as 12 or 0.25, in boxes."
    assert asked._repr_mimebundle_()[0]["text/plain"] == text


def test_without_a_lock_reveal_asks_for_it_once(kernel):
    asked = kernel(ASK)

    assert repr(kernel("reveal('boxes', 5)")) == f"boxes: {LOCK_FIRST}"
    assert (asked.outcome, asked.held, asked.locked) == ({}, True, {})
    assert asked.say == HELD
    assert repr(kernel("reveal('boxes', 6)")) == "boxes: it is 6 boxes. No prediction was locked."
    assert (asked.outcome["came"], asked.held) == ("6 boxes", False)


def test_a_lock_shows_the_result_that_was_held_back(kernel, tmp_path):
    """The cell with the reveal need not run again, which a cell with `backward()` may refuse."""
    asked = kernel(ASK)
    kernel("reveal('boxes', 5)")
    press(asked, 4)

    assert (asked.outcome["came"], asked.held) == ("5 boxes", False)
    assert asked.say.startswith("It is 5 boxes: 1 too few")
    (record,) = answers(tmp_path)
    assert (record["right"], "late" in record) == (False, False)
    assert "you predicted 4 boxes" in repr(kernel("reveal('boxes', 5)"))


def test_the_form_shows_the_result_on_request(kernel):
    asked = kernel(ASK)
    asked._handle_custom_msg({"do": "skip"}, [])
    assert asked.outcome == {}

    kernel("reveal('boxes', 5)")
    asked._handle_custom_msg({"do": "skip"}, [])
    assert asked.say == f"It is 5 boxes. No prediction was locked. {LOCK_LATE}"


@pytest.mark.parametrize("why", ["no form", "a lecture", "the repository"])
def test_reveal_asks_for_no_lock(kernel, monkeypatch, why):
    if why == "a lecture":
        monkeypatch.setenv(AT_ONCE, LECTURE)
    if why == "the repository":
        monkeypatch.chdir(Path(minigrad.__file__).parents[1])
    asked = None if why == "no form" else kernel(ASK)

    said = repr(kernel("reveal('boxes', 5)"))
    assert said.startswith("boxes: it is 5")
    if why == "a lecture":  # a room has voted by hand or by phone: that nobody locked would be projected
        assert (said, asked.say) == ("boxes: it is 5 boxes.", "It is 5 boxes.")


def test_what_is_locked_is_compared_with_what_the_learners_code_gives(kernel):
    asked = kernel(ASK)
    press(asked, "4")

    assert asked.locked == {"answer": 4, "confidence": "certain"}
    assert asked.outcome == {}
    assert asked.say == "Locked. Now run on."
    begins = "boxes: you predicted 4 boxes (certain); it is 5 boxes: 1 too few. You were"
    assert repr(kernel("reveal('boxes', 5)")).startswith(begins)
    assert asked.outcome["came"] == "5 boxes"
    assert asked.say.startswith("It is 5 boxes: 1 too few")


def test_what_is_locked_cannot_be_changed(kernel):
    asked = kernel(ASK)
    press(asked, 4)
    press(asked, 5)

    assert asked.say == "It is locked: 4 boxes, certain."
    assert kernel(ASK).locked["answer"] == 4
    with pytest.raises(ValueError, match="It is locked"):
        kernel(ASK).lock(5, "guess")


def test_a_name_that_a_locked_question_has_is_not_given_to_another(kernel):
    kernel(ASK).lock(4, "guess")
    other = kernel("Predict('boxes', 'Which is larger?', options=['a', 'b'])")

    for found in (other, Kernel()("Predict('boxes', 'Which is larger?', options=['a', 'b'])")):
        assert (found.question["text"], found.locked["answer"]) == ("How many boxes?", 4)
        assert found.text == (
            "How many boxes?\nYou predict 4 boxes (guess). Locked, for this question. Another has its name: "
            "Which is larger? Give that one a name of its own."
        )
    told = repr(kernel("reveal('boxes', 'a')"))
    assert told == "boxes: it is a. What is locked under this name answers another question: How many boxes?"
    assert other.say == f"I{told[len('boxes: i') :]}"
    assert repr(kernel(ASK, "reveal('boxes', 5)")).startswith("boxes: you predicted 4 boxes (guess); it is 5 boxes")


def test_a_question_in_other_words_is_the_same(kernel):
    kernel(ASK).lock(4, "guess")
    again = kernel(ASK.replace("How many", "Of how many"))
    assert again.text == "Of how many boxes?\nYou predict 4 boxes (guess)."
    assert again.say == "Locked. Now run on. It was asked in other words: How many boxes?"


def test_a_restart_and_the_cell_run_again_do_not_unlock(kernel):
    press(kernel(ASK), 4)

    again = Kernel()
    asked = again(ASK)

    assert asked.locked == {"answer": 4, "confidence": "certain"}
    assert asked.outcome == {}
    assert "you predicted 4 boxes" in repr(again("reveal('boxes', 5)"))


def test_reveal_range_alone_after_a_restart_knows_the_ranges(kernel):
    """It compared the number with the locked words, and stored a right answer as wrong."""
    kernel("Predict('r', 'How many times?', options=['under 4', 'more']).lock('more', 'certain')")

    assert "and so it is." in repr(Kernel()("reveal_range('r', 7.3, 4)"))
    never = repr(Kernel()("reveal_range('never asked', 7.31, 4)"))
    assert never == "never asked: it is 7.31. No prediction was locked."


def test_reveal_alone_after_a_restart_knows_the_question(kernel):
    press(kernel("Predict('s', 'Which shape?', 'shape')"), "(2, 3)")

    assert "you predicted (2, 3) (certain); it is (3, 2)" in repr(Kernel()("reveal('s', (3, 2))"))


def test_after_the_answer_was_shown_a_lock_is_late_and_not_counted(kernel, tmp_path):
    kernel("reveal('boxes', 5)")
    asked = kernel(ASK)
    assert asked.text.endswith(f"No answer was locked. The answer has been shown. {LOCK_LATE}")
    press(asked, 5)

    assert asked.locked == {"answer": 5, "confidence": "certain"}
    assert asked.say == f"And so it is. {LATE}"
    (record,) = answers(tmp_path)
    assert (record["answer"], record["right"], record["late"]) == (5, True, True)
    assert repr(kernel("reveal('boxes', 5)")).endswith(LATE)
    assert repr(Kernel()(ASK, "reveal('boxes', 5)")).endswith(LATE)


def test_late_answers_do_not_change_how_often_a_confidence_was_right(kernel):
    for name in "abcd":
        kernel(f"Predict('{name}', 'How many?')")
        if name == "a":
            kernel("reveal('a', 1)", "reveal('a', 1)")
        press(kernel(f"Predict('{name}', 'How many?')"), 1)
        told = repr(kernel(f"reveal('{name}', 1)"))
        assert ("answers" in told) == (name == "d")

    assert told.endswith("Of 3 answers that you were certain of, 3 were right.")


def test_a_restart_forgets_that_the_answer_was_shown(kernel):
    kernel("reveal('boxes', 5)")
    assert Kernel()(ASK).lock(5, "guess").locked["answer"] == 5


@pytest.mark.parametrize(("answer", "confidence", "words"), [
    ("1,5", "guess", "A decimal fraction has a point"), ("four", "guess", "is not a number"),
    (None, "guess", "is not a number"), ({"a": []}, "guess", "is not a number"),
    (4, "sure", "Say how sure you are: guess, fairly sure, certain."), (4, None, "Say how sure you are"),
    (4, [], "Say how sure you are"),
])  # fmt: skip
def test_what_cannot_be_locked_is_told_and_nothing_is_locked(kernel, answer, confidence, words):
    asked = kernel(ASK)
    press(asked, answer, confidence)

    assert words in asked.say
    assert asked.locked == {}


@pytest.mark.parametrize("said", [None, 3, [], {}, {"name": "boxes"}, {"do": "lock"}])
def test_a_message_that_is_none_is_passed_over(kernel, said):
    asked = kernel(ASK)
    asked._handle_custom_msg(said, [])

    assert asked.locked == {}


def test_what_is_kept_is_plain_data_with_the_verdict(kernel, tmp_path):
    press(kernel(ASK), 5, "fairly sure")
    assert [record["right"] for record in answers(tmp_path)] == [None]
    kernel("reveal('boxes', 5)", "reveal('boxes', 6)")

    (record,) = answers(tmp_path)
    del record["when"]
    assert record == {
        "version": 1, "notebook": "", "name": "boxes", "kind": "number", "question": "How many boxes?", "options": [],
        "unit": "boxes", "tolerance": 0.0, "counted": True, "answer": 5, "confidence": "fairly sure",
        "right": True, "actual": "5 boxes",
    }  # fmt: skip
    assert len((tmp_path / FILE).read_text().splitlines()) == 2


def test_how_often_a_confidence_was_right_is_told_from_the_third_answer_on(kernel):
    notes = []
    for name, guess in (("a", 1), ("b", 2), ("c", 1)):
        press(kernel(f"Predict('{name}', 'How many?')"), guess)
        notes.append(repr(kernel(f"reveal('{name}', 1)")))

    assert "answers" not in notes[1]
    assert notes[2].endswith("Of 3 answers that you were certain of, 2 were right.")


def test_a_guess_is_compared_kept_and_not_counted(kernel):
    for name in "abc":
        press(kernel(f"Guess('{name}', 'How many times?')"), 1, "guess")
        told = repr(kernel(f"reveal('{name}', 2)"))

    compared = "c: you predicted 1 (guess); it is 2: 1 too few."
    assert told == f"{compared} This was a guess, so it is not counted."
    press(kernel("Predict('d', 'How many?')"), 1, "guess")
    assert "answers" not in repr(kernel("reveal('d', 1)"))


def test_reveal_range_picks_the_option_in_whose_range_the_number_lies(kernel):
    kernel("Predict('r', 'How many times?', options=['under 4', '4 to 20', 'over 20']).lock('4 to 20', 'certain')")

    assert "and so it is." in repr(kernel("reveal_range('r', 4, 4, 20)"))
    assert "it is under 4." in repr(kernel("reveal_range('r', 3.9, 4, 20)"))
    assert "it is over 20." in repr(kernel("reveal_range('r', 20, 4, 20)"))
    for value, edges in (("float('nan')", "4, 20"), ("1", "20, 4"), ("1", "4")):
        with pytest.raises(ValueError, match="'r'"):
            kernel(f"reveal_range('r', {value}, {edges})")


def test_a_measured_number_is_revealed_only_if_its_rounds_agree_on_the_range(kernel):
    kernel.names["Rounds"] = Rounds
    kernel("Guess('r', 'How many times?', options=['under 4', '4 to 20', 'over 20']).lock('4 to 20')")

    assert "The rounds disagree" in repr(kernel("reveal_range('r', Rounds((3.0, 3.5, 4.5, 5.0)), 4, 20)"))
    assert "and so it is." in repr(kernel("reveal_range('r', Rounds((4.2, 4.5, 5.0)), 4, 20)"))


def test_the_typed_face_is_the_same_lock(kernel):
    locked = "Predict('r', 'Which first?', 'order', ['a', 'b']).lock(['b', 'a'], 'guess')"
    told = repr(kernel(f"{locked}.reveal(['a', 'b'])"))

    assert told.startswith("r: you predicted b → a (guess); it is a → b: place 1 is a, and not b.")


def test_a_number_within_its_tolerance_is_near_enough(kernel):
    told = repr(kernel("Predict('p', 'How much?', tolerance=1).lock(96, 'certain').reveal(97)"))

    assert told == "p: you predicted 96 (certain); it is 97: near enough."


def test_options_make_a_choice_and_true_and_false_are_options_too(kernel):
    kernel("Predict('c', 'Which?', options=[True, False]).lock(True, 'guess')")

    assert "and so it is." in repr(kernel("reveal('c', True)"))


@pytest.mark.parametrize(("options", "words"), [
    ("'yes'", "options must be a list, such as"), ("['a', 'b'], kind='truth'", "'truth', which takes no options"),
])  # fmt: skip
def test_options_that_mean_nothing_are_refused(kernel, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        kernel(f"Predict('q', 'Is it?', options={options})")


def test_before_the_gate_the_widget_knows_no_answer(kernel):
    asked = kernel(ASK)
    press(asked, 4)
    state = {key: value for key, value in asked.get_state().items() if key in asked.shown}

    assert state == {
        "label": "boxes",
        "question": {
            "name": "boxes", "text": "How many boxes?", "kind": "number",
            "options": [], "unit": "boxes", "tolerance": 0.0, "counted": True,
        },
        "confidences": ["guess", "fairly sure", "certain"],
        "locked": {"answer": 4, "confidence": "certain"},
        "outcome": {},
        "say": "Locked. Now run on.",
        "held": False,
    }  # fmt: skip
    public = {trait for trait in asked.trait_names(sync=True) if trait[0] != "_"}
    assert public - set(asked.shown) == {"layout", "tabbable", "tooltip"}


def test_running_the_cell_again_leaves_one_widget(kernel):
    first = kernel(ASK)
    second = kernel(ASK)

    assert first.comm is None
    press(second, 4)
    assert second.locked["answer"] == 4


def test_names_and_questions_are_safe_to_show(kernel):
    shown = kernel("Predict('<b>', 'Is <i>x</i> it?', 'truth')")._repr_mimebundle_()[0]["text/html"]

    assert "Is &lt;i&gt;x&lt;/i&gt; it?" in shown
    assert "&lt;b&gt;" in Kernel()("reveal('<b>', True)")._repr_mimebundle_()["text/html"]


def test_two_notebooks_of_one_process_do_not_share_what_was_shown(kernel, monkeypatch):
    kernel("reveal('boxes', 3)")

    assert Kernel()(ASK).lock(3, "guess").locked["answer"] == 3


def test_code_in_a_note_is_set_as_code(kernel):
    shown = kernel("reveal('boxes', '`<b>`')")._repr_mimebundle_()

    assert "it is <code>&lt;b&gt;</code>." in shown["text/html"]
    assert "it is `<b>`." in shown["text/plain"]
