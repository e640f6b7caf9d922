"""`minigrad grade submissions/ --out results/`: grade a class and write everything into one folder.

results/        a JSON file for each submission, from which an interrupted batch resumes
feedback/       a page for each submission; for nbgrader's exchange also as STUDENT/EXERCISE/EXERCISE.html
moodle_*.zip    the pages of an exercise, in the form that Moodle imports
scores.csv, canvas.csv, moodle.csv, results.json
class.html      the class report
gradebook.db, autograded/, source/    for nbgrader, if it is installed: `nbgrader formgrader` opens this folder
"""

from __future__ import annotations

import csv
import signal
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZipFile

from tqdm import tqdm

from minigrad.course import CommandInterrupt, CourseError, journal, lessons
from minigrad.course.attempts import add_broken
from minigrad.course.exercise import load_exercise

from . import gradebook
from .batch import Batch, Course, Result, label, write
from .collect import MOODLE, NothingFound, Upload, read_in_folder, shorten_list
from .letters import cut, in_a_line
from .pages import class_report, feedback
from .sandbox import Cluster, Limits, NoSandbox, exposed_folder, find_sandbox
from .submission import LARGEST, Submission, Unreadable, load_release, read
from .tables import blank_missing_points, tables

LOCK = ".grading.lock"
LONGEST_NAME = 255  # bytes of a folder's name on a disk; a name in a zip may be longer
OF_NBGRADER = ("timestamp.txt", "submission_secret.txt")  # of each submission; nbgrader needs them to release feedback


def grade(
    place: Path, out: Path, exercise: str = "", answers: Path | None = None, workers: int = 0, unsafe: bool = False,
    cluster: str = "", audience: Path | None = None,
) -> list[Result]:  # fmt: skip
    """Grade the submissions in a place. Raises CourseError if it cannot start."""
    course = Course(lessons.course() / "exercises", answers, exercise)
    startable(course, place, out, workers)
    try:
        with ExitStack() as until:
            if threading.current_thread() is threading.main_thread():  # treat SIGTERM, as at a shutdown, like Ctrl-C
                before = signal.signal(signal.SIGTERM, signal.default_int_handler)
                until.callback(signal.signal, signal.SIGTERM, before)
            sandbox = Cluster(cluster, unsafe=unsafe) if cluster else find_sandbox(unsafe, Limits())
            handed = course.submissions(place, print_warning)
            if missing := sandbox.missing():
                print_warning(f"not enforced here: {'; '.join(missing)}")
            until.enter_context(only_one(out))
            bar = until.enter_context(tqdm(total=len(handed), unit="submission", disable=None))
            results = Batch(course, sandbox, out, workers).run(handed, lambda result: bar.update())
            for result in results:
                add_broken(place if place.is_file() else place / result["where"], result)
            room = [*csv.reader(audience.read_text("utf-8").splitlines())] if audience else []
            results = write_results(out, handed, results, missing, room)
            give(place, out, results)
            return results
    except (NoSandbox, NothingFound) as error:
        raise CourseError(str(error)) from error
    except KeyboardInterrupt:
        done = len([*(out / "results").glob("*.json")])
        kept = f"{done} submissions are graded and saved in {out}: the same command continues with the rest"
        raise CommandInterrupt(f"stopped. {kept}") from None
    except OSError as error:
        way = "finished results are kept, and the same command continues once there is space and permission to write"
        raise CourseError(f"cannot write {error.filename or out} ({error.strerror}): {way}") from error


def startable(course: Course, place: Path, out: Path, workers: int) -> None:
    """Raise CourseError for an invalid option, a folder that submissions can read, or an `out` among submissions."""
    names = Course(course.exercises).names()
    if course.only not in ("", *names):
        raise CourseError(f"there is no exercise {course.only!r}: there are {', '.join(names)}")
    if workers < 0:
        jobs = "the number of jobs at once, or 0 for one more than the cores"
        raise CourseError(f"--workers must be {jobs}; got {workers}")
    if course.answers and not any((course.answers / f"{name}.json").is_file() for name in course.names()):
        first = f"{course.names()[0]}.json"
        raise CourseError(f"--answers must be a folder of files such as {first}, but {course.answers} has none")
    for mine in filter(None, (place, out, course.answers)):
        if folder := exposed_folder(mine):
            why = f"{mine} lies in {folder}, which submissions can read because this Python runs from it"
            raise CourseError(f"{why}: move it out, or grade with a Python installed elsewhere")
    if place.is_dir() and out.resolve().is_relative_to(place.resolve()):
        raise CourseError(f"{out} lies in {place}, so its files would be graded next time: choose another --out")


def print_warning(sentence: str) -> None:
    print(f"minigrad: {sentence}", file=sys.stderr)


@contextmanager
def only_one(out: Path) -> Iterator[None]:
    """Make the results folder and hold its lock in the block. The lock ends with the process."""
    try:
        (out / "results").mkdir(parents=True, exist_ok=True)
        file = (out / LOCK).open("ab")
    except OSError as error:
        raise CourseError(f"cannot write in {out} ({error.strerror}): choose another folder with --out") from error
    with file:
        if not journal.try_lock(file):
            raise CourseError(f"another grader is writing into {out} now: wait for it, or choose another --out")
        yield


