"""Grade a batch of submissions with several workers, and write each result as soon as it is ready.

Each result is its own file, named after the submission and written atomically. So an interrupted batch resumes where it
stopped, an unchanged submission is not graded again, and none counts twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from minigrad import __version__
from minigrad.course import exercise, lessons

from .collect import Upload, submissions
from .grade import GradingTask, grade, task, unseen
from .letters import safe_name, sanitize
from .sandbox import Sandbox
from .submission import Unreadable, digest_of, read

LOOK = 0.5  # seconds between two checks for results
NOTHING: dict[str, Any] = {"exercise": "", "digest": "", "points": 0, "of": 0, "notes": [], "parts": {}, "stopped": []}
OUTCOME = ("status", "points", "stopped")
Result = dict[str, Any]


@dataclass(frozen=True)
class Course:
    """The exercises that submissions can answer.

    exercises    the folder of the released notebooks
    answers      the folder of expected outcomes, if not the package's own
    only         the exercise that all submissions answer, whatever their names are
    """

    exercises: Path
    answers: Path | None = None
    only: str = ""

    def names(self) -> list[str]:
        return [self.only] if self.only else exercise.names()

    def submissions(self, place: Path, warn: Callable[[str], None] = lambda sentence: None) -> list[Upload]:
        """One file of each student for each exercise, or for each file name where the exercise is unknown."""
        return submissions(place, warn, lambda each: self.exercise_of(each) or each.file, self.rank)

    def exercise_of(self, handed: Upload, data: bytes | None = None) -> str:
        """The exercise that a submission answers, from its file name, its metadata or a folder name; or ""."""
        if self.only:
            return self.only
        if called := self.match_exercise(handed.file):
            return called
        try:
            said = read(handed.data() if data is None else data).exercise
        except Exception:  # grading reports what is wrong with the file
            said = ""
        return said if said in self.names() else self.match_exercise(*reversed(PurePosixPath(handed.where).parts))

    def match_exercise(self, *texts: str) -> str:
        """The first exercise whose name occurs in one of these texts; "" if there is none."""
        return next((name for text in texts for name in self.names() if name in text), "")

    def rank(self, handed: Upload) -> tuple[bool, ...]:
        """A sort key; the highest wins: edited files, then exact names of exercises, then names that contain one."""
        return self.is_edited(handed), handed.file in self.names(), bool(self.match_exercise(handed.file))

    def is_edited(self, handed: Upload) -> bool:
        """Whether the file can be read and differs from the released exercise."""
        try:
            data = handed.data()
            mine, given = (read(data), read((self.exercises / f"{self.exercise_of(handed, data)}.ipynb").read_bytes()))
        except Exception:  # reported when it is graded
            return False
        return (mine.cells, mine.texts) != (given.cells, given.texts)


class Batch:
    """A batch of submissions, with the folder of its results.

    sandbox    runs several submissions at once; only this process writes files
    out        a folder; its results/ has a file for each submission
    over       whether the batch was interrupted: then later results are not written
    """

    def __init__(self, course: Course, sandbox: Sandbox, out: Path, workers: int = 0):
        self.course, self.sandbox, self.out, self.workers = course, sandbox, out, workers or sandbox.workers
        self.task = cache(self.task_and_fingerprint)
        self.over = False
        (out / "results").mkdir(parents=True, exist_ok=True)

    def run(self, handed: Sequence[Upload], progress: Callable[[Result], None] = lambda result: None) -> list[Result]:
        """The results in the order of the submissions. `progress` is called with each as it arrives.

        If a submission was stopped or died, another may be the cause, so it is graded again, alone, after all others.
        """
        results: dict[int, Result] = {}
        for alone in (False, True):
            for i, result in self.each({i: one for i, one in enumerate(handed) if i not in results}, alone):
                if is_final(result):
                    results[i] = result
                    progress(result)
        return [results[i] for i in range(len(handed))]

    def each(self, todo: dict[int, Upload], alone: bool) -> Iterator[tuple[int, Result]]:
        """Yield the results as they arrive. An interrupt also ends all running sandboxes."""
        with ThreadPoolExecutor(1 if alone else self.workers) as pool:
            try:
                futures = {pool.submit(self.grade_one, one, alone): i for i, one in todo.items()}
                left = {*futures}
                while left:
                    done, left = wait(left, LOOK, FIRST_COMPLETED)  # so that Ctrl-C on another thread is noticed
                    yield from ((futures[future], future.result()) for future in done)
            except BaseException:
                self.over = True
                pool.shutdown(wait=False, cancel_futures=True)
                self.sandbox.end()
                raise

    def grade_one(self, handed: Upload, alone: bool) -> Result:
        """The result of one submission, from its result file if that is still valid."""
        about = NOTHING | {"student": handed.student, "name": handed.name, "file": handed.file, "where": handed.where}
        about |= {"alone": True} if alone else {}
        try:
            result = self.store_result(self.outcome(handed, alone, about))
        except OSError:  # results cannot be written: stop the whole batch
            raise
        except Exception as error:
            result = self.store_result(about | failure(error))
        also = f"Of several files for this exercise, {handed.where} was graded, not {', '.join(handed.besides)}."
        notes = [also[:500], *result["notes"]] if handed.besides else result["notes"]
        return result | {"notes": notes, "besides": list(handed.besides), "warnings": list(handed.warnings)}

    def outcome(self, handed: Upload, alone: bool, result: Result) -> Result:
        """The result of a submission, even if it is unreadable or the grader fails."""
        try:
            data = handed.data()
            result |= {"exercise": self.course.exercise_of(handed, data), "digest": digest_of(data)}
            if not result["exercise"]:
                names = ", ".join(self.course.names())
                raise Unreadable(f"cannot tell which exercise it answers: name the file after one of {names}")
            task, against = self.task(result["exercise"])
            result |= unseen(task) | {"against": against}
            known = self.stored_result(result) or {}
            again = "alone" in known and known["stopped"] and known["status"] != "graded"
            if known and not alone and not again:
                return known  # a submission that was stopped even alone gets another try
            found = result | grade(data, task, self.sandbox)
            same = known and is_final(known) and all(known[key] == found[key] for key in OUTCOME)
            return known if same else found
        except Unreadable as error:
            return result | {"status": "unreadable", "notes": [str(error)]}
        except Exception as error:
            return result | failure(error)

    def task_and_fingerprint(self, name: str) -> tuple[GradingTask, str]:
        """The task, and a hash of it and the version: if the hash changes, the submission is graded again."""
        found = task(name, self.course.exercises, self.course.answers)
        return found, digest_of(f"{__version__} {found}".encode())[:16]

    def path(self, result: Result) -> Path:
        return self.out / "results" / f"{label(result)}.json"

    def stored_result(self, about: Result) -> Result | None:
        """The stored result, if it is intact and was computed from the same bytes and the same task."""
        try:
            result: Result = json.loads(self.path(about).read_text("utf-8"))
            whole = result.pop("seal") == seal(result)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return result if whole and all(result[key] == about[key] for key in ("digest", "against")) else None

    def store_result(self, result: Result) -> Result:
        whole: Result = sanitize(result)
        if not self.over:
            text = json.dumps(whole | {"seal": seal(whole)}, indent=1, ensure_ascii=False)
            write(self.path(whole), text + "\n")
        return whole


def failure(error: Exception) -> Result:
    """The result for a submission on which the grader itself raised an exception."""
    why = f"the grader itself failed on it: {type(error).__name__}: {error}"[:300]
    return {"status": "failed", "notes": [why], "stopped": ["the grader"]}


def is_final(result: Result) -> bool:
    """Whether a result counts: nothing was stopped, or it was graded alone."""
    return not result["stopped"] or "alone" in result


def seal(result: Result) -> str:
    """A hash that shows whether a stored result was changed on the disk."""
    return digest_of(json.dumps(result, sort_keys=True).encode())[:16]


def label(result: Result) -> str:
    """A unique file name for a submission."""
    return safe_name(f"{result['student']}/{result['exercise'] or result['file']}")


def write(path: Path, text: str) -> None:
    """Write a file atomically. Lone surrogates, as in file names, are written as escapes."""
    lessons.write(path, text.encode("utf-8", "backslashreplace"))
