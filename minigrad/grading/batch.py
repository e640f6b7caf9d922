"""Grading many: one at a time by several workers, each result written as soon as it is there.

A result is a file of its own, named after the submission, and written whole or not at all. So a batch that was ended in
the middle goes on where it stopped, a submission that has not changed is not graded again, and none counts twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from minigrad import __version__
from minigrad.course import lessons
from minigrad.course.exercise import every

from .collect import Handed
from .grade import Task, grade, task, unseen
from .letters import fit
from .sandbox import Sandbox
from .submission import Unreadable, digest_of, read

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
        return [self.only] if self.only else [exercise.name for exercise in every()]

    def meant(self, handed: Handed, data: bytes) -> str:
        """The exercise that a submission answers: as its file is called, else as it says; "" if nobody can tell."""
        if self.only:
            return self.only
        by_name = [name for name in self.names() if name in handed.file or name in handed.where]
        if by_name:
            return by_name[0]
        try:
            said = read(data).exercise
        except Unreadable:
            return ""
        return said if said in self.names() else ""

    def chosen(self, handed: Sequence[Handed]) -> list[Handed]:
        """One file of each student for each exercise: that which is called so, or the newest of several."""
        best: dict[tuple[str, str], Handed] = {}
        of_student: dict[str, list[Handed]] = {}
        for each in handed:
            of_student.setdefault(each.student, []).append(each)
        for student, mine in of_student.items():
            for each in sorted(mine, key=lambda each: (any(name in each.file for name in self.names()), each.age)):
                exercise = self.asked(each) if len(mine) > 1 else ""
                before = best.get((student, exercise or each.file))
                besides = (*before.besides, before.where) if before else ()
                best[student, exercise or each.file] = replace(each, besides=besides)
        return list(best.values())

    def asked(self, handed: Handed) -> str:
        """What `meant` says of a file that may be none; "" if it cannot be read."""
        try:
            return self.meant(handed, handed.data())
        except Unreadable:
            return ""


class Grader(Protocol):
    """Somebody who grades, so many at once."""

    workers: int

    def __call__(self, data: bytes, task: Task) -> Result: ...

    def missing(self) -> list[str]:
        """What is not enforced where it grades, each in words."""


class Here:
    """Grades on this machine, in sandboxes of their own."""

    def __init__(self, sandbox: Sandbox, workers: int = 0):
        self.sandbox = sandbox
        self.workers = workers or max(1, os.cpu_count() or 1)

    def __call__(self, data: bytes, task: Task) -> Result:
        return grade(data, task, self.sandbox)

    def missing(self) -> list[str]:
        return self.sandbox.missing()


class Batch:
    """A batch, and where its results go.

    grader    who grades; it is this process alone that writes
    out       a folder; results/ in it has a file for each submission
    """

    def __init__(self, course: Course, grader: Grader, out: Path):
        self.course, self.grader, self.out = course, grader, out
        self.tasks: dict[str, Task] = {}
        self.lock = threading.Lock()
        (out / "results").mkdir(parents=True, exist_ok=True)

    def run(self, handed: Sequence[Handed], progress: Callable[[Result], None] = lambda result: None) -> list[Result]:
        """The result of each, in the order of what was handed in; `progress` is told of each as it comes."""
        results: dict[int, Result] = {}
        with ThreadPoolExecutor(self.grader.workers) as workers:
            futures = {workers.submit(self.one, each): i for i, each in enumerate(handed)}
            for future in as_completed(futures):
                results[futures[future]] = future.result()
                progress(future.result())
        return [results[i] for i in range(len(handed))]

    def one(self, handed: Handed) -> Result:
        """The result of one submission, from its file if it has one."""
        about = {"student": handed.student, "name": handed.name, "file": handed.file, "where": handed.where}
        try:
            data = handed.data()
        except Unreadable as error:
            return self.keep(about | unreadable("", str(error)))
        name = self.course.meant(handed, data)
        if not name:
            names = ", ".join(self.course.names())
            why = f"which exercise it answers cannot be told: name the file after one of {names}"
            return self.keep(about | unreadable(digest_of(data), why))
        try:
            task = self.task(name)
        except FileNotFoundError as error:
            failed = {"status": "failed", "exercise": name}
            return self.keep(about | unreadable(digest_of(data), f"there is no {error.filename}") | failed)
        against = fingerprint(task)
        known = self.known(about | {"exercise": name}, digest_of(data), against)
        result = known or self.keep(about | self.graded(data, task) | {"against": against})
        if not handed.besides:
            return result
        also = f"Of several files for this exercise {handed.where} was graded, and not {', '.join(handed.besides)}."
        return result | {"notes": [also[:500], *result["notes"]]}

    def graded(self, data: bytes, task: Task) -> Result:
        try:
            return self.grader(data, task)
        except Exception as error:  # a mistake of the grader's own is one submission's, and nobody else's
            why = f"the grader itself failed on it: {type(error).__name__}: {error}"
            return unseen(data, task) | {"status": "failed", "notes": [why]}

    def task(self, name: str) -> Task:
        with self.lock:
            if name not in self.tasks:
                self.tasks[name] = task(name, self.course.exercises, self.course.answers)
            return self.tasks[name]

    # -- files ---------------------------------------------------------------------------------------

    def path(self, result: Result) -> Path:
        return self.out / "results" / f"{label(result)}.json"

    def known(self, about: Result, digest: str, against: str) -> Result | None:
        """The result that there is already, if it is of the same bytes, graded against the same."""
        try:
            result: Result = json.loads(self.path(about).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return result if (result.get("digest"), result.get("against")) == (digest, against) else None

    def keep(self, result: Result) -> Result:
        result = fit(result)
        write(self.path(result), json.dumps(result, indent=1, ensure_ascii=False) + "\n")
        return result


def unreadable(digest: str, why: str) -> Result:
    return {"exercise": "", "digest": digest, "status": "unreadable", "points": 0, "of": 0, "notes": [why], "parts": {}}


def label(result: Result) -> str:
    """A name for files: of letters that every system has, and no two submissions share one."""
    whole = f"{result['student']}/{result.get('exercise') or result['file']}"
    readable = re.sub(r"[^A-Za-z0-9.-]+", "_", whole).strip("._")[:80]
    return f"{readable}-{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def fingerprint(task: Task) -> str:
    """What a result was reached by: another version, or other answers, and it is graded anew."""
    return hashlib.sha256(f"{__version__} {task}".encode()).hexdigest()[:16]


def write(path: Path, text: str) -> None:
    """Write a file whole, or not at all. What has no letter, as names of files and texts may, is spelled out."""
    lessons.write(path, text.encode("utf-8", "backslashreplace"))
