"""A traced function for widgets that time it: its graph, its arrays, and seconds by the clock."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from time import perf_counter
from types import FrameType
from typing import Any

from ..compiler.graph import Graph
from ..compiler.interpret import value, walked
from ..device import CPU
from ..draw.words import number
from ..graph.autograph.foreign import from_library
from ..graph.function import TracedFunction, function
from ..node import Node
from ..tensor import Tensor
from .recorded import MOST_LINES, Stopped, TooLong

RUNS = 7  # of which the fastest counts


def traced(widget: str, f: Callable[..., Any], args: Sequence[Any], most: int) -> tuple[Graph, list[Any]]:
    """The graph of f on these arguments, and copies of the arrays that it reads.

    Raises TypeError for what cannot be called, ValueError for a graph of no op, or of more than `most`, and for arrays
    that are elsewhere; TooLong where f does not come to its end; what f raises is raised.
    """
    if not callable(f):
        raise TypeError(f"{widget} traces a function, and got {f!r}")
    f = f if isinstance(f, TracedFunction) else function(f)
    with patience(f.__name__):
        trace = f.trace_for(*args)
    if any(x.spec.device is not CPU for x in trace.graph.inputs):
        raise ValueError(f"{widget} runs on the CPU: move the tensors there, with x.cpu()")
    ops = sum(1 for node in trace.graph.nodes if node.inputs and not node.op.is_view)
    if not 1 <= ops <= most:
        raise ValueError(
            f"{widget} shows graphs of 1 to {most} ops, views not counted, and this one has {ops}: trace another part"
        )
    given: list[Tensor] = []
    f.found(tuple(args), {}, given)
    return trace.graph, [x.value.copy() for x in (*given, *trace.captured)]


@contextmanager
def patience(name: str) -> Iterator[None]:
    """A block in which so many lines of a learner's code may run, and no more."""
    ran = 0

    def heard(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal ran
        if from_library(frame.f_code.co_filename):
            return None
        ran += event == "line"
        if ran > MOST_LINES:
            raise Stopped(f"{name} has run {MOST_LINES} lines while it was traced, and was stopped")
        return heard

    before = sys.gettrace()
    sys.settrace(heard)
    try:
        yield
    except Stopped as stopped:
        raise TooLong(str(stopped)) from None
    finally:
        sys.settrace(before)


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

    with redirect_stdout(StringIO()):  # what it prints was not asked for
        for _ in range(RUNS):
            walked(graph, arrays, timing)
    return seconds
