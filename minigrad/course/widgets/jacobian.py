"""The pictures of ForwardAndReverse: a graph, the Jacobian, and lines from where a pass ends to the strip it fills.

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
HIGH, HEAD, GAP, LANE = 30, 26, 14, 6  # pixels: a cell, a heading, between strips, between lines
TOP, FOOT, LABEL = 40, 20, 56  # above a half, below a column, before a row
PIN = 30  # room for the seed
SHORT = 9  # characters of a number that stands beside a name
LEAST = {"LR": 1000, "TB": 330}  # the width of a half
WIDEST, HIGHEST = 1024, 480  # on a laptop: the width of a half, and the height of both
TO_TIP = re.compile(r'(data-id="(?:r|fp)\w+"><path d="[^"]*)("/><polygon class="mg-tip" points="\S+ (\S+))')
FRAME = re.compile(
    r'data-id="(\w+)">(?:<title>.*?</title>)?<rect class="mg-frame" x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"'
)
EXIT = re.compile(r'data-id="[fr]p(\w+)"><path d="[^"]*"/><polygon class="mg-tip" points="\S+ (\S+?),(\S+)')
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
        name = box.name or box.display_name * (box.kind != "constant")
        short = 1 if way == "LR" and len(longest) < SHORT else 2
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
    return TO_TIP.sub(r"\1L\3\2", drawn)  # what begins at its box, or goes on as a line to the Jacobian


class Half:
    """One half: its title, the counter, the graph, the Jacobian, and the lines between them.

    wide, high    its size in pixels
    """

    def __init__(self, both: BothModes, side: str, way: str):
        self.both, self.side, self.is_forward, self.is_down = both, side, side == "f", way == "TB"
        self.n, self.m, self.least = len(both.columns), len(both.rows), LEAST[way]
        drawn = draw_graph(both, side, way)
        self.graph = drawn[drawn.index("<g transform") :].replace("</svg>\n", "")
        self.font = 15 if self.n < 4 else 13
        names = [f"∂{name}" for name in both.columns] + [number(float(x)) for x in both.forward.ravel()]
        self.cell = max(46.0, *(BOLD * text_width(each, self.font) + 14 for each in names))
        heads = max(BOLD * text_width(f"∂{row}", self.font) for row in both.rows)
        self.head = heads + 14 + LABEL * (not self.is_forward)
        self.across, self.down = self.cell + GAP * self.is_forward, HIGH + GAP * (not self.is_forward)
        self.size = self.head + self.across * self.n, HEAD + self.down * self.m + FOOT * self.is_forward
        left, top, wide, high = map(float, re.findall(r'viewBox="([^"]+)"', drawn)[0].split())
        corner, self.table = self.place(wide, high)
        self.move = corner[0] - left, corner[1] - top
        shift = re.findall(r"translate\((\S+?)[ ,]+(\S+?)\)", self.graph)[0]
        dx, dy = (a + float(b) for a, b in zip(self.move, shift, strict=True))
        found = ((id[1:], *map(float, numbers)) for id, *numbers in FRAME.findall(self.graph))
        self.frames = {id: (x + dx, y + dy, w, h) for id, x, y, w, h in found}
        self.exits = {id: (float(x) + dx, float(y) + dy) for id, x, y in EXIT.findall(self.graph)}

    def place(self, wide: float, high: float) -> Points:
        """Set the size of the half. Returns the corners of its graph and of its table."""
        (across, down), lanes = self.size, LANE * (self.m if self.is_forward else self.n)
        if self.is_down:
            within = max(wide, across, self.least)
            self.wide, self.high = within + (lanes + GAP) * self.is_forward + 2, TOP + PIN + high + lanes + GAP + down
            graph = TOP + PIN if self.is_forward else self.high - high - PIN
            return ((within - wide) / 2, graph), ((within - across) / 2, self.high - down if self.is_forward else TOP)
        lift = 0 if self.is_forward else lanes + 4
        self.wide, body = max(self.least, PIN + wide + 36 + lanes + across), max(high, lift + down)
        self.high = TOP + body
        ends = (PIN, self.wide - across - 2) if self.is_forward else (self.wide - PIN - wide, 0.0)
        return (ends[0], TOP + (body - high) / 2), (ends[1], TOP + lift + (body - lift - down) / 2)

    def cell_at(self, j: int, i: int) -> tuple[float, float]:
        """Left and top of a cell."""
        return self.table[0] + self.head + self.across * i, self.table[1] + HEAD + self.down * j

    def edge(self, id: str, share: float, is_end: bool) -> tuple[float, float]:
        """A point on the edge where values leave a box, or where they enter it."""
        left, top, wide, high = self.frames[id]
        right, down = (share, is_end) if self.is_down else (is_end, share)
        return left + wide * right, top + high * down

    def svg(self, look: str) -> str:
        graph = f'<g transform="translate({self.move[0]:g} {self.move[1]:g})">{self.graph}</g>'
        title = f'<text class="mg-mode mg-of-{self.side}" y="14">{TITLES[self.side]}</text>'
        count = f'<text class="mg-passes" data-id="{self.side}count" y="36"></text><g style="font-size: {self.font}px">'
        parts = [graph, *self.pins(), *self.threads(), *self.strips(), title, count, *self.entries(), "</g>"]
        return picture(TITLES[self.side], self.wide, self.high, parts, look)

    def strips(self) -> Iterator[str]:
        wide, high = (self.cell, HIGH * self.m) if self.is_forward else (self.cell * self.n, HIGH)
        for k in range(self.n if self.is_forward else self.m):
            x, y = self.cell_at(0, k) if self.is_forward else self.cell_at(k, 0)
            at = (x + wide / 2, y + high + 16) if self.is_forward else (self.table[0] + LABEL / 2 - 4, y + 20)
            frame = f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{high}" rx="6"/>'
            label = text("mg-pass", *at, f"pass {k + 1}")
            yield f'<g class="mg-strip mg-of-{self.side}" data-id="{self.side}S{k}">{frame}{label}</g>'

    def entries(self) -> Iterator[str]:
        for i, name in enumerate(self.both.columns):
            yield text("mg-head", self.cell_at(0, i)[0] + self.cell / 2, self.table[1] + HEAD - 8, f"∂{name}")
        for j, name in enumerate(self.both.rows):
            yield text("mg-head mg-number", self.table[0] + self.head - 10, self.cell_at(j, 0)[1] + 20, f"∂{name}")
            for i, (x, y) in enumerate(self.cell_at(j, i) for i in range(self.n)):
                at = f'data-id="{self.side}J{j},{i}" x="{x + self.cell / 2:.1f}" y="{y + 20:.1f}"'
                yield f'<text class="mg-entry" {at}>{UNKNOWN}</text>'

    def pins(self) -> Iterator[str]:
        """The seeds: a 1 that goes into an input, or into an output from behind."""
        for id in sorted({each.seed for each in (self.both.pushed if self.is_forward else self.both.pulled)} - {""}):
            (x, y), away = self.edge(id, 0.5, not self.is_forward), -24 if self.is_forward else 24
            at, line = (x, y + away) if self.is_down else (x + away, y), ""
            if not self.is_forward and id in self.exits:
                at = self.exits[id]
            else:
                line = draw_line([at, (x, y)])
            seed = f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="10"/>{text("", at[0], at[1] + 4.5, "1")}'
            yield f'<g class="mg-pin mg-of-{self.side}" data-id="{self.side}pin{id}">{line}{seed}</g>'

    def threads(self) -> Iterator[str]:
        """For each cell, the line from the box that shows its number."""
        sources = [each.seed for each in (self.both.pulled if self.is_forward else self.both.pushed)]
        for j, i in ((j, i) for j in range(self.m) for i in range(self.n)):
            k = j if self.is_forward else i
            if sources[k]:
                share = (sources[:k].count(sources[k]) + 1) / (sources.count(sources[k]) + 1)  # along the box's edge
                start = self.edge(sources[k], share, self.is_forward)
                way = draw_line(self.route(j, i, self.exits.get(sources[k], start) if self.is_forward else start))
                yield f'<g class="mg-thread mg-of-{self.side}" data-id="{self.side}T{j},{i}">{way}</g>'

    def route(self, j: int, i: int, start: tuple[float, float]) -> Points:
        """The way from the edge of a box to a cell."""
        (x, y), (left, top) = self.cell_at(j, i), self.table
        middle, down, right, bottom = x + self.cell / 2, y + HIGH / 2, left + self.size[0], top + self.size[1]
        if self.is_down and self.is_forward:  # around the right side
            lane, aside = top - GAP - LANE * j, right + LANE * (j + 1)
            return [start, (start[0], lane), (aside, lane), (aside, down), (x + self.cell, down)]
        if self.is_down:
            lane = bottom + 3 + LANE * (self.n - 1 - i if middle < start[0] else i)
            return [start, (start[0], lane), (middle, lane), (middle, y + HIGH)]
        if self.is_forward:
            aside = left - LANE * (j + 1 if down > start[1] else self.m - j) - 2
            return [start, (aside, start[1]), (aside, down), (x, down)]
        aside, lane = right + 12 + LANE * (self.n - 1 - i), top - LANE * (self.n - i)  # around the top
        return [start, (aside, start[1]), (aside, lane), (middle, lane), (middle, y)]


def draw_line(points: Points) -> str:
    """A line through points, with round corners and a tip."""
    path, ((fx, fy), (x, y)) = "M{:.1f},{:.1f}".format(*points[0]), points[-2:]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        path += "L{:.1f},{:.1f}Q{:.1f},{:.1f} {:.1f},{:.1f}".format(
            *towards(corner, before), *corner, *towards(corner, after)
        )
    dx, dy = (x > fx) - (x < fx), (y > fy) - (y < fy)
    tip = " ".join(f"{x - 8 * dx + side * dy:.1f},{y - 8 * dy + side * dx:.1f}" for side in (-4, 4))
    return f'<path d="{path}L{x - 4 * dx:.1f},{y - 4 * dy:.1f}"/><polygon points="{x:.1f},{y:.1f} {tip}"/>'


def towards(corner: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """The point at most 6 pixels from a corner on the way to another point."""
    (x, y), (ox, oy) = corner, other
    part = min(0.5, 6 / max(1, abs(ox - x) + abs(oy - y)))
    return x + part * (ox - x), y + part * (oy - y)
