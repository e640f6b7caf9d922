"""Grading many: one at a time by several workers, each result written as soon as it is there.

A result is a file of its own, named after the submission, and written whole or not at all. So a batch that was ended in
the middle goes on where it stopped, a submission that has not changed is not graded again, and none counts twice.
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

from .collect import Handed, submissions
from .grade import Task, grade, task, unseen
from .letters import fit, tame
from .sandbox import Sandbox
from .submission import Unreadable, digest_of, read

LOOK = 0.5  # seconds between two looks at whether something came
NOTHING: dict[str, Any] = {"exercise": "", "digest": "", "points": 0, "of": 0, "notes": [], "parts": {}, "stopped": []}
OUTCOME = ("status", "points", "stopped")
Result = dict[str, Any]


@dataclass(frozen=True)
class Course:
    """What submissions can be of.

    exercises    the folder of the notebooks as they were given out
    answers      the folder of what is expected, where it is not the package's own
    only         the exercise that all submissions are of, whatever they are called
    """

    exercises: Path
    answers: Path | None = None
    only: str = ""

    def names(self) -> list[str]:
        return [self.only] if self.only else exercise.names()

    def submissions(self, place: Path, warn: Callable[[str], None] = lambda sentence: None) -> list[Handed]:
        """One file of each student for each exercise, or for each name of a file if nobody can tell the exercise."""
        return submissions(place, warn, lambda each: self.meant(each) or each.file, self.rank)

    def meant(self, handed: Handed, data: bytes | None = None) -> str:
        """The exercise that a submission answers, by its file's name, its own words, or a folder's name; or ""."""
        if self.only:
            return self.only
        if called := self.named(handed.file):
            return called
        try:
            said = read(handed.data() if data is None else data).exercise
        except Exception:  # grading reports what is wrong with the file
            said = ""
        return said if said in self.names() else self.named(*reversed(PurePosixPath(handed.where).parts))

    def named(self, *texts: str) -> str:
        """The first exercise whose name is in one of these texts; "" if there is none."""
        return next((name for text in texts for name in self.names() if name in text), "")

    def rank(self, handed: Handed) -> tuple[bool, ...]:
        """Of several files for an exercise an edited one counts; of those one of the exercise's name, or with more."""
        return self.is_edited(handed), handed.file in self.names(), bool(self.named(handed.file))

    def is_edited(self, handed: Handed) -> bool:
        """Whether the file can be read, and differs from the exercise as it was handed out."""
        try:
            data = handed.data()
            mine, given = read(data), read((self.exercises / f"{self.meant(handed, data)}.ipynb").read_bytes())
        except Exception:  # what is wrong with it is said when it is graded
            return False
        return (mine.cells, mine.texts) != (given.cells, given.texts)


