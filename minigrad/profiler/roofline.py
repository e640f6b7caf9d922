"""The roofline: whether memory or arithmetic limits each op of a function on this machine.

    attainable FLOPs a second  =  min(peak, bandwidth × FLOPs a byte)

The engine counts FLOPs (op.flops) and bytes (operands read, result written). The roofs are measured (machine.py), and
so is each op, as a compiled program of its own; a group of fused ops counts as one op.

Williams, Waterman & Patterson 2009, “Roofline: an insightful visual performance model for multicore architectures”.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from itertools import product
from math import atan2, degrees, hypot
from operator import itemgetter
from typing import Any
from xml.sax.saxutils import escape

import numpy as np
from tqdm.auto import tqdm

from ..draw.charts import BOTTOM, LEFT, RIGHT, TOP, Axis, Report, across, chart, compact, decades, upwards
from ..draw.rules import sign_of
from ..draw.svg import text
from ..draw.words import number, shorten, took
from ..engine.base.device import CPU
from ..engine.base.spec import Specs
from ..engine.base.table import Table
from ..engine.core.graph import Graph
from ..engine.core.interpret import is_constant, value, walk_graph
from ..engine.core.node import Node
from ..engine.ops import Input, TupleGet
from ..graph.compiler.passes.fuse import Fused
from ..graph.compiler.passes.liveness import memory_of, moved_by
from ..graph.compiler.passes.pipeline import optimised
from ..graph.compiler.passes.remat import cost
from ..graph.compiler.program.program import Program
from ..graph.function import TracedFunction, function
from ..graph.trace import Trace
from .machine import Machine, bandwidth, fastest_of_many, rate

ROWS = 20  # most rows of a table
NEAR = 0.5  # share of the roof below which something else is the bottleneck
DENSE = 1.0  # FLOPs a byte from which the speed of an op measures the peak: a product has more, a sum fewer
LETTER = 6.5  # pixels: width of a letter in a label
WRITTEN, COMPILED = "as written", "after the compiler's passes"
FIGURES = "FLOPs a byte", "GFLOP/s", "time", "bound, share of roof"
HEAD = {"op": "", "FLOPs": ",", "bytes": ",", **dict.fromkeys(FIGURES, "")}

WAITS = "at the slope:", "memory bounds it"
COMPUTES = "at the flat roof:", "arithmetic bounds it"
BETWEEN = "depends: are the", "arrays in cache?"

Place = tuple[float, float, float]  # left end, right end and baseline of a text
Mark = tuple[str, int, float, float]  # name and index of an op, and the place of its dot


def roofline(
    f: Callable[..., Any] | None = None, *args: Any, machine: Machine | None = None, progress: bool = True
) -> Roofline:
    """Measure the ops of f on these arguments under the roofs of this machine; without f, only the roofs.

    machine    a Machine with known roofs; without it, Machine.measured() measures them, in about a second

    Every op is run alone, so a function of many different ops takes a while. An op near neither roof usually computes
    functions such as exp, which count as one FLOP and take many.
    """
    if not isinstance(machine, Machine | None):
        raise TypeError(f"machine must be a Machine, as Machine.measured() returns, and got {machine!r}")
    if f is None:
        return Roofline("", machine or Machine.measured(), {})
    traced = f if isinstance(f, TracedFunction) else function(f)
    trace = traced.trace_for(*args)
    if any(x.spec.device is not CPU for x in trace.graph.inputs):
        raise ValueError("roofline runs on the CPU: move the tensors there, with x.cpu()")
    arrays = [array.copy() for array in arrays_of(traced, args, trace)]
    return under_roofs(traced.__name__, trace.graph, arrays, machine, progress)


def arrays_of(f: TracedFunction, args: Sequence[Any], trace: Trace) -> list[Any]:
    """The arrays that the trace's graph reads: those of the arguments, then those of the tensors that f captures."""
    given: list[Any] = []
    f.find_trace(tuple(args), {}, given)
    return [x.value for x in (*given, *trace.captured)]


@dataclass(frozen=True)
class Point:
    """The measurement of an op, or of a group of fused ops.

    seconds    the time of the op, run alone
    """

    name: str
    flops: int
    nbytes: int
    seconds: float

    intensity = property(lambda self: self.flops / self.nbytes, doc="FLOPs a byte.")
    speed = property(lambda self: self.flops / self.seconds, doc="FLOPs a second.")
    bandwidth = property(lambda self: self.nbytes / self.seconds, doc="Bytes a second.")


