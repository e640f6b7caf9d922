"""The submissions of tests/course/grading/cases, each with the points that it deserves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
NAME = "01_scalar_engine"
FAMILIES = {
    "right": "right, with extra cells, magics, prints",
    "wrong": "wrong in the typical ways",
    "notebooks": "right, with what a notebook alone understands",
    "files": "cells and files that are not what they were",
    "leaving": "whose words are long, a program, or none",
    "without_end": "without end, without measure, exits",
    "cheats": "cheats",
    "attacks": "attacks on the machine",
}


def cases() -> dict[str, Any]:
    """Name → Case, with its points, status, data and family."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.course.grading.cases import CASES  # type: ignore[import-not-found]

    return {**CASES}


def hand_in(folder: Path, submissions: dict[str, bytes]) -> None:
    """Write student → notebook in nbgrader's folder layout, with a folder for results."""
    for student, data in submissions.items():
        path = folder / "submitted" / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        (folder / "out" / student).mkdir(parents=True, exist_ok=True)
