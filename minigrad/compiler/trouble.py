"""Where it went wrong. Compiled code knows no nodes; so when a run fails it is run again, op by op, until an op fails.

    GraphError: MatMul failed: it was built at model.py:12, in forward, as MatMul(x: f64[3, 4] from 0 to 1.5, …)

The same walk is the NaN trap: it stops at the first op that makes a NaN or an infinity out of finite numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from ..errors import AnomalyError, GraphError, MinigradError
from ..node import Node
from ..ops.effect import Effect
from .graph import Graph
from .interpret import value

_trapping: ContextVar[bool] = ContextVar("trapping", default=False)


@contextmanager
def trap_nan() -> Iterator[None]:
    """A block in which every graph runs op by op, and the first op that makes a NaN or an infinity is named."""
    token = _trapping.set(True)
    try:
        yield
    finally:
        _trapping.reset(token)


def guarded(
    program: Callable[..., Sequence[Any]], graph: Graph, arrays: Sequence[Any], trap: bool = False
) -> Sequence[Any]:
    """What the program, made of the graph, gives for the arrays. Where it fails, the error names the op that failed."""
    if trap or _trapping.get():
        return trapped(graph, arrays)
    try:
        return program(*arrays)
    except Exception as error:
        found = located(graph, arrays)
        if found is None:
            raise
        kind = type(error) if isinstance(error, MinigradError) else GraphError
        raise kind(f"{found}: {error}") from error


def located(graph: Graph, arrays: Sequence[Any]) -> str | None:
    """The first op of the graph that fails on these arrays, described; None if none does.

    What has an effect has it a second time, if it can fail: a Python function is called again, nothing is printed.
    """
    values = dict(zip(graph.inputs, arrays, strict=True))
    for node in graph.nodes:
        if node not in values:
            xs = [values[x] for x in node.inputs]
            try:
                values[node] = again(node, xs)
            except Exception:
                return f"{description(node, xs)} failed"
    return None


def trapped(graph: Graph, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs, computed op by op. Raises AnomalyError at the first op that makes no number of numbers."""
    values: dict[Node, Any] = dict(zip(graph.inputs, arrays, strict=True))
    for node in graph.nodes:
        if node not in values:
            xs = [values[x] for x in node.inputs]
            with np.errstate(all="ignore"):
                y = values[node] = value(node, *xs)
            if not finite(y) and all(map(finite, xs)):
                raise AnomalyError(f"{description(node, xs)} made {span(y)} of finite numbers")
    return tuple(None if y is None else values[y] for y in graph.outputs)


def again(node: Node, xs: Sequence[Any]) -> Any:
    """A node's value, once more."""
    silent = isinstance(node.op, Effect) and not node.op.repeats
    return (xs[0] if xs else ()) if silent else value(node, *xs)


def finite(x: Any) -> bool:
    """Whether an array, or each of several, is all numbers."""
    if isinstance(x, tuple):
        return all(map(finite, x))
    return x.dtype.kind != "f" or bool((abs(x) < np.inf).all())


def description(node: Node, xs: Sequence[Any]) -> str:
    """A node by its name, its line, and the values that it met."""
    named = f"{node.name} ({node.op})" if hasattr(node, "name") and node.name != str(node.op) else str(node.op)
    place = getattr(node, "place", None)
    where = "" if place is None else f", built at {place},"
    met = " and ".join(f"{label(x)}{x.spec} {span(a)}" for x, a in zip(node.inputs, xs))
    return f"{named}{where} of {met}" if met else f"{named}{where}"


def label(node: Node) -> str:
    """A node's name, to be followed by its spec."""
    return f"{node.name}: " if hasattr(node, "name") else ""


def span(x: Any) -> str:
    """From where to where the values of an array go, and how many are no finite numbers."""
    if isinstance(x, tuple):
        return f"({', '.join(map(span, x))})"
    if not x.size:
        return "without elements"
    if x.dtype.kind != "f":
        return f"from {x.min()} to {x.max()}" if x.size > 1 else f"= {x.item()}"
    ok = x[abs(x) < np.inf]
    nan, infinite = int((x != x).sum()), int((abs(x) == np.inf).sum())
    odd = [f"{count} {what}" for count, what in ((nan, "NaN"), (infinite, "infinite")) if count]
    whole = [] if not ok.size else [f"from {ok.min():.6g} to {ok.max():.6g}" if ok.size > 1 else f"= {ok.item():.6g}"]
    return ", ".join([*whole, *odd])
