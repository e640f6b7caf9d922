"""What the course raises for the learner to read."""

from __future__ import annotations


class CourseError(Exception):
    """Something the learner can put right, told in one sentence with the way out; the command line prints no more."""


class Stopped(CourseError):
    """Somebody has ended a command before its end, and what it has done so far is kept."""
