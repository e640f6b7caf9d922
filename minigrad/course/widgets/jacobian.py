"""The pictures of ForwardAndReverse: a graph, the Jacobian, and threads from where a pass ends to the line it fills.

The Jacobian stands where passes end: behind the outputs in forward mode, in front of the inputs in reverse mode. A pass
fills a strip: a column in forward mode, a row in reverse mode. All parts that change have a `data-id`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...draw.charts import picture
from ...draw.picture import UNKNOWN, Arrow, Box, Picture
from ...draw.svg import BOLD, svg, text, text_width
from ...draw.words import number

if TYPE_CHECKING:
    from .forward_and_reverse import BothModes

TITLES = {"f": "Forward mode: each pass fills a column", "r": "Reverse mode: each pass fills a row"}
HIGH, HEAD, GAP, LANE = 30, 26, 14, 6  # pixels: a cell, a heading, between strips, between threads
TOP, FOOT, LABEL = 40, 20, 56  # above a half, below a column, before a row
PIN = 30  # room for the seed
SHORT = 9  # characters of a number that stands beside a name
LEAST = {"LR": 1000, "TB": 330}  # the width of a half
WIDEST, HIGHEST = 1024, 480  # on a laptop: the width of a half, and the height of both
TO_TIP = re.compile(r'(data-id="(?:r|fp)\w+"><path d="[^"]*)("/><polygon class="mg-tip" points="\S+ (\S+))')
FRAME = re.compile(
    r'data-id="(\w+)">(?:<title>.*?</title>)?<rect class="mg-frame" x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"'
)
EXIT = re.compile(r'data-id="fp(\w+)"><path d="[^"]*"/><polygon class="mg-tip" points="\S+ (\S+?),(\S+)')
Points = Sequence[tuple[float, float]]


def draw_halves(both: BothModes) -> dict[str, str]:
    """The halves of both modes, from left to right and, for a phone, from top to bottom; of a large graph only that."""
    across, down = ({side: Half(both, side, way) for side in TITLES} for way in ("LR", "TB"))
    if max(half.wide for half in across.values()) > WIDEST or sum(half.high for half in across.values()) > HIGHEST:
        return {side: half.svg("mg-half") for side, half in down.items()}
    return {side: across[side].svg("mg-half") + down[side].svg("mg-half mg-down") for side in TITLES}


def ports(both: BothModes) -> list[str]:
    """The outputs that other ops read: each has a way out of its own."""
    return [id for id in both.picture.ends if both.picture.uses[id] or both.picture.box[id].kind == "leaf"]


def draw_graph(both: BothModes, side: str, way: str) -> str:
    """The graph of one half, inputs first and outputs last. The boxes have room for the longest number of any pass."""
    boxes = [Box(f"q{id}", "constant", "", "", "", "", "") for id in ports(both)]
    for box in both.picture.boxes:
        longest = max([each.moved.get(box.id, "") for each in (*both.pushed, *both.pulled)], key=len)
        name, short = (
            box.name or box.display_name * (box.kind != "constant"),
            1 if way == "LR" and len(longest) < SHORT else 2,
        )
        boxes.append(replace(box, name=name, spec=longest and longest + "0", grad="", short=short))
    arrows = [*both.picture.arrows, *(Arrow(f"p{id}", id, f"q{id}") for id in ports(both))]
    last = [f"q{id}" if id in ports(both) else id for id in both.picture.ends]
    ranks = {"min": sorted({each.seed for each in both.pushed} - {""}), "max": last}
    drawn = svg(Picture(tuple(boxes), tuple(arrows), both.picture.ends, ranks), "", "", direction=way)
    drawn = re.sub(r'data-id="(\w+)"', rf'data-id="{side}\1"', drawn)
    for box in boxes:
        if box.spec:
            slot = rf'(data-id="{side}{box.id}"(?:(?!data-id=).)*?)class="mg-dim( mg-number)?"([^>]*)>[^<]*</text></g>'
            new = rf'\1class="mg-grad\2" data-id="{side}{box.id} moved"\3>{UNKNOWN}</text></g>'
            drawn = re.sub(slot, new, drawn, flags=re.DOTALL)
    return TO_TIP.sub(r"\1L\3\2", drawn)  # what begins at its box, or goes on as a thread


class Half:
    """One half: its title, the counter, the graph, the Jacobian, and the threads between them.

    wide, high    its size in pixels
    """

    def __init__(self, both: BothModes, side: str, way: str):
        self.both, self.side, self.is_forward, self.is_down = both, side, side == "f", way == "TB"
        self.least, self.font = LEAST[way], 15 if len(both.columns) < 4 else 13
        drawn = draw_graph(both, side, way)
        self.graph = drawn[drawn.index("<g transform") :].replace("</svg>\n", "")
        self.size_table()
        x, y, *size = map(float, re.findall(r'viewBox="([^"]+)"', drawn)[0].split())
        self.place(*size)
        self.move = self.corner[0] - x, self.corner[1] - y
        shift = map(float, re.findall(r"translate\((\S+?)[ ,]+(\S+?)\)", self.graph)[0])
        dx, dy = (a + b for a, b in zip(self.move, shift, strict=True))
        self.frames = {
            id[1:]: (float(x) + dx, float(y) + dy, float(w), float(h)) for id, x, y, w, h in FRAME.findall(self.graph)
        }
        self.exits = {id: (float(x) + dx, float(y) + dy) for id, x, y in EXIT.findall(self.graph)}

    def size_table(self) -> None:
        names, cells = [f"∂{name}" for name in self.both.columns], map(number, map(float, self.both.forward.ravel()))
        self.cell = max(46.0, *(BOLD * text_width(each, self.font) + 14 for each in (*names, *cells)))
        self.across = self.cell + GAP * self.is_forward
        self.down = HIGH + GAP * (not self.is_forward)
        self.head = (
            max(BOLD * text_width(f"∂{row}", self.font) for row in self.both.rows) + 14 + LABEL * (not self.is_forward)
        )
        n, m = len(self.both.columns), len(self.both.rows)
        self.size = self.head + self.across * n, HEAD + self.down * m + FOOT * self.is_forward

    def place(self, wide: float, high: float) -> None:
        """Set the size of the half, and the corners of its graph and of its table."""
        across, down = self.size
        lanes = LANE * len(self.both.rows if self.is_forward else self.both.columns)
        if self.is_down:
            within = max(wide, across, self.least)
            self.wide = within + (lanes + GAP) * self.is_forward + 2
            left, right = ((within - each) / 2 for each in (wide, across))
            self.high = TOP + PIN + high + lanes + GAP + down
            below = self.high - (down if self.is_forward else high + PIN)
            self.corner, self.table = (left, TOP + PIN), (right, below)
            if not self.is_forward:
                self.corner, self.table = (left, below), (right, TOP)
        else:
            lift = 0 if self.is_forward else lanes + 4
            self.wide, body = max(self.least, PIN + wide + 34 + lanes + across + 2), max(high, lift + down)
            self.high = TOP + body
            ends = (PIN, self.wide - across - 2) if self.is_forward else (self.wide - PIN - wide, 0)
            self.corner = ends[0], TOP + (body - high) / 2
            self.table = ends[1], TOP + lift + (body - lift - down) / 2

    def cell_at(self, j: int, i: int) -> tuple[float, float]:
        """Left and top of a cell."""
        return self.table[0] + self.head + self.across * i, self.table[1] + HEAD + self.down * j

    def svg(self, look: str) -> str:
        both, side, left = self.both, self.side, self.table[0]
        n, m = len(both.columns), len(both.rows)
        parts = [
            f'<g transform="translate({self.move[0]:g} {self.move[1]:g})">{self.graph}</g>',
            *self.pins(),
            *self.threads(),
        ]
        parts.append(f'<text class="mg-mode mg-of-{side}" y="14">{TITLES[side]}</text>')
        parts.append(f'<text class="mg-passes" data-id="{side}count" y="36"></text>')
        long = (self.cell, HIGH * m) if self.is_forward else (self.cell * n, HIGH)
        for k in range(n if self.is_forward else m):
            x, y = self.cell_at(0, k) if self.is_forward else self.cell_at(k, 0)
            at = (x + self.cell / 2, y + HIGH * m + 16) if self.is_forward else (left + LABEL / 2 - 4, y + 20)
            parts.append(
                f'<g class="mg-strip mg-of-{side}" data-id="{side}S{k}"><rect x="{x:.1f}" y="{y:.1f}" '
                f'width="{long[0]:.1f}" height="{long[1]}" rx="6"/>{text("mg-pass", *at, f"pass {k + 1}")}</g>'
            )
        parts.append(f'<g style="font-size: {self.font}px">')
        names = [(name, *self.cell_at(0, i)) for i, name in enumerate(both.columns)]
        parts += [text("mg-head", x + self.cell / 2, y - 8, f"∂{name}") for name, x, y in names]
        names = [(name, *self.cell_at(j, 0)) for j, name in enumerate(both.rows)]
        parts += [text("mg-head mg-number", x - 10, y + 20, f"∂{name}") for name, x, y in names]
        for j, i in ((j, i) for j in range(m) for i in range(n)):
            x, y = self.cell_at(j, i)
            parts.append(
                f'<text class="mg-entry" data-id="{side}J{j},{i}" x="{x + self.cell / 2:.1f}" '
                f'y="{y + 20:.1f}">{UNKNOWN}</text>'
            )
        return picture(TITLES[side], self.wide, self.high, [*parts, "</g>"], look)

    def pins(self) -> Iterator[str]:
        """The seeds: a 1 that goes into an input, or into an output from behind."""
        for id in {
            each.seed: None for each in (self.both.pushed if self.is_forward else self.both.pulled) if each.seed
        }:
            has_port = not self.is_forward and f"q{id}" in self.frames
            x, y, wide, high = self.frames[f"q{id}" if has_port else id]
            sign = 1 if self.is_forward else -1
            end = (
                (x + wide / 2, y + high * (not self.is_forward))
                if self.is_down
                else (x + wide * (not self.is_forward), y + high / 2)
            )
            dx, dy = (0, sign) if self.is_down else (sign, 0)
            at = (x + wide / 2, y + high / 2) if has_port else (end[0] - 24 * dx, end[1] - 24 * dy)
            line = "" if has_port else draw_line([at, end])
            yield (
                f'<g class="mg-pin mg-of-{self.side}" data-id="{self.side}pin{id}">{line}'
                f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="10"/>{text("", at[0], at[1] + 4.5, "1")}</g>'
            )

    def threads(self) -> Iterator[str]:
        """For each cell, the thread from the box where its number is."""
        both = self.both
        sources = [each.seed for each in (both.pulled if self.is_forward else both.pushed)]
        for j, i in ((j, i) for j in range(len(both.rows)) for i in range(len(both.columns))):
            k = j if self.is_forward else i
            if sources[k]:
                share = (sources[:k].count(sources[k]) + 1) / (sources.count(sources[k]) + 1)  # along the box's edge
                way = self.route(j, i, sources[k], share)
                yield f'<g class="mg-thread mg-of-{self.side}" data-id="{self.side}T{j},{i}">{draw_line(way)}</g>'

    def route(self, j: int, i: int, source: str, share: float) -> Points:
        """The way from the edge of a box, at this share of its length, to a cell."""
        n, m, forward = len(self.both.columns), len(self.both.rows), self.is_forward
        left, top, wide, high = self.frames[source]
        x, y = self.cell_at(j, i)
        middle, down = x + self.cell / 2, y + HIGH / 2
        start = (
            (left + wide * share, top + high * forward) if self.is_down else (left + wide * forward, top + high * share)
        )
        start = self.exits.get(source, start) if forward else start
        ends = self.table[0] + self.size[0], self.table[1] + self.size[1]
        if self.is_down and forward:  # around the right side
            lane, aside = self.table[1] - GAP - LANE * j, ends[0] + LANE * (j + 1)
            return [start, (start[0], lane), (aside, lane), (aside, down), (x + self.cell, down)]
        if self.is_down:
            lane = ends[1] + 3 + LANE * (n - 1 - i if middle < start[0] else i)
            return [start, (start[0], lane), (middle, lane), (middle, y + HIGH)]
        if forward:
            aside = self.table[0] - LANE * (j + 1 if down > start[1] else m - j) - 2
            return [start, (aside, start[1]), (aside, down), (x, down)]
        aside, lane = ends[0] + 12 + LANE * (n - 1 - i), self.table[1] - LANE * (n - i)  # around the top
        return [start, (aside, start[1]), (aside, lane), (middle, lane), (middle, y)]


def draw_line(points: Points) -> str:
    """A line through points, with round corners and a tip."""
    path = f"M{points[0][0]:.1f},{points[0][1]:.1f}"
    for before, (x, y), after in zip(points, points[1:], points[2:]):
        a, b = (towards((x, y), other) for other in (before, after))
        path += f"L{a[0]:.1f},{a[1]:.1f}Q{x:.1f},{y:.1f} {b[0]:.1f},{b[1]:.1f}"
    (fx, fy), (x, y) = points[-2:]
    dx, dy = (x > fx) - (x < fx), (y > fy) - (y < fy)
    tip = " ".join(f"{x - 8 * dx + side * dy:.1f},{y - 8 * dy + side * dx:.1f}" for side in (-4, 4))
    return (
        f'<path pathLength="1" d="{path}L{x - 4 * dx:.1f},{y - 4 * dy:.1f}"/><polygon points="{x:.1f},{y:.1f} {tip}"/>'
    )


def towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The point at most 6 pixels from a corner on the way to another point."""
    (x, y), (ox, oy) = corner, other
    part = min(0.5, 6 / max(1, abs(ox - x) + abs(oy - y)))
    return x + part * (ox - x), y + part * (oy - y)