class Batch:
    """A batch, and where its results go.

    sandbox    where submissions run, so many at once; it is this process alone that writes
    out        a folder; results/ in it has a file for each submission
    over       whether it was ended before its end: what comes now is no result
    """

    def __init__(self, course: Course, sandbox: Sandbox, out: Path, workers: int = 0):
        self.course, self.sandbox, self.out, self.workers = course, sandbox, out, workers or sandbox.workers
        self.task = cache(self.task_and_fingerprint)
        self.over = False
        (out / "results").mkdir(parents=True, exist_ok=True)

    def run(self, handed: Sequence[Handed], progress: Callable[[Result], None] = lambda result: None) -> list[Result]:
        """The result of each, in the order of what was handed in; `progress` is told of each as it comes.

        What was stopped, or ended, may have been so by the others: it is graded again, alone, after all others.
        """
        results: dict[int, Result] = {}
        for alone in (False, True):
            for i, result in self.each({i: one for i, one in enumerate(handed) if i not in results}, alone):
                if is_final(result):
                    results[i] = result
                    progress(result)
        return [results[i] for i in range(len(handed))]

    def each(self, todo: dict[int, Handed], alone: bool) -> Iterator[tuple[int, Result]]:
        """The result of each as it comes; if this is ended in the middle, so is all that runs."""
        with ThreadPoolExecutor(1 if alone else self.workers) as pool:
            try:
                futures = {pool.submit(self.one, one, alone): i for i, one in todo.items()}
                left = {*futures}
                while left:
                    done, left = wait(left, LOOK, FIRST_COMPLETED)  # a Ctrl-C that another thread took is heard then
                    yield from ((futures[future], future.result()) for future in done)
            except BaseException:
                self.over = True
                pool.shutdown(wait=False, cancel_futures=True)
                self.sandbox.end()
                raise

    def one(self, handed: Handed, alone: bool) -> Result:
        """The result of one submission, from its file if it has one that holds."""
        about = NOTHING | {"student": handed.student, "name": handed.name, "file": handed.file, "where": handed.where}
        about |= {"alone": True} if alone else {}
        try:
            result = self.kept(self.outcome(handed, alone, about))
        except OSError:  # no result can be written, for any submission
            raise
        except Exception as error:
            result = self.kept(about | failure(error))
        also = f"Of several files for this exercise {handed.where} was graded, and not {', '.join(handed.besides)}."
        notes = [also[:500], *result["notes"]] if handed.besides else result["notes"]
        return result | {"notes": notes, "besides": list(handed.besides), "warnings": list(handed.warnings)}

    def outcome(self, handed: Handed, alone: bool, result: Result) -> Result:
        """The result of a submission, also if it is unreadable or the grader fails."""
        try:
            data = handed.data()
            result |= {"exercise": self.course.meant(handed, data), "digest": digest_of(data)}
            if not result["exercise"]:
                names = ", ".join(self.course.names())
                raise Unreadable(f"which exercise it answers cannot be told: name the file after one of {names}")
            task, against = self.task(result["exercise"])
            result |= unseen(task) | {"against": against}
            known = self.known(result) or {}
            again = "alone" in known and known["stopped"] and known["status"] != "graded"
            if known and not alone and not again:
                return known  # else what was stopped even alone would stay so for ever
            found = result | grade(data, task, self.sandbox)
            same = known and is_final(known) and all(known[key] == found[key] for key in OUTCOME)
            return known if same else found
        except Unreadable as error:
            return result | {"status": "unreadable", "notes": [str(error)]}
        except Exception as error:
            return result | failure(error)

    def task_and_fingerprint(self, name: str) -> tuple[Task, str]:
        """What a result is reached by; another version, or other answers, and it is graded anew."""
        found = task(name, self.course.exercises, self.course.answers)
        return found, digest_of(f"{__version__} {found}".encode())[:16]

    def path(self, result: Result) -> Path:
        return self.out / "results" / f"{label(result)}.json"

    def known(self, about: Result) -> Result | None:
        """The result that there is already, if it is whole, and of the same bytes, graded against the same."""
        try:
            result: Result = json.loads(self.path(about).read_text("utf-8"))
            whole = result.pop("seal") == seal(result)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return result if whole and all(result[key] == about[key] for key in ("digest", "against")) else None

    def kept(self, result: Result) -> Result:
        whole: Result = fit(result)
        if not self.over:
            text = json.dumps(whole | {"seal": seal(whole)}, indent=1, ensure_ascii=False)
            write(self.path(whole), text + "\n")
        return whole


def failure(error: Exception) -> Result:
    """The result of a submission on which the grader itself raised an exception."""
    why = f"the grader itself failed on it: {type(error).__name__}: {error}"[:300]
    return {"status": "failed", "notes": [why], "stopped": ["the grader"]}


def is_final(result: Result) -> bool:
    """Whether it counts: nothing was stopped, or nothing else ran beside it."""
    return not result["stopped"] or "alone" in result


def seal(result: Result) -> str:
    """What a result has that nobody and nothing has changed on the disk."""
    return digest_of(json.dumps(result, sort_keys=True).encode())[:16]


def label(result: Result) -> str:
    """A name for files, which no two submissions share."""
    return tame(f"{result['student']}/{result['exercise'] or result['file']}")


def write(path: Path, text: str) -> None:
    """Write a file whole, or not at all. What has no letter, as names of files and texts may, is spelled out."""
    lessons.write(path, text.encode("utf-8", "backslashreplace"))
