"""A table to read: as text, and for a notebook as HTML that says the same."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True, repr=False)
class Table:
    """Values in rows, under headings, and a sentence below them.

    head    heading → how its values are written, as `format` takes it: {"layer": "", "zeros": ",", "share": ".1%"}
    rows    the values; the first of each says what the row is about
    """

    head: dict[str, str]
    rows: list[tuple[Any, ...]]
    note: str = ""

    @property
    def cells(self) -> list[list[str]]:
        """The rows as they are written."""
        return [[format(x, how) for x, how in zip(row, self.head.values(), strict=True)] for row in self.rows]

    def __str__(self) -> str:
        lines = [[*self.head], *self.cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        lines.insert(1, ["-" * width for width in widths])
        text = ["  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])]) for line in lines]
        return "\n".join([*text, *filter(None, [self.note])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        side = [' style="text-align:left"', *[' style="text-align:right"'] * (len(self.head) - 1)]
        head = "".join(f'<th scope="col"{at}>{escape(name)}</th>' for at, name in zip(side, self.head))
        body = "".join(
            f'<tr><th scope="row"{side[0]}>{escape(first)}</th>'
            + "".join(f"<td{at}>{escape(cell)}</td>" for at, cell in zip(side[1:], rest))
            + "</tr>"
            for first, *rest in self.cells
        )
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}<p>{escape(self.note)}</p></div>'
