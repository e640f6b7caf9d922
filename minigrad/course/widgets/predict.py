"""A prediction as a form: an answer and a confidence, locked by a button before the learner runs the code.

The widget never has the right answer, so the notebook does not contain it above the cell that calls `reveal`: not in
the source, not in an output, not in the saved state of the widget.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from math import isfinite
from typing import Any

import traitlets

from ..audience.link import send_event
from ..prediction import HELD, LOCK_LATE, PredictionNote, not_locked, prediction, reveal_answer
from ..question import Question
from .form import Form
from .widget import Plain, javascript


class Predict(Form):
    """Predict("boxes", "How many boxes will the picture have?")

    kind         number, option, truth, shape or order; by default option if there are `options`, else number
    options      the choices, or the items to put in order
    unit         the unit of a number
    tolerance    how far off a number may be, in that unit

    A locked answer stays locked when the cell runs again and when the kernel restarts. If a locked prediction has the
    same name but another kind of answer, the widget shows that prediction and says so. A later cell calls
    `reveal("boxes", value)` with the value that it found. After that, an answer can still be locked: it is marked late,
    and not counted. Without a browser, call `lock` instead of the button.

    Raises ValueError for a question that cannot be answered.
    """

    _esm = javascript("question", "number_line", "predict")
    counted = True
    verb, unanswered = "You predict", "Not predicted yet."

    shown = ("label", "question", "confidences", "locked", "outcome", "say", "held")
    question: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    locked: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    outcome: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    say = traitlets.Unicode().tag(sync=True)
    held = traitlets.Bool().tag(sync=True)  # whether reveal holds the result back until an answer is locked

    def __init__(
        self, name: str, text: str, kind: str | None = None, options: Sequence[Any] = (), unit: str = "",
        tolerance: float = 0.0,
    ):  # fmt: skip
        if isinstance(options, str):
            raise TypeError(f"options must be a list, such as ['yes', 'no'], not the string {options!r}")
        if options and kind not in (None, "option", "order"):
            raise ValueError(f"the question {name!r} is of kind {kind!r}, which takes no options; got {options!r}")
        kind = kind or ("option" if options else "number")
        asked = Question(name, text, kind, tuple(options), unit, tolerance, self.counted)
        self._namespace = sys._getframe(1).f_globals
        self.prediction = prediction(asked, self._namespace)
        super().__init__(label=name, question=(self.prediction.other or asked).plain())
        if self.prediction.face is not None:  # the widget of an earlier run of this cell
            self.prediction.face.close()
        self.prediction.face = self
        self.refresh()
        send_event(do="ask", questions=[asked.plain()], confidences=self.confidences)

    def lock(self, answer: Any, confidence: str) -> Predict:
        """Lock an answer, as the button does. Raises ValueError with the reason if that fails."""
        self.refresh(self.prediction.lock(answer, confidence))
        return self

    def reveal(self, actual: Any) -> PredictionNote:
        """Call `reveal` for this prediction."""
        return reveal_answer(self.label, actual, self._namespace)

    def on_skip(self) -> None:
        self.prediction.skip()

    def on_answer(self, given: Plain) -> None:
        try:
            self.lock(given["answer"], given["confidence"])
        except ValueError as error:
            self.say = ""  # so that the browser is notified even if the sentence is the same
            self.say = str(error)

    def refresh(self, more: str = "") -> None:
        """Update the traits from the prediction; `more` is a sentence to add."""
        kept, outcome, asked = self.prediction.locked_record, self.prediction.outcome, self.prediction.question
        self.locked = {key: kept[key] for key in ("answer", "confidence")} if kept else {}
        came = self.prediction.came if outcome else None
        is_plain = isinstance(came, str | bool | int | list) or (isinstance(came, float) and isfinite(came))
        self.outcome = outcome | ({"answer": json.dumps(came)} if is_plain else {})
        self.held = self.prediction.is_held
        if outcome:
            late = LOCK_LATE if not kept and not_locked() else ""
            gap = f"{outcome['gap'][0].upper()}{outcome['gap'][1:]}"
            self.say = " ".join(filter(None, [gap, outcome["note"], late, more]))
        elif self.prediction.other:
            self.say = f"Locked, for this question. Another has its name: {asked.text} Give that one a name of its own."
        elif kept:
            words = "" if kept["question"] == asked.text else f"It was asked in other words: {kept['question']}"
            self.say = " ".join(filter(None, ["Locked. Now run on.", words, more]))
        else:
            self.say = more or (HELD if self.held else "")

    @property
    def text(self) -> str:
        """The question and its state, in words."""
        kept, asked = self.prediction.locked_record, self.prediction.other or self.prediction.question
        if kept:
            more = f" {self.say}" if self.prediction.other else ""
            state = f"{self.verb} {asked.format_answer(kept['answer'])} ({kept['confidence']}).{more}"
        elif self.outcome:
            state = f"No answer was locked. The answer has been shown. {LOCK_LATE}"
        else:
            unit = f", in {asked.unit}" if asked.unit else ""
            state = f"{self.unanswered} The answer is {asked.expected_form}{unit}."
        return f"{asked.text}\n{state}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.label!r}: {'locked' if self.locked else 'open'})"


class Guess(Predict):
    """Guess("ratio", "How many times faster?"): a Predict for what the text does not let you know.

    It takes what Predict takes. The answer is compared and kept, and is left out of the learner's calibration; so the
    form does not ask how sure you are.
    """

    counted = False
    verb, unanswered = "You guess", "Not guessed yet: it is not counted."
    confidences: traitlets.List[str] = traitlets.List(["guess"]).tag(sync=True)

    def lock(self, answer: Any, confidence: str = "guess") -> Guess:
        super().lock(answer, confidence)
        return self
