"""Seconds by the clock: of a run, of each op of a graph; and how they are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from time import perf_counter
from typing import Any

from ..core.graph import Graph
from ..core.interpret import value, walked
from ..core.node import Node
from ..draw.words import number

RUNS = 7  # of which the fastest counts


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
