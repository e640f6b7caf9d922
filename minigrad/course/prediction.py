"""Predict, run, and measure the gap: a prediction is locked before the answer is computed, and cannot change later.

    Predict("boxes", "How many boxes will the picture have?")     the widget, widgets/predict.py; it holds no answer
    reveal("boxes", len(history(z)))                              a later cell: the result of the learner's own code

A guess teaches only if it was written down before the answer. So the learner's cell computes the answer, and it is
stored nowhere before. If nothing is locked, the first `reveal` holds back the answer and the rest of the cell's output,
and asks for a lock. Both are shown when an answer is locked, on request, or by a second `reveal`. An answer that is
locked after the right one was shown is marked late, and is not counted.
"""

from __future__ import annotations

import html
import os
import re
import sys
from bisect import bisect_right
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from minigrad.course.audience.link import send_event
from minigrad.course.journal import Record
from minigrad.course.notebook_state import state_of
from minigrad.course.progress import AnswerJournal, is_counted
from minigrad.course.question import CONFIDENCE, Question, question
from minigrad.course.stopwatch import Rounds

AT_ONCE = "MINIGRAD_REVEAL_AT_ONCE"  # if set in the environment, reveal asks nobody
LECTURE = "lecture"  # value of AT_ONCE in a lecture: the room has voted, so omit the note NOT_LOCKED
LOCK_FIRST = "Lock your answer first, and its form will show the result. Or run this cell again to see it."
HELD = "The result is ready: lock your answer and compare, or show the result without one."
LATE = "You locked it late, after the answer was shown, so it is not counted."
LOCK_LATE = "You can still lock yours: it is marked late, and not counted."
NOT_LOCKED = "No prediction was locked."
UNCLEAR = "The rounds disagree: run this cell again when the machine has less to do."
UNCOUNTED = "This was a guess, so it is not counted."
FEWEST = 3  # answers at one confidence before the learner sees how many of these were right

# (whether the prediction was right, the learner's confidence) -> note
NOTES = {
    (True, "guess"): "You called it a guess: say now why it is so, and next time you will know.",
    (True, "fairly sure"): "",
    (True, "certain"): "",
    (False, "guess"): "A guess that is off costs nothing: find the step that you had no rule for.",
    (False, "fairly sure"): "Which step does the code do differently?",
    (False, "certain"): "You were certain, so one of your rules is wrong, not your arithmetic: find that rule.",
}


@dataclass(frozen=True)
class PredictionNote:
    """Sentences on a prediction, displayed as text or as a box."""

    name: str
    sentences: tuple[str, ...]

    def __repr__(self) -> str:
        return f"{self.name}: {' '.join(self.sentences)}"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        text = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(repr(self)))
        style = "border-left:4px solid #6d6d6d;padding:.3em .8em;max-width:50em"
        return {"text/plain": repr(self), "text/html": f'<div style="{style}">{text}</div>'}


class HeldOutput:
    """Displays a note now, and holds back all else that the running cell shows, except errors, until a lock."""

    def __init__(self, note: Any, shell: Any):
        from IPython.display import display
        from IPython.utils.capture import capture_output

        self.note = note._repr_mimebundle_()
        self.handle: Any = display(note, display_id=True)  # type: ignore[no-untyped-call]
        self.capture = capture_output(stderr=False)
        self.output = self.capture.__enter__()
        self.events: Any = shell.events
        self.events.register("post_run_cell", self.stop)

    def stop(self, result: Any) -> None:
        self.events.unregister("post_run_cell", self.stop)
        self.capture.__exit__(None, None, None)

    def release(self, note: Any) -> None:
        """Put the cell's output in place of the note, below another."""
        texts = [f"<pre>{html.escape(self.output.stdout)}</pre>" if self.output.stdout else ""]
        texts += [as_html(each.data) for each in self.output.outputs if each.data not in ({}, self.note)]
        bundle = note._repr_mimebundle_()
        self.handle.update({**bundle, "text/html": "\n".join([bundle["text/html"], *texts])}, raw=True)


def as_html(data: dict[str, Any]) -> str:
    """An output as HTML: its own, its picture or its text."""
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"]}">'
    text = html.escape(data.get("text/plain", ""))
    return data.get("text/html") or data.get("image/svg+xml") or f"<pre>{text}</pre>"


