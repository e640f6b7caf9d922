"""The roofline of a function as a film: what bounds each op on this machine. See profiler/roofline.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...draw.charts import Axis, picture
from ...draw.svg import BOLD, text, text_width
from ...draw.words import join_names, number, pluralize, shorten, took
from ...graph.compiler.schedule import BANDWIDTH, FLOPS
from ...profiler.machine import Machine, bandwidth, rate
from ...profiler.roofline import (
    SERIES,
    WRITTEN,
    Point,
    axes,
    bottleneck,
    draw_mark,
    draw_roofline,
    in_cache,
    share,
    slowest,
    under_roofs,
)
from ...profiler.roofline import Roofline as Found
from .film import ChartFilm, Choice, Cut, Panel, Reel
from .widget_trace import trace_for_widget

LARGEST = 60  # ops
WIDE = 600  # pixels: the right end of the axis, but on a phone
NOISE = 0.05  # a smaller difference of two measured times says nothing
ROWS, BAR, LONG, EDGE = 9, 126, 150, 396  # most ops with a bar; the left end, the longest length, the picture's width
HOW = "A mark's height is its speed; the roof above it is the most that this machine allows."
LIMITS = {"cache": "the cache", "memory": "main memory", "neither": "neither roof", "call": "the call itself"}
UNCOUNTED = "Neither roof: Python's time per call, other programs, or steps that are no FLOPs (as in exp, tanh)."
STATED = Machine(FLOPS, BANDWIDTH, BANDWIDTH, call=0, fits=0)  # the compiler's estimate: for the static picture


class Roofline(ChartFilm):
    """The ops of a function under the roofs of this machine, as written and after the compiler's passes.

    f          a Python function of tensors, or a traced one; or the result of profiler.roofline, without args
    machine    the roofs, if they are known; measuring them takes about a second

    points     the counted and measured costs of each op, for both versions
    `text` and the screen include measured times; `repr` and the stored notebook output have only exact counts.
    Raises TypeError if f is not callable, ValueError for a graph of no op or of more than 60.
    """

    sheets = (*ChartFilm.sheets, "schedule")

    def __init__(self, f: Callable[..., Any] | Found, *args: Any, machine: Machine | None = None):
        if isinstance(f, Found):
            found = f
        else:
            traced = trace_for_widget("Roofline", f, args, LARGEST)
            found = under_roofs(getattr(f, "__name__", type(f).__name__), *traced, machine)
        most = max(map(len, found.points.values()), default=0)
        if not 1 <= most <= LARGEST:
            raise ValueError(f"Roofline shows 1 to {LARGEST} ops, and this graph has {most}: trace another part")
        self.points, self.machine = found.points, found.machine
        axis, forms = axes(found.all_points, self.machine), [*self.points.values()]
        reels = [reel(each, self.machine, axis, other) for each, other in zip(forms, forms[::-1])]
        super().__init__(found.title, (), reels, [Choice("ops", [*self.points])])

    @property
    def svg(self) -> str:
        """Each op as fast as a stated machine allows: the same picture in every run and on every machine."""
        found, fused = ([at_best(p) for p in points if p.flops] for points in self.points.values())
        x, y = axes(found, STATED)
        of = f"{rate(STATED.peak)}, {bandwidth(STATED.memory)}"
        title = f"Not measured: an assumed machine, {of}"
        drawn = draw_roofline(found, STATED, x, y, measured=False)
        return self.place_in_rows([(title, drawn), ("", draw_times(found, STATED, fused, measured=False))])

    @property
    def fallback(self) -> dict[str, str]:
        counted = "\n".join(f"{i:2} {accounts(point)}" for i, point in enumerate(self.points[WRITTEN]))
        return {**super().fallback, "text/plain": f"{self!r}\n{counted}"}


# -- the film -----------------------------------------------------------------------------------------------


def reel(found: Sequence[Point], machine: Machine, xy: tuple[Axis, Axis], other: Sequence[Point]) -> Reel:
    """The film of one graph. `other`: the points of the graph that is not shown."""
    x, y = xy
    wide, narrow = (draw_roofline(found, machine, axis, y) for axis in (replace(x, end=WIDE), x))
    drawn, s = wide + narrow.replace("mg-picture", "mg-picture mg-down", 1), "s" * (len(found) == 1)
    total, whole = sum(point.seconds for point in found), sum(point.nbytes for point in found)
    ops = f"{pluralize(len(found), 'op', 'ops')} move{s} {whole:,} bytes in {took(total)}."
    cuts = [Cut("", f"{HOW} {ops}"), Cut("", machine.summary)]
    for i, point in enumerate(found):
        say = f"{accounts(point)}. {verdict(point, machine)}"
        roof = "in cache" if in_cache(point, machine) else "main memory"
        cuts.append(Cut("", say, hot={"here": [f"p{i}", f"row {i}", roof]}))
    cuts.append(Cut("", describe_bounds(found, machine)))
    times = Panel("", draw_times(found, machine, other))
    return Reel([Panel("How fast each op is, measured", drawn), times], cuts)


def at_best(point: Point) -> Point:
    """The op as fast as the stated machine allows, and no faster when rounded."""
    return replace(point, seconds=(1 + 1e-9) * point.flops / STATED.roof(point.intensity))


def missing(found: Sequence[Point], other: Sequence[Point]) -> list[int]:
    """The indices of the points that the other graph does not have: those that fusion takes away, or brings."""
    kinds, others = ([(p.name, p.flops, p.nbytes) for p in graph] for graph in (found, other))
    return [i for i, kind in enumerate(kinds) if kinds[: i + 1].count(kind) > others.count(kind)]


def bounds(found: Sequence[Point], machine: Machine) -> Iterator[tuple[str, str, list[Point]]]:
    """Each bottleneck, its percentage of the time and its ops, the largest first."""
    groups, total = dict[str, list[Point]](), sum(p.seconds for p in found)
    for point in found:
        groups.setdefault(bottleneck(point, machine), []).append(point)
    for what, ops in sorted(groups.items(), key=lambda item: -sum(p.seconds for p in item[1])):
        percent = round(100 * sum(p.seconds for p in ops) / total)
        yield what, {0: "under 1", 100: "100" if len(groups) == 1 else "over 99"}.get(percent, str(percent)), ops


# -- the bars of time -----------------------------------------------------------------------------------------


def draw_times(found: Sequence[Point], machine: Machine, other: Sequence[Point], measured: bool = True) -> str:
    """Draw the share of each bottleneck, and a bar for each op. The solid part of a bar is the time at the op's roof.
    A dashed bar is the time of the same ops in the other graph, fused or not.
    """
    total = sum(p.seconds for p in found)
    title = f"Where the {took(total)} go" if measured else f"Where {took(total)} would go"
    parts, left, y = [text("mg-big", 0, 16, title)], 0.0, 76.0
    for what, percent, ops in bounds(found, machine):
        wide = EDGE * sum(p.seconds for p in ops) / total
        inside = text("mg-sign mg-big", left + wide / 2, 46, f"{percent} %") if wide > 46 else ""
        bar = f'<path class="mg-time" d="M{left:.1f},26h{wide:.1f}v28h-{wide:.1f}z"/>{inside}'
        words = text("mg-name mg-hue", 28, y + 4.5, f"{percent} %: {LIMITS.get(what, what)} is the limit")
        parts.append(f'<g class="mg-s{SERIES[what]}">{bar}{words}</g>{draw_mark(what, 13, y, "")}')
        left, y = left + wide, y + 24
    parts += [text("mg-dim", BAR, y + 8, "solid: as long as at its roof")] * measured
    shown, y = sorted(i for i, _ in slowest(found)[:ROWS]), y + 14
    scale, last = LONG / max(p.seconds for p in found), max({-1, *shown} & {-1, *missing(found, other)})
    for i in shown:
        parts.append(draw_row(i, found[i], machine, y, scale))
        y += 25
        if i == last and (row := draw_others(found, other, y, scale)):
            first = y - 25 * (shown.index(i) - shown.index(min({*shown} & {*missing(found, other)})))
            parts += [row, f'<path class="mg-rule" d="M{BAR - 5},{first - 13:g}h-4V{y + 12:g}h4"/>']
            y += 25
    if len(found) > len(shown):
        parts.append(text("mg-dim", 28, y + 14, f"and {len(found) - len(shown)} faster ops"))
        y += 20
    return picture(title, EDGE + 2, y + 4, parts, "mg-times")


def draw_row(i: int, point: Point, machine: Machine, y: float, scale: float) -> str:
    """The row of an op: its mark, name and time, and how much of this it would take at its roof."""
    what, wide = bottleneck(point, machine), scale * point.seconds
    bars = draw_bar("mg-rest", y, wide) + draw_bar("", y, wide * share(point, machine))
    name, index = (point.name, str(i)) if i < 10 else (f"{i}. {point.name}", "")  # two digits do not fit in a mark
    words = text("", 28, y + 16, shorten(name, 12)) + text("", BAR + wide + 6, y + 16, took(point.seconds))
    under = f'<rect class="mg-under" width="{EDGE}" height="24" y="{y}"/>'
    mark = draw_mark(what, 13, y + 12, index)
    return f'<g class="mg-s{SERIES[what]}" data-id="row {i}">{under}{bars}{words}{mark}</g>'


def draw_bar(look: str, y: float, wide: float) -> str:
    return f'<path class="mg-time {look}" d="M{BAR},{y + 5:g}h{wide:.1f}v14h-{wide:.1f}z"/>'


def draw_others(found: Sequence[Point], other: Sequence[Point], y: float, scale: float) -> str:
    """The row of the same ops in the other graph, fused or not; "" if it has the same ops."""
    gone, new = missing(found, other), missing(other, found)
    if not gone or not new:
        return ""
    before, after = sum(found[i].seconds for i in gone), sum(other[i].seconds for i in new)
    is_fused = any(found[i].name.startswith("fused ") for i in gone)
    change = before / after - 1 if is_fused else after / before - 1
    wide, percent = min(scale * after, LONG), f"{round(100 * change):+} %".replace("-", "−")
    percent = "about the same" if abs(change) < NOISE else percent
    words = f"{took(after)}: fused, {percent}" if is_fused else f"{took(after)}: {percent}"
    name = text("mg-name", 28, y + 16, "not fused" if is_fused else "if fused")
    left = min(BAR + wide + 6, EDGE - BOLD * text_width(words, 13))
    return draw_bar("mg-ghost", y, wide) + name + text("mg-name mg-halo", left, y + 16, words)


# -- in words -------------------------------------------------------------------------------------------------


def accounts(point: Point) -> str:
    """The counted costs of an op in words."""
    if not point.flops:
        return f"{point.name}: {point.nbytes:,} bytes moved, and no FLOPs"
    flops, each = f"{point.flops:,} FLOP{'s' * (point.flops > 1)}", number(point.intensity, 3)
    return f"{point.name}: {flops} and {point.nbytes:,} bytes, {each} FLOPs a byte"


def describe_bounds(found: Sequence[Point], machine: Machine) -> str:
    """The bottlenecks of all ops in a sentence, each with its share of the time, the largest first."""
    parts = []
    for what, percent, ops in bounds(found, machine):
        names = join_names(list(dict.fromkeys(p.name for p in ops)))
        parts.append(f"{percent} percent by {LIMITS.get(what, what)} ({names})")
    said = f"What bounds the time of all ops: {'; '.join(parts)}."
    return f"{said} {UNCOUNTED}" if "neither" in said else said


def verdict(point: Point, machine: Machine) -> str:
    """The speed of an op, and what bounds it, in words."""
    what = bottleneck(point, machine)
    if what == "call":
        speed = f"It takes {took(point.seconds)}, and a call that adds two numbers {took(machine.call)}"
        return f"{speed}: the call itself is the bound, and larger arrays would be nearer to the roof."
    memory = "the cache" if in_cache(point, machine) else "main memory"
    part = f"{number(100 * share(point, machine), 3)} percent of what {memory}"
    speed = f"It moves {bandwidth(point.bandwidth)}, {part} allows"
    if point.flops:
        speed = f"It runs at {rate(point.speed)}, {part} and peak allow"
    if what == "neither":
        return f"{speed}. {UNCOUNTED}"
    if what == "arithmetic":
        return f"{speed}. Arithmetic bounds it: right of the ridge."
    return f"{speed}. {memory.capitalize()} bounds it{': left of the ridge' * (point.flops > 0)}."