def write_results(
    out: Path, handed: Sequence[Upload], results: Sequence[Result], missing: Sequence[str] = (),
    room: Sequence[Sequence[str]] = (),
) -> list[Result]:  # fmt: skip
    """Write all files made from the results and from people's grades. Returns the results with those grades.

    missing    the limits that were not enforced during grading
    """
    read_again = {each.where: read_submission(each) for each in handed}
    results = with_gradebook(out, results, read_again)
    notebooks = {name: lessons.course() / "exercises" / f"{name}.ipynb" for r in results if (name := r["exercise"])}
    given = {name for each in map(load_release, notebooks.values()) for name in (*each.given, *each.checks)}
    titles = {name: load_exercise(name).title for name in notebooks}

    def write_pages(result: Result) -> str:
        """Write the pages of one submission. Returns the code that its author wrote."""
        submission = read_again[result["where"]]
        with isolate_failure(result):
            title = titles.get(result["exercise"], str(result["file"]))
            write(out / "feedback" / f"{label(result)}.html", feedback(result, title))
            if gradebook.is_there() and result["parts"]:
                write(gradebook.place(out, result), gradebook.readable(submission, result))
            return "\n".join(cell.source for cell in submission.cells if cell.name not in given) if submission else ""
        return ""

    with ThreadPoolExecutor() as pool:  # writing a file is mostly waiting for the disk
        answers = dict(zip((result["where"] for result in results), pool.map(write_pages, results)))
    for name, text in tables(results).items():
        write(out / name, text)
    write(out / "class.html", class_report(results, answers, missing, room))
    for name, path in notebooks.items() if gradebook.is_there() else ():  # else formgrader would not list it
        write(out / "source" / name / f"{name}.ipynb", path.read_text("utf-8"))
    return results


def with_gradebook(out: Path, results: Sequence[Result], submissions: gradebook.Submissions) -> list[Result]:
    """Enter the results in the gradebook. Returns them with people's grades. Raises CourseError if it is unusable."""
    try:
        if gradebook.is_there():
            gradebook.write(out, results, submissions)
        return gradebook.with_readers(results, gradebook.manual_grades(out))
    except OSError:
        raise
    except Exception as error:  # from SQLite, or from an edited notebook next to it
        why = str(error).partition("\n")[0][:200]
        way = "close the program that has it open, or restore a copy: only it holds the points that people gave"
        raise CourseError(f"{out / gradebook.FILE} cannot be used ({why}), and no table was written: {way}") from error


def read_submission(handed: Upload) -> Submission | None:
    try:
        return read(handed.data())
    except Exception:  # reported already
        return None


def give(place: Path, out: Path, results: Sequence[Result]) -> None:
    """Copy the written pages into Moodle's and nbgrader's layouts, for submissions whose paths match these systems."""
    pages = [(result, page) for result in results if (page := out / "feedback" / f"{label(result)}.html").exists()]
    for_moodle = defaultdict(list)
    for result, page in pages:
        with isolate_failure(result):
            for_nbgrader(place, out, result, page)
            for folder in PurePosixPath(result["where"]).parts[:-1]:
                if MOODLE.fullmatch(folder) and len(folder.encode("utf-8", "backslashreplace")) <= LONGEST_NAME:
                    for_moodle[result["exercise"] or "unreadable"].append((folder, page))
    for exercise, mine in for_moodle.items():
        lessons.write(
            out / f"moodle_{exercise}.zip", zip_of({f"{folder}/{exercise}.html": page for folder, page in mine})
        )


@contextmanager
def isolate_failure(result: Result) -> Iterator[None]:
    """A block for one submission. Its exceptions become a warning, except OSError, such as a full disk."""
    try:
        yield
    except OSError:
        raise
    except Exception as error:
        result["warnings"].append(f"its pages could not be written: {type(error).__name__}: {error}"[:300])


def zip_of(files: dict[str, Path]) -> bytes:
    whole = BytesIO()
    with ZipFile(whole, "w") as packed:
        for name, file in files.items():
            packed.write(file, name.encode("utf-8", "backslashreplace").decode())
    return whole.getvalue()


def for_nbgrader(place: Path, out: Path, result: Result, page: Path) -> None:
    """Write the feedback page into STUDENT/EXERCISE/, next to the files that nbgrader put into the submission."""
    inner = PurePosixPath(result["where"]).parent
    files = {}
    for name in OF_NBGRADER if len(inner.parts) == 2 else ():
        with suppress(OSError, Unreadable):  # a path in a zip may be too long for the disk
            files[name] = read_in_folder(place, inner / name, LARGEST)
    for name, data in {f"{inner.name}.html": page.read_bytes(), **files}.items() if files else ():
        lessons.write(out / "feedback" / inner / name, data)


def summary(results: Sequence[Result], out: Path) -> str:
    """The summary for the terminal."""
    counts = Counter(r["status"] for r in results)
    about = [(r["status"], r, cut(in_a_line(" ".join(r["notes"])), 160)) for r in results if r["status"] != "graded"]
    for r in results:
        besides = [f"{r['where']} was graded, not {shorten_list(r['besides'])}"] if r["besides"] else []
        about += [("look", r, sentence) for sentence in (*besides, *r["warnings"])]
    return "\n".join([
        f"{len(results)} submissions: {', '.join(f'{n} {status}' for status, n in sorted(counts.items()))}",
        *(f"  {word:10} {in_a_line(r['student'])}: {in_a_line(sentence)}" for word, r, sentence in about),
        f"Scores, feedback and the class report are in {out}",
    ])  # fmt: skip


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    keys = ("student", "exercise", "status", "points", "of")
    return [{key: r[key] for key in keys} for r in blank_missing_points(results)]
