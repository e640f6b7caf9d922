"""Exceptions whose message is for the learner."""

from __future__ import annotations


class CourseError(Exception):
    """An error that the learner can fix. The message says how; the command line prints it without a traceback."""


class CommandInterrupt(CourseError):
    """The user interrupted a command. What it had done so far is kept."""
