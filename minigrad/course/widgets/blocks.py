"""Blocks on a grid as SVG: the chunks that workers hold, or the tasks of each worker over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from ...draw.svg import STYLE, text

LABEL = 110  # width of the row labels, in pixels
HEAD = 22  # height of the column labels, in pixels


@dataclass(frozen=True)
class Block:
    """One block.

    row, column    its position; `columns` is its width in columns
    look           a class of film.css: "forward", "backward"; "" for a plain block
    """

    id: str
    row: int
    column: float
    words: str
    look: str = ""
    columns: float = 1


def grid(
    blocks: Sequence[Block], rows: Sequence[str], columns: Sequence[str], size: tuple[float, float], title: str
) -> str:
    """The blocks as SVG, with labels for rows and columns.

    size    width and height of a block, in pixels
    """
    width, height = size
    across = max([len(columns), *(block.column + block.columns for block in blocks)])
    frame = f"{LABEL + across * width + 4:g}", f"{HEAD + len(rows) * (height + 6) + 4:g}"
    middle = HEAD + height / 2 + 4
    beside = [text("mg-number", LABEL - 8, middle + i * (height + 6), words) for i, words in enumerate(rows)]
    above = [text("mg-sign mg-dim", LABEL + (i + 0.5) * width, HEAD - 8, words) for i, words in enumerate(columns)]
    shape = f'width="{frame[0]}" height="{frame[1]}" viewBox="0 0 {frame[0]} {frame[1]}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="mg-picture" role="img" {shape}>'
    labels = [f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", *beside, *above]
    return "\n".join([head, *labels, *(draw_block(block, width, height) for block in blocks), "</svg>"])


def draw_block(block: Block, width: float, height: float) -> str:
    """One block as SVG, its words centred."""
    x, y = LABEL + block.column * width, HEAD + block.row * (height + 6)
    wide = block.columns * width
    look = f" mg-{block.look}" if block.look else ""
    frame = f'<rect class="mg-frame" x="{x + 1:g}" y="{y:g}" width="{wide - 2:g}" height="{height:g}" rx="4"/>'
    label = text("mg-sign mg-value", x + wide / 2, y + height / 2 + 4, block.words)
    return f'<g class="mg-box{look}" data-id="{block.id}">{frame}{label}</g>'
