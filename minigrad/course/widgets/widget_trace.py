"""Traces a learner's function for widgets: the graph, and the arrays that a run of it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...engine.base.device import CPU
from ...engine.core.graph import Graph
from ...graph.function import TracedFunction, function
from ...graph.trace import Trace
from ...profiler.roofline import arrays_of
from .recording import limit_execution


def trace_for_widget(widget: str, f: Callable[..., Any], args: Sequence[Any], most: int) -> tuple[Graph, list[Any]]:
    """The graph of f on these arguments, and copies of the arrays that it reads.

    Raises TypeError if f is not callable; ValueError for a graph of no op or of more than `most` ops, and for tensors
    that are not on the CPU; TooLong if f does not finish. Errors raised by f pass through.
    """
    if not callable(f):
        raise TypeError(f"{widget} expects a function, got {f!r}")
    f = f if isinstance(f, TracedFunction) else function(f)
    trace = trace_of(f, args)
    if any(x.spec.device is not CPU for x in trace.graph.inputs):
        raise ValueError(f"{widget} runs on the CPU: move the tensors there with x.cpu()")
    ops = sum(1 for node in trace.graph.nodes if node.inputs and not node.op.is_view)
    if not 1 <= ops <= most:
        advice = "trace another part"
        raise ValueError(f"{widget} shows graphs of 1 to {most} ops, not counting views; this one has {ops}: {advice}")
    return trace.graph, [array.copy() for array in arrays_of(f, args, trace)]


def trace_of(f: TracedFunction, args: Sequence[Any]) -> Trace:
    """The trace for these arguments. Raises TooLong if f does not finish."""
    with limit_execution(f.__name__, " while it was traced"):
        return f.trace_for(*args)
