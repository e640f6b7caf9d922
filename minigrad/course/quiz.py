"""The questions at the end of a lesson: the right answers, and the misconception that each wrong answer shows.

Both are in quizzes/NAME.toml in the package, not in a notebook. A hash in the notebook would hide nothing, because four
options are quickly tried. So the kernel sends the right answers to the browser only when all answers are locked. A
learner can still read them in the package's file: a quiz is for learners who want to know what they know.

    [[questions]]
    name = "dot"
    ask = "…"
    kind = "option"                  as in question.py; so are options, unit and tolerance
    options = ["…", "…"]
    right = "…"
    why = "…"                        shown with the right answer

    [[questions.wrong]]              required for each wrong option; for other kinds, for known mistakes
    answer = "…"
    shows = "…"                      the misconception
    hint = "…"
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minigrad.course import CourseError
from minigrad.course.question import Question, question

FOLDER = Path(__file__).parent / "quizzes"


@dataclass(frozen=True)
class Mistake:
    """A wrong answer, the misconception it shows, and a hint."""

    answer: Any
    shows: str
    hint: str


@dataclass(frozen=True)
class Item:
    """A question with its right answer and known mistakes."""

    question: Question
    right: Any
    why: str
    wrong: tuple[Mistake, ...]

    def said_of(self, answer: Any) -> list[str]:
        """The sentences shown for this answer."""
        if self.question.right(answer, self.right):
            return ["Right.", self.why]
        known = [mistake for mistake in self.wrong if self.question.right(answer, mistake.answer)]
        shows = [f"{mistake.shows} {mistake.hint}" for mistake in known[:1]]
        return [f"Not so. The answer: {self.question.format_answer(self.right)}.", *shows, self.why]


def quiz(name: str, path: Path | None = None) -> list[Item]:
    """Read the questions of a quiz with their answers. Raises CourseError if the file is missing or invalid.

    path    another file to read instead of the package's
    """
    path = FOLDER / f"{name}.toml" if path is None else Path(path)
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.toml")))
        raise CourseError(f"there is no quiz {name!r} ({path.name}); there are: {known}")
    try:
        return [item(name, said) for said in tomllib.loads(path.read_text("utf-8"))["questions"]]
    except (KeyError, TypeError, ValueError) as error:
        raise CourseError(f"{path.name} is not a quiz: {error}") from error


def item(quiz_name: str, said: dict[str, Any]) -> Item:
    asked = question({**said, "name": f"{quiz_name}/{said['name']}", "text": said["ask"], "kind": said["kind"]})
    right = asked.read(said["right"])
    wrong = tuple(Mistake(asked.read(m["answer"]), m["shows"], m["hint"]) for m in said.get("wrong", ()))
    if any(asked.right(mistake.answer, right) for mistake in wrong):
        raise ValueError(f"a wrong answer to {said['name']!r} is right")
    choices = {"option": asked.options, "truth": (True, False)}.get(asked.kind, ())
    unnamed = [c for c in choices if c != right and c not in [mistake.answer for mistake in wrong]]
    if unnamed:
        raise ValueError(f"{said['name']!r} does not say what {', '.join(map(repr, unnamed))} shows")
    return Item(asked, right, said["why"], wrong)
