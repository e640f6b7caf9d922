"""Before and after: what a run does beside computing values, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .. import ops
from ..spec import Specs
from ..staging import Traced
from .default import stage_or_default
from .graph import Graph


def control_dependencies(control_inputs: Iterable[Any] | None) -> AbstractContextManager[Any]:
    """A block whose ops run after these; None forgets the blocks around it.

    In a branch, a loop or a traced function nothing needs saying: what has an effect there happens as it is written.
    """
    xs = [] if control_inputs is None else list(control_inputs)
    stage = stage_or_default(xs)
    if not isinstance(stage, Graph):
        return nullcontext()
    return stage.control_dependencies(None if control_inputs is None else xs)


def group(*inputs: Any, name: str | None = None) -> Traced:
    """An op that is done when all of these are; fetched, it gives None."""
    stage = stage_or_default(inputs)
    with stage.building():
        nodes = tuple(stage.lift(x).node for x in inputs if x is not None)
    waits = stage.waiting.waits if isinstance(stage, Graph) and stage.waiting else ()
    return Traced(stage.node(ops.Group(), (*nodes, *waits), Specs(()), "group" if name is None else name), stage)


def no_op(name: str | None = None) -> Traced:
    """An op that does nothing, after what the block around it waits for."""
    return group(name="no_op" if name is None else name)


def identity(input: Any, name: str | None = None) -> Traced:
    """The same value under a name of its own, after what the block around it waits for."""
    stage = stage_or_default([input])
    with stage.building():
        x = stage.lift(input)
        (x,) = stage.after_waits([x]) if isinstance(stage, Graph) else (x,)
        return Traced(stage.node(ops.After(), (x.node,), name="Identity" if name is None else name), stage)


def tuple_(tensors: Sequence[Any], name: str | None = None, control_inputs: Iterable[Any] = ()) -> list[Any]:
    """The same values, each of them once all have been computed; None stays None."""
    stage = stage_or_default(tensors)
    with stage.building():
        waits = [stage.lift(x).node for x in (*tensors, *control_inputs) if x is not None]
        called = "tuple" if name is None else name
        return [
            None if x is None else Traced(stage.node(ops.After(), (stage.lift(x).node, *waits), name=called), stage)
            for x in tensors
        ]


def stop_gradient(input: Any, name: str | None = None) -> Any:
    """The same value, through which no gradient passes."""
    stage = stage_or_default([input])
    with stage.building():
        y = stage.apply(ops.StopGradient(), (input,))
        return y if name is None else identity(y, name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Any:
    """Their sum."""
    stage = stage_or_default(inputs)
    with stage.building():
        first, *others = [stage.lift(x) for x in inputs]
        total = sum(others, first)
        return identity(total, name) if name is not None or not others else total
