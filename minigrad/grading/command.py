"""`minigrad grade submissions/ --out results/`: everything that grading a class writes, in one folder.

results/        a JSON for each submission: what the batch resumes from
feedback/       a page for each
scores.csv, canvas.csv, moodle.csv, results.json
class.html      the class report
gradebook.db, autograded/, source/    nbgrader's, where it is installed: `nbgrader formgrader` opens this folder
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from minigrad.course import lessons
from minigrad.course.errors import CourseError
from minigrad.course.exercise import named

from . import gradebook
from .batch import Batch, Course, Grader, Here, Result, label, write
from .cluster import There
from .collect import Handed, NothingFound, submissions
from .letters import cut, in_a_line
from .pages import class_report, feedback
from .readers import with_readers
from .sandbox import Limits, NoSandbox, found, seen
from .submission import Released, Submission, Unreadable, read, released
from .tables import scored, tables


def grade(
    place: Path,
    out: Path,
    exercise: str = "",
    answers: Path | None = None,
    workers: int = 0,
    unsafe: bool = False,
    cluster: str = "",
) -> list[Result]:
    """Grade what lies in a place. Raises CourseError where it cannot begin."""
    course = Course(lessons.course() / "exercises", answers, exercise)
    if exercise not in ("", *Course(course.exercises).names()):
        raise CourseError(f"there is no exercise {exercise!r}: there are {', '.join(Course(course.exercises).names())}")
    if workers < 0:
        raise CourseError(f"--workers says how many work at once, or 0 for one on each core, and not {workers}")
    if answers and not any((answers / f"{name}.json").is_file() for name in course.names()):
        raise CourseError(f"--answers is a folder of files such as {course.names()[0]}.json, and {answers} has none")
    apart(place, out, answers)
    try:
        grader: Grader = There(cluster, unsafe=unsafe) if cluster else Here(found(unsafe, Limits()), workers)
        handed = course.chosen(submissions(place))
    except (NoSandbox, NothingFound) as error:
        raise CourseError(str(error)) from error
    batch = Batch(course, grader, room(out, place))
    missing = grader.missing()
    if missing:
        print(f"minigrad: not enforced here: {'; '.join(missing)}", file=sys.stderr)
    with tqdm(total=len(handed), unit="submission", disable=None) as bar:
        results = batch.run(handed, lambda result: bar.update())
    return told(out, handed, results, missing)


def apart(*places: Path | None) -> None:
    """Raises CourseError where a place of the class's is one that every submission can read."""
    for place in filter(None, places):
        if folder := seen(place):
            way = "move it out, or grade with a Python that is installed elsewhere"
            raise CourseError(
                f"{place} lies in {folder}, which submissions can read, as this Python runs from it: {way}"
            )


def room(out: Path, place: Path) -> Path:
    """The folder for results, made. Raises CourseError where none can be, and where they would be graded next time."""
    if place.is_dir() and out.resolve().is_relative_to(place.resolve()):
        raise CourseError(f"{out} lies in {place}, and what is written there would be graded next time: name another")
    try:
        (out / "results").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CourseError(f"cannot write in {out} ({error.strerror}): name another folder with --out") from error
    return out


def told(out: Path, handed: Sequence[Handed], results: Sequence[Result], missing: Sequence[str] = ()) -> list[Result]:
    """Write all that is made of the results, and of what people have given; the results with that.

    missing    what was not enforced while they were reached
    """
    read_again = {each.where: understood(each) for each in handed}
    if gradebook.is_there():
        gradebook.write(out, results, read_again)
    results = with_readers(results, gradebook.given(out))
    for name, text in tables(results).items():
        write(out / name, text)
    exercises = {r["exercise"]: released_of(r["exercise"]) for r in results if r["exercise"]}
    answers = {where: own(submission, exercises) for where, submission in read_again.items() if submission}
    for result in results:
        title = named(result["exercise"]).title if result["exercise"] else result["file"]
        write(out / "feedback" / f"{label(result)}.html", feedback(result, title))
    write(out / "class.html", class_report(results, answers, missing))
    if gradebook.is_there():
        for name in exercises:  # formgrader lists what has a source
            write(out / "source" / name / f"{name}.ipynb", notebook_of(name).read_text("utf-8"))
        for result in results:
            if result["parts"]:
                write(gradebook.place(out, result), gradebook.readable(read_again[result["where"]], result))
    return results


def released_of(name: str) -> Released:
    return released(notebook_of(name))


def notebook_of(name: str) -> Path:
    return lessons.course() / "exercises" / f"{name}.ipynb"


def understood(handed: Handed) -> Submission | None:
    try:
        return read(handed.data())
    except Unreadable:
        return None


def own(submission: Submission, exercises: dict[str, Released]) -> str:
    """The code of a submission that is its author's, for the search for similar ones."""
    given = {*(name for each in exercises.values() for name in (*each.given, *each.checks))}
    return "\n".join(cell.source for cell in submission.cells if cell.name not in given)


def summary(results: Sequence[Result], out: Path) -> str:
    """What a person at the terminal is told."""
    counts: dict[str, int] = {}
    for result in results:
        counts[result["status"]] = counts.get(result["status"], 0) + 1
    lines = [f"{len(results)} submissions: {', '.join(f'{n} {status}' for status, n in sorted(counts.items()))}"]
    lines += [
        f"  {r['status']:10} {in_a_line(r['student'])}: {cut(in_a_line(' '.join(r['notes'])), 160)}"
        for r in results
        if r["status"] != "graded"
    ]
    return "\n".join([*lines, f"Scores, feedback and the class report are in {out}"])


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    keys = ("student", "exercise", "status", "points", "of")
    return [{key: r[key] for key in keys} for r in scored(results)]
