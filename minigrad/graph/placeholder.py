"""Where a graph begins: what is given at each run, and what never changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ops
from ..compiler.fold import leaf
from ..errors import GraphError, ShapeError
from ..modes import current
from ..spec import Spec
from ..staging import Stage, Traced
from ..standin import lengths_of
from ..tensor import array_of
from .default import get_default_graph
from .graph import Graph

Shape = Sequence[int | str | None] | None


def placeholder(dtype: Any, shape: Shape = None, name: str | None = None) -> Traced:
    """What is given at each run: `session.run(y, {x: data})`.

    shape    its lengths, with None or a name for one that differs from run to run; without a shape, one number.
             None on the first axis is one length for the whole graph, the batch.
    """
    graph = get_default_graph()
    x = Traced(graph.input("Placeholder" if name is None else name, Spec(said(shape), dtype)), graph)
    graph.given[x.node] = None
    return x


def placeholder_with_default(input: Any, shape: Shape = None, name: str | None = None) -> Traced:
    """What may be given at a run, and is the input where it is not."""
    graph = get_default_graph()
    with graph.building():
        default = graph.lift(constant(input) if not isinstance(input, Traced) else input)
    lengths = default.shape if shape is None else said(shape)
    node = graph.input("PlaceholderWithDefault" if name is None else name, Spec(lengths, default.dtype))
    graph.given[node] = default
    return Traced(node, graph)


def said(shape: Shape) -> tuple[int, ...]:
    """The shape that was said, None on axis 0 being the batch."""
    if isinstance(shape, int | str):
        raise ShapeError(f"a shape is a list of lengths, and got {shape!r}: write ({shape!r},)")
    return lengths_of(() if shape is None else shape, lambda axis: None if axis else "batch")


def constant(value: Any, dtype: Any = None, shape: Sequence[int] | None = None, name: str | None = None) -> Traced:
    """What is the same at every run: a copy of the value, broadcast to the shape if one is said.

    A traced function has it in a graph of its own.
    """
    called = "Const" if name is None else name
    stage = current.mode.staging
    if stage is not None and not isinstance(outermost(stage), Graph):
        return written_down(value, dtype, shape, called, stage)
    graph = get_default_graph()
    if isinstance(value, int | float) and shape is None:
        kind = np.dtype(type(value) if dtype is None else dtype)
        y = Traced(graph.node(ops.const(kind.type(value).item()), (), Spec((), kind), called), graph)
    else:
        refuse_symbol(value)
        array = array_of(value, dtype, None)
        array = array.copy() if shape is None else np.broadcast_to(array, tuple(shape)).copy()
        y = graph.constant(array, called)
    (after,) = graph.after_waits([y])
    return after


def outermost(stage: Stage) -> Stage:
    """The stage around all others."""
    return stage if stage.outer is None else outermost(stage.outer)


def written_down(value: Any, dtype: Any, shape: Sequence[int] | None, name: str, stage: Stage) -> Traced:
    """A constant of a trace: the node itself holds the elements. Raises GraphError for a symbol."""
    refuse_symbol(value)
    array = array_of(value, dtype, None)
    array = np.ascontiguousarray(array if shape is None else np.broadcast_to(array, tuple(shape)))
    return Traced(stage.node(leaf(array), (), Spec(array.shape, array.dtype), name), stage)


def refuse_symbol(value: Any) -> None:
    """Raises GraphError for what only a run can tell."""
    if isinstance(value, Traced):
        raise GraphError(f"a constant is known when the graph is built, and {value} is not: use identity()")
