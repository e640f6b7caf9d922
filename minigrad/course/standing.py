"""The learner's progress, read from the files in their folder: as data, as text and as a table with bars.

`minigrad status` prints it, and `dashboard()` shows it on the start page. It counts only recorded events, and skips
exercises and quizzes that the course no longer has.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from minigrad.course import attempts, exercise, progress, quiz, road
from minigrad.course.attempts import AttemptSummary
from minigrad.course.exercise import Exercise, Part
from minigrad.course.journal import Record, place

WIDTH, HEIGHT = 160, 12  # of a bar, in pixels
DONE, SHOWN = "#009e73", "#cc79a7"  # Okabe and Ito's green and purple
MARKS = {"passed": "✓", "broken": "✗", "revealed": "◇", "tried": "…", "untried": "○"}


@dataclass(frozen=True)
class PartStanding:
    """state: untried, tried, passed, broken (passed before, wrong now) or revealed (solution shown before a pass)."""

    name: str
    state: str
    points: int
    of: int
    attempts: int

    @property
    def marked_name(self) -> str:
        return f"{MARKS[self.state]} {self.name}" + (f": {attempts.BROKEN}" if self.state == "broken" else "")


@dataclass(frozen=True)
class Work:
    """The progress in one exercise."""

    name: str
    title: str
    points: int
    of: int
    parts: tuple[PartStanding, ...]

    @property
    def passed_parts(self) -> int:
        return sum(part.state == "passed" for part in self.parts)

    @property
    def revealed_points(self) -> int:
        return sum(part.of for part in self.parts if part.state == "revealed")


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
class Standing:
    """The whole progress of one learner.

    home    the path from the running notebook to the course folder, for links
    """

    exercises: tuple[Work, ...]
    predictions: tuple[QuestionCounts, ...]
    quizzes: tuple[QuestionCounts, ...]
    home: str = ".."

    def plain(self) -> dict[str, Any]:
        """The progress as data, with the number of passed parts, the points and the next notebook."""
        data = asdict(self)
        del data["home"]
        for said, work in zip(data["exercises"], self.exercises):
            said["passed"] = work.passed_parts
        return data | {"points": self.points, "of": self.of, "next": self.next}

    @property
    def next(self) -> str:
        """The notebook to continue with: a lesson, or its exercise once either is begun; "" when all is done."""
        begun = {each.name for each in (*self.predictions, *self.quizzes) if each.locked or each.uncounted}
        for work in self.exercises:
            if work.points + work.revealed_points < work.of:
                mine = [each.name for each in self.quizzes if each.name[:2] == work.name[:2]]
                is_begun = begun.intersection(mine) or any(part.state != "untried" for part in work.parts)
                return f"lessons/{mine[0]}.ipynb" if mine and not is_begun else f"exercises/{work.name}.ipynb"
        return ""

    @property
    def points(self) -> int:
        return sum(work.points for work in self.exercises)

    @property
    def of(self) -> int:
        return sum(work.of for work in self.exercises)

    def __repr__(self) -> str:
        return "\n".join(text(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": table(self)}


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
    lessons = dict.fromkeys(record["notebook"] for record in asked)
    return Standing(
        tuple(work(each, tried) for each in exercise.all_exercises()),
        tuple(
            count_questions(name, [record for record in asked if record["notebook"] == name])
            for name in sorted(lessons)
        ),
        tuple(
            count_questions(name, [r for r in answers if quiz_of(r, quizzes) == name], n) for name, n in quizzes.items()
        ),
    )


def quiz_of(record: Record, quizzes: dict[str, int]) -> str | None:
    """The quiz that a question belongs to; None for a prediction."""
    name = str(record["name"]).rpartition("/")[0]
    return name if name in quizzes else None


def work(each: Exercise, records: list[Record]) -> Work:
    parts = tuple(part_standing(part, attempts.summarize(records, part.name)) for part in each.parts)
    return Work(each.name, each.title, sum(part.points for part in parts), each.points, parts)


def part_standing(part: Part, tried: AttemptSummary) -> PartStanding:
    states = {"broken": tried.broken, "passed": tried.passed, "revealed": tried.revealed, "tried": tried.different}
    state = next((name for name, holds in states.items() if holds), "untried")
    return PartStanding(part.name, state, tried.earned_points(part), part.points, len(tried.different) + tried.passed)


def count_questions(name: str, records: Sequence[Record], of: int | None = None) -> QuestionCounts:
    counted = [record for record in records if progress.is_counted(record)]
    right = sum(record["right"] is True for record in counted)
    return QuestionCounts(name, len(counted), right, of, len(records) - len(counted))


# -- display ----------------------------------------------------------------------------------


def text(standing: Standing) -> list[str]:
    """The progress as lines of text."""
    width = max((len(work.name) for work in standing.exercises), default=0)
    lines = [f"{standing.points} of {standing.of} points in {len(standing.exercises)} exercises."]
    for each in standing.exercises:
        shown = f", {each.revealed_points} shown" if each.revealed_points else ""
        parts = ", ".join(part.marked_name + tries(part) for part in each.parts)
        sign = road.SIGN if road.is_on_road(each.name) else ""
        lines.append(f"  {each.name:{width}}  {sign:4}  {each.points:2} of {each.of} points{shown}: {parts}")
    lines += [f"Predictions, {format_counts(each)}" for each in standing.predictions] or [
        "No prediction is locked yet."
    ]
    lines += [f"Quiz, {format_counts(each)}" for each in standing.quizzes]
    lines.append(f"{road.MEANING}.")
    return [*lines, f"Go on with {standing.next}."] if standing.next else lines


def tries(part: PartStanding) -> str:
    return f" ({part.attempts} attempt{'' if part.attempts == 1 else 's'})" if part.attempts else ""


def format_counts(each: QuestionCounts) -> str:
    locked = f"{each.locked} locked" if each.of is None else f"{each.locked} of {each.of} locked"
    uncounted = f", {each.uncounted} not counted" if each.uncounted else ""
    return f"{each.name or 'elsewhere'}: {locked}, {each.right} right{uncounted}"


def table(standing: Standing) -> str:
    """The progress as an HTML table. The text says everything, so a screen reader can skip the bars."""
    rows = [
        row(link(standing, f"exercises/{work.name}.ipynb", f"{work.name.partition('_')[0]} {work.title}")
            + (f" ({road.SIGN})" if road.is_on_road(work.name) else ""),
            bar(work.points, work.revealed_points, work.of), f"{work.points} of {work.of} points",
            "<br>".join(escape(part.marked_name + tries(part)) for part in work.parts))
        for work in standing.exercises
    ]  # fmt: skip
    asked = [(f"Predictions, {each.name or 'elsewhere'}", each) for each in standing.predictions]
    asked += [(f"Quiz, {each.name}", each) for each in standing.quizzes]
    lessons = {each.name for each in standing.quizzes}
    rows += [
        row(link(standing, f"lessons/{each.name}.ipynb", title) if each.name in lessons else escape(title),
            bar(each.right, each.locked - each.right, each.locked if each.of is None else each.of),
            f"{each.right} right", escape(format_counts(each).partition(": ")[2]))
        for title, each in asked
    ]  # fmt: skip
    key = f"✓ passed, … tried, ○ not tried, ◇ its solution was shown, which counts 0 points; {road.MEANING}"
    head = "".join(
        f'<th scope="col" style="text-align:left">{name}</th>'
        for name in ("course", "so far", "in numbers", "in parts")
    )
    caption = f"{standing.points} of {standing.of} points in {len(standing.exercises)} exercises"
    if standing.next:
        caption += f". Go on with {link(standing, standing.next, standing.next)}"
    return (
        f'<div style="overflow-x:auto"><table><caption style="text-align:left"><strong>{caption}</strong></caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table><div>{key}</div></div>"
    )


def link(standing: Standing, file: str, words: str) -> str:
    return f'<a href="{quote(f"{standing.home}/{file}")}">{escape(words)}</a>'


def row(title: str, bar: str, said: str, parts: str) -> str:
    cells = "".join(f'<td style="text-align:left">{cell}</td>' for cell in (bar, said, parts))
    return f'<tr><th scope="row" style="text-align:left">{title}</th>{cells}</tr>'


def bar(done: int, shown: int, of: int) -> str:
    """A bar as SVG: a solid part for `done`, and a dashed outline for `shown` (or locked but not right)."""
    step = WIDTH / max(of, 1)
    marks = f'<rect x="1" y="1" width="{done * step:.1f}" height="{HEIGHT}" fill="{DONE}"/>' if done else ""
    if shown:
        x, width = 1 + done * step, shown * step - 1
        look = f'fill="none" stroke="{SHOWN}" stroke-width="2" stroke-dasharray="3 2"'
        marks += f'<rect x="{x + 0.5:.1f}" y="2" width="{width:.1f}" height="{HEIGHT - 2}" {look}/>'
    frame = f'<rect x="1" y="1" width="{WIDTH}" height="{HEIGHT}" fill="none" stroke="currentColor" opacity="0.5"/>'
    size = f'width="{WIDTH + 2}" height="{HEIGHT + 2}" viewBox="0 0 {WIDTH + 2} {HEIGHT + 2}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" aria-hidden="true" {size}>{frame}{marks}</svg>'
