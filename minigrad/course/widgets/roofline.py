"""The roofline of a function as a film: what bounds each op on this machine. See profiler/roofline.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from ...draw.charts import Axis, compact
from ...draw.words import join_names, number, pluralize, took
from ...graph.compiler.schedule import BANDWIDTH, FLOPS
from ...profiler.machine import Machine, bandwidth, rate
from ...profiler.roofline import WRITTEN, Point, axes, bottleneck, draw_roofline, in_cache, share, under_roofs
from ...profiler.roofline import Roofline as Found
from .film import ChartFilm, Choice, Cut, Panel, Reel, row, table
from .widget_trace import trace_for_widget

LARGEST = 60  # ops
WIDE = 600  # pixels: the right end of the axis, but on a phone
HOW = (
    "A dot's height is its speed; the roof above it is the most that this machine allows. Where the roof rises, memory "
    "is the limit; where it is flat, arithmetic. Below half of its roof, neither is."
)
CAUSES = {"cache": "the cache", "call": "the calls themselves", "neither": "neither roof"}
UNCOUNTED = (
    "Neither roof: Python's and NumPy's time per call, other programs, or work that FLOPs do not count (exp is one, "
    "and takes many steps)."
)
STATED = Machine(FLOPS, BANDWIDTH, BANDWIDTH, call=0)  # the compiler's estimate: for the static picture


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
        axis, first = axes(found.all_points, self.machine), next(iter(self.points.values()))
        reels = [reel(each, self.machine, axis, first) for each in self.points.values()]
        super().__init__(found.title, (), reels, [Choice("ops", [*self.points])])

    @property
    def svg(self) -> str:
        """Each op as fast as a stated machine allows: the same picture in every run and on every machine."""
        found = [replace(p, seconds=p.flops / STATED.roof(p.intensity)) for p in self.points[WRITTEN] if p.flops]
        x, y = axes(found, STATED)
        of = f"{rate(STATED.peak)} and {bandwidth(STATED.memory)}"
        y = replace(y, label=f"bounds, not measured: FLOPs a second at best, if a machine has {of}")
        drawn = draw_roofline(found, STATED, replace(x, end=WIDE), y, measured=False)
        return self.place_in_rows([("", drawn)])

    @property
    def fallback(self) -> dict[str, str]:
        counted = "\n".join(f"{i:2} {accounts(point)}" for i, point in enumerate(self.points[WRITTEN]))
        return {**super().fallback, "text/plain": f"{self!r}\n{counted}"}


# -- the film -----------------------------------------------------------------------------------------------


def reel(found: Sequence[Point], machine: Machine, xy: tuple[Axis, Axis], before: Sequence[Point]) -> Reel:
    """The film of one graph. `before`: the points of the graph as written."""
    x, y = xy
    wide, narrow = (draw_roofline(found, machine, axis, y, before=before) for axis in (replace(x, end=WIDE), x))
    drawn, s = wide + narrow.replace("mg-picture", "mg-picture mg-down", 1), "s" * (len(found) == 1)
    total, whole = sum(point.seconds for point in found), sum(point.nbytes for point in found)
    ops = f"{pluralize(len(found), 'op', 'ops')} move{s} {whole:,} bytes in {took(total)}."
    cuts = [Cut("", f"{HOW} {ops}"), Cut("", machine.summary)]
    for i, point in enumerate(found):
        say = f"{accounts(point)}. {verdict(point, machine)}"
        roof, other = ("in cache", "main memory")[:: 1 if in_cache(point, machine) else -1]
        hot = {"here": [f"p{i}", f"row {i}", roof], "aside": [other]}
        cuts.append(Cut("", say, on={"ran": [f"p{i}"]}, hot=hot))
    cuts.append(Cut("", describe_bounds(found, machine)))
    numbers = Panel("The same in numbers", listing(found, machine))
    rings = " (dashed rings: fused)" * ("mg-ring" in drawn)
    return Reel([Panel(f"Measured, under the roofs{rings}", drawn), numbers], cuts)


def listing(found: Sequence[Point], machine: Machine) -> str:
    """A table with a row for each op."""
    rows = []
    for i, p in enumerate(found):
        of_roof = f"{100 * share(p, machine):.0f}" if p.flops else ""
        cells = compact(p.flops), number(p.intensity, 3), number(p.speed / 1e9, 3), of_roof
        rows.append(row(f"{i}. {escape(p.name)}", cells, f"row {i}"))
    return table(["op", "FLOPs", "FLOPs a byte", "GFLOP/s", "% of roof"], rows)


# -- in words -------------------------------------------------------------------------------------------------


def accounts(point: Point) -> str:
    """The counted costs of an op in words."""
    if not point.flops:
        return f"{point.name}: {point.nbytes:,} bytes moved, and no FLOPs"
    flops, each = f"{point.flops:,} FLOP{'s' * (point.flops > 1)}", number(point.intensity, 3)
    return f"{point.name}: {flops} and {point.nbytes:,} bytes, {each} FLOPs a byte"


def describe_bounds(found: Sequence[Point], machine: Machine) -> str:
    """The bottlenecks of all ops in a sentence, each with its share of the time, the largest first."""
    bounds, parts, before, spent = dict[str, list[Point]](), list[str](), 0, 0.0
    for point in found:
        bounds.setdefault(bottleneck(point, machine), []).append(point)
    for what, ops in sorted(bounds.items(), key=lambda item: -sum(p.seconds for p in item[1])):
        spent += sum(p.seconds for p in ops)
        until = round(100 * spent / sum(p.seconds for p in found))  # of sums, so that the shares add up to 100
        part = {0: "under 1", 100: "100" if len(bounds) == 1 else "over 99"}.get(until - before, str(until - before))
        names = join_names(list(dict.fromkeys(p.name for p in ops)))
        parts.append(f"{part} percent by {CAUSES.get(what, what)} ({names})")
        before = until
    return f"What bounds the time of all ops: {'; '.join(parts)}.{f' {UNCOUNTED}' * ('neither' in bounds)}"


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
