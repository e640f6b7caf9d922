"""`minigrad grade submissions/ --out results/`: everything that grading a class writes, in one folder.

results/        a JSON for each submission: what the batch resumes from
feedback/       a page for each; for nbgrader's exchange also as STUDENT/EXERCISE/EXERCISE.html
moodle_*.zip    the pages of an exercise as Moodle takes them back
scores.csv, canvas.csv, moodle.csv, results.json
class.html      the class report
gradebook.db, autograded/, source/    nbgrader's, where it is installed: `nbgrader formgrader` opens this folder
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from minigrad.course import journal, lessons
from minigrad.course.attempts import add_broken
from minigrad.course.errors import CourseError, Stopped
from minigrad.course.exercise import named

from . import gradebook
from .batch import Batch, Course, Result, label, write
from .collect import Handed, NothingFound, shortened
from .giving import give, isolate_failure
from .letters import cut, in_a_line
from .pages import class_report, feedback
from .sandbox import Cluster, Limits, NoSandbox, found, seen
from .submission import Submission, read, released
from .tables import scored, tables

LOCK = ".grading.lock"


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
    startable(course, place, out, workers)
    try:
        with ExitStack() as until:
            if threading.current_thread() is threading.main_thread():  # SIGTERM, of a system that goes down, is Ctrl-C
                before = signal.signal(signal.SIGTERM, signal.default_int_handler)
                until.callback(signal.signal, signal.SIGTERM, before)
            sandbox = Cluster(cluster, unsafe=unsafe) if cluster else found(unsafe, Limits())
            handed = course.submissions(place, warned)
            if missing := sandbox.missing():
                warned(f"not enforced here: {'; '.join(missing)}")
            until.enter_context(only_one(out))
            bar = until.enter_context(tqdm(total=len(handed), unit="submission", disable=None))
            results = Batch(course, sandbox, out, workers).run(handed, lambda result: bar.update())
            for result in results:
                add_broken(place if place.is_file() else place / result["where"], result)
            results = told(out, handed, results, missing)
            give(place, out, results)
            return results
    except (NoSandbox, NothingFound) as error:
        raise CourseError(str(error)) from error
    except KeyboardInterrupt:
        done = len([*(out / "results").glob("*.json")])
        kept = f"{done} submissions are graded, and kept in {out}: the same command goes on with the rest"
        raise Stopped(f"stopped. {kept}") from None
    except OSError as error:
        way = "what is graded is kept, and the same command goes on once there is room and the right to write"
        raise CourseError(f"cannot write {error.filename or out} ({error.strerror}): {way}") from error


def startable(course: Course, place: Path, out: Path, workers: int) -> None:
    """Raises CourseError where an option says what cannot be, or a place lies where submissions read or lie."""
    names = Course(course.exercises).names()
    if course.only not in ("", *names):
        raise CourseError(f"there is no exercise {course.only!r}: there are {', '.join(names)}")
    if workers < 0:
        raise CourseError(
            f"--workers says how many work at once, or 0 for one more than there are cores, and not {workers}"
        )
    if course.answers and not any((course.answers / f"{name}.json").is_file() for name in course.names()):
        first = f"{course.names()[0]}.json"
        raise CourseError(f"--answers is a folder of files such as {first}, and {course.answers} has none")
    for mine in filter(None, (place, out, course.answers)):
        if folder := seen(mine):
            why = f"{mine} lies in {folder}, which submissions can read, as this Python runs from it"
            raise CourseError(f"{why}: move it out, or grade with a Python that is installed elsewhere")
    if place.is_dir() and out.resolve().is_relative_to(place.resolve()):
        raise CourseError(f"{out} lies in {place}, and what is written there would be graded next time: name another")


def warned(sentence: str) -> None:
    print(f"minigrad: {sentence}", file=sys.stderr)


@contextmanager
def only_one(out: Path) -> Iterator[None]:
    """A block in which nobody else grades into a folder, which is made. The lock goes with the process."""
    try:
        (out / "results").mkdir(parents=True, exist_ok=True)
        file = (out / LOCK).open("ab")
    except OSError as error:
        raise CourseError(f"cannot write in {out} ({error.strerror}): name another folder with --out") from error
    with file:
        if not journal.locked(file):
            raise CourseError(f"somebody else is grading into {out} now: wait for the end, or name another --out")
        yield


def told(out: Path, handed: Sequence[Handed], results: Sequence[Result], missing: Sequence[str] = ()) -> list[Result]:
    """Write all that is made of the results, and of what people have given; the results with that.

    missing    what was not enforced while they were reached
    """
    read_again = {each.where: understood(each) for each in handed}
    results = with_gradebook(out, results, read_again)
    notebooks = {name: lessons.course() / "exercises" / f"{name}.ipynb" for r in results if (name := r["exercise"])}
    given = {name for each in map(released, notebooks.values()) for name in (*each.given, *each.checks)}
    titles = {name: named(name).title for name in notebooks}

    def write_pages(result: Result) -> str:
        """Write the pages of one submission. Returns the code in it that is its author's."""
        submission = read_again[result["where"]]
        with isolate_failure(result):
            title = titles.get(result["exercise"], str(result["file"]))
            write(out / "feedback" / f"{label(result)}.html", feedback(result, title))
            if gradebook.is_there() and result["parts"]:
                write(gradebook.place(out, result), gradebook.readable(submission, result))
            return "\n".join(cell.source for cell in submission.cells if cell.name not in given) if submission else ""
        return ""

    with ThreadPoolExecutor() as pool:  # the disk takes longer for each file than we do
        answers = dict(zip((result["where"] for result in results), pool.map(write_pages, results)))
    for name, text in tables(results).items():
        write(out / name, text)
    write(out / "class.html", class_report(results, answers, missing))
    for name, path in notebooks.items() if gradebook.is_there() else ():  # formgrader lists what has a source
        write(out / "source" / name / f"{name}.ipynb", path.read_text("utf-8"))
    return results


