"""Charts as SVG: axes with ticks, stacked areas, lanes and points, in the style of svg.py.

A chart is 430 pixels wide and so fits on a phone, unless its x axis is longer. Series differ in a name or a letter as
well as in colour. Areas are plain: stripes shimmer. No element has an id: so two charts may share a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from itertools import groupby
from math import ceil, floor, log10
from typing import Any

from .svg import BOLD, STYLE, text, text_width
from .words import number

WIDTH, HEIGHT = 430, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 418, 30, 254  # of the plot area

HEAD, BETWEEN = 28, 28  # pixels: a heading above a picture, and the space between two pictures
SIZE = re.compile(r"""(?:width|height)=["']([\d.]+)""")
STYLES = re.compile(r"<style>.*?</style>\n?", re.DOTALL)

LOOKS = (files(__package__) / "charts.css").read_text("utf-8")


# -- axes -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Axis:
    """A map from numbers to pixels: low is at the pixel `start`, high at `end`.

    log      logarithmic scale; low must be above 0
    words    formats a tick's number
    marks    the ticks; round numbers by default
    """

    low: float
    high: float
    start: float
    end: float
    label: str
    log: bool = False
    words: Callable[[float], str] = number
    marks: Sequence[float] | None = None

    def at(self, x: float) -> float:
        """The pixel of a number."""
        low, high, x = (log10(self.low), log10(self.high), log10(x)) if self.log else (self.low, self.high, x)
        return self.start + (x - low) / ((high - low) or 1.0) * (self.end - self.start)

    @property
    def ticks(self) -> list[float]:
        """Up to about seven round numbers between low and high."""
        if self.marks is not None:
            return [*self.marks]
        if self.log:
            first, last = ceil(log10(self.low) - 1e-9), floor(log10(self.high) + 1e-9)
            return [10.0**k for k in range(first, last + 1, max(1, ceil((last - first) / 6)))]
        step = round_step((self.high - self.low) / 5)
        return [step * k for k in range(ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9) + 1)]


def round_step(least: float) -> float:
    """The smallest of 1, 2 or 5 times a power of ten that is at least `least`."""
    if least <= 0:
        return 1.0
    power = 10.0 ** floor(log10(least))
    return next(power * k for k in (1, 2, 5, 10) if power * k >= least * (1 - 1e-9))


def across(low: float, high: float, label: str, log: bool = False, **more: object) -> Axis:
    """The horizontal axis, at the bottom of the plot."""
    return Axis(low, high, LEFT, RIGHT, label, log, **more)  # type: ignore[arg-type]


def upwards(low: float, high: float, label: str, log: bool = False, **more: object) -> Axis:
    """The vertical axis, at the left of the plot."""
    return Axis(low, high, BOTTOM, TOP, label, log, **more)  # type: ignore[arg-type]


def decades(xs: Sequence[float], axis: Callable[..., Axis], label: str, words: Callable[[float], str] = number) -> Axis:
    """A logarithmic axis from the power of ten below these numbers to the power of ten above them."""
    low, high = floor(log10(min(xs) * 0.9)), ceil(log10(max(xs) * 1.1))
    return axis(10.0**low, 10.0**high, label, log=True, words=words)