def in_cache(point: Point, machine: Machine) -> bool:
    """Whether a point's arrays are in the cache: they are small enough, or its op is faster than main memory allows."""
    return point.nbytes <= 1.01 * machine.fits or point.bandwidth > machine.memory


def share(point: Point, machine: Machine) -> float:
    """A point's speed as a share of the roof; of the bandwidth, if it has no FLOPs. The roof is that of the memory that
    its arrays are in, the cache or main memory.
    """
    cached = in_cache(point, machine)
    if not point.flops:
        return float(point.bandwidth / (machine.cache if cached else machine.memory))
    return float(point.speed / machine.roof(point.intensity, cached))


def bottleneck(point: Point, machine: Machine) -> str:
    """A point's bottleneck: call, memory, cache or arithmetic; "neither" if it is below half of its roof."""
    cached = in_cache(point, machine)
    if machine.call > point.seconds / 2:
        return "call"
    if round(share(point, machine), 3) < NEAR:
        return "neither"
    if machine.roof(point.intensity, cached) == machine.peak:
        return "arithmetic"
    return "cache" if cached else "memory"


@dataclass(frozen=True, repr=False)
class Roofline(Report):
    """Ops under the roofs of a machine. It prints as a table; a notebook adds a picture.

    name      the function's name
    points    form of the graph → its ops in order; a graph is as written, or after the compiler's passes
    """

    name: str
    machine: Machine
    points: Mapping[str, Sequence[Point]]

    def __post_init__(self) -> None:
        """If one op is faster than main memory allows, arrays of its size are in the cache for every op."""
        fits = max([self.machine.fits, *(p.nbytes for p in self.all_points if p.bandwidth > self.machine.memory)])
        object.__setattr__(self, "machine", replace(self.machine, fits=fits))

    title = property(lambda self: f"The roofline of {self.name or 'this machine'}")
    summary = property(lambda self: self.machine.summary)
    all_points = property(lambda self: [p for found in self.points.values() for p in found], doc="Of all graphs.")

    @property
    def tables(self) -> list[Table]:
        """A table for each graph, of its slowest ops."""
        return [self.table(form) for form in self.points]

    def table(self, form: str, rows: int = ROWS) -> Table:
        """The slowest ops of a graph, at most `rows` of them."""
        found, drawn = slowest(self.points[form]), ": the dots of the picture" * (form == COMPILED)
        note = f"{self.name}, {form}{drawn}. The roof is that of the cache or main memory, whichever holds the arrays."
        if len(found) > rows:
            part = sum(p.seconds for _, p in found[:rows]) / sum(p.seconds for _, p in found)
            note += f" The {rows} slowest ops take {part:.0%} of the time; .table({form!r}, {len(found)}) has all."
        return Table(HEAD, [cells(i, point, self.machine) for i, point in found[:rows]], note)

    @property
    def charts(self) -> list[str]:
        """The roofs, and the ops after the compiler's passes as dots."""
        return [draw_roofline(self.points.get(COMPILED, ()), self.machine, *axes(self.all_points, self.machine))]


def slowest(found: Sequence[Point]) -> list[tuple[int, Point]]:
    """The ops with their indices, slowest first."""
    return sorted(enumerate(found), key=lambda each: -each[1].seconds)


def under_roofs(
    name: str, graph: Graph, arrays: Sequence[Any], machine: Machine | None = None, progress: bool = False
) -> Roofline:
    """Count and measure the ops of a graph, as written and after the compiler's passes.

    Raises ValueError if no op computes anything.
    """
    found = {form: points(each, arrays, progress) for form, each in ((WRITTEN, graph), (COMPILED, optimised(graph)))}
    every = [point for each in found.values() for point in each]
    if not any(point.flops for point in found[WRITTEN]):
        raise ValueError("a roofline needs an op that computes; the ops of this graph, if any, only move elements")
    return Roofline(name, machine or raise_roofs(Machine.measured(float_of(graph)), every), found)


def raise_roofs(machine: Machine, every: Sequence[Point]) -> Machine:
    """The machine with roofs no lower than any op's speed, as other load makes measured roofs too low.

    A faster op of few FLOPs a byte shows only that its bound is the slope: the peak is raised to the slope above it.
    """
    cache = max([machine.cache, *(p.bandwidth for p in every)])
    peak = max([machine.peak, *(p.speed for p in every if p.intensity >= DENSE)])
    peak = max([peak, *(cache * p.intensity for p in every if p.speed > peak)])
    return replace(machine, peak=peak, cache=cache)


