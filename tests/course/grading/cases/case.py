"""Submissions of every kind, each with the points that it deserves: of exercise 01, of 2, 3, 1, 2, 1 and 1 points."""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from tests.support.root import ROOT

NAME = "01_scalar_engine"
SOLVED = json.loads((ROOT / "solutions" / f"{NAME}.ipynb").read_text("utf-8"))
UNTOUCHED = json.loads((ROOT / "exercises" / f"{NAME}.ipynb").read_text("utf-8"))

Notebook = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """A submission.

    points    that it deserves
    status    how grading goes; "graded or crashed" where that is the machine's pace, or the system's, to say
    data      the file
    family    the module that it is in
    """

    points: int
    status: str
    data: bytes
    family: str = ""


CASES: dict[str, Case] = {}


def submissions(module: str, cases: dict[str, Case]) -> None:
    """Add the cases of a module, each under its name."""
    family = module.rpartition(".")[-1]
    CASES.update({name: replace(case, family=family) for name, case in cases.items()})


def notebook(
    points: int, status: str = "graded", start: Notebook = SOLVED, before: str = "", after: str = "", **parts: str
) -> Case:
    """A notebook with other sources in some of its parts, and with a cell before or after all others."""
    nb = deepcopy(start)
    for part, source in parts.items():
        write(nb, part, source)
    nb["cells"] = [code(before)] * bool(before) + nb["cells"] + [code(after)] * bool(after)
    return Case(points, status, json.dumps(nb).encode())


def case(points: int, status: str = "graded") -> Callable[[Callable[[Notebook], Any]], Any]:
    """A case of the function's name: the solved notebook as it has changed it, or the bytes that it returns."""

    def add(change: Callable[[Notebook], Any]) -> Callable[[Notebook], Any]:
        nb = deepcopy(SOLVED)
        made = change(nb)
        data = made if isinstance(made, bytes) else json.dumps(nb).encode()
        submissions(change.__module__, {change.__name__: Case(points, status, data)})
        return change

    return add


def cell(nb: Notebook, name: str) -> Notebook:
    return next(each for each in nb["cells"] if each["id"] == name)


def source(name: str, nb: Notebook = SOLVED) -> str:
    return "".join(cell(nb, name)["source"])


def write(nb: Notebook, name: str, source: str) -> None:
    cell(nb, name)["source"] = [source]


def code(source: str, name: str = "extra") -> Notebook:
    return {"cell_type": "code", "id": name, "metadata": {}, "source": [source], "outputs": [], "execution_count": None}


def before(nb: Notebook, source: str) -> None:
    nb["cells"].insert(0, code(source))


def after(nb: Notebook, source: str) -> None:
    nb["cells"].append(code(source))
