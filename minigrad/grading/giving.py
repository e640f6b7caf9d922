"""Feedback as the system that submissions came from takes it back: a zip for Moodle, a folder for nbgrader."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
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
    pages = [(result, page) for result in results if (page := out / "feedback" / f"{label(result)}.html").exists()]
    for_moodle = defaultdict(list)
    for result, page in pages:
        for_nbgrader(place, out, result, page)
        for folder in filter(MOODLE.fullmatch, PurePosixPath(result["where"]).parts[:-1]):
            for_moodle[result["exercise"] or "unreadable"].append((folder, page))
    for exercise, mine in for_moodle.items():
        write(out / f"moodle_{exercise}.zip", zipped({f"{folder}/{exercise}.html": page for folder, page in mine}))


def zipped(files: dict[str, Path]) -> bytes:
    whole = BytesIO()
    with ZipFile(whole, "w") as packed:
        for name, file in files.items():
            packed.write(file, name.encode("utf-8", "backslashreplace").decode())
    return whole.getvalue()


def for_nbgrader(place: Path, out: Path, result: Result, page: Path) -> None:
    """A page of STUDENT/EXERCISE/, with what nbgrader has put beside the submission."""
    inner = PurePosixPath(result["where"]).parent
    files = [place / inner / name for name in OF_NBGRADER]
    beside = [file for file in files if file.is_file() and not file.is_symlink()]
    if len(inner.parts) == 2 and beside:
        for name, file in ((f"{inner.name}.html", page), *((file.name, file) for file in beside)):
            write(out / "feedback" / inner / name, file.read_bytes())
