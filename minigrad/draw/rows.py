"""A picture that is too wide for a page, in rows: lines that leave a row at its right go on at the left of the next."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import Any

WIDE = 980  # pixels: what a code host shows, and paper
LANE = 6  # pixels between the lines that lead to the next row
SIDE = 12  # pixels between a box and a lane
BOX = re.compile(r'class="mg-box.*?x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+?)"')
PATH = re.compile(r'class="mg-arrow".*? d="(.*?)"')
Points = list[tuple[float, float]]  # of a line: the end of a curve, two control points, the next end, …
Arrows = list[tuple[Points, str]]  # with their markup


def wrap(drawn: str) -> str:
    """A picture that svg() drew, cut between its boxes into rows; as it is if it is narrow enough."""
    lines = drawn.splitlines()
    boxes = [([*map(float, match.groups())], line) for line in lines if (match := BOX.search(line))]
    arrows = [(points(match[1]), line) for line in lines if (match := PATH.search(line))]
    edges = cut(sorted((x, x + width) for (x, _, width, _), _ in boxes))
    if len(edges) == 2:
        return drawn
    over = [sorted((height(path, x) for path, _ in crossing(arrows, x, x)), reverse=True) for x in edges]
    left = SIDE + LANE * max(map(len, over))
    right = left + max(b - a for a, b in pairwise(edges))
    parts, top, starts = list[str](), float(SIDE), list[tuple[float, float]]()
    for a, b, entering, leaving in zip(edges, edges[1:], over, over[1:]):
        markup, low, tall = row(boxes, arrows, (a, b), [*entering, *leaving])
        gap = top - SIDE - LANE * len(starts)
        for n, (start, y) in enumerate(zip(starts, entering)):
            lane = right + LANE * (n + 1), gap + LANE * (n + 1), left - LANE * (len(starts) - n)
            parts.append(turn(start, lane, (left, top - low + y)))
        shape = f'{b - a:.2f}" height="{tall:.2f}" viewBox="{a:.2f} {low:.2f} {b - a:.2f} {tall:.2f}'
        parts += [f'<svg x="{left}" y="{top:.2f}" width="{shape}">', *markup, "</svg>"]
        starts = [(left + b - a, top - low + y) for y in leaving]
        top += tall + SIDE + LANE * len(starts)
    size = f'width="{right + left:.0f}" height="{top:.0f}" viewBox="0 0 {right + left:.0f} {top:.0f}"'
    head = re.sub(r'width="\S+" height="\S+" viewBox=".*?"', size, drawn[: drawn.index("<g transform")], count=1)
    return "\n".join([head, *parts, "</svg>", ""])


def row(boxes: Any, arrows: Arrows, ends: tuple[float, float], ys: list[float]) -> tuple[list[str], float, float]:
    """What is drawn between two ends, its top and its height; lines cross the ends at these heights."""
    inside, here = [box for box in boxes if ends[0] < box[0][0] < ends[1]], crossing(arrows, *ends)
    ys = [*ys, *(y for path, _ in here for x, y in path if ends[0] < x < ends[1])]
    low = min([*ys, *(y for (_, y, _, _), _ in inside)]) - SIDE
    foot = max([*ys, *(y + tall for (_, y, _, tall), _ in inside)]) + LANE
    return [line for _, line in (*here, *inside)], low, foot - low


def points(path: str) -> Points:
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path)]
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def crossing(arrows: Arrows, a: float, b: float) -> Arrows:
    """The arrows that begin before b and end after a."""
    return [(path, line) for path, line in arrows if path[0][0] < b and path[-1][0] > a]


def cut(spans: list[tuple[float, float]]) -> list[float]:
    """Where rows begin and end: between boxes, as far to the right as a row is wide."""
    edges, last, end = [spans[0][0] - SIDE], 0.0, spans[0][1]
    for start, stop in spans[1:]:
        if start > end:
            last = (start + end) / 2
        if stop - edges[-1] > WIDE and last > edges[-1]:
            edges.append(last)
        end = max(end, stop)
    return [*edges, end + SIDE]


def height(path: Points, x: float) -> float:
    """The y of a line at x."""
    n = next(n for n in range(0, len(path) - 1, 3) if path[n + 3][0] >= x)

    def at(t: float) -> list[float]:
        weights = (1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t * t, t**3
        return [sum(w * each for w, each in zip(weights, axis)) for axis in zip(*path[n : n + 4])]

    return at(bisect_left(range(1000), x, key=lambda t: at(t / 1000)[0]) / 1000)[1]


def turn(start: tuple[float, float], lane: tuple[float, float, float], end: tuple[float, float]) -> str:
    """The line from the end of a row to the beginning of the next; an arrow tip shows that it goes to the left."""
    (x, y), (out, across, back), tip = start, lane, lane[0] - 30
    path = f"M{x:.2f},{y:.2f}H{out:.2f}V{across:.2f}H{back:.2f}V{end[1]:.2f}H{end[0]:.2f}"
    corners = f"{tip:.2f},{across:.2f} {tip + 8:.2f},{across - 3.5:.2f} {tip + 8:.2f},{across + 3.5:.2f}"
    return f'<g class="mg-arrow"><path d="{path}"/><polygon class="mg-tip" points="{corners}"/></g>'
