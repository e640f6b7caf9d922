"""A film: panels whose parts are written on, step by step. Python says what changes, and film.js plays it.

Most widgets are films. A panel is HTML or SVG, and its parts that change carry `data-id`; a cut says which of them get
other words or looks from here on. Where there is something to choose (an input, an option), each
combination is a reel of its own, made beforehand: so choosing needs no kernel either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import product
from math import prod
from typing import Any, ClassVar

import traitlets

from ...draw.charts import LOOKS
from ...draw.picture import Picture
from ...draw.svg import STYLE
from .widget import Plain, SteppedWidget, javascript

Ids = Sequence[str]


@dataclass(frozen=True)
class Panel:
    """A part of the screen.

    html    trusted: whoever makes it has escaped what is not his
    wide    whether it takes the whole width
    """

    title: str
    html: str
    wide: bool = False


@dataclass(frozen=True)
class Cut:
    """What changes at a step.

    phase    one of the film's, or ""
    say      the sentence
    text     id → words
    on       looks that begin, such as "outlined" → ids; and
    off      looks that end
    hot      looks of this step alone
    scene    which of several pictures in one place is shown from here on; "" for the one before
    """

    phase: str
    say: str
    text: Mapping[str, str] = field(default_factory=dict)
    on: Mapping[str, Ids] = field(default_factory=dict)
    off: Mapping[str, Ids] = field(default_factory=dict)
    hot: Mapping[str, Ids] = field(default_factory=dict)
    scene: str = ""

    def plain(self) -> Plain:
        """The cut as plain data, without what is empty."""
        return {key: value for key, value in asdict(self).items() if value or key in ("phase", "say")}


@dataclass(frozen=True)
class Reel:
    """One film, for one combination of choices.

    links    id of a part that can be pressed → the parts that light up with it
    """

    panels: Sequence[Panel]
    cuts: Sequence[Cut]
    links: Mapping[str, Ids] = field(default_factory=dict)

    def plain(self) -> Plain:
        return {
            "panels": [asdict(replace(panel, html=unstyled(panel.html))) for panel in self.panels],
            "steps": [cut.plain() for cut in self.cuts],
            "links": {key: list(ids) for key, ids in self.links.items()},
        }


@dataclass(frozen=True)
class Choice:
    """Something to choose: what it is, and what there is."""

    label: str
    options: Sequence[str]


class Film(SteppedWidget):
    """A widget that plays reels.

    choice    the number of the option, for each thing that can be chosen: read it, or set it
    """

    _esm = javascript("stepper", "film")
    sheets: ClassVar[tuple[str, ...]] = ("stepper", "film")
    looks = STYLE
    still: ClassVar[int] = 0  # the panel that is shown where nothing can be stepped

    shown = ("label", "index", "phases", "films", "choices", "choice")
    phases: traitlets.List[str] = traitlets.List().tag(sync=True)
    films: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    choices: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    choice: traitlets.List[int] = traitlets.List().tag(sync=True)
    steps: traitlets.List[Plain] = traitlets.List()  # of the film that is chosen; the browser has them in `films`

    def __init__(self, label: str, phases: Sequence[str], reels: Sequence[Reel], choices: Sequence[Choice] = ()):
        """reels    one for each combination of the choices, the last choice turning fastest"""
        assert len(reels) == prod(len(each.options) for each in choices)
        films = [reel.plain() for reel in reels]
        super().__init__(
            label=label,
            phases=list(phases),
            films=films,
            choices=[{"label": each.label, "options": list(each.options)} for each in choices],
            choice=[0] * len(choices),
            steps=films[0]["steps"],
        )

    @property
    def svg(self) -> str:
        """A panel of the film that is chosen, with looks of its own."""
        return styled(self.film["panels"][self.still]["html"], self.looks)

    @property
    def film(self) -> Plain:
        """The film that is chosen."""
        n = 0
        for chosen, each in zip(self.choice, self.choices):
            n = n * len(each["options"]) + chosen
        film: Plain = self.films[n]
        return film

    @traitlets.validate("choice")
    def _an_option_there_is(self, proposal: Any) -> list[int]:
        choice: list[int] = list(proposal["value"])
        sizes = [len(each["options"]) for each in self.choices]
        if len(choice) != len(sizes) or not all(type(n) is int and 0 <= n < size for n, size in zip(choice, sizes)):
            raise ValueError(
                f"choice has a number for each of {[each['label'] for each in self.choices]}: got {choice}"
            )
        return choice

    @traitlets.observe("choice")
    def _steps_of_the_choice(self, _: Any) -> None:
        steps = self.film["steps"]
        if self.index >= len(steps):
            self.index = len(steps) - 1
        self.steps = steps


class Charted(Film):
    """A film with charts in it."""

    sheets = (*Film.sheets, "charts")
    looks = STYLE + LOOKS


def unstyled(html: str) -> str:
    """Without the looks that each picture brings along: the widget has them once."""
    return re.sub(r"<style>.*?</style>\n?", "", html, flags=re.DOTALL)


def styled(html: str, looks: str) -> str:
    """The first picture of a panel, its looks in it; an empty one where there is none."""
    found = re.search(r"(<svg[^>]*>)(.*?</svg>)", html, re.DOTALL)
    return f"{found[1]}<style>{looks}</style>{found[2]}" if found else '<svg xmlns="http://www.w3.org/2000/svg"/>'


def combinations(choices: Sequence[Choice]) -> list[tuple[int, ...]]:
    """Every combination of options by number, the last choice turning fastest."""
    return list(product(*(range(len(each.options)) for each in choices)))


def refuse_large(widget: str, picture: Picture, largest: int) -> None:
    """Raises ValueError for a picture of more boxes than that: they could not be read."""
    if len(picture.boxes) > largest:
        raise ValueError(
            f"{widget} shows a graph of up to {largest} boxes, and this one has {len(picture.boxes)}: take a part of "
            "the function"
        )


def code(lines: Sequence[str], first: int) -> str:
    """Lines of code as HTML: the line n is the part "line n"."""
    spans = (f'<span data-id="line {first + i}">{escape(line) or " "}</span>' for i, line in enumerate(lines))
    return f'<pre class="mg-code">{"".join(spans)}</pre>'


def said(id: str) -> str:
    """A place for what a program prints."""
    return f'<pre class="mg-said" data-id="{id}"></pre>'


def table(heads: Sequence[str], rows: Iterable[str]) -> str:
    """Rows of cells under their heads, which are trusted HTML."""
    cells = "".join(f'<th scope="col">{words}</th>' for words in heads)
    return f'<table class="mg-table"><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def row(head: str, cells: Iterable[object], id: str = "") -> str:
    """A row: its head, which is trusted HTML, and its cells, which are text; the part `id`."""
    part = f' data-id="{escape(id)}"' if id else ""
    return f'<tr{part}><th scope="row">{head}</th>{"".join(f"<td>{escape(str(cell))}</td>" for cell in cells)}</tr>'
