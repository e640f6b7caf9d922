"""Small arrays as heat maps: a cell for each entry, shaded by its magnitude.

Colour and a mark show the sign: a negative cell has a minus. Marks also show ∞, −∞, and ? for NaN. The darkest cell is
the largest of its own array, so shades show patterns; read magnitudes from the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any
from xml.sax.saxutils import escape

from .words import number

LARGEST = 8  # rows or columns; with more, cells would be too small to read
LIGHT = "--mg-plus: #5cbf9a; --mg-minus: #c393dd;"
DARK = "--mg-plus: #1c7557; --mg-minus: #7b489f;"
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
        """The side of a cell in pixels."""
        return 15 if max(self.columns, len(self.rows)) <= 4 else 12

    width = property(lambda self: self.columns * self.side)
    height = property(lambda self: len(self.rows) * self.side)

    @property
    def text(self) -> str:
        """The numbers, row by row."""
        return ", ".join(f"[{', '.join(text for text, _, _ in row)}]" for row in self.rows)


def heat_of(array: Any, alike: Iterable[Any] = ()) -> Heat | None:
    """The heat map of an array of up to 8 × 8 entries; None for a single number or a larger array.

    alike    arrays that are drawn on the same scale
    """
    if array.ndim not in (1, 2) or array.size <= 1 or max(array.shape) > LARGEST:
        return None
    sizes = [abs(x) for each in (array, *alike) for x in numbers(each) if isfinite(x)]
    largest = max(sizes, default=0.0) or 1.0
    return Heat(array.shape[-1], tuple(cell(x, largest) for x in numbers(array)))


def numbers(array: Any) -> list[float]:
    return [float(x) for x in array.reshape(-1).tolist()]


def cell(x: float, largest: float) -> Cell:
    """The cell of an entry, shaded relative to the largest entry of its scale."""
    if not isfinite(x):
        return number(x), "?" if isnan(x) else "∞" if x > 0 else "−∞", 0.0
    return number(x), "−" * (x < 0), round(x / largest, 2)


def draw_heat(heat: Heat, left: float, top: float, of: str) -> str:
    """The cells as SVG.

    of    what the cells show: "value" or "grad"
    """
    side = heat.side
    cells = []
    for i, row in enumerate(heat.rows):
        for j, (text, mark, shade) in enumerate(row):
            x, y = j * side, i * side
            looks = "mg-cell" + " mg-minus" * (shade < 0) + " mg-odd" * (mark not in ("", "−"))
            cells.append(
                f'<g class="{looks}"><title>{escape(text)}</title>'
                f'<rect x="{x}" y="{y}" width="{side}" height="{side}" fill-opacity="{abs(shade):g}"/>'
                f'<text x="{x + side / 2:g}" y="{y + side - 3}">{mark}</text></g>'
            )
    frame = f'data-of="{of}" data-columns="{heat.columns}" data-size="{len(heat.cells)}" data-side="{side}"'
    place = f'transform="translate({left:.2f} {top:.2f})" style="font-size: {side - 3}px"'
    return f'<g class="mg-heat" {frame} {place}>{"".join(cells)}</g>'
