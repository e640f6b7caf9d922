"""The machinery around the lessons: bringing them to the learner, opening them, checking the machine.

    lessons.py   the course in the learner's folder, where the learner's work always wins
    lab.py       JupyterLab, opened on it
    doctor.py    what a machine has and lacks
    cli.py       the command line: minigrad lab, copy, reset, doctor

and in the lessons themselves:

    prediction.py   predict and reveal: a guess, and how far off it was
    feedback.py     check: what an answer to an exercise is worth, and a hint
    exercise.py     what is known of an exercise, and the verdict
    probe.py        how a learner's work is looked at, and never trusted
    memory.py       what a notebook has told the course so far

Only the standard library is imported to start, so that a broken installation can still say what is broken.
"""

from __future__ import annotations

from minigrad.course.feedback import check as check
from minigrad.course.feedback import score as score
from minigrad.course.prediction import predict as predict
from minigrad.course.prediction import reveal as reveal


class CourseError(Exception):
    """Something the learner can put right, told in one sentence with the way out; the command line prints no more."""
