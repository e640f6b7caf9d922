"""A picture in rows, as the widget GraphView draws it: small boxes, frames around open groups, a legend.

The layers of a picture that is wider than a page are cut into rows, and Graphviz draws each row. A lane is a line from
a row to the next one; it carries a computed value, if at most three pass there. Otherwise a tag at the reader names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from xml.sax.saxutils import escape

from . import charts
from .overview import depths
from .picture import COMPUTED, Arrow, Box, GroupFrame, Picture
from .svg import STYLE, size, svg, text, text_width

ROOM = 960  # pixels: about the width of a page on a code host
LONGEST = 34  # characters of a spec and a value in one line
LANES = 3  # most lanes between two rows
COLUMN, FRAME, GAP = 24, 20, 16  # estimates of the pixels between layers, of a frame, and between boxes of a layer
SIDE, LANE, ROUND = 14, 7, 6  # pixels: margin beside the rows, distance of lanes, radius of a corner
SPLIT = 60  # cost of a frame in two rows, in pixels of height
GATE = re.compile(r'<g class="mg-box mg-gate" data-id="([io]b\d+)"><rect \S+ x="(\S+)" y="(\S+)".*?</g>')
TIP = re.compile(r'(data-id="lb.*?)<polygon class="mg-tip".*?/>')  # of an arrow to a gate
GATEWAY = Box("", "gate", "", "", "", "", "")
KEYS = (  # pattern in a drawing → class, width, height and radius of its mark, and words
    ("mg-leaf", "mg-leaf", 14, 14, 0, "leaf"), ("mg-constant", "mg-constant", 14, 14, 0, "constant"),
    ("mg-op", "mg-op", 14, 14, 3, "op"), ("mg-group", "mg-group", 14, 14, 3, "group"),
    ('class="mg-kept', "mg-kept", 40, 14, 7, "for backward"), (" mg-output", "mg-output", 14, 14, 3, "result"),
    ("mg-box mg-tag", "mg-tag", 22, 14, 0, "an arrow from the box of this name"),
    ("(?s)^(?!.*mg-box mg-tag).*mg-box mg-ref", "mg-reference", 22, 14, 7, "an arrow from the box of this name"),
    ("[>·] ?norm ", "", 0, 0, 0, "norm: √ of the sum of all squares"),
)  # fmt: skip


@dataclass
class RowPart:
    """The boxes and arrows of a row. Where a lane leaves it, it has a gate "o…"; where one enters, a gate "i…"."""

    boxes: dict[str, Box]
    arrows: dict[str, Arrow] = field(default_factory=dict)


class Row(NamedTuple):
    """A row as SVG, its size, and where its gates are: lanes begin at "o…" and end at "i…"."""

    drawn: str
    width: float
    height: float
    gates: dict[str, tuple[float, float]]


def draw_in_rows(picture: Picture, title: str, description: str) -> str:
    """The picture from left to right, in as many rows as needed, with a legend above them.

    title, description    for screen readers
    """
    rows = draw_rows(picture)
    left = SIDE + LANE * LANES if len(rows) > 1 else 0
    legend, wide = draw_legend("".join(row.drawn for row in rows))
    y, shown, right = 24.0, [legend], max(row.width for row in rows) + left
    starts = dict[str, tuple[float, float]]()
    for row in rows:
        lanes = sorted((gate for gate in row.gates if gate[0] == "i"), key=lambda gate: -starts[gate[1:]][1])
        top = y + LANE * len(lanes)
        for n, gate in enumerate(lanes):
            sides = right + LANE * (n + 1), y + LANE * n, SIDE + LANE * n
            shown.append(draw_lane(*starts[gate[1:]], *sides, left + row.gates[gate][0], top + row.gates[gate][1]))
        shown.append(row.drawn.replace("<svg ", f'<svg x="{left:g}" y="{top:g}" ', 1))
        starts = {gate[1:]: (left + x, top + below) for gate, (x, below) in row.gates.items() if gate[0] == "o"}
        y = top + row.height
    style = f"<desc>{escape(description)}</desc><style>{STYLE}</style>"
    return charts.picture(title, max(wide, right + left), y, [style, *shown], "mg-rows")


def draw_rows(picture: Picture) -> list[Row]:
    """The rows, with values in the boxes if one row has room for them."""
    for dense, room in ((False, ROOM), (True, ROOM), (True, 0.86 * ROOM), (True, 0.72 * ROOM)):
        parts = cut_into_rows(picture, {box.id: shorten_box(picture, box, dense) for box in picture.boxes}, room)
        rows = [draw_row(part) for part in parts] if dense or len(parts) == 1 else []
        if rows and max(row.width for row in rows) <= ROOM:
            break
    return rows


def shorten_box(picture: Picture, box: Box, dense: bool) -> Box:
    """The box in two lines: its op and its name; its type, and its value if there is room for it."""
    if box.kind in ("constant", "tag"):
        return box
    is_group = box.kind == "group"
    name = picture.inner_name(box.name, picture.around.get(box.id, ()))
    words = (" " if is_group else " → ").join(filter(None, (box.op, name)))
    spec = re.sub(r"^.* · |, .*$", "", box.spec) if is_group else box.spec
    both = " · ".join(filter(None, (spec, box.value)))
    numbers = spec if spec and (dense or len(both) > LONGEST) else both
    return replace(box, name=words or numbers, op="", spec=numbers * bool(words), value="")


# -- rows -------------------------------------------------------------------------------------------------------------


def cut_into_rows(picture: Picture, boxes: Mapping[str, Box], room: float) -> list[Picture]:
    """One picture for each row."""
    row, around = rows_of(picture, boxes, room), dict(picture.around)
    parts = [RowPart({id: box for id, box in boxes.items() if row[id] == r}) for r in range(max(row.values()) + 1)]
    lanes = tails_of_lanes(picture, row)
    for arrow in picture.arrows:
        tail, a, b = picture.box[arrow.tail], row[arrow.tail], row[arrow.head]
        start = tail.id
        if b == a + 1 and tail.id in lanes:
            out, start = f"o{tail.id}", f"i{tail.id}"
            parts[a].boxes[out], parts[b].boxes[start] = replace(GATEWAY, id=out), replace(GATEWAY, id=start)
            parts[a].arrows[out] = Arrow(f"l{tail.id}", tail.id, out)
        elif a != b:
            start = f"t{arrow.id}"
            kind, name = "reference" if tail.kind in COMPUTED else "tag", tail.display_name
            parts[b].boxes[start] = Box(start, kind, "", "", "", name, "")
            around[start] = picture.around.get(arrow.head, ())
        parts[b].arrows[arrow.id] = replace(arrow, tail=start)
    return pictures_of(parts, picture, around)


def tails_of_lanes(picture: Picture, row: Mapping[str, int]) -> set[str]:
    """The boxes whose values go to the next row in a lane: all computed boxes of a row, or none if they are many."""
    found = set[str]()
    for r in range(max(row.values())):
        passing = {x.tail for x in picture.arrows if (row[x.tail], row[x.head]) == (r, r + 1)}
        passing = {id for id in passing if picture.box[id].kind in COMPUTED}
        found |= passing if len(passing) <= LANES else set()
    return found


def pictures_of(
    parts: Sequence[RowPart], picture: Picture, around: Mapping[str, tuple[GroupFrame, ...]]
) -> list[Picture]:
    """A picture of each row: with the numbers that tags refer to, and frames that continue those of earlier rows."""
    named, seen = {box.value for part in parts for box in part.boxes.values()}, set[GroupFrame]()
    found: list[Picture] = []
    for part in parts:
        ids, ends = list(part.boxes), tuple(box.id for box in picture.outputs)
        shown = tuple(with_number(box, picture.box.get(box.id, box), named) for box in part.boxes.values())
        ranks = {"min": [id for id in ids if id[0] == "i"], "max": [id for id in ids if id[0] == "o"]}
        frames = {id: tuple(x.continuation if x in seen else x for x in around.get(id, ())) for id in ids}
        seen.update(x for id in ids for x in around.get(id, ()))
        found.append(Picture(shown, tuple(part.arrows.values()), ends, ranks, frames, close=True))
    return found


def with_number(box: Box, full: Box, named: set[str]) -> Box:
    """A box, with its number if it has no name and a tag shows the number."""
    is_tagged = not full.name and full.display_name in named and full.kind in ("leaf", *COMPUTED)
    return replace(box, name=f"{box.name} → {full.display_name}") if is_tagged else box


def rows_of(picture: Picture, boxes: Mapping[str, Box], room: float) -> dict[str, int]:
    """Box → its row. A box without operands is in the row of its first reader."""
    layer = layers(picture)
    starts = first_layers(picture, boxes, layer, room)
    row = {id: sum(start <= at for start in starts) - 1 for id, at in layer.items()}
    for id, into in picture.arrows_into.items():
        if not into:
            row[id] = min((row[x.head] for x in picture.arrows if x.tail == id), default=row[id])
    return row


def layers(picture: Picture) -> dict[str, int]:
    """Box → its layer. A box without operands is in the layer before its first reader."""
    depth = depths(picture)
    first = dict[str, int]()
    for arrow in picture.arrows:
        first[arrow.tail] = min(first.get(arrow.tail, depth[arrow.head]), depth[arrow.head])
    depth |= {id: max(first[id] - 1, 0) for id, into in picture.arrows_into.items() if not into and id in first}
    order = sorted({*depth.values()})
    return {id: order.index(at) for id, at in depth.items()}


def first_layers(picture: Picture, boxes: Mapping[str, Box], layer: Mapping[str, int], room: float) -> list[int]:
    """The first layer of each row: the least height, with a cost for each line and frame that is cut."""
    wide, tall = [0.0] * (max(layer.values()) + 1), [0.0] * (max(layer.values()) + 1)
    spans: dict[str, list[int]] = {}
    for id, at in layer.items():
        across, down = size(boxes[id])
        wide[at], tall[at] = max(wide[at], across + COLUMN), tall[at] + down + GAP
        for frame in picture.around.get(id, ()):
            spans.setdefault(frame.id, []).append(at)
    for span in spans.values():
        wide[min(span)] += FRAME
        tall[min(span)] += FRAME
    cost = [
        SPLIT * sum(min(span) < start <= max(span) for span in spans.values())
        + LANE * len({x.tail for x in picture.arrows if layer[x.tail] < start <= layer[x.head]})
        for start in range(len(wide))
    ]
    best: list[tuple[float, list[int]]] = [(0.0, [])]
    for end in range(1, len(wide) + 1):
        fitting = [start for start in range(end) if start == end - 1 or sum(wide[start:end]) <= room]
        best.append(min((best[s][0] + max(tall[s:end]) + cost[s] + 2 * GAP, [*best[s][1], s]) for s in fitting))
    return best[-1][1]


# -- drawing ----------------------------------------------------------------------------------------------------------


def draw_row(part: Picture) -> Row:
    drawn = charts.STYLES.sub("", svg(part, "", "")).replace(' class="mg-picture"', "")  # would be light in the dark
    box = re.search(r'width="\S+" height="\S+" viewBox="(\S+) (\S+) (\S+) (\S+)"', drawn)
    move = re.search(r"translate\((\S+?)[ ,]+(\S+?)\)", drawn)
    assert box is not None
    assert move is not None
    left, top, width, height = map(float, box.groups())
    dx, dy = float(move[1]) - left + 1, float(move[2]) - top + 1  # from the corner of a gate to its middle
    gates = {id: (float(x) + dx, float(y) + dy) for id, x, y in GATE.findall(drawn)}
    drawn = drawn.replace(box[0], f'width="{width:g}" height="{height:g}" viewBox="{" ".join(box.groups())}"')
    drawn = drawn.replace('<g class="mg-kept">', '<g class="mg-kept" transform="translate(0 -2)">')  # not over the name
    return Row(TIP.sub(r"\1", GATE.sub("", drawn)), width, height, gates)


def draw_lane(x: float, y: float, right: float, middle: float, left: float, to_x: float, to_y: float) -> str:
    """A line from the end of a row: down beside it, back between the rows, and down to a box of the next row."""
    r = ROUND
    path = (
        f"M{x - 14:.1f},{y:.1f}H{right - r:.1f}q{r},0 {r},{r}V{middle - r:.1f}q0,{r} -{r},{r}"
        f"H{left + r:.1f}q-{r},0 -{r},{r}V{to_y - r:.1f}q0,{r} {r},{r}H{to_x + 5:.1f}"
    )
    tip = f'<path class="mg-tip" style="fill: var(--mg-line)" d="M{right - 40:.1f},{middle:.1f}l8,-3.5v7z"/>'
    return f'<g class="mg-arrow"><path d="{path}"/>{tip}</g>'


def draw_legend(drawn: str) -> tuple[str, float]:
    """The marks that the rows contain, in one line, and its width."""
    x, parts = 8.0, list[str]()
    for pattern, css, width, height, round_corners, words in KEYS:
        if not re.search(pattern, drawn):
            continue
        box = f'y="%d" width="{width}" height="{height}" rx="{round_corners}"/>'
        mark = f'<rect class="mg-shade" x="{x + 3:.1f}" {box % 6}' * (css == "mg-group")
        mark += f'<rect class="mg-frame" x="{x:.1f}" {box % 3}'
        mark += f'<text x="{x + 20:.1f}" y="14">saved</text>' * (css == "mg-kept")
        parts += [f'<g class="{css}">{mark}</g>' * bool(css), text("mg-dim", x + width + 8, 14, words)]
        x += width + 24 + 0.92 * text_width(words, 12)
    return "".join(parts), x
