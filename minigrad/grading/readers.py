"""What people have given: points and words of a reader, put where ours stand, at each run anew.

A result on the disk is what the grader found. What somebody typed in formgrader lies in the gradebook and stays there;
tables and pages are made of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .letters import tame

Result = dict[str, Any]
Given = Mapping[tuple[str, str, str], tuple[float | None, str]]  # student, exercise, part → points, words


def with_readers(results: Sequence[Result], given: Given) -> list[Result]:
    """The results with what people have given.

    Where a part still waits for a person the status is `waits`; what could not be graded is, once a person has given
    points for each part.
    """
    return [with_reader(result, given) for result in results]


def with_reader(result: Result, given: Given) -> Result:
    who = tame(result["student"]), result["exercise"]
    parts = {name: read(part, *given.get((*who, name), (None, ""))) for name, part in result["parts"].items()}
    states = {part["state"] for part in parts.values()}
    status = result["status"]
    if status == "graded" and "wait" in states:
        status = "waits"
    elif status in ("failed", "unreadable") and "read" in states and "wait" not in states:
        status = "graded"
    return result | {"parts": parts, "points": sum(part["points"] for part in parts.values()), "status": status}


def read(part: Result, points: float | None, words: str) -> Result:
    """A part as a reader has left it."""
    now = part if points is None else part | {"points": int(points) if points == int(points) else points}
    if points is not None and part["state"] == "wait":
        now = now | {"state": "read"}
    about = [f"A reader gave {now['points']} of {part['of']}."] if now != part else []
    said = [f"A reader says: {words}"] if words else []
    return now | {"says": [*part["says"], *about, *said]}
