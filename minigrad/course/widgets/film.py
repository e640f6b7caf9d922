"""A film: panels that change step by step. Python lists the changes, and film.js plays them.

Most widgets are films. A panel is HTML or SVG; its parts that change have a `data-id`. A cut lists the new texts and
CSS classes of such parts. For choices (an input, an option), Python makes one reel for each combination beforehand, so
that choosing needs no kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from itertools import product
from typing import Any, ClassVar

import traitlets

from ...draw.charts import LOOKS, STYLES, place_in_rows
from ...draw.picture import Picture
from ...draw.svg import STYLE
from .widget import Plain, SteppedWidget, javascript

FIRST = re.compile("<svg.*?</svg>", re.DOTALL)  # the first picture of a panel, which is for a wide screen
Ids = Sequence[str]


@dataclass(frozen=True)
class Panel:
    """A part of the screen.

    html    trusted: its author must escape the learner's text
    wide    whether it takes the whole width
    """

    title: str
    html: str
    wide: bool = False


@dataclass(frozen=True)
class Cut:
    """The changes of a step.

    phase    one of the film's phases, or ""
    say      the sentence that explains the step
    text     id → its new text
    on       CSS class to add, such as "outlined" → ids
    off      CSS class to remove → ids
    hot      CSS class for this step alone → ids
    scene    the picture to show from this step on, if several share one place; "" for no change
    """

    phase: str
    say: str
    text: Mapping[str, str] = field(default_factory=dict)
    on: Mapping[str, Ids] = field(default_factory=dict)
    off: Mapping[str, Ids] = field(default_factory=dict)
    hot: Mapping[str, Ids] = field(default_factory=dict)
    scene: str = ""

    def plain(self) -> Plain:
        """The cut as plain data, without empty fields."""
        return {key: value for key, value in asdict(self).items() if value or key in ("phase", "say")}


@dataclass(frozen=True)
class Reel:
    """One film, for one combination of choices.

    links    id of a part that acts as a button → the parts that it highlights
    data     for a widget's own JavaScript
    """

    panels: Sequence[Panel]
    cuts: Sequence[Cut]
    links: Mapping[str, Ids] = field(default_factory=dict)
    data: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> Plain:
        return {
            "panels": [asdict(replace(panel, html=STYLES.sub("", panel.html))) for panel in self.panels],
            "steps": [cut.plain() for cut in self.cuts],
            "links": {key: list(ids) for key, ids in self.links.items()},
            **self.data,
        }


@dataclass(frozen=True)
class Choice:
    """A choice of the reader: its label and its options."""

    label: str
    options: Sequence[str]


class Film(SteppedWidget):
    """A widget that plays reels.

    choice    for each choice, the index of the chosen option: read it, or set it
    """

    _esm = javascript("stepper", "film")
    sheets: ClassVar[tuple[str, ...]] = ("stepper", "film")
    looks = STYLE

    shown = ("label", "index", "phases", "films", "choices", "choice")
    phases: traitlets.List[str] = traitlets.List().tag(sync=True)
    films: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    choices: traitlets.List[Plain] = traitlets.List().tag(sync=True)
    choice: traitlets.List[int] = traitlets.List().tag(sync=True)
    steps: traitlets.List[Plain] = traitlets.List()  # those of the chosen film; the browser reads `films`

    def __init__(self, label: str, phases: Sequence[str], reels: Sequence[Reel], choices: Sequence[Choice] = ()):
        """reels    one for each combination of the choices; the last choice varies fastest"""
        assert len(reels) == len(combinations(choices))
        films = [reel.plain() for reel in reels]
        options = [{"label": each.label, "options": list(each.options)} for each in choices]
        traits = {"films": films, "choices": options, "choice": [0] * len(choices), "steps": films[0]["steps"]}
        super().__init__(label=label, phases=list(phases), **traits)

    @property
    def svg(self) -> str:
        """The first panel of the chosen film, with its CSS."""
        return self.place_in_rows([("", FIRST.findall(self.film["panels"][0]["html"])[0])])

    def place_in_rows(self, *rows: Sequence[tuple[str, str]]) -> str:
        """The static picture of the widget: rows of pictures, each with a heading."""
        return place_in_rows(self.label, self.looks, *rows)

    @property
    def number(self) -> int:
        """The index of the chosen film."""
        return combinations([Choice(**each) for each in self.choices]).index(tuple(self.choice))

    @property
    def film(self) -> Plain:
        """The chosen film."""
        film: Plain = self.films[self.number]
        return film

    @traitlets.validate("choice")
    def _an_option_there_is(self, proposal: Any) -> list[int]:
        choice: list[int] = list(proposal["value"])
        sizes = [len(each["options"]) for each in self.choices]
        if len(choice) != len(sizes) or not all(type(n) is int and 0 <= n < size for n, size in zip(choice, sizes)):
            labels = [each["label"] for each in self.choices]
            raise ValueError(f"choice needs one option index for each of {labels}; got {choice}")
        return choice

    @traitlets.observe("choice")
    def _steps_of_the_choice(self, _: Any) -> None:
        steps = self.film["steps"]
        if self.index >= len(steps):
            self.index = len(steps) - 1
        self.steps = steps


class ChartFilm(Film):
    """A film with charts."""

    sheets = (*Film.sheets, "charts")
    looks = STYLE + LOOKS


def combinations(choices: Sequence[Choice]) -> list[tuple[int, ...]]:
    """Every combination of option indices; the last choice varies fastest."""
    return list(product(*(range(len(each.options)) for each in choices)))


def refuse_large(widget: str, picture: Picture, largest: int) -> None:
    """Raises ValueError for a picture of more than `largest` boxes, because it would be unreadable."""
    if (n := len(picture.boxes)) > largest:
        shown = f"{widget} shows a graph of up to {largest} boxes"
        raise ValueError(f"{shown}, and this one has {n}: take a part of the function")


def output_area(id: str) -> str:
    """An empty element for a program's output."""
    return f'<pre class="mg-said" data-id="{id}"></pre>'


def table(heads: Sequence[str], rows: Iterable[str]) -> str:
    """An HTML table; heads and rows are trusted HTML."""
    cells = "".join(f'<th scope="col">{words}</th>' for words in heads)
    return f'<table class="mg-table"><thead><tr>{cells}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def row(head: str, cells: Iterable[object], id: str = "") -> str:
    """A table row. The head is trusted HTML; cells are escaped. `id` becomes its data-id."""
    part = f' data-id="{escape(id)}"' if id else ""
    return f'<tr{part}><th scope="row">{head}</th>{"".join(f"<td>{escape(str(cell))}</td>" for cell in cells)}</tr>'