def with_gradebook(out: Path, results: Sequence[Result], submissions: gradebook.Submissions) -> list[Result]:
    """The results, entered, and with what people have given. Raises CourseError where the gradebook cannot be used."""
    try:
        if gradebook.is_there():
            gradebook.write(out, results, submissions)
        return gradebook.with_readers(results, gradebook.given(out))
    except OSError:
        raise
    except Exception as error:  # of SQLite's, or of a notebook beside it that somebody has edited
        why = str(error).partition("\n")[0][:200]
        way = "close what has it open, or put a copy in its place: points that people gave are in it alone"
        raise CourseError(f"{out / gradebook.FILE} cannot be used ({why}), and no table was written: {way}") from error


def understood(handed: Handed) -> Submission | None:
    try:
        return read(handed.data())
    except Exception:  # what is wrong with it has been said
        return None


def summary(results: Sequence[Result], out: Path) -> str:
    """What a person at the terminal is told."""
    counts = Counter(r["status"] for r in results)
    about = [(r["status"], r, cut(in_a_line(" ".join(r["notes"])), 160)) for r in results if r["status"] != "graded"]
    for r in results:
        besides = [f"{r['where']} was graded, and not {shortened(r['besides'])}"] if r["besides"] else []
        about += [("look", r, sentence) for sentence in (*besides, *r["warnings"])]
    return "\n".join([
        f"{len(results)} submissions: {', '.join(f'{n} {status}' for status, n in sorted(counts.items()))}",
        *(f"  {word:10} {in_a_line(r['student'])}: {in_a_line(sentence)}" for word, r, sentence in about),
        f"Scores, feedback and the class report are in {out}",
    ])  # fmt: skip


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    keys = ("student", "exercise", "status", "points", "of")
    return [{key: r[key] for key in keys} for r in scored(results)]
