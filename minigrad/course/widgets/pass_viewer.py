"""A compiler's passes, one after another: what each takes out of the graph, what it puts in, and what that is worth.

Before a pass, the boxes that it will take out are dashed; after it, those that are new or changed are blue, and all
others have moved to their new places. The table says how many ops there are, how many bytes are moved, how many are
alive at most, and how long a run takes. At the end stands the code that was generated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import pairwise
from typing import Any
from zlib import crc32

from ...draw.graphs import place_boxes, whole
from ...draw.picture import Picture
from ...draw.rules import sign_of
from ...draw.svg import across_and_down
from ...draw.words import counted, listed, number
from ...engine.core.graph import Graph
from ...engine.core.node import NamedNode, Node
from ...graph.compiler.passes.pipeline import FAST, STANDARD, PassResult, PassResults, steps
from ...graph.compiler.program.program import Program
from ...graph.function import TracedFunction
from ...profiler.machine import fastest
from ...profiler.roofline import arrays_of
from .film import Cut, Film, Panel, Reel, code, refuse_large, row, table
from .traced import trace_of

LARGEST = 60  # boxes
COMMENT = re.compile(r"(?<=\S) {2,}# ")  # far to the right, where a screen may be too narrow


class PassViewer(Film):
    """The passes over the graph of a traced function, for these arguments.

    f       a traced function
    fast    with the passes that may change a result by rounding, as jit_compile=True takes them

    What a run takes is said in `text` and on the screen; `repr` and what a notebook keeps say what was counted.
    Raises TypeError for what is no traced function, ValueError for a graph of no op, or of more than 60 boxes; TooLong
    where f does not come to its end.
    """

    def __init__(self, f: TracedFunction, *args: Any, fast: bool = False):
        if not isinstance(f, TracedFunction):
            raise TypeError(f"PassViewer shows what becomes of a traced function, mg.function(f), and got {f!r}")
        trace = trace_of(f, args)
        if not any(node.inputs for node in trace.graph.nodes):
            raise ValueError(f"PassViewer shows a graph of at least 1 op, and {f.__name__} computes nothing")
        arrays = [array.copy() for array in arrays_of(f, args, trace)]  # a run may write into what it reads
        way = steps(trace.graph, FAST if fast else STANDARD, lambda graph: fastest_run(graph, arrays))
        scenes = [Scene(n, step) for n, step in enumerate(step for step in way if step.changed)]
        self.counted = "\n".join(f"{i:2} {cut.say}" for i, cut in enumerate(cuts(scenes, way.idle, accounts)))
        super().__init__(f"The passes over {f.__name__}", (), [reel(scenes, way)])

    @property
    def fallback(self) -> dict[str, str]:
        return {**super().fallback, "text/plain": f"{self!r}\n{self.counted}"}


def fastest_run(graph: Graph, arrays: Sequence[Any]) -> float:
    """What a run of the graph takes, compiled as it is."""
    program = Program(graph)
    return fastest(lambda: program(*arrays))


def reel(scenes: Sequence[Scene], way: PassResults) -> Reel:
    """The film of all passes that change something."""
    pictures = "".join(scene.html for scene in scenes)
    source = COMMENT.sub("  # ", Program(way[-1].graph).source).splitlines()
    panels = [
        Panel("The graph", pictures, wide=True),
        Panel("What it costs", figures([scene.step for scene in scenes])),
        Panel("", f'<div data-id="code"><p class="mg-title">The code, in the end</p>{code(source, 1)}</div>', True),
    ]
    return Reel(panels, list(cuts(scenes, way.idle, worth)))


class Scene:
    """The graph after a pass.

    key    node → what it is known by in other scenes too
    """

    def __init__(self, n: int, step: PassResult):
        self.n, self.step, self.name = n, step, f"scene {n}"
        outputs = [y for y in step.graph.outputs if y is not None]
        picture, self.place = place_boxes(outputs, {})
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
        """Key → node, of what is computed."""
        return {self.key[node]: node for node in self.place if node.inputs and whole(node) is node}


def key_of(node: Node, operands: Sequence[str]) -> str:
    """A node's name; of one that a pass made, what it is of what."""
    return node.name if isinstance(node, NamedNode) else f"{crc32(f'{node.op!r} of {operands}'.encode()):x}"


def cuts(scenes: Sequence[Scene], idle: Sequence[str], worth: Callable[[PassResult], str]) -> Iterator[Cut]:
    """Before each pass what it takes out, after it what it has put in, and what the graph is worth then, in words."""
    first = scenes[0]
    yield Cut(
        "",
        f"As written: {worth(first.step)}.",
        scene=first.name,
        on={"gone": ["code"]},
        hot={"hot": ["row 0"]},
    )
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
        yield Cut(
            "",
            f"{name} {puts}. Now: {worth(after.step)}.",
            scene=after.name,
            on={"ran": [f"row {before.n}"]},
            hot={"hot": [*fresh, f"row {after.n}"]},
        )
    rest = f" Nothing to change for {listed(list(idle))}." if idle else ""
    yield Cut("", f"The code that is generated from it is below.{rest}", off={"gone": ["code"]})


def signs(ops: dict[str, Node], keys: Sequence[str]) -> str:
    """The signs of some ops."""
    return listed([sign_of(ops[key].op) for key in keys])


def worth(step: PassResult) -> str:
    """What a graph costs."""
    time = f", {number(1e6 * step.seconds, 3)} µs a run" if step.seconds is not None else ""
    return f"{accounts(step)}{time}"


def accounts(step: PassResult) -> str:
    """What is counted of it."""
    nodes = counted(step.nodes, "op", "ops")
    return f"{nodes}, {step.bytes_moved:,} bytes moved, {step.peak_bytes:,} alive at most"


def figures(shown: Sequence[PassResult]) -> str:
    """What each graph on the way costs, a row for each."""
    rows = []
    for n, step in enumerate(shown):
        time = number(1e6 * step.seconds, 3) if step.seconds is not None else ""
        cells = step.nodes, f"{step.bytes_moved:,}", f"{step.peak_bytes:,}", time
        rows.append(row(escape(step.name), cells, f"row {n}"))
    return table(["after", "ops", "bytes moved", "peak bytes", "µs"], rows)