@dataclass
class Prediction:
    """The state of one prediction in a kernel.

    came     the result of the learner's code, once it was revealed; `...` before
    face     the widget that displays it, with refresh()
    held     the result that reveal held back, because no answer was locked; `...` before
    output   what the cell showed below that reveal
    """

    question: Question
    ledger: AnswerJournal
    came: Any = ...
    face: Any = None
    held: Any = ...
    output: HeldOutput | None = None
    guard: RLock = field(default_factory=RLock)  # a button click may arrive on another thread than the cell's

    @property
    def locked_record(self) -> Record | None:
        return self.ledger.find(self.question.name)

    @property
    def other(self) -> Question | None:
        """The question locked under this name, if its answer does not fit this question; else None."""
        was = asked_in(self.locked_record) if self.locked_record else self.question
        return None if was.answers_like(self.question) else was

    def lock(self, answer: Any, confidence: str) -> str:
        """Lock an answer for good. Returns why it could not be saved, or "". Raises ValueError if it is refused."""
        with self.guard:
            kept = self.locked_record
            if kept:
                answer = (self.other or self.question).format_answer(kept["answer"])
                raise ValueError(f"It is locked: {answer}, {kept['confidence']}.")
            value = self.question.read(answer)
            if confidence not in CONFIDENCE:
                raise ValueError(f"Say how sure you are: {', '.join(CONFIDENCE)}.")
            late = {} if self.came is ... else {"late": True}
            trouble = self.ledger.add(self.record(value, confidence, None) | late)
            if late or self.held is not ...:
                self.came = self.came if late else self.question.came(self.held)
                self.store_verdict()
        self.refresh()
        self.release_output()
        return trouble

    def show(self, actual: Any) -> None:
        """Show the actual result with the locked answer, and store whether the answer was right."""
        with self.guard:
            self.came = self.question.came(actual)
            self.store_verdict()
        send_event(do="reveal", name=self.question.name, right=self.came)
        self.refresh()
        self.release_output()

    def release_output(self) -> None:
        """Show what the cell of the held-back result has shown since, if it has not run again."""
        if self.output is not None and self.came is not ...:
            self.output.release(self.verdict)
            self.output = None

    def store_verdict(self) -> None:
        """Store whether the locked answer was right, unless that is known already."""
        kept = self.locked_record
        if kept and kept["right"] is None and not self.other:
            right = self.question.right(kept["answer"], self.came)
            came = self.question.format_answer(self.came)
            self.ledger.add({**self.record(kept["answer"], kept["confidence"], right), "actual": came})

    def hold(self, actual: Any) -> bool:
        """Hold the result back and ask for a lock: once, and only where there is a form to lock an answer in.

        Returns False if the result must be shown now. In the repository, where lessons are built and tested, nothing
        is stored, so nothing is held back either.
        """
        with self.guard:
            if self.held is not ... or self.came is not ... or self.face is None or self.locked_record:
                return False
            if self.ledger.path is None or AT_ONCE in os.environ:
                return False
            self.held = actual
        self.refresh()
        return True

    def skip(self) -> None:
        """Show the result that was held back, without a lock."""
        if self.is_held:
            self.show(self.held)

    is_held = property(lambda self: self.held is not ... and self.came is ...)

    def record(self, answer: Any, confidence: str, right: bool | None) -> Record:
        said = self.question.plain()
        asked = {"question": said.pop("text"), **said}
        return {**asked, "answer": answer, "confidence": confidence, "right": right}

    def refresh(self) -> None:
        if self.face is not None:
            self.face.refresh()

    @property
    def outcome(self) -> dict[str, str]:
        """The prediction, the result, the gap, a note and if it was right, as text; {} until the result is known."""
        kept = self.locked_record
        if self.came is ...:
            return {}
        came = self.question.format_answer(self.came)
        other = self.other
        if kept is None or other:
            note = f"What is locked under this name answers another question: {other.text}" if other else not_locked()
            return {"predicted": "", "came": came, "gap": f"it is {came}.", "note": note}
        right = self.question.right(kept["answer"], self.came)
        note = LATE if kept.get("late") else self.result_sentence(right, kept["confidence"])
        gap = self.question.gap(kept["answer"], self.came)
        if right and not gap.startswith("and so"):
            gap = f"it is {came}: near enough."
        predicted = self.question.format_answer(kept["answer"])
        return {"predicted": predicted, "came": came, "gap": gap, "note": note, "right": str(right).lower()}

    @property
    def verdict(self) -> PredictionNote:
        """The outcome in sentences."""
        told, locked = self.outcome, self.locked_record
        said = told["gap"]
        if locked and not self.other:
            said = f"you predicted {told['predicted']} ({locked['confidence']}); {said}"
        return PredictionNote(self.question.name, tuple(filter(None, [said, told["note"]])))

    def result_sentence(self, right: bool, confidence: str) -> str:
        """What a right or wrong answer says about the learner's rules: nothing if it was only a guess."""
        if not self.question.counted:
            return UNCOUNTED
        return " ".join(filter(None, [NOTES[right, confidence], self.calibration(confidence)]))

    def calibration(self, confidence: str) -> str:
        """How often the learner was right at this confidence, in the answers that are counted."""
        counted = [r for r in self.ledger.records() if is_counted(r) and r["right"] is not None]
        known = [r["right"] for r in counted if r["confidence"] == confidence]
        if len(known) < FEWEST:
            return ""
        sure = "that you called a guess" if confidence == "guess" else f"that you were {confidence} of"
        return f"Of {len(known)} answers {sure}, {sum(known)} were right."