def compact(x: float) -> str:
    """A large number in a few characters: 12k, 3M."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(x) >= size:
            return f"{number(x / size, 3)}{letter}"
    return number(x, 3)


# -- the picture ------------------------------------------------------------------------------------------


def chart(title: str, x: Axis, y: Axis, *parts: str, height: int = HEIGHT, beside: float = WIDTH - RIGHT) -> str:
    """A chart of axes and SVG parts, with `beside` pixels of space to the right of its x axis."""
    right, wide = x.end, x.end + beside
    lines = [f'<path class="mg-faint" d="M{LEFT},{y.at(tick):.1f}H{right}"/>' for tick in y.ticks]
    words = [text("mg-number mg-dim", LEFT - 6, y.at(tick) + 4, y.words(tick)) for tick in y.ticks]
    for tick in x.ticks:  # the label of the last tick must not cross the edge
        said = x.words(tick)
        words.append(text("mg-sign mg-dim", min(x.at(tick), wide - 3.5 * len(said)), BOTTOM + 18, said))
    lines += [f'<path class="mg-rule" d="M{x.at(tick):.1f},{BOTTOM}v4"/>' for tick in x.ticks]
    names = [text("mg-dim", 4, 14, y.label), text("mg-number mg-dim", right, height - 8, x.label)]
    rule = f'<path class="mg-rule" d="M{LEFT},{TOP}V{BOTTOM}H{right}"/>'
    return picture(title, wide, height, [*lines, *words, *names, *parts, rule])


def picture(title: str, width: float, height: float, parts: Iterable[str], look: str = "mg-chart") -> str:
    """Combine parts into one SVG, of the class `look`."""
    frame = f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="mg-picture {look}" role="img" {frame}>'
    return "\n".join([head, f"<title>{escape(title)}</title>", *parts, "</svg>"])


def place_in_rows(title: str, looks: str, *rows: Sequence[tuple[str, str]], description: str = "") -> str:
    """Rows of pictures, each with a heading, as one SVG, which has the CSS `looks` in place of theirs."""
    shown, wide, end = [f"<desc>{escape(description)}</desc><style>{looks}</style>"], 0.0, 0.0
    for row in rows:
        x, y = 0.0, end + 12 * (end > 0) + HEAD * any(heading for heading, _ in row)
        for heading, drawn in row:
            width, height = map(float, SIZE.findall(drawn)[:2])
            shown += [text("mg-name", x, y - 12, heading)] * bool(heading)
            shown.append(STYLES.sub("", drawn.replace("<svg ", f'<svg x="{x:g}" y="{y:g}" ', 1)))
            x, end = x + max(width, BOLD * text_width(heading, 13)) + BETWEEN, max(end, y + height)
        wide = max(wide, x - BETWEEN)
    return picture(title, wide, end, shown, "mg-rows")


class Report:
    """A report of a text, tables and charts. Printed, it is the text and tables; a notebook shows the charts too."""

    title: Any
    summary: Any
    tables: Any
    charts: Any

    @property
    def svg(self) -> str:
        """The charts, one below the other, as one SVG for a file."""
        return place_in_rows(self.title, STYLE + LOOKS, *([("", each)] for each in self.charts))

    def __str__(self) -> str:
        return "\n\n".join([self.summary, *map(str, self.tables)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tables = "".join(table._repr_html_() for table in self.tables)
        looks = f"<style>{STYLE}{LOOKS}</style>"
        charts = f'<div class="mg-beside">{"".join(self.charts)}</div>'
        return f'<p>{escape(self.summary)}</p><div class="mg-widget">{looks}{charts}{tables}</div>'


def line(look: str, points: Sequence[tuple[float, float]], more: str = "") -> str:
    """A polyline through points. `more` are other attributes."""
    return f'<polyline class="{look}"{more} points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>'


def area(series: int, ends: Sequence[float], tops: Sequence[float]) -> str:
    """A filled area between the axis and stairs()."""
    return f'<path class="mg-area mg-s{series}" data-series="{series}" d="{stairs(ends, tops)}V{BOTTOM}z"/>'


def stairs(ends: Sequence[float], tops: Sequence[float]) -> str:
    """A path up from the axis: the k-th step reaches from ends[k] to ends[k + 1], and up to tops[k], in pixels."""
    path, k = f"M{ends[0]:.1f},{BOTTOM}", 0
    for top, same in groupby(tops):
        k += len([*same])
        path += f"V{top:.4g}H{ends[k]:.4g}"
    return path


def sample(series: int, x: float, y: float, letter: str = "", width: float = 18) -> str:
    """A box in the colour of a series, with a letter."""
    box = f'<path class="mg-area mg-s{series}" d="M{x:.1f},{y:.1f}h{width:.1f}v16h{-width:.1f}z"/>'
    return box + (text("mg-sign", x + width / 2, y + 12, letter) if letter else "")
