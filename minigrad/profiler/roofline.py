"""The roofline: whether memory or arithmetic limits each op of a function on this machine.

    attainable FLOPs a second  =  min(peak, bandwidth × FLOPs a byte)

The engine counts FLOPs (op.flops) and bytes (operands read, result written). The roofs are measured (machine.py), and
so is each op, as a compiled program of its own; a group of fused ops counts as one op.

Williams, Waterman & Patterson 2009, “Roofline: an insightful visual performance model for multicore architectures”.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..draw.charts import BOTTOM, LEFT, RIGHT, TOP, Axis, Report, across, chart, decades, line, upwards
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

SQUARE, MOST_NUMBERED = "M-8,-8h16v16h-16z", 20
SHAPES = {  # the bottleneck of an op → the outline of its mark
    "arithmetic": "M-9,0a9,9 0 1 1 18,0a9,9 0 1 1 -18,0z", "memory": SQUARE, "cache": SQUARE,
    "neither": "M0,-11.5L11.5,0L0,11.5L-11.5,0z", "call": "M0,-12L11.5,8h-23z",
}  # fmt: skip
SERIES = {"arithmetic": 0, "memory": 4, "cache": 4, "neither": 3, "call": 7}  # the colour of its mark

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
    low, high = 0.3 * min(speeds), 8 * max(speeds)  # with room for words
    return x, upwards(low, high, "GFLOP/s", log=True, words=lambda speed: number(speed / 1e9))


def draw_roofline(found: Sequence[Point], machine: Machine, x: Axis, y: Axis, measured: bool = True) -> str:
    """Draw the roofs with their names, and a mark for each op that computes, in shape and colour of its bottleneck.

    The strip below the roof reaches down to half of it: an op further down has another bottleneck. The roof that bounds
    fewer ops is dashed. A dotted line goes from each op up to its roof; in a wide picture its share of that roof is
    after its name.
    """
    cached = [in_cache(p, machine) for p in found if p.flops]
    roofs = [("in cache", machine.cache)] * (machine.cache > machine.memory) + [("main memory", machine.memory)]
    roofs = roofs[:: 1 if 2 * sum(cached) >= len(cached) else -1]
    marks, tops = place(found, machine, x, y, measured and x.end > RIGHT)
    taken = [(left - 11, left + 11, top + shift) for _, _, left, top in marks for shift in (1, 8)]
    taken += [(x.end - 180, x.end, BOTTOM - 8.0)] * measured
    parts = [text("mg-number mg-name mg-hue mg-s3", x.end - 8, BOTTOM - 8, "neither roof is the limit")] * measured
    for (name, speed), look in reversed([*zip(roofs, ("mg-strong", "mg-weak"))]):
        ridge = x.at(min(max(machine.peak / speed, x.low), x.high))
        start, top = y.at(min(speed * x.low, machine.peak)), y.at(machine.peak)
        parts.append(line(f"mg-roof {look}", [(x.start, start), (ridge, top), (x.end, top)], f' data-id="{name}"'))
        for k in range(41):  # the roof in pieces
            across, down = x.start + k / 40 * (ridge - x.start), start + k / 40 * (top - start)
            taken.append((across - 6, across + 6, down + 4))
        taken.append((ridge, x.end, top + 4))
        words, down = f"{name} {bandwidth(speed)}", TOP + 33.0
        if look == "mg-weak":  # at its left end, unless the other roof is there
            at_end = name == "main memory"
            words, down = words + " (dashed)" * (not at_end), min(start + 16, BOTTOM - 6) if at_end else TOP + 47.0
        parts.append(text(f"mg-halo{' mg-dim' * (look == 'mg-weak')}", x.start + 8, down, words))
        taken.append((x.start, x.start + 170, down))
    parts = [*draw_strips(x, ridge, start, top, y.at(NEAR) - y.at(1)), *parts]
    for look, at, words in (("mg-s4", x.start + 8, "memory"), ("mg-number mg-s0", x.end - 8, "arithmetic")):
        parts.append(text(f"mg-name mg-hue {look}", at, TOP + 18, f"{words} is the limit"))
    parts.append(text("mg-number", x.end - 8, TOP + 33, f"peak {rate(machine.peak)}"))
    bounds = [bottleneck(p, machine) for p in found]
    return chart("Each op under the roofs of a machine", x, y, *parts, *dots(marks, bounds, tops, taken, x.end))


def draw_strips(x: Axis, ridge: float, start: float, top: float, half: float) -> list[str]:
    """The space above the roof, which no op reaches, and the strips of the ops that it bounds, down to `half`."""
    slope = f"M{x.start},{start:.1f}L{ridge:.1f},{top:.1f}"
    paths = f"{slope}H{x.end}V{TOP}H{x.start}z", f"{slope}v{half:.1f}L{x.start},{start + half:.1f}z"
    flat = f"M{ridge:.1f},{top:.1f}H{x.end}v{half:.1f}H{ridge:.1f}z"
    looks = "mg-zone mg-s2", "mg-strip mg-s4", "mg-strip mg-s0"
    return [f'<path class="{look}" d="{path}"/>' for look, path in zip(looks, (*paths, flat))]


def draw_mark(bound: str, x: float, y: float, words: str, scale: float = 1) -> str:
    """The mark of an op, in shape and colour of its bottleneck."""
    shape = f'<path d="{SHAPES[bound]}"/>{text("mg-sign", 0, 4.5, words) if words else ""}'
    turn = f"translate({x:.1f} {y:.1f}){f' scale({scale})' * (scale < 1)}"
    return f'<g class="mg-badge mg-s{SERIES[bound]}" data-bound="{bound}" transform="{turn}">{shape}</g>'


def place(ops: Sequence[Point], machine: Machine, x: Axis, y: Axis, wide: bool) -> tuple[list[Mark], dict[int, float]]:
    """The dots of the ops that compute, slowest first, and the heights of their roofs; if wide, with shares."""
    shares = [f": {100 * share(p, machine):.0f} %" * wide for p in ops]
    names = [f"{i}. {shorten(p.name, 16)}{shares[i]}" for i, p in enumerate(ops)]
    marks = [(names[i], i, x.at(p.intensity), y.at(p.speed)) for i, p in slowest(ops) if p.flops]
    return marks, {i: y.at(machine.roof(ops[i].intensity, in_cache(ops[i], machine))) for _, i, *_ in marks}


def dots(
    marks: Sequence[Mark], bounds: Sequence[str], tops: Mapping[int, float], taken: list[Place], end: float
) -> list[str]:
    """Draw marks with names, and a line from each up to its roof at `tops`. Marks that overlap share one label.

    Names are placed in order, beside other marks and names and the places `taken`. A name for which there is no room is
    left out.
    """
    heaps: list[list[Mark]] = []
    for mark in marks:
        heap = next((h for h in heaps if abs(h[0][2] - mark[2]) < 16 and abs(h[0][3] - mark[3]) < 14), None)
        if heap is None:
            heaps.append(heap := [])
        heap.append(mark)
    for _, i, x, y in marks:  # the lines from the marks to the roofs, in pieces
        taken += [(x - 4, x + 4, k + 4.0) for k in range(int(tops[i]), int(y), 8)]
    drawn = [place_label(heap, taken, end) for heap in heaps]
    many = len(marks) > MOST_NUMBERED
    for _, i, x, y in sorted(marks, key=itemgetter(1)):
        gap = f'<path class="mg-gap" d="M{x:.1f},{y:.1f}V{tops[i]:.1f}"/>'
        pin = draw_mark(bounds[i], x, y, "" if many else str(i), 0.6 if many else 1)
        drawn.append(f'<g class="mg-dot" data-id="p{i}">{gap}{pin}</g>')
    return drawn


def place_label(heap: Sequence[Mark], taken: list[Place], end: float) -> str:
    """The label of marks: names, numbers, or the count of many; "" if no room is left. Adds its place to `taken`."""
    names, numbers, *_ = zip(*sorted(heap, key=itemgetter(1)))
    words = ", ".join(names)
    said = [each for each in (words, re.sub(r": \d+ %", "", words)) if len(each) <= 36] or [f"{len(heap)} ops"]
    said += [", ".join(map(str, numbers))] * (1 < len(heap) < 4)
    (_, _, x, y), edge = heap[0], max(mark[2] for mark in heap) + 15
    for words, at, is_left in product(said, (y + 4, y + 17, y - 9, y + 30, y - 22), (False, True)):
        width = LETTER * len(words)
        left = x - 15 - width if is_left else edge
        is_inside = left > LEFT + 4 and left + width < end - 6 and TOP + 40 < at < BOTTOM - 2
        if is_inside and not any(x < left + width + 3 and left < to + 3 and abs(at - o) < 12 for x, to, o in taken):
            taken.append((left, left + width, at))
            return text("mg-halo", left, at, words)
    return ""