# -- counting and measuring ------------------------------------------------------------------------------------


def points(graph: Graph, arrays: Sequence[Any], progress: bool = False) -> list[Point]:
    """Count and measure every op that runs, in order."""
    values: dict[Node, Any] = {}

    def keeping(node: Node, xs: Sequence[Any]) -> Any:
        values[node] = value(node, *xs)
        return values[node]

    with redirect_stdout(StringIO()):  # hide what the graph prints
        walk_graph(graph, arrays, keeping)
    values |= dict(zip(graph.inputs, arrays))
    home = memory_of(graph.nodes)
    own = [n for n in graph.nodes if n.inputs and home[n] is n and not isinstance(n.op, TupleGet) and not n.op.effect]
    bar = tqdm(own, disable=not progress, leave=False, ncols=72)
    return [Point(name_of(n), cost(n), moved_by(n, home), fastest_of_many(isolate_op(n, graph, values))) for n in bar]


def isolate_op(node: Node, graph: Graph, values: dict[Node, Any]) -> Callable[[], Any]:
    """A function that runs one op of the graph, compiled alone."""
    given = [x for x in dict.fromkeys(node.inputs) if not is_constant(x)]
    inputs = {x: Node(Input(f"x{i}"), (), x.spec) for i, x in enumerate(given)}
    one = Node(node.op, tuple(inputs.get(x, x) for x in node.inputs), node.spec)
    pieces = [n for n in graph.nodes if isinstance(n.op, TupleGet) and n.inputs == (node,)]
    outputs = [Node(n.op, (one,), n.spec) for n in pieces] if isinstance(node.spec, Specs) else [one]
    program, arrays = Program(Graph(tuple(inputs.values()), tuple(outputs))), [values[x] for x in given]
    return lambda: program(*arrays)


def name_of(node: Node) -> str:
    """The symbol of an op; for a fused group, "fused" and the symbols of its ops."""
    return f"fused {sign_of(node.op)}" if isinstance(node.op, Fused) else sign_of(node.op)


def float_of(graph: Graph) -> np.dtype:
    """The dtype of the float op with the most FLOPs; float32 if no op is float."""
    floats = [n for n in graph.nodes if not isinstance(n.spec, Specs) and n.spec.is_float]
    return max(floats, key=cost).spec.dtype if floats else np.dtype(np.float32)


# -- drawing -----------------------------------------------------------------------------------------------


def cells(i: int, point: Point, machine: Machine) -> tuple[Any, ...]:
    """A row of the table. It starts with the number of the op's dot in the picture."""
    of_roof = f" {share(point, machine):6.1%}" if point.flops else ""
    speeds = number(point.intensity, 3), number(point.speed / 1e9, 3), took(point.seconds)
    return f"{i}. {point.name}", point.flops, point.nbytes, *speeds, bottleneck(point, machine) + of_roof


def axes(found: Sequence[Point], machine: Machine) -> tuple[Axis, Axis]:
    """Axes that fit all points, the ridge and the peak; x in whole decades. Both graphs share them."""
    computing = [point for point in found if point.flops]
    x = decades([*(point.intensity for point in computing), machine.ridge], across, "FLOPs a byte")
    speeds = [*(point.speed for point in computing), machine.peak, machine.roof(x.low)]
    return x, upwards(0.3 * min(speeds), 3 * max(speeds), "FLOPs a second", log=True, words=compact)  # room for words


