"""Submissions of every kind, each with the points that it deserves."""

from tests.course.grading.cases import attacks, cheats, files, leaving, notebooks, right, without_end, wrong  # noqa: F401
from tests.course.grading.cases.case import CASES, NAME, ROOT, UNTOUCHED

__all__ = ["CASES", "NAME", "ROOT", "UNTOUCHED"]