def not_locked() -> str:
    """The note "No prediction was locked"; "" in a lecture, where the room has voted instead."""
    return "" if os.environ.get(AT_ONCE) == LECTURE else NOT_LOCKED


def prediction(asked: Question, namespace: dict[str, Any]) -> Prediction:
    """The prediction for this question in the notebook whose globals are `namespace`. An earlier lock still holds."""
    kept = state_of(namespace)
    if kept.ledger is None:
        kept.ledger = AnswerJournal()
    found = kept.predictions.get(asked.name)
    if found is None:
        found = kept.predictions[asked.name] = Prediction(asked, kept.ledger)
    found.question = asked
    return found


def find_prediction(name: str, namespace: dict[str, Any]) -> Prediction:
    """The prediction of this name: of this kernel, or stored by an earlier one; else one without a question."""
    kept = state_of(namespace)
    if name in kept.predictions:
        return kept.predictions[name]
    stored = (kept.ledger or AnswerJournal()).find(name)
    return prediction(asked_in(stored) if stored else Question(name, ""), namespace)


def asked_in(record: Record) -> Question:
    """The question in a stored record."""
    return question({**record, "text": record["question"]})


def reveal(name: str, actual: Any) -> PredictionNote:
    """Compare the code's result with the prediction locked under this name."""
    return reveal_answer(name, actual, sys._getframe(1).f_globals)


def reveal_range(name: str, value: float | Rounds, *edges: float) -> PredictionNote:
    """Reveal the option whose range contains the value: `reveal_range("times", 7.3, 4, 20)`, the second of three.

    The options of the question are the ranges in rising order. An edge belongs to the range above it.
    A measured number of in_turns() is revealed only if its rounds agree on the range.
    Raises ValueError if the edges do not rise, the value is NaN, or there is not one option more than there are edges.
    """
    namespace = sys._getframe(1).f_globals
    if value != value or list(edges) != sorted(set(edges)):
        raise ValueError(f"{name!r} needs a number and rising edges, got {value!r} and {list(edges)}")
    options = find_prediction(name, namespace).question.options
    if not options:  # nobody asked the question
        return reveal_answer(name, f"{value:.3g}", namespace)
    if len(options) != len(edges) + 1:
        raise ValueError(f"{name!r} has {len(options)} options, and needs {len(options) - 1} edges; got {list(edges)}")
    place = value.among(*edges) if isinstance(value, Rounds) else bisect_right(edges, value)
    if place is None:
        return PredictionNote(name, (UNCLEAR,))
    return reveal_answer(name, options[place], namespace)


def reveal_answer(name: str, actual: Any, namespace: dict[str, Any]) -> PredictionNote:
    """reveal() for the notebook whose globals are `namespace`."""
    found = find_prediction(name, namespace)
    if found.hold(actual):
        note = PredictionNote(name, (LOCK_FIRST,))
        shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
        found.output = HeldOutput(note, shell) if shell else None
        return note
    found.output = None
    found.show(actual)
    return found.verdict