def draw_roofline(
    found: Sequence[Point], machine: Machine, x: Axis, y: Axis, measured: bool = True, before: Sequence[Point] = ()
) -> str:
    """Draw the roofs with their names, the zones left and right of the ridges, and a dot for each op that computes.

    The roof that bounds fewer ops is faint. A dotted line goes from each op up to its roof; in a wide picture its share
    of that roof follows its name. Without measured times, each op is a vertical line up to its bound. Ops `before`
    fusion that are not in `found` are rings, each with a line to the op that it became part of.
    """
    low, high = (x.at(min(max(machine.peak / speed, x.low), x.high)) for speed in (machine.cache, machine.memory))
    parts, lines = list[str](), [(low, x.end, y.at(machine.peak))]
    for start, end, series in ((x.start, low, 4), (high, x.end, 0)):
        parts.append(f'<path class="mg-zone mg-s{series}" d="M{start:.1f},{TOP}H{end:.1f}V{BOTTOM}H{start:.1f}z"/>')
    notes = [*zone_names(x, low, high, measured)]
    notes.append(("mg-number mg-halo", x.end, y.at(machine.peak) - 10, f"peak {rate(machine.peak)}"))
    taken = [(end - LETTER * len(words), end + LETTER * len(words), at) for _, end, at, words in notes]
    taken += [(x.at(p.intensity) - 6, x.at(p.intensity) + 6, y.at(p.speed) + 4) for p in before if p.flops]
    cached = [in_cache(p, machine) for p in found if p.flops]
    roofs = [(machine.cache, " mg-second", low, "in cache", -6)] * (machine.cache > machine.memory)
    for speed, look, ridge, name, shift in [(machine.memory, "", high, "main memory", 15), *roofs]:
        wide, tall = ridge - x.start, y.at(min(speed * x.low, machine.peak)) - y.at(machine.peak)
        path = f"M{x.end},{y.at(machine.peak):.1f}H{ridge:.1f}l{-wide:.1f},{tall:.1f}"
        weak = " mg-weak" * (len(roofs) > 0 and (2 * sum(cached) > len(cached)) == (not look))
        parts.append(f'<path class="mg-roof{look}{weak}" data-id="{name}" d="{path}"/>')
        words, length = f"{name} {bandwidth(speed)}", hypot(wide, tall) or 1.0
        words = words if LETTER * len(words) < length else name
        turn = f"translate({ridge:.1f} {y.at(machine.peak):.1f}) rotate({-degrees(atan2(tall, wide)):.1f})"
        parts.append(f'<g transform="{turn}">{text("mg-number mg-halo", -8, shift, words)}</g>')
        for k in range(0, int(length), 10):  # the roof and the place of its words, in pieces
            along, down = ridge - k * wide / length, y.at(machine.peak) + k * tall / length
            lines.append((along - 5, along + 5, down))
            taken += [(along - 10, along + 10, down + shift)] * (k < LETTER * len(words))
    marks, tops = place(found, machine, x, y, measured and x.end > RIGHT)
    parts += [
        *rings(before, found, x, y),
        *dots(marks, tops, taken, lines, x.end, measured),
        *(text(*note) for note in notes),
    ]
    return chart("Each op under the roofs of a machine", x, y, *parts)


def zone_names(x: Axis, low: float, high: float, measured: bool) -> Iterator[tuple[str, float, float, str]]:
    """The names of the zones left, right and between of the ridges at low and high: look, place, words."""
    top = BOTTOM - 20.0 if measured else TOP + 13.0  # the lines up to bounds start at the bottom
    between = BETWEEN if high - low > 20 else ()
    yield from (("mg-halo", x.start + 4, top + 14 * i, words) for i, words in enumerate(WAITS))
    yield from (("mg-number mg-halo", x.end - 4, BOTTOM - 20.0 + 14 * i, words) for i, words in enumerate(COMPUTES))
    yield from (("mg-sign mg-halo", (low + high) / 2, BOTTOM - 54.0 + 14 * i, words) for i, words in enumerate(between))


def rings(before: Sequence[Point], found: Sequence[Point], x: Axis, y: Axis) -> Iterator[str]:
    """A ring for each op that was fused, and an arrow from it to the fused op."""
    fused = [point for point in found if point.flops and point.name.startswith("fused ")]
    for old, new in ((old, new) for new in fused for old in before if old.flops and old.name in new.name.split()):
        start, end = complex(x.at(old.intensity), y.at(old.speed)), complex(x.at(new.intensity), y.at(new.speed))
        step = (end - start) / (abs(end - start) or 1)
        corners = [start + 6 * step, end - 6 * step, end - (13 + 4j) * step, end - (13 - 4j) * step]
        a, b, c, d = (f"{corner.real:.1f},{corner.imag:.1f}" for corner in corners)
        circle = f'<circle cx="{start.real:.1f}" cy="{start.imag:.1f}" r="5"/>'
        yield f'<g class="mg-ring"><title>{escape(old.name)}</title>{circle}<path d="M{a}L{b}M{c}L{b}L{d}"/></g>'


