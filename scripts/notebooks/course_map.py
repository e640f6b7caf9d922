"""The map of the course, read off the headers of the lessons and solutions: a picture and three tables.

Which lessons each lesson builds on, how long it takes and what it teaches; where each concept of concepts.toml is
taught and practised; and which part of an exercise has a hint for each misconception.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode

from minigrad.course.lessons import ROAD_SIGN, is_on_road
from notebooks import needs
from notebooks.source import BuildError

HEAD = """\
# The lessons

Read them in this order, or along the arrows: each stands on those that an arrow comes from, and the column *needs* says
the same. Words are explained in the [glossary](GLOSSARY.md). PyTorch, TensorFlow and JAX are [compared](COMPARISON.md),
question by question, and [spelt](CHEATSHEET.md), line by line. The last tables say what the letters under *concepts*
stand for, and what many believe at first.

If you have no time for all of them, take the **road**: NINE lessons for a short course, in HOURS hours without
exercises. The column *road* marks them.
<!-- made by `python scripts/build` -->

![The lessons as a graph: an arrow leads from a lesson to those that need it.](map.svg)

| lesson | road | needs | minutes | what you will be able to do | concepts | widgets | exercise |
|---|---|---|---|---|---|---|---|
"""
CONCEPTS = """
## What is taught where

| | idea | lesson | exercise |
|---|---|---|---|
"""
MISCONCEPTIONS = """
## What many believe at first

Each of these is a wrong answer that some part of an exercise knows, with a hint of its own.

| | belief | part of an exercise |
|---|---|---|
"""
Notebooks = dict[str, NotebookNode]  # by name


def course_map(lessons: Notebooks, solutions: Notebooks, concepts: Path) -> str:
    """The text of lessons/README.md. Raises BuildError for an unlisted concept or misconception."""
    known = tomllib.loads(concepts.read_text("utf-8"))
    refuse_unknown(lessons | solutions, known)
    before = needs.nearest(needs.needs(lessons))
    rows = [row(name, nb.metadata.minigrad, before, solutions) for name, nb in sorted(lessons.items())]
    taught = [
        line(one, idea, teaching(one, lessons), practising(one, solutions)) for one, idea in known["concepts"].items()
    ]
    met = [line(one, belief, meeting(one, solutions)) for one, belief in known["misconceptions"].items()]
    return "".join([head(lessons), *rows, CONCEPTS, *taught, MISCONCEPTIONS, *met])


def head(lessons: Notebooks) -> str:
    """The text above the first table, with how long the road is."""
    on_road = [nb for name, nb in lessons.items() if is_on_road(name)]
    hours = sum(nb.metadata.minigrad["minutes"] for nb in on_road) / 60
    return HEAD.replace("NINE", str(len(on_road))).replace("HOURS", f"{hours:.1f}")


def row(name: str, facts: dict, before: needs.Needs, solutions: Notebooks) -> str:
    exercises = [
        f"{exercise_link(exercise, nb)} ({nb.metadata.minigrad['minutes']} min)"
        for exercise, nb in sorted(solutions.items())
        if nb.metadata.minigrad["lesson"] == name
    ]
    return line(
        f"[{name.partition('_')[0]} {facts['title']}]({name}.ipynb)",
        ROAD_SIGN if is_on_road(name) else "",
        needs.in_words(before, name),
        str(facts["minutes"]),
        "; ".join(facts["objectives"]),
        ", ".join(facts["concepts"]),
        ", ".join(facts.get("widgets", [])),
        ", ".join(exercises),
    )


def teaching(concept: str, lessons: Notebooks) -> str:
    return ", ".join(
        f"[{name.partition('_')[0]}]({name}.ipynb)"
        for name, nb in sorted(lessons.items())
        if concept in nb.metadata.minigrad["concepts"]
    )


def practising(concept: str, solutions: Notebooks) -> str:
    return ", ".join(
        exercise_link(name, nb) for name, nb in sorted(solutions.items()) if concept in nb.metadata.minigrad["concepts"]
    )


def meeting(misconception: str, solutions: Notebooks) -> str:
    return ", ".join(
        f"`{part}` of {exercise_link(name, nb)}"
        for name, nb in sorted(solutions.items())
        for part in dict.fromkeys(part for one, part in met_in(nb) if one == misconception)
    )


def met_in(nb: NotebookNode) -> list[tuple[str, str]]:
    """(misconception, part) of each wrong answer that names a misconception."""
    return [(cell.metadata.misconception, cell.metadata.wrong) for cell in nb.cells if "misconception" in cell.metadata]


def exercise_link(name: str, nb: NotebookNode) -> str:
    return f"[{nb.metadata.minigrad['title']}](../exercises/{name}.ipynb)"


def line(*columns: str) -> str:
    return f"| {' | '.join(column.replace('|', chr(92) + '|') for column in columns)} |\n"


def refuse_unknown(notebooks: Notebooks, known: dict[str, dict[str, str]]) -> None:
    for name, nb in notebooks.items():
        check(name, "concept", nb.metadata.minigrad["concepts"], known["concepts"])
        check(name, "misconception", [one for one, _ in met_in(nb)], known["misconceptions"])


def check(name: str, kind: str, named: Iterable[str], known: dict[str, str]) -> None:
    for one in named:
        if one not in known:
            raise BuildError(f"{name}: concepts.toml has no {kind} {one!r}; it has {', '.join(known)}")
