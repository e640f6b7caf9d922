"""Builds each notebook from one source, with the same bytes every time. `python scripts/build` uses it.

    source.py          a percent script → a notebook of cells that keep their names
    execution.py       runs the notebook in a fresh kernel of this Python, and keeps reproducible outputs
    exercise.py        a solution → the exercise, and the data by which `check` judges it
    gates.py           checks that no cell above a gate shows what the gate reveals
    answer_folding.py  folds the prose below each reveal; a click opens it
    difference.py      whether two notebooks are the same to a reader
    minutes.py         how long a notebook takes, computed from its words, questions, code and widgets
    course_map.py      the table of lessons

The package is for authors: a learner's copy of the course has only the notebooks.
"""
