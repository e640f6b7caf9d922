"""The learner's progress, read from the files in their folder: as data, as text and as a page, each on one screen.

`minigrad status` prints it, and `dashboard()` shows it on the start page. It counts only recorded events, and skips
exercises and quizzes that the course no longer has.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from itertools import zip_longest
from pathlib import Path
from textwrap import wrap
from typing import Any
from urllib.parse import quote

from minigrad.course import attempts, exercise, progress, quiz
from minigrad.course.attempts import AttemptSummary
from minigrad.course.exercise import Exercise, Part
from minigrad.course.journal import Record, place
from minigrad.course.lessons import FIRST, ROAD, ROAD_SIGN, TITLES, is_on_road
from minigrad.draw.words import pluralize

COLUMNS = 80
KEY = f"✓ done  … begun  ○ not begun  ✗ now wrong  * {ROAD_SIGN}: {len(ROAD)} lessons for a short course"
PART_KEY = "✓ passed, … tried, ○ not tried, ◇ its solution was shown, which counts 0 points"
COUNTED = ("locked", "right", "uncounted")
COLOURS = {"done": "#009e73", "begun": "#e69f00", "untried": "#767676", "broken": "#d55e00"}  # Okabe and Ito's
BUTTON = "display:inline-block;border:1px solid;border-radius:.3em;padding:.2em .8em;margin-left:.6em"
FINISHED = ("passed", "revealed")  # states of parts
MARKS = {"passed": "✓", "broken": "✗", "revealed": "◇", "tried": "…", "untried": "○", "done": "✓", "begun": "…"}


@dataclass(frozen=True)
class PartStanding:
    """state: untried, tried, passed, broken (passed before, wrong now) or revealed (solution shown before a pass)."""

    name: str
    state: str
    points: int
    of: int
    attempts: int
    optional: bool = False

    def __str__(self) -> str:
        broken = f": {attempts.BROKEN}" if self.state == "broken" else ""
        tries = f" ({pluralize(self.attempts, 'attempt', 'attempts')})" if self.attempts else ""
        return f"{MARKS[self.state]} {self.name}{broken}{tries}"


@dataclass(frozen=True)
class ExerciseProgress:
    """The progress in one exercise."""

    name: str
    title: str
    points: int
    of: int
    parts: tuple[PartStanding, ...]

    @property
    def passed_parts(self) -> int:
        return sum(part.state == "passed" for part in self.parts)

    def count_left(self, optional: bool) -> int:
        """How many of the optional parts, or of the others, are neither passed nor revealed."""
        return sum(part.optional is optional and part.state not in FINISHED for part in self.parts)

    is_done = property(lambda self: not self.count_left(optional=False))

    @property
    def summary(self) -> str:
        """The points, and each part with its state; optional parts come last."""
        groups = [[str(part) for part in self.parts if part.optional is kind] for kind in (False, True)]
        parts = "; optional: ".join(", ".join(group) for group in groups if group)
        return f"{self.points} of {self.of} points: {parts}"


@dataclass(frozen=True)
class QuestionCounts:
    """The counts of questions in one lesson or quiz: locked, known to be right, and in total.

    of           the total; None for predictions, whose number is unknown
    uncounted    answers in neither number: guesses, and answers that were locked late
    """

    name: str
    locked: int
    right: int
    of: int | None
    uncounted: int = 0


@dataclass(frozen=True)
class LessonState:
    """A lesson on the map, with its exercise.

    state       done, begun, untried, or broken (a part of the exercise passed before, and is wrong now)
    exercise    the file of its exercise; "" if it has none
    score       the points of the exercise, such as "7/10"; "" before the first
    """

    name: str
    title: str
    state: str
    exercise: str
    score: str

    @property
    def star(self) -> str:
        """What follows the number: a star on the road."""
        return "*" if is_on_road(self.name) else " "


@dataclass(frozen=True)
class Standing:
    """The whole progress of one learner.

    left_off    the notebook in which the learner last locked an answer or ran check; "" if there is none
    home        the path from the running notebook to the course folder, for links
    """

    exercises: tuple[ExerciseProgress, ...]
    predictions: tuple[QuestionCounts, ...]
    quizzes: tuple[QuestionCounts, ...]
    left_off: str = ""
    home: str = ".."

    def plain(self) -> dict[str, Any]:
        """The progress as data, with what is passed and done, the points and the next notebook."""
        data = asdict(self)
        del data["home"]
        for said, work in zip(data["exercises"], self.exercises):
            said |= {"passed": work.passed_parts, "done": work.is_done, "optional_left": work.count_left(optional=True)}
        boxes = {box.name: box.state for box in self.boxes}
        return data | {"points": self.points, "of": self.of, "next": self.next, "boxes": boxes}

    @property
    def next(self) -> str:
        """The notebook to go on with, from where the learner left off; "" when all is done.

        A lesson comes before its exercise, unless its quiz is locked or the exercise is begun.
        """
        first = next((each for each in self.quizzes if FIRST.endswith(f"/{each.name}.ipynb")), None)
        is_open = first is not None and first.locked + first.uncounted < (first.of or 0)
        if not self.left_off or (self.left_off == FIRST and is_open):  # the first lesson has no exercise
            return FIRST
        at = self.left_off.partition("/")[2][:2]
        for work in sorted(self.exercises, key=lambda work: work.name[:2] < at):
            if not work.is_done:
                lesson = next((each for each in self.quizzes if each.name[:2] == work.name[:2]), None)
                is_begun = any(part.state != "untried" for part in work.parts)
                if lesson is None or is_begun or lesson.locked + lesson.uncounted >= (lesson.of or 0):
                    return f"exercises/{work.name}.ipynb"
                return f"lessons/{lesson.name}.ipynb"
        return ""

    @property
    def current_work(self) -> ExerciseProgress | None:
        """The exercise of the notebook to go on with, if it is begun."""
        begun = (work for work in self.exercises if any(part.state != "untried" for part in work.parts))
        return next((work for work in begun if self.next == f"exercises/{work.name}.ipynb"), None)

    @property
    def boxes(self) -> tuple[LessonState, ...]:
        """The map: all lessons in order."""
        works = {work.name[:2]: work for work in self.exercises}
        return tuple(self.box(name, title, works.get(name[:2])) for name, title in TITLES.items())

    def box(self, name: str, title: str, work: ExerciseProgress | None) -> LessonState:
        asked = [each for each in (*self.predictions, *self.quizzes) if each.name == name]
        states = {part.state for part in work.parts} if work else set()
        begun = any(each.locked or each.uncounted for each in asked) or not states <= {"untried"}
        all_asked = any(each.of and each.locked + each.uncounted >= each.of for each in asked)
        done = work.is_done if work else all_asked
        state = "broken" if "broken" in states else "done" if done else "begun" if begun else "untried"
        file = f"exercises/{work.name}.ipynb" if work else ""
        return LessonState(name, title, state, file, f"{work.points}/{work.of}" if work and (begun or done) else "")

    points = property(lambda self: sum(work.points for work in self.exercises))
    of = property(lambda self: sum(work.of for work in self.exercises))

    def __repr__(self) -> str:
        return "\n".join(text(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": page(self)}


def dashboard() -> Standing:
    """Your progress in the course folder of this notebook."""
    file = place(attempts.FILE)
    if file is None:
        return standing(None)
    return replace(standing(file.parent), home=Path(os.path.relpath(file.parent)).as_posix())


def standing(folder: Path | None) -> Standing:
    """The progress stored in a course folder; without a folder, nothing is done."""
    tried = [] if folder is None else attempts.attempts(folder)
    answers = [] if folder is None else progress.answers(folder)
    quizzes = {path.stem: len(quiz.quiz(path.stem)) for path in sorted(quiz.FOLDER.glob("*.toml"))}
    asked = [record for record in answers if quiz_of(record, quizzes) is None]
    of_lesson = {name: [r for r in asked if r["notebook"] == name] for name in sorted({r["notebook"] for r in asked})}
    of_quiz = {name: [r for r in answers if quiz_of(r, quizzes) == name] for name in quizzes}
    return Standing(
        tuple(work(each, tried) for each in exercise.all_exercises()),
        tuple(count_questions(name, records) for name, records in of_lesson.items()),
        tuple(count_questions(name, records, quizzes[name]) for name, records in of_quiz.items()),
        last_notebook(tried, answers),
    )


def last_notebook(tried: list[Record], answers: list[Record]) -> str:
    """The notebook of the latest record that belongs to a notebook of the course; "" if there is none."""
    files = {part.name: f"exercises/{each.name}.ipynb" for each in exercise.all_exercises() for part in each.parts}
    known = {file.partition("/")[2].removesuffix(".ipynb"): file for file in files.values()}
    known |= {name: f"lessons/{name}.ipynb" for name in TITLES}
    dated = [(record["when"], known.get(record["notebook"])) for record in answers]
    dated += [(record.get("when", ""), files.get(record["part"])) for record in tried]
    return max(((str(when), i, file) for i, (when, file) in enumerate(dated) if file), default=("", 0, ""))[2]


def quiz_of(record: Record, quizzes: dict[str, int]) -> str | None:
    """The quiz that a question belongs to; None for a prediction."""
    name = str(record["name"]).rpartition("/")[0]
    return name if name in quizzes else None


def work(each: Exercise, records: list[Record]) -> ExerciseProgress:
    parts = tuple(part_standing(part, attempts.summarize(records, part.name)) for part in each.parts)
    return ExerciseProgress(each.name, each.title, sum(part.points for part in parts), each.points, parts)


def part_standing(part: Part, tried: AttemptSummary) -> PartStanding:
    states = {"broken": tried.broken, "passed": tried.passed, "revealed": tried.revealed, "tried": tried.different}
    state = next((name for name, holds in states.items() if holds), "untried")
    tries = len(tried.different) + tried.passed
    return PartStanding(part.name, state, tried.earned_points(part), part.points, tries, part.optional)


def count_questions(name: str, records: Sequence[Record], of: int | None = None) -> QuestionCounts:
    counted = [record for record in records if progress.is_counted(record)]
    right = sum(record["right"] is True for record in counted)
    return QuestionCounts(name, len(counted), right, of, len(records) - len(counted))


# -- display ----------------------------------------------------------------------------------


def text(standing: Standing) -> list[str]:
    """The progress as at most 23 lines of 80 columns."""
    lines = [sentence(standing), *(f"Next: {name_of(standing, file)}" for file in [standing.next] if file)]
    lines += totals(standing)
    if work := standing.current_work:
        lines += wrap(f"Exercise {work.name[:2]}, {work.summary}", COLUMNS)
    cells = [f"{MARKS[box.state]} {box.name[:2]}{box.star}{box.title:27} {box.score:5}" for box in standing.boxes]
    half = (len(cells) + 1) // 2
    rows = ("   ".join(pair).rstrip() for pair in zip_longest(cells[:half], cells[half:], fillvalue=""))
    return [*lines, "", *rows, KEY]


def sentence(standing: Standing) -> str:
    """Where the learner left off, in a sentence."""
    if not standing.left_off:
        return "You have not begun yet."
    return f"You left off in {name_of(standing, standing.left_off)}."


def name_of(standing: Standing, file: str) -> str:
    """A notebook by its title, as in `lesson 06 The dynamic graph`."""
    folder, _, name = file.removesuffix(".ipynb").partition("/")
    titles = {work.name: work.title for work in standing.exercises} if folder == "exercises" else TITLES
    return f"{folder.removesuffix('s')} {name[:2]} {titles.get(name, name[3:])}"


def totals(standing: Standing) -> list[str]:
    """The points, predictions and quiz answers so far, in a line or two."""
    lines = [f"{standing.points} of {standing.of} points in {len(standing.exercises)} exercises"]
    if left := sum(work.count_left(optional=True) for work in standing.exercises if work.is_done):
        lines.append(f"{pluralize(left, 'optional part', 'optional parts')} left in finished exercises")
    for name, counts in ("predictions", standing.predictions), ("quiz answers", standing.quizzes):
        locked, right, uncounted = (sum(getattr(each, key) for each in counts) for key in COUNTED)
        if locked or uncounted:
            more = f", {uncounted} not counted" if uncounted else ""
            lines.append(f"{locked} {name}, {right} right{more}")
    return wrap("; ".join(lines) + ".", COLUMNS)


def page(standing: Standing) -> str:
    """The progress as HTML that is less than 600 pixels high, with each exercise part by part below a fold."""
    go_on = ""
    if standing.next:
        go_on = f" {link(standing, standing.next, f'Go on with {name_of(standing, standing.next)}', BUTTON)}"
    parts = (escape(f"{work.name[:2]} {work.title}, {work.summary}") for work in standing.exercises)
    grid = "display:grid;grid-template-columns:repeat(auto-fill,minmax(11em,1fr));gap:.3em;margin:.6em 0"
    return (
        f'<section aria-label="Your progress"><div><strong>{escape(sentence(standing))}</strong>{go_on}</div>'
        f'<div style="margin-top:.4em">{escape(" ".join(totals(standing)))}</div>'
        f'<div style="{grid}">{"".join(tile(standing, box) for box in standing.boxes)}</div><div>{KEY}</div>'
        "<details><summary>The exercises, part by part</summary>"
        f"<ul><li>{'</li><li>'.join(parts)}</li></ul>{PART_KEY}</details></section>"
    )


def tile(standing: Standing, box: LessonState) -> str:
    """A lesson as a box with links to the lesson and to its exercise."""
    edge = f"border:1px solid #767676;border-left:5px solid {COLOURS[box.state]};padding:.15em .4em"
    lesson = link(standing, f"lessons/{box.name}.ipynb", f"{box.name[:2]} {box.title}")
    exercise = ""
    if box.exercise:
        label = name_of(standing, box.exercise) + (f", {box.score} points" if box.score else "")
        exercise = " · " + link(standing, box.exercise, box.score or "exercise", aria=label)
    return f'<div style="{edge}">{escape(MARKS[box.state])}{box.star}{lesson}{exercise}</div>'


def link(standing: Standing, file: str, words: str, style: str = "", aria: str = "") -> str:
    more = (f' style="{style}"' if style else "") + (f' aria-label="{escape(aria)}"' if aria else "")
    return f'<a href="{quote(f"{standing.home}/{file}")}"{more}>{escape(words)}</a>'
