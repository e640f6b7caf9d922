"""The questions at the end of a lesson: what is right, and which misconception a wrong answer shows.

They are in quizzes/NAME.toml, in the package, and in no notebook. A digest in the notebook would hide nothing: of four
options one tries all four. So the browser is told what is right when all is locked, by the kernel, and not before.
Whoever opens the package's file finds it there: a quiz is for whoever wants to know what they know.

    [[questions]]
    name = "dot"
    ask = "…"
    kind = "option"                  as in question.py; options, unit and tolerance too
    options = ["…", "…"]
    right = "…"
    why = "…"                        said with the right answer

    [[questions.wrong]]              one for each wrong option; of other kinds, for the mistakes that are known
    answer = "…"
    shows = "…"                      the misconception
    hint = "…"
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minigrad.course.errors import CourseError
from minigrad.course.question import Question, question

FOLDER = Path(__file__).parent / "quizzes"


@dataclass(frozen=True)
class Mistake:
    """A wrong answer, what it shows of whoever gives it, and what helps."""

    answer: Any
    shows: str
    hint: str


@dataclass(frozen=True)
class Item:
    """A question with its key."""

    question: Question
    right: Any
    why: str
    wrong: tuple[Mistake, ...]

    def said_of(self, answer: Any) -> list[str]:
        """What there is to say to somebody who gave this answer."""
        if self.question.right(answer, self.right):
            return ["Right.", self.why]
        known = [mistake for mistake in self.wrong if self.question.right(answer, mistake.answer)]
        shows = [f"{mistake.shows} {mistake.hint}" for mistake in known[:1]]
        return [f"Not so. The answer: {self.question.shown(self.right)}.", *shows, self.why]


def quiz(name: str, path: Path | None = None) -> list[Item]:
    """The questions of a quiz, with their keys. Raises CourseError naming what a file lacks.

    path    a file of one's own, in the place of the package's
    """
    path = FOLDER / f"{name}.toml" if path is None else Path(path)
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.toml")))
        raise CourseError(f"there is no quiz {name!r} ({path.name}); known are: {known}")
    try:
        return [item(name, said) for said in tomllib.loads(path.read_text("utf-8"))["questions"]]
    except (KeyError, TypeError, ValueError) as error:
        raise CourseError(f"{path.name} is no quiz: {error}") from error


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
