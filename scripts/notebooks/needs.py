"""Which lesson stands on which: read off the headers, refused where it cannot be, and drawn as the graph that it is.

A header's `builds_on` names the lessons without which this one cannot be followed. What those stand on goes without
saying: an arrow that a longer way already makes is not drawn.
"""

from __future__ import annotations

from textwrap import wrap

from nbformat import NotebookNode

from minigrad.draw.picture import Arrow, Box, Picture
from minigrad.draw.svg import LONGEST_NAME, svg
from notebooks.source import BuildError

FILE = "map.svg"
LOOKED_UP = 90  # from here on notebooks are for looking things up, and no part of the way
HALF = 18  # letters of the first row of a title that needs two
Needs = dict[str, list[str]]  # name of a lesson → those that it stands on, itself after all of them


def needs(lessons: dict[str, NotebookNode]) -> Needs:
    """What each lesson says. Raises BuildError for what is no lesson, or is not before it: so there is no cycle."""
    said = {name: sorted(nb.metadata.minigrad["builds_on"]) for name, nb in sorted(lessons.items())}
    for name, before in said.items():
        for one in before:
            if one not in said:
                raise BuildError(f"{name} builds on {one!r}, which is no lesson; there are {', '.join(said)}")
            if one >= name:
                raise BuildError(f"{name} builds on {one}, which does not come before it: take it out of `builds_on`")
    return said


def nearest(said: Needs) -> Needs:
    """Of what a lesson stands on, that which nothing else of it stands on: the transitive reduction."""
    below: dict[str, set[str]] = {}  # all on which a lesson stands, near and far
    for name, before in said.items():
        below[name] = {*before}.union(*(below[one] for one in before))
    return {name: [one for one in before if not any(one in below[o] for o in before)] for name, before in said.items()}


def number(name: str) -> str:
    return name.partition("_")[0]


def in_words(said: Needs, name: str) -> str:
    """Numbers, as `05, 06`."""
    return ", ".join(map(number, said[name]))


def drawing(lessons: dict[str, NotebookNode]) -> str:
    """The lessons as an SVG, from top to bottom; of no lessons, nothing."""
    said = nearest(needs({name: nb for name, nb in lessons.items() if int(name[:2]) < LOOKED_UP}))
    if not said:
        return ""
    boxes = tuple(box(name, lessons[name].metadata.minigrad["title"], bool(said[name])) for name in said)
    arrows = tuple(Arrow(f"a{one}_{name}", one, name) for name, before in said.items() for one in before)
    words = (f"{number(name)} {lessons[name].metadata.minigrad['title']}: {in_words(said, name)}" for name in said)
    return svg(Picture(boxes, arrows), "Which lesson stands on which", "\n".join(words), direction="TB")


def box(name: str, title: str, stands: bool) -> Box:
    """A lesson, its number where operations have their sign; a leaf stands on nothing. A long title has two rows."""
    first, *rest = wrap(title, HALF) if len(title) > LONGEST_NAME else [title]
    return Box(name, "op" if stands else "leaf", first, number(name), " ".join(rest), "", "")
