"""The machinery around the lessons: bringing them to the learner, opening them, checking the machine.

    lessons.py   the course in the learner's folder, where the learner's work always wins
    rescue.py    notebooks that JupyterLab was killed while saving
    lab.py       JupyterLab, opened on it
    terminal.py  what JupyterLab says in the terminal: one address, and what goes wrong
    doctor.py    what a machine has and lacks
    new.py       a new exercise, begun
    cli.py       the command line: minigrad lab, copy, reset, status, grade, new, doctor

and in the lessons themselves:

    question.py         what can be asked, how an answer is read, and how far off it is
    prediction.py       an answer that is locked before it is computed, and reveal, which sets the two side by side
    quiz.py             the questions that are asked at the end, their right answers, and what a wrong one shows
    progress.py         what was answered, kept as plain data in the learner's folder
    feedback.py         check: what an answer to an exercise is worth, and a hint; solution: a way to do it
    scoring.py          what check says of a whole notebook
    gates.py            what a piece of work must hold, asked one by one
    comparison.py       numbers that should be others, as a picture
    attempts.py         what was tried in the exercises, kept in the same way
    plots.py            plots that follow the theme of the notebook
    journal.py          how it is kept: lines that are added and never changed
    standing.py         how far the learner has come, as data, as text and as a table with bars
    exercise.py         what is known of an exercise, and the verdict
    stopwatch.py        which way is faster, and when a busy machine cannot tell
    probe.py            how a learner's work is looked at, and never trusted
    referee.py          where what it gives is compared: never beside the learner's code
    apart.py            where: in a copy of the notebook's process
    child.py            how a copy of a process is read, timed and ended
    notebook_state.py   what a notebook has told the course so far

Only the standard library is imported to start, so that a broken installation can still say what is broken.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from minigrad.course.errors import CourseError as CourseError
from minigrad.course.feedback import check as check
from minigrad.course.feedback import solution as solution
from minigrad.course.prediction import reveal as reveal
from minigrad.course.scoring import score as score
from minigrad.course.standing import dashboard as dashboard
from minigrad.course.stopwatch import Rounds as Rounds
from minigrad.course.stopwatch import in_turns as in_turns

if TYPE_CHECKING:
    from minigrad.course.gates import Gates as Gates
    from minigrad.course.plots import follow_theme as follow_theme
    from minigrad.course.widgets import Predict as Predict
    from minigrad.course.widgets import Quiz as Quiz


HOMES = {
    "Predict": "minigrad.course.widgets", "Quiz": "minigrad.course.widgets", "Gates": "minigrad.course.gates",
    "follow_theme": "minigrad.course.plots",
}  # fmt: skip


def __getattr__(name: str) -> object:
    if name in HOMES:  # imported when asked for, because anywidget and Matplotlib are slow to import
        return getattr(import_module(HOMES[name]), name)
    raise AttributeError(f"minigrad.course has no {name!r}")
