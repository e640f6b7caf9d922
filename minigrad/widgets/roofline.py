"""The roofline: what bounds each op of a function on this machine, its memory or its arithmetic.

    attainable FLOPs a second  =  min(peak, bandwidth × FLOPs a byte)

FLOPs and bytes are the engine's own accounts (op.flops; operands read, result written). The roofs are measured
(machine.py), and so is each op, as a compiled program of its own; what is fused is one op.

Williams, Waterman & Patterson 2009, “Roofline: an insightful visual performance model for multicore architectures”.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from html import escape
from io import StringIO
from itertools import count
from math import ceil, floor, log10
from typing import Any

import numpy as np

from ..base.spec import Specs
from ..compiler.passes.fuse import Fused
from ..compiler.passes.liveness import known_bytes, memory_of
from ..compiler.passes.pipeline import optimised
from ..compiler.passes.remat import cost
from ..compiler.program.program import Program
from ..core.graph import Graph
from ..core.interpret import is_constant, value, walked
from ..core.node import Node
from ..draw.rules import sign_of
from ..draw.svg import text
from ..draw.words import counted, number
from ..ops import Input, TupleGet
from .charts import RIGHT, Axis, Charted, across, chart, compact, upwards
from .film import Choice, Cut, Panel, Reel, row, styled, table
from .machine import Machine, seconds
from .timing import took
from .traced import traced

LARGEST = 60  # ops
NEAR = 0.25  # of the roof: below, something else is the bound
LETTER = 6.5  # pixels, of a label

Place = tuple[float, float, float]  # of words: left, right, baseline


@dataclass(frozen=True)
class Point:
    """An op, or a group of fused ones.

    seconds    of a run of it alone
    """

    name: str
    flops: int
    nbytes: int
    seconds: float

    @property
    def intensity(self) -> float:
        """FLOPs a byte."""
        return self.flops / self.nbytes

    @property
    def speed(self) -> float:
        """FLOPs a second."""
        return self.flops / self.seconds


class Roofline(Charted):
    """The ops of a function under the roofs of this machine; as written, and after the compiler's passes.

    f          a Python function of tensors, or a traced one
    machine    its roofs, where they are known: Machine.measured() takes about a second

    points     for each of the two, what was counted and measured
    What was measured is said in `text` and on the screen; `repr` and what a notebook keeps say what was counted.
    Raises TypeError for what cannot be called, ValueError for a graph of no op, or of more than 60.
    """

    def __init__(self, f: Callable[..., Any], *args: Any, machine: Machine | None = None):
        graph, arrays = traced("Roofline", f, args, LARGEST)
        graphs = {"as written": graph, "after the compiler's passes": optimised(graph)}
        self.points = {name: points(each, arrays) for name, each in graphs.items()}
        if not any(point.flops for point in self.points["as written"]):
            raise ValueError("Roofline needs an op that computes, and these ops only move elements")
        every = [point for found in self.points.values() for point in found]
        self.machine = machine or Machine.measured(float_of(graph)).reaching(
            max(point.speed for point in every), max(point.nbytes / point.seconds for point in every)
        )
        reels = [reel(found, self.machine, axes(every, self.machine)) for found in self.points.values()]
        name = getattr(f, "__name__", type(f).__name__)
        super().__init__(f"The roofline of {name}", (), reels, [Choice("ops", [*graphs])])

    @property
    def counted(self) -> str:
        """What was counted, and not measured, in words."""
        return "\n".join(f"{i:2} {accounts(point)}" for i, point in enumerate(self.points["as written"]))

    @property
    def svg(self) -> str:
        """What was counted, as a picture: the same in every run, on every machine."""
        found = [point for point in self.points["as written"] if point.flops]
        x = decades([point.intensity for point in found], across, "FLOPs a byte")
        y = decades([point.flops for point in found], upwards, "FLOPs", compact)
        marks = [(i, x.at(point.intensity), y.at(point.flops)) for i, point in enumerate(found)]
        return styled(chart("FLOPs of each op, and FLOPs a byte", x, y, *dots(marks)), self.looks)

    @property
    def fallback(self) -> dict[str, str]:
        return {**super().fallback, "text/plain": f"{self!r}\n{self.counted}"}


# -- what is counted and measured -------------------------------------------------------------------------------


def points(graph: Graph, arrays: Sequence[Any]) -> list[Point]:
    """Every op that runs, in order, counted and measured."""
    values: dict[Node, Any] = {}

    def keeping(node: Node, xs: Sequence[Any]) -> Any:
        values[node] = value(node, *xs)
        return values[node]

    with redirect_stdout(StringIO()):  # what it prints was not asked for
        walked(graph, arrays, keeping)
    values |= dict(zip(graph.inputs, arrays))
    home = memory_of(graph.nodes)
    own = [n for n in graph.nodes if n.inputs and home[n] is n and not isinstance(n.op, TupleGet) and not n.op.effect]
    return [Point(name_of(n), cost(n), moved(n, home), seconds(alone(n, graph, values))) for n in own]


def moved(node: Node, home: dict[Node, Node]) -> int:
    """Bytes that it reads and writes; a broadcast operand is read at the size it is stored in."""
    read = {home[x]: min(known_bytes(x.spec), known_bytes(home[x].spec)) for x in node.inputs}
    return known_bytes(node.spec) + sum(read.values())


def alone(node: Node, graph: Graph, values: dict[Node, Any]) -> Callable[[], Any]:
    """A run of one op, compiled by itself."""
    given = [x for x in dict.fromkeys(node.inputs) if not is_constant(x)]
    inputs = {x: Node(Input(f"x{i}"), (), x.spec) for i, x in enumerate(given)}
    one = Node(node.op, tuple(inputs.get(x, x) for x in node.inputs), node.spec)
    pieces = [n for n in graph.nodes if isinstance(n.op, TupleGet) and n.inputs == (node,)]
    outputs = [Node(n.op, (one,), n.spec) for n in pieces] if isinstance(node.spec, Specs) else [one]
    program, arrays = Program(Graph(tuple(inputs.values()), tuple(outputs))), [values[x] for x in given]
    return lambda: program(*arrays)


def name_of(node: Node) -> str:
    """A sign, and of a fused group all of them."""
    return f"fused {sign_of(node.op)}" if isinstance(node.op, Fused) else sign_of(node.op)


def float_of(graph: Graph) -> np.dtype:
    """The type of the numbers that most FLOPs are of."""
    floats = [n for n in graph.nodes if not isinstance(n.spec, Specs) and n.spec.is_float]
    return max(floats, key=cost).spec.dtype if floats else np.dtype(np.float32)


# -- the film -----------------------------------------------------------------------------------------------


def reel(found: Sequence[Point], machine: Machine, xy: tuple[Axis, Axis]) -> Reel:
    """The film of one graph."""
    panels = [
        Panel("Measured, under the roofs", drawn(found, machine, *xy)),
        Panel("The same in numbers", listing(found)),
    ]
    total, whole = sum(point.seconds for point in found), sum(point.nbytes for point in found)
    first = Cut(
        "",
        f"This machine computes at {rate(machine.peak)}; a copy moves {bandwidth(machine.memory)} in main "
        f"memory (the solid slope) and {bandwidth(machine.cache)} in the cache (dashed). From "
        f"{number(machine.ridge, 3)} FLOPs a byte on, memory is no bound. {counted(len(found), 'op', 'ops')} "
        f"move{'s' * (len(found) == 1)} {whole:,} bytes and together take{'s' * (len(found) == 1)} {took(total)}.",
    )
    cuts = [
        Cut(
            "",
            f"{accounts(point)}. {verdict(point, machine)}",
            on={"ran": [f"p{i}"]},
            hot={"here": [f"p{i}", f"row {i}"]},
        )
        for i, point in enumerate(found)
    ]
    return Reel(panels, [first, *cuts])


def accounts(point: Point) -> str:
    """What the engine counts."""
    if not point.flops:
        return f"{point.name}: {point.nbytes:,} bytes moved, and nothing computed"
    each = number(point.intensity, 3)
    return (
        f"{point.name}: {point.flops:,} FLOP{'s' * (point.flops > 1)} and {point.nbytes:,} bytes, {each} FLOPs a byte"
    )


def verdict(point: Point, machine: Machine) -> str:
    """How quick it is, and what bounds it."""
    if machine.call > point.seconds / 2:
        speed = f"It takes {took(point.seconds)}, and a call that adds two numbers {took(machine.call)}"
        return f"{speed}: the call itself is the bound, and larger arrays would be nearer to the roof."
    if not point.flops:
        return f"It moves {bandwidth(point.nbytes / point.seconds)}: memory bounds it."
    share = point.speed / machine.roof(point.intensity)
    speed = f"It runs at {rate(point.speed)}, {number(100 * share, 3)} percent of what main memory and peak allow"
    if share < NEAR:
        return f"{speed}: neither roof is near. A function such as exp counts as one FLOP, and takes many."
    if point.intensity < machine.ridge:
        near = " Above the solid roof: its arrays are still in the cache." if share > 1 else ""
        return f"{speed}. Memory bounds it: left of the ridge.{near}"
    return f"{speed}. Arithmetic bounds it: right of the ridge."


def rate(flops: float) -> str:
    return f"{number(flops / 1e9, 3)} GFLOP/s"


def bandwidth(nbytes: float) -> str:
    return f"{number(nbytes / 1e9, 3)} GB/s"


# -- the picture --------------------------------------------------------------------------------------------


def axes(found: Sequence[Point], machine: Machine) -> tuple[Axis, Axis]:
    """Decades that hold all points, the ridge and the peak: the same for both graphs."""
    computing = [point for point in found if point.flops]
    x = decades([*(point.intensity for point in computing), machine.ridge], across, "FLOPs a byte")
    speeds = [*(point.speed for point in computing), machine.peak, machine.roof(x.low)]
    return x, decades(speeds, upwards, "FLOPs a second", compact)


def decades(xs: Sequence[float], axis: Callable[..., Axis], label: str, words: Callable[[float], str] = number) -> Axis:
    """An axis over the powers of ten around some numbers."""
    low, high = floor(log10(min(xs) * 0.9)), ceil(log10(max(xs) * 1.1))
    return axis(10.0**low, 10.0**high, label, log=True, words=words)


def drawn(found: Sequence[Point], machine: Machine, x: Axis, y: Axis) -> str:
    """The roofs, and a dot for each op that computes."""
    roofs = []
    for speed, look in ((machine.memory, ""), (machine.cache, " mg-second")):
        ridge = min(max(machine.peak / speed, x.low), x.high)
        start, left = (x.low, speed * x.low) if speed * x.low >= y.low else (y.low / speed, y.low)
        corner = f"L{x.at(ridge):.1f},{y.at(machine.peak):.1f}H{x.end}"
        roofs.append(
            f'<path class="mg-roof{look}" d="M{x.at(start):.1f},{y.at(min(left, machine.peak)):.1f}{corner}"/>'
        )
    peak, above = f"peak {rate(machine.peak)}", y.at(machine.peak) - 6
    roofs.append(text("mg-number mg-halo", x.end, above, peak))
    marks = [(i, x.at(p.intensity), y.at(p.speed)) for i, p in enumerate(found) if p.flops]
    taken = (x.end - LETTER * len(peak), x.end, above)
    return chart("Each op under the roofs of this machine", x, y, *roofs, *dots(marks, taken))


def dots(marks: Sequence[tuple[int, float, float]], *taken: Place) -> list[str]:
    """Dots; those that lie on each other share one label, which lies on no dot, no other label, nor what is taken."""
    heaps: list[list[tuple[int, float, float]]] = []
    for i, x, y in marks:
        heap = next((h for h in heaps if abs(h[0][1] - x) < 12 and abs(h[0][2] - y) < 10), None)
        if heap is None:
            heaps.append(heap := [])
        heap.append((i, x, y))
    circles = [
        f'<g class="mg-dot" data-id="p{i}"><circle class="mg-point" cx="{x:.1f}" cy="{y:.1f}" r="5"/></g>'
        for i, x, y in marks
    ]
    places = [*taken, *((x - 6, x + 6, y + 4) for _, x, y in marks)]
    return [*circles, *(label(heap, places) for heap in heaps)]


def label(heap: Sequence[tuple[int, float, float]], taken: list[Place]) -> str:
    """The numbers of some dots, or how many, where there is room; its place is then taken."""
    words = ", ".join(str(i) for i, *_ in heap) if len(heap) < 4 else f"{len(heap)} ops"
    width, y = LETTER * len(words), heap[0][2] + 4
    left = max(x for _, x, _ in heap) + 11
    if left + width > RIGHT:
        left, y = RIGHT - width, y + 16

    def is_free(at: float) -> bool:
        return not any(left < end and start < left + width and abs(at - other) < 12 for start, end, other in taken)

    y = next(filter(is_free, (y + 12 * step for n in count() for step in (n, -n))))
    taken.append((left, left + width, y))
    return text("mg-halo", left, y, words)


def listing(found: Sequence[Point]) -> str:
    """A row for each op."""
    rows = []
    for i, p in enumerate(found):
        cells = compact(p.flops), compact(p.nbytes), number(p.intensity, 3), number(p.speed / 1e9, 3)
        rows.append(row(f"{i}. {escape(p.name)}", cells, f"row {i}"))
    return table(["op", "FLOPs", "bytes", "a byte", "GFLOP/s"], rows)