def place(ops: Sequence[Point], machine: Machine, x: Axis, y: Axis, wide: bool) -> tuple[list[Mark], dict[int, float]]:
    """The dots of the ops that compute, slowest first, and the heights of their roofs; if wide, with shares."""
    shares = [f" {100 * share(p, machine):.0f} %" * wide for p in ops]
    names = [f"{i}. {shorten(p.name, 16)}{shares[i]}" for i, p in enumerate(ops)]
    marks = [(names[i], i, x.at(p.intensity), y.at(p.speed)) for i, p in slowest(ops) if p.flops]
    return marks, {i: y.at(machine.roof(ops[i].intensity, in_cache(ops[i], machine))) for _, i, *_ in marks}


def dots(
    marks: Sequence[Mark], tops: Mapping[int, float], taken: list[Place], roofs: list[Place], end: float, measured: bool
) -> list[str]:
    """Draw dots with names, and a line from each up to its roof at `tops`. Dots that overlap share one label.

    Names are placed in order, beside other dots and names and the places `taken`, with a line to a dot that is not
    beside it. A name for which there is no room is left out; it lies on one of the `roofs` only if it has to.
    """
    heaps: list[list[Mark]] = []
    for mark in marks:
        heap = next((h for h in heaps if abs(h[0][2] - mark[2]) < 12 and abs(h[0][3] - mark[3]) < 10), None)
        if heap is None:
            heaps.append(heap := [])
        heap.append(mark)
    taken = [*taken, *((x - 6, x + 6, y + 4) for *_, x, y in marks)]
    for _, i, x, y in marks:  # the lines from the dots to the roofs, or up from the axis, in pieces
        upper, lower = (tops[i], y) if measured else (y, BOTTOM)
        taken += [(x - 4, x + 4, k + 4.0) for k in range(int(upper), int(lower), 8)]
    names, drawn = [place_label(heap, taken, roofs, end) for heap in heaps], list[str]()
    for _, i, x, y in sorted(marks, key=itemgetter(1)):
        circle = f'<circle class="mg-point" cx="{x:.1f}" cy="{y:.1f}" r="5"/>'
        if not measured:
            circle = f'<path class="mg-line mg-bound" d="M{x:.1f},{BOTTOM}V{y:.1f}m-7,0h14"/>'
        gap = f'<path class="mg-gap" d="M{x:.1f},{y:.1f}V{tops[i]:.1f}"/>'
        drawn.append(f'<g class="mg-dot" data-id="p{i}">{circle}{gap}</g>')
    return names + drawn if measured else drawn + names


def place_label(heap: Sequence[Mark], taken: list[Place], roofs: Sequence[Place], end: float) -> str:
    """The label of dots: their names, or the count of many; "" if no room is left. Adds its place to `taken`."""
    words = ", ".join(name for name, *_ in sorted(heap, key=itemgetter(1)))
    words = next((each for each in (words, re.sub(r" \d+ %", "", words)) if len(each) <= 36), f"{len(heap)} ops")
    width, (_, _, x, y) = LETTER * len(words), heap[0]
    right = max(mark[2] for mark in heap) + 10

    def is_free(left: float, at: float, width: float = 1.0, places: Sequence[Place] = taken, near: float = 12) -> bool:
        return not any(start < left + width + 3 and left < end + 3 and abs(at - o) < near for start, end, o in places)

    sides = right, x - 10 - width, right + 35, x - 45 - width, right + 70, x - 80 - width
    spots = [(side, y + 4 + 13 * n, max(side - x, x - side - width)) for n in range(-8, 9) for side in sides]
    ranks = [(not is_free(left, at - 4, width, roofs, 7), abs(at - y) + away, left, at) for left, at, away in spots]
    for may_cross, (*_, left, at) in sorted(product((False, True), ranks), key=lambda each: (each[1][0], each)):
        is_inside = left > LEFT and left + width < end and TOP + 8 < at < BOTTOM - 2
        is_beside, to = at == y + 4 and left in sides[:2], left - 2 if left > x else left + width + 2
        line = [(x + k / 8 * (to - x), y + k / 8 * (at - 4 - y) + 4) for k in range(2, 8) if not is_beside]
        line = [spot for spot in line if hypot(spot[0] - x, spot[1] - 4 - y) > 14]  # beyond the dot itself
        if is_inside and is_free(left, at, width) and (may_cross or all(is_free(*spot) for spot in line)):
            taken.append((left, left + width, at))
            lead = f"M{x:.1f},{y:.1f}L{to:.1f},{at - 4:.1f}"
            return f'<path class="mg-rule" d="{lead}"/>' * (not is_beside) + text("mg-halo", left, at, words)
    return ""
