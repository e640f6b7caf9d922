"""The roofline: whether memory or arithmetic limits each op of a function on this machine.

    attainable FLOPs a second  =  min(peak, bandwidth × FLOPs a byte)

The engine counts FLOPs (op.flops) and bytes (operands read, result written). The roofs are measured (machine.py), and
so is each op, as a compiled program of its own; a group of fused ops counts as one op.

Williams, Waterman & Patterson 2009, “Roofline: an insightful visual performance model for multicore architectures”.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ..draw.charts import BOTTOM, RIGHT, TOP, Axis, Report, across, chart, compact, decades, upwards
from ..draw.rules import sign_of
from ..draw.svg import text
from ..draw.words import number, took
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
from .machine import SMALL, Machine, fastest_of_many, rate

ROWS = 20  # most rows of a table
NEAR = 0.25  # share of the roof below which something else is the bottleneck
LETTER = 6.5  # pixels: width of a letter in a label
WRITTEN, COMPILED = "as written", "after the compiler's passes"
FIGURES = "FLOPs a byte", "GFLOP/s", "time", "bound, share of roof"
HEAD = {"op": "", "FLOPs": ",", "bytes": ",", **dict.fromkeys(FIGURES, "")}

Place = tuple[float, float, float]  # left end, right end and baseline of a text


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


def in_cache(point: Point, machine: Machine) -> bool:
    """Whether a point's arrays are in the cache: they are small enough, or its op is faster than main memory allows."""
    return point.nbytes <= 2 * SMALL or point.nbytes / point.seconds > machine.memory


def share(point: Point, machine: Machine) -> float:
    """A point's speed as a share of the roof; its arrays are in the cache or in main memory, which decides the roof."""
    return float(point.speed / machine.roof(point.intensity, in_cache(point, machine)))


def bottleneck(point: Point, machine: Machine) -> str:
    """A point's bottleneck: call, memory, cache or arithmetic; "neither" if it is near no roof."""
    cached = in_cache(point, machine)
    if machine.call > point.seconds / 2:
        return "call"
    if point.flops and share(point, machine) < NEAR:
        return "neither"
    if machine.roof(point.intensity, cached) < machine.peak:
        return "cache" if cached else "memory"
    return "arithmetic"


@dataclass(frozen=True, repr=False)
class Roofline(Report):
    """Ops under the roofs of a machine. It prints as a table; a notebook adds a picture.

    name      the function's name
    points    form of the graph → its ops in order; a graph is as written, or after the compiler's passes
    """

    name: str
    machine: Machine
    points: Mapping[str, Sequence[Point]]

    title = property(lambda self: f"The roofline of {self.name or 'this machine'}")
    summary = property(lambda self: self.machine.summary)

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
        every = [point for each in self.points.values() for point in each]
        return [draw_roofline(self.points.get(COMPILED, ()), self.machine, *axes(every, self.machine))]


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
        why = "its ops, if any, only move elements"
        raise ValueError(f"a roofline needs an op that computes, and this graph has none: {why}")
    machine = machine or Machine.measured(float_of(graph)).reaching(
        max(point.speed for point in every), max(point.nbytes / point.seconds for point in every)
    )
    return Roofline(name, machine, found)


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
    """Axes of whole decades around all points, the ridge and the peak: the same for both graphs."""
    computing = [point for point in found if point.flops]
    x = decades([*(point.intensity for point in computing), machine.ridge], across, "FLOPs a byte")
    speeds = [*(point.speed for point in computing), machine.peak, machine.roof(x.low)]
    return x, decades(speeds, upwards, "FLOPs a second", compact)


def draw_roofline(found: Sequence[Point], machine: Machine, x: Axis, y: Axis) -> str:
    """Draw the roofs, and a dot for each op that computes."""
    roofs = []
    for speed, look in ((machine.memory, ""), (machine.cache, " mg-second")):
        ridge = min(max(machine.peak / speed, x.low), x.high)
        start, left = (x.low, speed * x.low) if speed * x.low >= y.low else (y.low / speed, y.low)
        corner = f"L{x.at(ridge):.1f},{y.at(machine.peak):.1f}H{x.end}"
        begin = f"M{x.at(start):.1f},{y.at(min(left, machine.peak)):.1f}"
        roofs.append(f'<path class="mg-roof{look}" d="{begin}{corner}"/>')
    peak, above = f"peak {rate(machine.peak)}", y.at(machine.peak) - 6
    roofs.append(text("mg-number mg-halo", x.end, above, peak))
    marks = [(i, x.at(p.intensity), y.at(p.speed)) for i, p in slowest(found) if p.flops]
    taken = (x.end - LETTER * len(peak), x.end, above)
    return chart("Each op under the roofs of this machine", x, y, *roofs, *dots(marks, taken))


def dots(marks: Sequence[tuple[int, float, float]], *taken: Place) -> list[str]:
    """Draw dots with labels. Overlapping dots share one label; labels avoid dots, other labels and the places `taken`.

    Labels are placed in order. A label for which there is no room is left out.
    """
    heaps: list[list[tuple[int, float, float]]] = []
    for i, x, y in marks:
        heap = next((h for h in heaps if abs(h[0][1] - x) < 12 and abs(h[0][2] - y) < 10), None)
        if heap is None:
            heaps.append(heap := [])
        heap.append((i, x, y))
    circle = '<g class="mg-dot" data-id="p{}"><circle class="mg-point" cx="{:.1f}" cy="{:.1f}" r="5"/></g>'
    circles = [circle.format(*mark) for mark in sorted(marks)]
    places = [*taken, *((x - 6, x + 6, y + 4) for _, x, y in marks)]
    return [*circles, *(label(heap, places) for heap in heaps)]


def label(heap: Sequence[tuple[int, float, float]], taken: list[Place]) -> str:
    """The label of dots: their numbers, or the count from 4 on; "" if no room is left. Adds its place to `taken`."""
    words = ", ".join(str(i) for i, *_ in sorted(heap)) if len(heap) < 4 else f"{len(heap)} ops"
    width, y = LETTER * len(words), heap[0][2] + 4
    left = max(x for _, x, _ in heap) + 11
    if left + width > RIGHT:
        left, y = RIGHT - width, y + 16

    def is_free(at: float) -> bool:
        return not any(left < end and start < left + width and abs(at - other) < 12 for start, end, other in taken)

    free = (at for n in range(5) for at in (y + 12 * n, y - 12 * n) if TOP < at < BOTTOM and is_free(at))
    if (place := next(free, None)) is None:
        return ""
    taken.append((left, left + width, place))
    return text("mg-halo", left, place, words)
