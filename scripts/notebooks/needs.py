"""The dependencies of the lessons: read from the headers, checked, and drawn as a graph.

A header's `builds_on` names the lessons that this one requires. Their own requirements are implied: an arrow that a
longer path already covers is not drawn.
"""

from __future__ import annotations

from textwrap import wrap

from nbformat import NotebookNode

from minigrad.draw.picture import Arrow, Box, Picture
from minigrad.draw.svg import LONGEST_NAME, svg
from notebooks.source import BuildError

FILE = "map.svg"
LOOKED_UP = 90  # notebooks from here on are reference material, outside the graph
HALF = 18  # characters in the first row of a title with two rows
Needs = dict[str, list[str]]  # name of a lesson → its requirements, in topological order


def needs(lessons: dict[str, NotebookNode]) -> Needs:
    """The requirements of each lesson. Raises BuildError for an unknown or later lesson, so there are no cycles."""
    said = {name: sorted(nb.metadata.minigrad["builds_on"]) for name, nb in sorted(lessons.items())}
    for name, before in said.items():
        for one in before:
            if one not in said:
                raise BuildError(f"{name} builds on {one!r}, which is no lesson; the lessons are {', '.join(said)}")
            if one >= name:
                raise BuildError(f"{name} builds on {one}, which does not come before it: remove it from `builds_on`")
    return said


def nearest(said: Needs) -> Needs:
    """The transitive reduction: requirements not implied by another requirement."""
    below: dict[str, set[str]] = {}  # all requirements of a lesson, direct and indirect
    for name, before in said.items():
        below[name] = {*before}.union(*(below[one] for one in before))
    return {name: [one for one in before if not any(one in below[o] for o in before)] for name, before in said.items()}


def number(name: str) -> str:
    return name.partition("_")[0]


def in_words(said: Needs, name: str) -> str:
    """Numbers, as `05, 06`."""
    return ", ".join(map(number, said[name]))


def drawing(lessons: dict[str, NotebookNode]) -> str:
    """The lessons as an SVG, from top to bottom; "" without lessons."""
    said = nearest(needs({name: nb for name, nb in lessons.items() if int(name[:2]) < LOOKED_UP}))
    if not said:
        return ""
    boxes = tuple(box(name, lessons[name].metadata.minigrad["title"], bool(said[name])) for name in said)
    arrows = tuple(Arrow(f"a{one}_{name}", one, name) for name, before in said.items() for one in before)
    words = (f"{number(name)} {lessons[name].metadata.minigrad['title']}: {in_words(said, name)}" for name in said)
    return svg(Picture(boxes, arrows), "Which lesson stands on which", "\n".join(words), direction="TB")


def box(name: str, title: str, stands: bool) -> Box:
    """The box of a lesson, with its number as the symbol; a leaf has no requirements. A long title has two rows."""
    first, *rest = wrap(title, HALF) if len(title) > LONGEST_NAME else [title]
    return Box(name, "op" if stands else "leaf", first, number(name), " ".join(rest), "", "")
