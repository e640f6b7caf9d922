"""Grades each submission in its own sandbox, followed by a right one that should also get its points."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from . import world
from .graders import Grader
from .suite import hand_in

FIRST, NEXT = "a_case", "the_next"  # students, in the order in which they are graded
Figures = dict[str, Any]


@contextmanager
def course(grader: Grader, python: str) -> Iterator[Path]:
    """A temporary folder with a grader's assignment."""
    with tempfile.TemporaryDirectory(prefix="graders-", ignore_cleanup_errors=True) as folder:
        made = Path(folder, "course")
        made.mkdir()
        grader.assign(python, made)
        Path(folder).chmod(0o755)
        yield made


def suite(
    grader: Grader, python: str, cases: dict[str, Any], right: bytes, workers: int, tell: Callable[[str, Figures], None]
) -> Figures:
    """Case → its result; `tell` is called with each result.

    right    a correct submission
    """
    slots: SimpleQueue[int] = SimpleQueue()
    for slot in range(workers):
        slots.put(slot)

    with course(grader, python) as made, ThreadPoolExecutor(workers) as pool:

        def one(name: str) -> Figures:
            slot = slots.get()
            try:
                submissions = {FIRST: cases[name].data}
                if grader.batch:
                    submissions[NEXT] = right
                found = judged(cases[name], graded(grader, python, made, submissions, slot), NEXT in submissions)
            finally:
                slots.put(slot)
            tell(name, found)
            return found

        return dict(zip(cases, pool.map(one, cases)))


def graded(grader: Grader, python: str, made: Path, submissions: dict[str, bytes], slot: int = 0) -> Figures:
    """The observer's report on a batch."""
    with tempfile.TemporaryDirectory(prefix="handed-", dir=made.parent, ignore_cleanup_errors=True) as folder:
        shutil.copytree(made, folder, dirs_exist_ok=True)
        hand_in(Path(folder), submissions)
        Path(folder).chmod(0o755)
        return world.ran(grader.job(python, [*submissions]), Path(folder), [python], grader.as_root, slot)


def judged(case: Any, seen: Figures, followed: bool) -> Figures:
    """The result of a case.

    right      whether it has the score that it deserves; no score is fine for a 0
    forged     whether it has a higher score
    silent     whether it has a 0, as if graded, although nothing was or could be graded
    stopped    whether the right submission after it lacks its full score; None if there was none
    """
    scores = seen.get("scores", {})
    score = scores.get(FIRST)
    ungradable = case.status in ("unreadable", "failed")
    found = {
        "score": score,
        "right": score == case.points or (score is None and case.points == 0),
        "forged": score is not None and score > case.points,
        "silent": score == 0 and (ungradable or case.points > 0),
        "stopped": scores.get(NEXT) != 10 if followed else None,
        "outside": seen.get("outside", []),
        "late": seen.get("late", True),
    }
    said = [*found["outside"], *(word for word in ("forged", "silent", "stopped", "late") if found[word])]
    return {**found, "family": case.family, "notes": ", ".join([*said, *filter(None, [seen.get("status", "")])])}


def pace(grader: Grader, python: str, data: bytes, students: int) -> Figures:
    """Submissions per minute and their cost, for a batch of right ones."""
    submissions = {f"s{i:03}": data for i in range(students)}
    with course(grader, python) as made:
        seen = graded(grader, python, made, submissions)
    if [seen.get("scores", {}).get(student) for student in submissions] != [10] * students:
        return {"status": seen.get("status") or "not all of the right submissions have their points"}
    return {
        "students": students,
        "per minute": 60 * students / seen["wall"],
        "cpu": seen["cpu"] / students,
        "peak": seen["peak"],
    }
