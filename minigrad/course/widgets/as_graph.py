"""The boxes that tracing a learner's function builds, and the values that a run of that graph computes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from html import escape
from typing import Any

from ...draw.graphs import place_boxes, whole
from ...draw.picture import Box, Picture
from ...draw.rules import sign_of
from ...draw.tensors import format_array
from ...draw.words import join_names
from ...engine.core.graph import Graph
from ...engine.core.interpret import value, walk_graph
from ...engine.core.node import NamedNode, Node
from ...engine.ops import TupleGet
from ...engine.tensor.tensor import Tensor
from ...graph.compiler.control import Cond, Control
from ...graph.function import TracedFunction
from ...profiler.roofline import arrays_of
from .eager_run import LARGEST, EagerRun, LineRun, draw_half, format_value, truncate_text
from .film import refuse_large
from .recording import PrintEvent, PrintRecorder
from .widget_trace import trace_of


class TraceError(Exception):
    """The function runs eagerly but cannot be traced. The message is that of the original exception."""


class AsGraph:
    """The traced graph of a function, and the values of one run of it.

    is_new    whether this call traced the function; a later call of the same kind reuses the graph
    place     node → its box
    line      node → the function's line that built it, itself or in another function that it calls; 0 for an input
    taken     `if` → the id of the branch that ran, "true of rb5" or "false of rb5"
    unbuilt   ids of the boxes for ops of `left` that are not in the graph → why: "unused", or "a view" as a result
    result    the outputs as text
    Raises TraceError if tracing fails, ValueError for a graph of more than 60 boxes.
    """

    def __init__(self, traced: TracedFunction, args: Sequence[Any], left: EagerRun):
        events: list[Any] = []
        before = traced.trace_count
        try:
            with redirect_stdout(PrintRecorder(events)):
                self.trace = trace_of(traced, args)
        except Exception as error:  # raised by the learner's code or by the engine: the widget shows it
            raise TraceError(str(error) or type(error).__name__) from error
        self.is_new = traced.trace_count > before
        self.printed = [event for event in events if isinstance(event, PrintEvent)] if self.is_new else []
        self.graph = self.trace.graph
        outputs = [y for y in self.graph.outputs if y is not None]
        picture, self.place = place_boxes(outputs, {}) if outputs else (Picture((), ()), {})
        refuse_large("StaticVsDynamic", picture, LARGEST)
        self.line = self.lines_of(left.moments)
        arrays = arrays_of(traced, args, self.trace)
        self.values = {x: format_array(array) for x, array in zip(self.graph.inputs, arrays)}
        self.said: dict[Node, str] = {}
        self.taken: dict[Node, str] = {}
        results = walk_graph(self.graph, arrays, self.evaluate_node)
        edited = {edit.input: results[edit.result] for edit in self.trace.edits}
        found = {"argument": [edited.get(i, x) for i, x in enumerate(arrays)], "result": results}
        self.result = join_names([format_value(result_at(place, found)) for place in self.trace.places])
        texts = {self.place[node]: text for node, text in self.values.items() if node in self.place}
        names = {self.place[node]: left.name(self.line[node], sign_of(node.op)) for node in self.place}
        boxes = (replace(x, value=texts.get(x.id, x.value), name=names.get(x.id) or x.name) for x in picture.boxes)
        self.picture = Picture(tuple(boxes), picture.arrows)
        self.svg = self.draw(left, traced.python_function.__code__.co_firstlineno)
        self.shown: set[Node] = set()

    def draw(self, left: EagerRun, first: int) -> str:
        """The graph, with ghosts for unused ops. The function begins at line `first`."""
        lines = {box: self.line[node] - first + 1 for node, box in self.place.items() if self.line[node]}
        ghosts = self.ghosts(left)
        self.unbuilt = {f"r{x.id}": "a view" if x.id.split()[1] in left.used else "unused" for x in ghosts}
        said = {self.place[node]: branches(node.op) for node in self.place if isinstance(node.op, Cond)}
        said |= {id[1:]: f"not built: {why}" for id, why in self.unbuilt.items()}
        picture = Picture((*ghosts, *self.picture.boxes), self.picture.arrows)
        return self.lit(draw_half(picture, "r", lines, said) if self.picture.boxes else "", said)

    def ghosts(self, left: EagerRun) -> list[Box]:
        """Boxes for ops of the eager run that the graph dropped; none if the graph has branches or loops."""
        if not self.is_new or any(isinstance(node.op, Control) for node in self.place):
            return []
        built = {*self.line.values()}
        ops = [box for box in left.boxes if box.kind == "op"]
        gone = [box for box in ops if left.line[f"l{box.id}"] not in built]
        is_all = len(ops) - len(gone) == sum(box.kind == "op" for box in self.picture.boxes)  # else lines differ
        return [replace(box, id=f"not {box.id}", name="", value="") for box in gone if is_all]

    def lit(self, drawn: str, said: dict[str, str]) -> str:
        """The picture with ghosts, and with each branch as a part; the branch that ran is highlighted."""
        for box in self.unbuilt:
            drawn = drawn.replace(f'" data-id="{box}"', f' mg-unused" data-id="{box}"')
        for node, branch in self.taken.items():
            box = self.place[node]
            for words in escape(said[box]).split(" | "):
                id = f"{words.partition(':')[0]} of r{box}"
                part = f'<tspan class="{"mg-taken" * (id == branch)}" data-id="{id}">{words}</tspan>'
                at = drawn.index(words, drawn.index(f'data-id="r{box}"'))
                drawn = drawn[:at] + part + drawn[at + len(words) :]
        return drawn

    def evaluate_node(self, node: Node, xs: Sequence[Any]) -> Any:
        """Compute a node; record its value and what it prints."""
        events: list[Any] = []
        with redirect_stdout(PrintRecorder(events)):
            y = value(node, *xs)
        if isinstance(node.op, Cond):
            self.taken[node] = f"{'true' if xs[0] else 'false'} of r{self.place[node]}"
        self.said[node] = truncate_text("".join(event.text for event in events))
        if not isinstance(y, tuple):
            self.values[node] = format_array(y)
        elif isinstance(node.op, Control):  # some results are only for backward, and the last one orders effects
            read = {x.op.i for x in self.graph.nodes if isinstance(x.op, TupleGet) and x.inputs[0] is node}
            self.values[node] = join_names([format_array(y[i]) for i in range(max(len(y) - 1, 1)) if i in read])
        else:
            self.values[node] = join_names(list(map(format_array, y)))
        return y

    def lines_of(self, moments: Sequence[LineRun]) -> dict[Node, int]:
        found: dict[Node, int] = {}
        for moment in moments:
            made = [x for x in self.place if x.inputs and x not in found and line_of(x) in moment.made_at]
            found |= dict.fromkeys(made[: len(moment.values)], moment.line)
        return {x: found.get(x, line_of(x)) for x in self.place}

    def explain_no_box(self, moment: LineRun) -> str:
        """Why a line adds no box, in words: the graph may have its boxes already."""
        for x in self.place:
            if isinstance(x.op, Control) and moment.made_at & lines_in(x.op):
                return f"is in the {sign_of(x.op)} already"
        built = self.shown if self.is_new else self.place
        return "has its boxes already" if any(self.line[x] == moment.line for x in built) else "adds nothing"

    def build_line(self, moment: LineRun) -> tuple[list[str], str]:
        """The boxes and arrows to show when this line runs, and the line's output in the trace; empty if not `is_new`.

        In an unrolled loop, each turn shows as many nodes as the line ran ops eagerly; a loop that is a node of the
        graph is traced once, so its first turn shows all nodes.
        """
        new = [x for x in self.place if self.is_new and self.line[x] == moment.line and x not in self.shown]
        if not any(isinstance(node.op, Control) for node in self.place):
            pure = [node for node in new if not node.op.effect and whole(node) is node][: len(moment.values)]
            new = pure + [node for node in new if node.op.effect][:1]
        self.shown |= {*new}
        text = "".join(event.text for event in self.printed if event.line in moment.made_at)
        self.printed = [event for event in self.printed if event.line not in moment.made_at]
        return self.parts(new), text

    def parts(self, nodes: Sequence[Node]) -> list[str]:
        """The ids of the boxes of some nodes, and of the arrows into them."""
        boxes = dict.fromkeys(self.place[node] for node in nodes)
        return [f"r{box}" for box in boxes] + [f"r{a.id}" for a in self.picture.arrows if a.head in boxes]

    def source_nodes(self) -> list[Node]:
        """The shown nodes without operands."""
        return [node for node in self.place if not node.inputs]


def result_at(place: tuple[str, Any], found: dict[str, Any]) -> Any:
    """A result of a run: an argument, an output, a constant, or a view of one of these."""
    kind, there = place
    if kind == "view":
        of, op, *_ = there
        return result_at(of, found).apply(op)
    return Tensor(found[kind][there]) if kind in found else there


def line_of(node: Node) -> int:
    """The source line that built a node; 0 for a node without operands."""
    at = node.place if isinstance(node, NamedNode) and node.inputs else None
    return at.line if at else 0


def lines_in(op: Control) -> set[int]:
    """The source lines of the ops in a branch or a loop."""
    nodes = [node for graph in op.graphs for node in graph.nodes]
    return {*map(line_of, nodes)}.union(*(lines_in(x.op) for x in nodes if isinstance(x.op, Control)))


def branches(op: Cond) -> str:
    """What both branches do: true: + 1 | false: as it is."""
    return f"true: {ops_of(op.true)} | false: {ops_of(op.false)}"


def ops_of(graph: Graph) -> str:
    """The symbols of the ops of a graph, the first three."""
    picture, _ = place_boxes([y for y in graph.outputs if y is not None], {})
    signs = [picture.symbol(box) for box in picture.boxes if box.kind == "op"]
    return ", ".join(signs[:3]) + "…" * (len(signs) > 3) or "as it is"
