"""minigrad's own eager runs and static graphs, for StaticVsDynamic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from typing import Any

from ...draw.graphs import place_boxes, whole
from ...draw.picture import Box, Picture
from ...draw.rules import sign_of
from ...draw.static_run import Saw, StaticRun
from ...draw.tensors import format_array
from ...draw.words import join_names, number
from ...engine.core.graph import Graph
from ...engine.core.interpret import value, walk_graph
from ...engine.core.modes import watching
from ...engine.core.node import NamedNode, Node, place
from ...engine.ops import Const, TupleGet
from ...engine.ops.leaf import Alias
from ...engine.tensor.tensor import Tensor
from ...graph.compiler.control import Cond, Control
from ...graph.explain import names_of
from ...graph.function import TracedFunction, function
from ...graph.trace import Trace
from ...profiler.roofline import arrays_of
from .recording import PrintRecorder
from .widget_trace import trace_of

title = "Static graph: built once, run often"


def is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def describe(x: Tensor) -> Box:
    if x.node is not None and isinstance(x.node.op, Const):
        return Box("", "constant", "", "", "", number(float(x.value)), "")
    return Box("", "leaf", "", "", str(x.spec), format_array(x.value), "")


def names(f: Callable[..., Any]) -> dict[int, str]:
    return names_of(f, [])


@dataclass
class OpWatcher:
    """An engine watcher that reports each op."""

    on_forward: Callable[..., None]
    holds = False  # an op that edits x in place reads x itself, not a copy

    def on_backward(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


@contextmanager
def prepare(f: Any, args: Sequence[Any]) -> Iterator[Sequence[Any]]:
    read, made = dict[int, tuple[Any, Any]](), list[Any]()

    def saw(op: Any, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        for array in [x.value for x in xs]:
            if not any(array is each for each in made):
                read.setdefault(id(array), (array, array.copy()))
        made.append(y.value)

    with watching(OpWatcher(saw)):
        yield args
    for array, before in read.values():
        if array.flags.writeable:
            array[...] = before


def watch(saw: Saw) -> AbstractContextManager[Any]:
    def report(op: Any, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        at = place()
        saw("" if isinstance(op, Alias) else sign_of(op), [y], xs, at.line if at else 0)

    return watching(OpWatcher(report))


class OwnTraces:
    """A function, its traces, and what the last run of one of them computed."""

    trace_count = property(lambda self: self.traced.trace_count)

    def __init__(self, f: Callable[..., Any]):
        self.traced: TracedFunction = function(getattr(f, "python_function", f))

    def trace_for(self, *args: Any) -> Trace:
        return trace_of(self.traced, args)

    def run(self, *args: Any) -> StaticRun:
        trace = self.traced.trace_for(*args)
        graph = trace.graph
        outputs = [y for y in graph.outputs if y is not None]
        picture, box_of = place_boxes(outputs, {}) if outputs else (Picture((), ()), {})
        run = StaticRun(arrows=[*picture.arrows], drops=True)
        for node in (x for x in graph.nodes if x in box_of and whole(x) is x):
            box = box_of[node]
            run.order += [box] * bool(node.inputs)
            run.lines[box] = line_of(node)
            run.effects |= {box} if node.op.effect else set()
            run.inner |= {box: lines_in(node.op)} if isinstance(node.op, Control) else {}
        arrays = arrays_of(self.traced, args, trace)
        values = {box_of[x]: format_array(array) for x, array in zip(graph.inputs, arrays) if x in box_of}

        def evaluate(node: Node, xs: Sequence[Any]) -> Any:
            events: list[Any] = []
            with redirect_stdout(PrintRecorder(events)):
                y = value(node, *xs)
            if node in box_of and whole(node) is node:
                read = {x.op.i for x in graph.nodes if isinstance(x.op, TupleGet) and x.inputs[0] is node}
                values[box_of[node]] = format_results(node, y, read)
                run.prints[box_of[node]] = "".join(event.text for event in events)
                if isinstance(node.op, Cond):
                    signs = {"true": signs_of(node.op.true), "false": signs_of(node.op.false)}
                    run.add_branches(box_of[node], "true" if xs[0] else "false", signs)
            return y

        results = walk_graph(graph, arrays, evaluate)
        edited = {edit.input: results[edit.result] for edit in trace.edits}
        found = {"argument": [edited.get(i, x) for i, x in enumerate(arrays)], "result": results}
        run.results = [result_at(at, found) for at in trace.places]
        run.boxes = {box.id: replace(box, value=values.get(box.id, box.value)) for box in picture.boxes}
        return run


Traces = OwnTraces


def format_results(node: Node, y: Any, read: set[int]) -> str:
    """The value of a node, or of the results of a branch or a loop that are read. The last one only orders effects."""
    ys = y if isinstance(y, tuple) else (y,)
    if isinstance(node.op, Control) and isinstance(y, tuple):
        ys = tuple(y[i] for i in range(max(len(y) - 1, 1)) if i in read)
    return join_names([*map(format_array, ys)])


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


def signs_of(graph: Graph) -> list[str]:
    """The symbols of the ops of a graph."""
    picture, _ = place_boxes([y for y in graph.outputs if y is not None], {})
    return [picture.symbol(box) for box in picture.boxes if box.kind == "op"]
