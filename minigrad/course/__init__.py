"""The code around the lessons: it copies them to the learner's folder, opens them and checks the machine.

    lessons.py   copies and updates the course in the learner's folder, never overwrites their work, and restores it
    lab.py       starts JupyterLab in that folder
    terminal.py  limits JupyterLab's terminal output to its address and errors
    doctor.py    reports what the machine has and lacks
    new.py       writes the source of a new exercise from a template
    cli.py       the command line: minigrad lab, copy, reset, status, grade, new, doctor

and used in the lessons themselves:

    question.py         a question: its kind, how to parse an answer, and how to measure its error
    prediction.py       an answer that is locked before the code computes the result; reveal compares the two
    recorded.py         the same lines in PyTorch, JAX or TensorFlow: run if it is installed, else shown as recorded
    quiz.py             the questions at the end of a lesson, with right answers and explanations of wrong ones
    progress.py         stores predictions and quiz answers as plain data in the learner's folder
    feedback.py         check: a verdict on an answer, and a hint; solution: a worked one; score: a whole notebook
    gates.py            named requirements of a piece of work, checked one by one
    server.py           a server that answers with a saved model, and lets it write
    comparison.py       plots expected against actual numbers
    graph_comparison.py draws the learner's graph beside the expected one
    attempts.py         stores the attempts at exercises, also as plain data
    plots.py            plots that follow the theme of the notebook
    journal.py          the append-only file of JSON lines that progress.py and attempts.py use
    mine.py             loads what the learner wrote and `check` passed, so that later lessons run it
    alice.py            the small GPT that lesson 00 trains
    standing.py         the learner's progress as data, as text and as a table with bars
    exercise.py         the data of an exercise, and the verdict on an answer
    stopwatch.py        compares running times, and detects when the machine is too busy to tell
    probe.py            evaluates expressions on a learner's work and returns plain data
    referee.py          compares the data of the probes where none of the learner's code runs
    fork.py             runs probes in a forked copy of the notebook's process
    child.py            forks a process, reads its output, times it and kills it
    notebook_state.py   the course's state in one notebook, such as which cells ended with an error

`__init__.pyi` lists the names. Each is imported on first use, so that `minigrad doctor` runs without NumPy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


class CourseError(Exception):
    """An error that the learner can fix. The message says how; the command line prints it without a traceback."""


class CommandInterrupt(CourseError):
    """The user interrupted a command. What it had done so far is kept."""
