"""Feedback as the system that submissions came from takes it back: a zip for Moodle, a folder for nbgrader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import ZipFile

from minigrad.course.lessons import write

from .batch import label
from .collect import MOODLE

Result = dict[str, Any]
OF_NBGRADER = ("timestamp.txt", "submission_secret.txt")  # beside each submission; nbgrader releases nothing without


def give(place: Path, out: Path, results: Sequence[Result]) -> None:
    """Lay out the pages that have been written, where submissions say that they came from such a system."""
    results = [result for result in results if page(out, result).exists()]
    for exercise, pages in for_moodle(results).items():
        whole = BytesIO()
        with ZipFile(whole, "w") as packed:
            for result, name in pages:
                packed.write(page(out, result), name)
        write(out / f"moodle_{exercise}.zip", whole.getvalue())
    for result, told in from_nbgrader(place, results):
        folder = out / "feedback" / PurePosixPath(result["where"]).parent
        for file in told:
            write(folder / file.name, file.read_bytes())
        write(folder / f"{folder.name}.html", page(out, result).read_bytes())


def page(out: Path, result: Result) -> Path:
    return out / "feedback" / f"{label(result)}.html"


def for_moodle(results: Sequence[Result]) -> dict[str, list[tuple[Result, str]]]:
    """The pages of each exercise, with their names in the zip: in the folders that Moodle has named."""
    found = defaultdict(list)
    for result in results:
        for folder in filter(MOODLE.fullmatch, PurePosixPath(result["where"]).parts[:-1]):
            exercise = result["exercise"] or "unreadable"
            found[exercise].append((result, f"{folder}/{exercise}.html".encode("utf-8", "backslashreplace").decode()))
    return found


def from_nbgrader(place: Path, results: Sequence[Result]) -> Iterator[tuple[Result, list[Path]]]:
    """Those of STUDENT/EXERCISE/ with what nbgrader has put beside the submission."""
    for result in results:
        where = PurePosixPath(result["where"])
        told = [
            file for name in OF_NBGRADER if (file := place / where.parent / name).is_file() and not file.is_symlink()
        ]
        if len(where.parts) == 3 and told:
            yield result, told
