"""Small arrays as heat maps: a cell for each entry, shaded by its magnitude.

A cell has a mark if its number is negative (−), infinite (∞, −∞) or NaN (?). In an array of at most nine
entries, the mark is the number in two digits. The darkest cell is the largest of its own array, so shades show
patterns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any
from xml.sax.saxutils import escape

from .words import number

LARGEST = 8  # rows or columns; with more, cells would be too small to read
LIGHT = "--mg-plus: #5cbf9a; --mg-minus: #c393dd;"
DARK = "--mg-plus: #1c7557; --mg-minus: #7b489f;"
FEW, WIDEST = 9, 3  # cells, and columns, that have room for numbers
SYMBOL = 15  # pixels for a symbol between two heat maps
Cell = tuple[str, str, float]  # the number, the mark, and the shade from −1 to 1


@dataclass(frozen=True)
class Heat:
    """An array of one or two dimensions as cells, row by row."""

    columns: int
    cells: tuple[Cell, ...]

    @property
    def rows(self) -> list[tuple[Cell, ...]]:
        n = self.columns
        return [self.cells[i : i + n] for i in range(0, len(self.cells), n)]

    @property
    def side(self) -> int:
        """The height of a cell in pixels."""
        return 17 if self.has_numbers else 15 if max(self.columns, len(self.rows)) <= 4 else 12

    has_numbers = property(lambda self: any(mark != sign(mark) for _, mark, _ in self.cells))
    longest = property(lambda self: max(len(mark) for _, mark, _ in self.cells))
    across = property(lambda self: max(24, 8 + 6 * self.longest) if self.has_numbers else self.side)  # width of a cell
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


def row_of(maps: Sequence[Heat | None], around: Sequence[str]) -> list[tuple[str, Heat | str, float]]:
    """What an arrow to the left shows, as (what it is, heat map or text, width): passed on = arrived × slope.

    around    without a slope, the text before and after what arrived: passed on = arrived @ bᵀ
    """
    came, slope, passed = maps
    before, after = ("", "×") if slope else around if came else ("", "")
    row = [("", "=" * (came is None)), ("passed", passed), ("", f"= {before}".rstrip() * bool(slope or came))]
    row += [("came", came), ("", after), ("slope", slope)]
    return [(of, x, x.width if isinstance(x, Heat) else 7.5 * len(x) + SYMBOL / 2) for of, x in row if x]


def size_of_row(row: Sequence[tuple[str, Heat | str, float]]) -> tuple[float, float]:
    """Width and height of what is on an arrow."""
    return sum(width for _, _, width in row), max((x.height for _, x, _ in row if isinstance(x, Heat)), default=0)


def draw_row(row: Sequence[tuple[str, Heat | str, float]], middle: float, bottom: float) -> str:
    (width, height), drawn = size_of_row(row), ""
    x = middle - width / 2
    for of, each, wide in row:
        if isinstance(each, Heat):
            drawn += draw_heat(each, x, bottom - (height + each.height) / 2, of)
        else:
            at = f'x="{x + wide / 2:.2f}" y="{bottom - height / 2 + 4:.2f}"'
            drawn += f'<text class="mg-between" {at}>{escape(each)}</text>'
        x += wide
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
            looks = "mg-cell" + " mg-minus" * (shade < 0) + " mg-odd" * (sign(mark) not in ("", "−"))
            cells.append(
                f'<g class="{looks}"><title>{escape(text)}</title>'
                f'<rect x="{x}" y="{y}" width="{across}" height="{side}" fill-opacity="{abs(shade):g}"/>'
                f'<text x="{x + across / 2:g}" y="{y + side - 3}">{mark}</text></g>'
            )
    frame = f'data-of="{of}" data-columns="{heat.columns}" data-size="{len(heat.cells)}" data-side="{side} {across}"'
    font = "font-size: 12px" if heat.has_numbers else f"font-size: {side - 3}px; font-weight: bold"
    place = f'transform="translate({left:.2f} {top:.2f})" style="{font}"'
    return f'<g class="mg-heat" {frame} {place}>{"".join(cells)}</g>'
