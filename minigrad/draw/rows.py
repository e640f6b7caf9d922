"""A picture that is too wide for a page, in rows: where an arrow would cross rows, each of its ends has a tag."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

from .charts import place_in_rows
from .picture import Arrow, Box, Picture
from .svg import STYLE, natural_width, svg
from .words import shorten

WIDE = 980  # pixels: what a code host shows, and paper
GAP, TAG = 34, 140  # pixels between columns; for tags at an end of a row
MOST = 3  # names in a tag of an arrow's tail; each of its heads has a tag, too
BOX = re.compile(r'class="mg-box[^>]*data-id="(.*?)">.*?<rect class="mg-frame" x="(\S+)" y="\S+" width="(\S+)"')


def draw_in_rows(picture: Picture, title: str, description: str) -> str:
    """The picture as SVG, from left to right, and in rows if it is wide."""
    drawn = svg(picture, title, description)
    if natural_width(drawn) <= WIDE + 2 * GAP:
        return drawn
    rows = [[("", svg(with_tags(picture, ids), "", ""))] for ids in split(picture, drawn)]
    return place_in_rows(title, STYLE, *rows, description=description)


def split(picture: Picture, drawn: str) -> list[list[str]]:
    """The ids of the boxes in each row: columns of the drawn picture until the row is full. Leaves join a user."""
    boxes = [(float(x) + float(width) / 2, float(width), id) for id, x, width in BOX.findall(drawn)]
    rows, room = list[list[str]](), 0.0
    for _, column in groupby(sorted(boxes), lambda box: round(box[0])):
        each = [*column]
        wide = max(width for _, width, _ in each) + GAP
        if room < wide:
            room = WIDE - 2 * TAG
            rows.append([])
        rows[-1] += [id for *_, id in each]
        room -= wide
    row = {id: n for n, ids in enumerate(rows) for id in ids}
    for arrow in reversed(picture.arrows):
        if not picture.arrows_into[arrow.tail]:
            row[arrow.tail] = row[arrow.head]
    return [ids for n in range(len(rows)) if (ids := [id for id in row if row[id] == n])]


def with_tags(picture: Picture, ids: Sequence[str]) -> Picture:
    """One row of the picture. A tag replaces each arrow that comes from another row or goes to one."""
    inside, tags, arrows = {*ids}, list[Box](), [a for a in picture.arrows if {a.tail, a.head} <= {*ids}]
    for id in ids:
        tails = [picture.box[a.tail] for a in picture.arrows if a.head == id and a.tail not in inside]
        heads = [picture.box[a.head] for a in picture.arrows if a.tail == id and a.head not in inside]
        if tails:
            tags.append(tag(f"{names_of(tails)} →", f"from{id}"))
            arrows.append(Arrow(f"af{id}", tags[-1].id, id))
        if heads:
            more = f" + {len(heads) - MOST}" * (len(heads) > MOST)
            tags.append(tag(f"→ {names_of(heads[:MOST])}{more}", f"to{id}"))
            arrows.append(Arrow(f"at{id}", id, tags[-1].id))
    boxes = (*(box for box in picture.boxes if box.id in inside), *tags)
    return Picture(boxes, tuple(arrows), tuple(box.id for box in picture.outputs if box.id in inside) or ("",))


def tag(words: str, id: str) -> Box:
    return Box(id, "constant", "", "", "", words, "")


def names_of(boxes: Sequence[Box]) -> str:
    repeats = [f"{box.op} " * (box.name != "" and box.op.startswith("×")) for box in boxes]  # ×6 of a repetition
    return " · ".join(shorten(times + box.display_name, 16) for times, box in zip(repeats, boxes))
