"""Questions to answer from memory, each locked with a confidence, and scored when all are locked.

The right answers are in the package (course/quiz.py). No trait holds them before the last answer is locked, so until
then they are neither in the notebook nor in the browser.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import traitlets

from ..audience.link import send_event
from ..prediction import prediction
from ..quiz import quiz
from .form import Form
from .widget import Plain, javascript


class Quiz(Form):
    """Quiz("00_start_here") asks the questions of the lesson of that name, one at a time, in any order.

    questions    your own .toml file instead of the package's; minigrad/course/quiz.py describes its format
    Raises CourseError if there is no such quiz, or if its file is not valid.
    """

    _esm = javascript("question", "number_line", "quiz")

    shown = ("label", "questions", "confidences", "locked", "says", "results", "score")
    questions: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    locked: traitlets.Dict[str, Plain] = traitlets.Dict().tag(sync=True)
    says: traitlets.Dict[str, str] = traitlets.Dict().tag(sync=True)
    results: traitlets.Dict[str, Plain] = traitlets.Dict().tag(sync=True)
    score = traitlets.Unicode().tag(sync=True)

    def __init__(self, name: str, questions: str | os.PathLike[str] | None = None):
        namespace = sys._getframe(1).f_globals
        self._items = quiz(name, None if questions is None else Path(questions))
        self._predictions = {item.question.name: prediction(item.question, namespace) for item in self._items}
        super().__init__(label=name, questions=[item.question.plain() for item in self._items])
        for face in {one.face for one in self._predictions.values() if one.face is not None}:
            face.close()  # the widget of an earlier run of this cell
        for one in self._predictions.values():
            one.face = self
        self.refresh()
        keys = [{"right": item.right, "shows": [(m.answer, m.shows) for m in item.wrong]} for item in self._items]
        asked = [{**question, **key} for question, key in zip(self.questions, keys)]
        send_event(do="ask", questions=asked, confidences=self.confidences)

    def lock(self, name: str, answer: Any, confidence: str) -> Quiz:
        """Lock the answer to one question, as its button does. Raises ValueError with the reason if that fails."""
        full = name if name in self._predictions else f"{self.label}/{name}"
        if full not in self._predictions:
            asked = ", ".join(key.partition("/")[2] for key in self._predictions)
            raise ValueError(f"{self.label} has no question {name!r}; it has {asked}")
        self.says = {**self.says, full: self._predictions[full].lock(answer, confidence)}
        return self

    def on_answer(self, given: Plain) -> None:
        try:
            self.lock(str(given["name"]), given["answer"], given["confidence"])
        except ValueError as error:
            name = str(given["name"])
            self.says = {**self.says, name: ""}  # so that the browser is notified even if the sentence is the same
            self.says = {**self.says, name: str(error)}

    def refresh(self) -> None:
        """Update the traits: what is locked and, once all is, the score."""
        kept = {name: one.locked_record for name, one in self._predictions.items()}
        self.locked = {n: {key: r[key] for key in ("answer", "confidence")} for n, r in kept.items() if r}
        if len(self.locked) < len(self._items):
            self.score = f"{len(self.locked)} of {len(self._items)} locked. You will see what is right when all are."
            return
        self._compare()
        right = sum(result["right"] for result in self.results.values())
        self.score = f"{right} of {len(self._items)} right."

    def _compare(self) -> None:
        """Record the results and send them to the browser. No other method sends right answers."""
        if self.results:
            return
        results = {}
        for item in self._items:
            kept = self._predictions[item.question.name].locked_record
            assert kept is not None
            right, says = item.question.right(kept["answer"], item.right), item.said_of(kept["answer"])
            results[item.question.name] = {"right": right, "answer": item.right, "says": says}
        self.results = results  # before `show`, which calls refresh again
        for item in self._items:
            self._predictions[item.question.name].show(item.right)

    @property
    def text(self) -> str:
        """The questions in words, with the locked answers and, once all are locked, the results."""
        lines = [f"Quiz: {self.score}"]
        for n, item in enumerate(self._items, 1):
            asked, kept = item.question, self._predictions[item.question.name].locked_record
            state = f"{asked.expected_form}."
            if kept:
                state = f"You say {asked.format_answer(kept['answer'])} ({kept['confidence']})."
            lines += [f"{n}. {asked.text}", f"   {state[0].upper()}{state[1:]}"]
            lines += [f"   {' '.join(self.results[asked.name]['says'])}"] if self.results else []
        return "\n".join([*lines, *self._certainty()])

    def _certainty(self) -> Iterator[str]:
        """For each confidence, how many of these answers were right."""
        for sure in self.confidences:
            right = [x["right"] for name, x in self.results.items() if self.locked[name]["confidence"] == sure]
            if right:
                yield f"{sure}: {sum(right)} of {len(right)} right"

    def __repr__(self) -> str:
        return f"Quiz({self.label!r}: {self.score})"
