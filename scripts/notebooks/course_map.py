"""The map of the course: one table, read off the headers of the lessons and solutions."""

from __future__ import annotations

from nbformat import NotebookNode

HEAD = """\
# The lessons

Read them in this order; each builds on those before it. This page is made by `python scripts/build`.

| lesson | minutes | what you will be able to do | concepts | widgets | exercise |
|---|---|---|---|---|---|
"""


def course_map(lessons: dict[str, NotebookNode], solutions: dict[str, NotebookNode]) -> str:
    """The text of lessons/README.md. Keys are the names of the notebooks."""
    return HEAD + "".join(row(name, nb.metadata.minigrad, solutions) for name, nb in sorted(lessons.items()))


def row(name: str, facts: dict, solutions: dict[str, NotebookNode]) -> str:
    exercises = [
        f"[{nb.metadata.minigrad['title']}](../exercises/{exercise}.ipynb) ({nb.metadata.minigrad['minutes']} min)"
        for exercise, nb in sorted(solutions.items())
        if nb.metadata.minigrad["lesson"] == name
    ]
    columns = [
        f"[{name.partition('_')[0]} {facts['title']}]({name}.ipynb)",
        str(facts["minutes"]),
        "; ".join(facts["objectives"]),
        ", ".join(facts["concepts"]),
        ", ".join(facts.get("widgets", [])),
        ", ".join(exercises),
    ]
    return f"| {' | '.join(column.replace('|', chr(92) + '|') for column in columns)} |\n"
