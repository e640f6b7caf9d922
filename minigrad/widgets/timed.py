"""A traced function for widgets that time it: its graph, its arrays, and seconds by the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

from ..compiler.graph import Graph
from ..compiler.interpret import value, walked
from ..draw.words import number
from ..graph.function import TracedFunction, function
from ..node import Node
from ..tensor import Tensor

RUNS = 7  # of which the fastest counts


def traced(widget: str, f: Callable[..., Any], args: Sequence[Any], most: int) -> tuple[Graph, list[Any]]:
    """The graph of f on these arguments, and copies of the arrays that it reads.

    Raises TypeError for what cannot be called, ValueError for a graph of no op, or of more than `most`; what f raises
    is raised.
    """
    if not callable(f):
        raise TypeError(f"{widget} traces a function, and got {f!r}")
    trace = (f if isinstance(f, TracedFunction) else function(f)).trace_for(*args)
    ops = sum(1 for node in trace.graph.nodes if node.inputs)
    if not 1 <= ops <= most:
        raise ValueError(f"{widget} shows graphs of 1 to {most} ops, and this one has {ops}: trace a part of it")
    given = [x.value for x in args if isinstance(x, Tensor)]
    return trace.graph, [array.copy() for array in (*given, *(x.value for x in trace.captured))]


def took(seconds: float) -> str:
    """A time in µs, ms or s, in three digits."""
    size, unit = next((each for each in ((1.0, "s"), (1e-3, "ms")) if seconds >= each[0]), (1e-6, "µs"))
    return f"{number(seconds / size, 3)} {unit}"


def fastest(run: Callable[[], Any], runs: int = RUNS) -> float:
    """Seconds of the fastest of some runs."""
    times = []
    for _ in range(runs):
        start = perf_counter()
        run()
        times.append(perf_counter() - start)
    return min(times)


def measured(graph: Graph, arrays: Sequence[Any]) -> dict[Node, float]:
    """Seconds of each op, run one after another by its own `forward`."""
    seconds: dict[Node, float] = {}

    def timing(node: Node, xs: Sequence[Any]) -> Any:
        start = perf_counter()
        y = value(node, *xs)
        took = perf_counter() - start
        seconds[node] = min(took, seconds.get(node, took))
        return y

    for _ in range(RUNS):
        walked(graph, [array.copy() for array in arrays], timing)
    return seconds
