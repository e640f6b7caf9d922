"""How the notebooks are made: from one source each, the same bytes every time. `python scripts/build` uses it.

    source.py       a percent script → a notebook of cells that keep their names
    execution.py    the notebook, run in a fresh kernel of this Python, with outputs fit to be kept
    exercise.py     a solution → the exercise, and what `check` must know of it
    gates.py        what a cell reveals is nowhere above it
    difference.py   whether two notebooks are the same to a reader
    course_map.py   the table of lessons

The package is for authors: a learner's copy of the course has the notebooks, and not what makes them.
"""
