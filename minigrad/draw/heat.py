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
HIGHEST = 190  # most pixels of heat maps below one another
Cell = tuple[str, str, float]  # the number, the mark, and the shade from −1 to 1
Placed = tuple[str, "Heat | str", float, float]  # "came", "slope", "passed" or ""; heat map or text; left, top


@dataclass(frozen=True)
class Heat:
    """An array of one or two dimensions as cells, row by row."""

    columns: int
    cells: tuple[Cell, ...]
    cell: tuple[int, int] | None = None  # width and height of a cell in pixels; None: its own numbers decide

    rows = property(lambda self: [self.cells[i : i + self.columns] for i in range(0, len(self.cells), self.columns)])
    has_numbers = property(lambda self: any(mark != sign(mark) for _, mark, _ in self.cells))
    longest = property(lambda self: max(len(mark) for _, mark, _ in self.cells))
    small = property(lambda self: 15 if max(self.columns, len(self.rows)) <= 4 else 12)  # cells without numbers
    side = property(lambda self: self.cell[1] if self.cell else 17 if self.has_numbers else self.small)
    wide = property(lambda self: max(24, 8 + 6 * self.longest) if self.has_numbers else self.small)
    across = property(lambda self: self.cell[0] if self.cell else self.wide)  # width of a cell
    width = property(lambda self: self.columns * self.across)
    height = property(lambda self: len(self.rows) * self.side)

    def without_numbers(self) -> Heat:
        return Heat(self.columns, tuple((text, sign(mark), shade) for text, mark, shade in self.cells))

    @property
    def text(self) -> str:
        """The numbers, row by row."""
        return ", ".join(f"[{', '.join(text for text, *_ in row)}]" for row in self.rows)


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
    """What an arrow shows from top to bottom: arrived, × slope, = passed on. From left to right if that is too high.

    In a matrix product, the first factor is on the left and the second above: a row and a column meet in an entry.
    around    the rule's text before and after what arrived; in a product, the slope is the other factor
    """
    came, slope, passed = same_cells(maps)
    (before, after), rule = around, " g ".join(around).strip()
    if came and slope and passed and "@" in rule:
        factors = ("slope", slope), ("came", came)
        (of, first), (name, second) = factors if before else factors[::-1]
        y, x = second.height + CLOSE, max(first.width, extent(rule)[0]) + CLOSE
        corner = "", rule, x - CLOSE - extent(rule)[0], (y - TEXT) / 2
        return [corner, (of, first, x - CLOSE - first.width, y), (name, second, x, 0), ("passed", passed, x, y)]
    times = "×" if slope else "" if not came or before in ("Σ", "f(") else after if after[:1] == "×" else rule
    total = ("Σ" if before == "Σ" else "=") * bool(passed)
    heights = [each.height for each in (came, slope, passed) if each]
    is_row, x, y = sum(heights) > HIGHEST, 0.0, 0.0
    found: list[Placed] = []
    for of, symbol, each in (("came", "", came), ("slope", times, slope), ("passed", total, passed)):
        words = f" {symbol} " if symbol and is_row else symbol
        wide, high = extent(each or words)
        middle, left = (max(heights) / 2, x + extent(words)[0]) if is_row else (y + high / 2, SYMBOL)
        found += [("", words, x, middle - TEXT / 2)] * bool(words)
        found += [(of, each, left, middle - high / 2)] if each else []
        x, y = (left + wide * bool(each), 0) if is_row else (0, y + (high + CLOSE) * bool(each or words))
    return found


def same_cells(maps: Sequence[Heat | None]) -> list[Heat | None]:
    """The heat maps with cells of one size; with numbers if all have numbers."""
    if not (has_numbers := all(x.has_numbers for x in maps if x)):
        maps = [x and x.without_numbers() for x in maps]
    across, side = [x.across for x in maps if x], [x.side for x in maps if x]
    return [x and replace(x, cell=(max(across) if has_numbers else min(across), min(side))) for x in maps]


def extent(each: Heat | str | Sequence[Placed]) -> tuple[float, float]:
    """Width and height of a heat map, a text, or all that is on an arrow."""
    if isinstance(each, Heat | str):
        return (each.width, each.height) if isinstance(each, Heat) else (7.5 * len(each), TEXT)
    ends = [(x + extent(part)[0], y + extent(part)[1]) for _, part, x, y in each]
    return max((x for x, _ in ends), default=0), max((y for _, y in ends), default=0)


def draw_on_arrow(placed: Sequence[Placed], middle: float, bottom: float) -> str:
    """The heat maps and texts as SVG; in a matrix product, with frames around the first row, column and entry."""
    (width, height), drawn = extent(placed), ""
    is_product = "@" in str(placed[0][1])  # its rule comes first, in the corner
    for n, (of, each, dx, dy) in enumerate(placed):
        x, y = middle - width / 2 + dx, bottom - height + dy
        if isinstance(each, str):
            at = f'x="{x + extent(each)[0] / 2:.2f}" y="{y + 12:.2f}"'
            drawn += f'<text class="mg-between" {at}>{escape(each)}</text>'
            continue
        drawn += draw_heat(each, x, y, of)
        if is_product:
            wide, high = each.width if n == 1 else each.across, each.height if n == 2 else each.side
            drawn += f'<rect class="mg-meet" x="{x:.2f}" y="{y:.2f}" width="{wide}" height="{high}"/>'
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
