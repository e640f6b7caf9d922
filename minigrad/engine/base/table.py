"""A table that prints as text, and as HTML with the same content in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of values under headings, with a note below them.

    head    column heading → format specification of the values, as in {"layer": "", "zeros": ",", "share": ".1%"};
            the first column, and columns with the specification "<", hold words and are left-aligned
    rows    the values; the first value of a row is the row's heading
    """

    head: dict[str, str]
    rows: list[tuple[Any, ...]]
    note: str = ""

    @property
    def cells(self) -> list[list[str]]:
        """The rows as formatted text."""
        return [[format(x, how) for x, how in zip(row, self.head.values(), strict=True)] for row in self.rows]

    @property
    def columns(self) -> list[tuple[str, tuple[str, ...]]]:
        """For each column its alignment ("left" or "right") and its cells, the heading first."""
        sides = ["right" if i and how != "<" else "left" for i, how in enumerate(self.head.values())]
        return [*zip(sides, zip(self.head, *self.cells, strict=True))]

    def __str__(self) -> str:
        columns = []
        for side, (name, *cells) in self.columns:
            width = max(map(len, (name, *cells)))
            pad = str.ljust if side == "left" else str.rjust
            columns.append([pad(cell, width) for cell in (name, "-" * width, *cells)])
        lines = ["  ".join(line).rstrip().replace("\N{NO-BREAK SPACE}", " ") for line in zip(*columns)]
        return "\n".join([*lines, *filter(None, [self.note])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        side = [f' style="text-align:{side};white-space:nowrap"' for side, _ in self.columns]
        head = "".join(f'<th scope="col"{at}>{escape(name)}</th>' for at, name in zip(side, self.head))
        body = "".join(
            f'<tr><th scope="row"{side[0]}>{escape(first)}</th>'
            + "".join(f"<td{at}>{escape(cell)}</td>" for at, cell in zip(side[1:], rest))
            + "</tr>"
            for first, *rest in self.cells
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}<p style="white-space:pre-line">{escape(self.note)}</p></div>'
