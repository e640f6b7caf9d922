"""An exercise with a part that a person reads, made as all exercises are; no learner gets it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from minigrad.course import exercise, lessons
from minigrad.course.grading import command
from tests.course.grading.cases import ROOT
from tests.course.grading.sandboxes import Told

sys.path.insert(0, str(ROOT / "scripts"))

from notebooks import exercise as making
from notebooks.source import notebook, text_of

NAME = "90_prose"
ANSWER = {"cells": {}, "parts": {"doubled": [["gave", 6, ""], ["gave", -3.0, ""]]}}
SOURCE = """\
# ---
# jupyter:
#   minigrad:
#     title: A part in prose
#     minutes: 10
#     lesson: 01_what_a_graph_is
#     concepts: [A1]
# ---

# %%
from minigrad.course import check

# %% [markdown]
# ## Doubled
#
# Write `doubled`.

# %% answer="doubled" points=3 minutes=5
def doubled(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION

# %% probes="doubled"
doubled(3)
doubled(-1.5)

# %% [markdown] hints="doubled"
# 1. Multiply.

# %% [markdown] shows="doubled"
# Twice a number is the number times two.

# %% wrong="doubled"
# Shows: it is a square.
# Hint: Two, and not x.
def doubled(x):
    return x * x

# %% wrong="doubled"
# Shows: it is the number itself.
# Hint: Twice.
def doubled(x):
    return x

# %% wrong="doubled"
# Shows: nothing comes back.
# Hint: Is there a return?
def doubled(x):
    2 * x

# %%
check("doubled")

# %% [markdown]
# ## Why
#
# Why is the slope of `doubled` the same everywhere?

# %% [markdown] answer="why" points=2 minutes=5
# A nudge of x moves the result by twice as much, wherever x is.
"""


def made(folder: Path) -> dict[str, Any]:
    """The exercise's notebook; exercises/ and answers/ in the folder have what a build writes."""
    source = folder / "solutions" / "source" / f"{NAME}.py"
    for each in (source.parent, folder / "exercises", folder / "answers"):
        each.mkdir(parents=True)
    source.write_text(SOURCE, "utf-8")
    nb = notebook(source)
    (folder / "answers" / f"{NAME}.json").write_text(making.answers(nb, NAME, making.outcomes), "utf-8")
    text = text_of(making.exercise(making.solution(nb, NAME)))
    (folder / "exercises" / f"{NAME}.ipynb").write_text(text, "utf-8")
    return json.loads(text)


def install(patch: pytest.MonkeyPatch, folder: Path, answer: dict[str, Any] = ANSWER) -> None:
    """Put it in the place of the course, and a sandbox that gives this answer in the place of this machine's."""
    patch.setattr(exercise, "ANSWERS", folder / "answers")
    patch.setattr(lessons, "course", lambda: folder)
    patch.setattr(command, "find_sandbox", lambda unsafe, limits: Told(answer))


def answered(nb: dict[str, Any], why: str) -> bytes:
    """A submission with this answer to the part in prose."""
    cells = [{**cell, "source": [why]} if cell["id"] == "why" else cell for cell in nb["cells"]]
    return json.dumps({**nb, "cells": cells}).encode()
