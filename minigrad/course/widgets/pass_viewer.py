"""A compiler's passes, one after another: the ops that each removes and adds, and the cost of the graph after it.

Before a pass, the boxes that it will remove are dashed; after it, new or changed boxes are blue, and all others have
moved to their new places. The table has the number of ops, the bytes moved, the peak of live bytes and the time of a
run. The generated code comes last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from itertools import pairwise
from typing import Any
from zlib import crc32

from ...draw.graphs import place_boxes, whole
from ...draw.picture import Picture
from ...draw.rules import sign_of
from ...draw.svg import across_and_down
from ...draw.words import join_names, number, pluralize
from ...engine.core.node import NamedNode, Node
from ...graph.compiler.passes.pipeline import FAST, STANDARD, PassResult, PassResults, steps
from ...graph.compiler.program.program import Program
from ...graph.function import TracedFunction
from ...profiler.machine import fastest
from ...profiler.roofline import arrays_of
from .film import Cut, Film, Panel, Reel, code, refuse_large, row, table
from .widget_trace import trace_of

LARGEST = 60  # the most boxes
COMMENT = re.compile(r"(?<=\S) {2,}# ")  # comments in the source are aligned too far right for a narrow screen


class PassViewer(Film):
    """The passes over the graph of a traced function, for these arguments.

    f       a traced function
    fast    include the passes that may change rounding, as jit_compile=True does

    `text` and the screen include measured times; `repr` and the stored notebook output have only exact counts.
    Raises TypeError if f is not a traced function, ValueError for a graph of no op or of more than 60 boxes, TooLong if
    f does not finish.
    """

    def __init__(self, f: TracedFunction, *args: Any, fast: bool = False):
        if not isinstance(f, TracedFunction):
            raise TypeError(f"PassViewer expects a traced function, mg.function(f); got {f!r}")
        trace = trace_of(f, args)
        if not any(node.inputs for node in trace.graph.nodes):
            raise ValueError(f"PassViewer shows a graph of at least 1 op, but {f.__name__} computes nothing")
        arrays = [array.copy() for array in arrays_of(f, args, trace)]  # a run may write into its inputs
        way = steps(trace.graph, FAST if fast else STANDARD, lambda graph: fastest(partial(Program(graph), *arrays)))
        scenes = [Scene(n, step) for n, step in enumerate(step for step in way if step.changed)]
        self.counted = "\n".join(f"{i:2} {cut.say}" for i, cut in enumerate(cuts(scenes, way.idle, accounts)))
        super().__init__(f"The passes over {f.__name__}", (), [reel(scenes, way)])

    @property
    def fallback(self) -> dict[str, str]:
        return {**super().fallback, "text/plain": f"{self!r}\n{self.counted}"}


def reel(scenes: Sequence[Scene], way: PassResults) -> Reel:
    """The film of all passes that change the graph."""
    pictures = "".join(scene.html for scene in scenes)
    source = COMMENT.sub("  # ", Program(way[-1].graph).source).splitlines()
    costs = Panel("What it costs", figures([scene.step for scene in scenes]))
    end = f'<div data-id="code"><p class="mg-title">The code, in the end</p>{code(source, 1)}</div>'
    panels = [Panel("The graph", pictures, wide=True), costs, Panel("", end, wide=True)]
    return Reel(panels, list(cuts(scenes, way.idle, worth)))


class Scene:
    """The graph after a pass.

    key    node → its key, the same in every scene that has the node
    """

    def __init__(self, n: int, step: PassResult):
        self.n, self.step, self.name = n, step, f"scene {n}"
        picture, self.place = place_boxes([y for y in step.graph.outputs if y is not None], {})
        refuse_large("PassViewer", picture, LARGEST)
        self.key: dict[Node, str] = {}
        for node in step.graph.nodes:
            self.key[node] = key_of(node, [self.key[x] for x in node.inputs])
        boxes = (box if box.kind == "constant" else replace(box, value="") for box in picture.boxes)
        picture = Picture(tuple(boxes), picture.arrows)
        drawn = across_and_down(picture, title=f"after {step.name}", description="")
        for node, box in self.place.items():
            drawn = drawn.replace(f'data-id="{box}"', f'data-id="{self.id(node)}" data-key="{escape(self.key[node])}"')
        self.html = f'<div data-scene="{self.name}"{" hidden" if n else ""}>{drawn}</div>'

    def id(self, node: Node) -> str:
        return f"s{self.n}.{self.place[node]}"

    def ops(self) -> dict[str, Node]:
        """Key → node, for each op shown."""
        return {self.key[node]: node for node in self.place if node.inputs and whole(node) is node}


def key_of(node: Node, operands: Sequence[str]) -> str:
    """A key for a node: its name or, if a pass made the node, a hash of its op and operands."""
    return node.name if isinstance(node, NamedNode) else f"{crc32(f'{node.op!r} of {operands}'.encode()):x}"


def cuts(scenes: Sequence[Scene], idle: Sequence[str], worth: Callable[[PassResult], str]) -> Iterator[Cut]:
    """A cut before each pass with the ops it removes, and one after it with the ops it adds and the graph's cost."""
    first = scenes[0]
    yield Cut("", f"As written: {worth(first.step)}.", scene=first.name, on={"gone": ["code"]}, hot={"hot": ["row 0"]})
    for before, after in pairwise(scenes):
        old, new = before.ops(), after.ops()
        out = [key for key in old if key not in new]
        changed = [key for key in new if key not in old or new[key].op != old[key].op]
        name = after.step.name
        if out:
            taken = [before.id(old[key]) for key in out]
            yield Cut("", f"{name} will take out {signs(old, out)}.", hot={"back": taken})
        fresh = [after.id(new[key]) for key in changed]
        rest = "puts nothing in" if out else "puts the ops into another order"
        puts = f"puts in, or changes, {signs(new, changed)}" if changed else rest
        say, looks = f"{name} {puts}. Now: {worth(after.step)}.", {"hot": [*fresh, f"row {after.n}"]}
        yield Cut("", say, scene=after.name, on={"ran": [f"row {before.n}"]}, hot=looks)
    rest = f" Nothing to change for {join_names(list(idle))}." if idle else ""
    yield Cut("", f"The code that is generated from it is below.{rest}", off={"gone": ["code"]})


def signs(ops: dict[str, Node], keys: Sequence[str]) -> str:
    """The symbols of some ops."""
    return join_names([sign_of(ops[key].op) for key in keys])


def worth(step: PassResult) -> str:
    """The cost of a graph in words: counts, and the time if it was measured."""
    time = f", {number(1e6 * step.seconds, 3)} µs a run" if step.seconds is not None else ""
    return f"{accounts(step)}{time}"


def accounts(step: PassResult) -> str:
    """The counted costs of a graph in words."""
    nodes = pluralize(step.nodes, "op", "ops")
    return f"{nodes}, {step.bytes_moved:,} bytes moved, {step.peak_bytes:,} alive at most"


def figures(shown: Sequence[PassResult]) -> str:
    """A table of the cost of the graph after each pass."""
    rows = []
    for n, step in enumerate(shown):
        time = number(1e6 * step.seconds, 3) if step.seconds is not None else ""
        cells = step.nodes, f"{step.bytes_moved:,}", f"{step.peak_bytes:,}", time
        rows.append(row(escape(step.name), cells, f"row {n}"))
    return table(["after", "ops", "bytes moved", "peak bytes", "µs"], rows)
