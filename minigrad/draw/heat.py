"""Small arrays as heat maps: a cell for each entry, shaded by its magnitude.

A cell has a mark if its number is negative (−), infinite (∞, −∞) or NaN (?). In an array of at most nine
entries, the mark is the number in two digits. The darkest cell is the largest of its own array, so shades show
patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan
from typing import Any
from xml.sax.saxutils import escape

from .words import number

LARGEST = 8  # rows or columns; with more, cells would be too small to read
LIGHT = "--mg-value: #74b3e3; --mg-grad: #f2a154;"
DARK = "--mg-value: #1d6293; --mg-grad: #8f4d0c;"
FEW, WIDEST = 9, 3  # cells, and columns, that have room for numbers
SYMBOL, TEXT, CLOSE = 15, 15, 3  # pixels: width of a symbol beside a heat map, height of a text, space between lines
HIGHEST = 190  # pixels of heat maps below one another
Cell = tuple[str, str, float]  # the number, the mark, and the shade from −1 to 1
Placed = tuple[str, "Heat | str", float, float]  # what it is, heat map or text, left, top


@dataclass(frozen=True)
class Heat:
    """An array of one or two dimensions as cells, row by row.

    cell    width and height of a cell in pixels; None if its own numbers decide
    """

    columns: int
    cells: tuple[Cell, ...]
    cell: tuple[int, int] | None = None

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        n = self.columns
        return [self.cells[i : i + n] for i in range(0, len(self.cells), n)]

    @property
    def side(self) -> int:
        """The height of a cell in pixels."""
        return (
            self.cell[1]
            if self.cell
            else 17
            if self.has_numbers
            else 15
            if max(self.columns, len(self.rows)) <= 4
            else 12
        )

    has_numbers = property(lambda self: any(mark != sign(mark) for _, mark, _ in self.cells))
    longest = property(lambda self: max(len(mark) for _, mark, _ in self.cells))

    @property
    def across(self) -> int:
        """The width of a cell in pixels."""
        return self.cell[0] if self.cell else max(24, 8 + 6 * self.longest) if self.has_numbers else self.side

    width = property(lambda self: self.columns * self.across)
    height = property(lambda self: len(self.rows) * self.side)

    def without_numbers(self) -> Heat:
        return Heat(self.columns, tuple((text, sign(mark), shade) for text, mark, shade in self.cells))

    @property
    def text(self) -> str:
        """The numbers, row by row."""
        return ", ".join(f"[{', '.join(text for text, _, _ in row)}]" for row in self.rows)


def heat_of(array: Any) -> Heat | None:
    """The heat map of an array of up to 8 × 8 entries; None for a single number or a larger array."""
    if array.ndim not in (1, 2) or array.size <= 1 or max(array.shape) > LARGEST:
        return None
    values = [float(x) for x in array.reshape(-1).tolist()]
    sizes = [abs(x) for x in values if isfinite(x)]
    largest = max(sizes, default=0.0) or 1.0
    in_cells = array.size <= FEW and array.shape[-1] <= WIDEST
    return Heat(array.shape[-1], tuple(cell(x, largest, in_cells) for x in values))


def sign(mark: str) -> str:
    """The short form of a mark, for a small cell: −, ∞, −∞, ?, or nothing."""
    return re.match("−?[?∞]?", mark)[0]  # type: ignore[index]


def cell(x: float, largest: float, in_cells: bool = False) -> Cell:
    """The cell of an entry, shaded relative to the largest entry of its scale; with its number if `in_cells`."""
    if not isfinite(x):
        return number(x), "?" if isnan(x) else "∞" if x > 0 else "−∞", 0.0
    return number(x), in_brief(x) if in_cells else "−" * (x < 0), round(x / largest, 2)


def in_brief(x: float) -> str:
    """A number in about four characters: −.42, 120, 3e−9."""
    if 10 <= abs(x) < 10_000:
        return number(round(x))
    texts = [re.sub(r"e[+]?(−?)0*", r"e\1", number(x, digits).replace("0.", ".")) for digits in (2, 1)]
    return next((text for text in texts if len(text) <= 4), f"{x:.0e}".replace("-", "−").replace("e−0", "e−"))


def on_arrow(maps: Sequence[Heat | None], around: Sequence[str]) -> list[Placed]:
    """What an arrow shows from top to bottom: arrived, × slope, = passed on. From left to right if it is too high.

    A matrix product has its first factor on the left of its result and its second above: each entry of the result is
    where a row of the first and a column of the second meet. There, the slope is the other factor.
    around    the rule's text before and after what arrived
    """
    came, slope, passed = same_cells(maps)
    before, after = around
    rule = f"{before} g {after}".strip()
    if came and slope and passed and "@" in rule:
        (of, first), (name, second) = (("slope", slope), ("came", came))[:: 1 if before else -1]
        wide, y = extent(rule)[0], second.height + CLOSE
        x = max(first.width, wide) + CLOSE
        factors = [(of, first, x - CLOSE - first.width, y), (name, second, x, 0.0)]
        return [("", rule, x - CLOSE - wide, (y - TEXT) / 2), *factors, ("passed", passed, x, y)]
    words = "×" if slope else "" if not came or before in ("Σ", "f(") else after if after[:1] == "×" else rule
    lines = (
        ("came", "", came),
        ("slope", words, slope),
        ("passed", ("Σ" if before == "Σ" else "=") * bool(passed), passed),
    )
    heights = [each.height for _, _, each in lines if each] or [0]
    is_row = sum(heights) > HIGHEST
    found: list[Placed] = []
    x = y = 0.0
    for of, symbol, each in lines:
        words = f" {symbol} " if symbol and is_row else symbol
        high = each.height if each else TEXT * bool(words)
        middle, left = (max(heights) / 2, x + 7.5 * len(words)) if is_row else (y + high / 2, SYMBOL)
        found += [("", words, x, middle - TEXT / 2)] * bool(words)
        found += [(of, each, left, middle - high / 2)] if each else []
        x, y = (left + (each.width if each else 0), 0) if is_row else (0, y + high + CLOSE * bool(high))
    return found


def same_cells(maps: Sequence[Heat | None]) -> list[Heat | None]:
    """The heat maps with cells of one size; with numbers if all have numbers."""
    known = [each for each in maps if each]
    if not all(each.has_numbers for each in known):
        known = [each.without_numbers() for each in known]
        maps = [each and each.without_numbers() for each in maps]
    across, side = max((each.across for each in known), default=0), min((each.side for each in known), default=0)
    cell = across if all(each.has_numbers for each in known) else side, side
    return [each and replace(each, cell=cell) for each in maps]


def extent(each: Heat | str) -> tuple[float, float]:
    return (each.width, each.height) if isinstance(each, Heat) else (7.5 * len(each), TEXT)


def size_on_arrow(placed: Sequence[Placed]) -> tuple[float, float]:
    """Width and height of what is on an arrow."""
    ends = [(x + extent(each)[0], y + extent(each)[1]) for _, each, x, y in placed]
    return max((x for x, _ in ends), default=0), max((y for _, y in ends), default=0)


def draw_on_arrow(placed: Sequence[Placed], middle: float, bottom: float) -> str:
    """The heat maps and texts as SVG; in a matrix product, with frames around the factors of its first entry."""
    (width, height), drawn = size_on_arrow(placed), ""
    left, top = middle - width / 2, bottom - height
    is_product = any("@" in each for _, each, _, _ in placed if isinstance(each, str))
    for n, (of, each, dx, dy) in enumerate(placed):
        x, y = left + dx, top + dy
        if isinstance(each, Heat):
            drawn += draw_heat(each, x, y, of)
            wide, high = (each.width, each.side) if n == 1 else (each.across, each.height if n == 2 else each.side)
            drawn += f'<rect class="mg-meet" x="{x:.2f}" y="{y:.2f}" width="{wide}" height="{high}"/>' * is_product
        else:
            at = f'x="{x + extent(each)[0] / 2:.2f}" y="{y + 12:.2f}"'
            drawn += f'<text class="mg-between" {at}>{escape(each)}</text>'
    return drawn


def draw_heat(heat: Heat, left: float, top: float, of: str) -> str:
    """The cells as SVG.

    of    what the cells show: "value" or "grad"; on an arrow "came", "slope" or "passed"
    """
    side, across = heat.side, heat.across
    cells = []
    for i, row in enumerate(heat.rows):
        for j, (text, mark, shade) in enumerate(row):
            x, y = j * across, i * side
            looks = "mg-cell" + " mg-odd" * (sign(mark) not in ("", "−"))
            cells.append(
                f'<g class="{looks}"><title>{escape(text)}</title>'
                f'<rect x="{x}" y="{y}" width="{across}" height="{side}" fill-opacity="{abs(shade):g}"/>'
                f'<text x="{x + across / 2:g}" y="{y + side - 3}">{mark}</text></g>'
            )
    frame = f'data-of="{of}" data-columns="{heat.columns}" data-size="{len(heat.cells)}" data-side="{side} {across}"'
    font = "font-size: 12px" if heat.has_numbers else f"font-size: {side - 3}px; font-weight: bold"
    place = f'transform="translate({left:.2f} {top:.2f})" style="{font}"'
    paper = f'<rect class="mg-under" {place.split(" style")[0]} width="{heat.width}" height="{heat.height}"/>'
    return f'{paper}<g class="mg-heat" {frame} {place}>{"".join(cells)}</g>'
