"""Minimising in TensorFlow's words: gradients as nodes, and the op that applies them.

    opt.minimize(loss)                          an op, for a session to run
    opt.apply_gradients([(g, w), …])            the same of gradients that were changed meanwhile

Of tensors with values, and in a traced function, `apply_gradients` is a step at once: `step()` with these gradients.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base.errors import GraphError, NoGradientError, ShapeError
from ..core.modes import no_grad
from ..graph.default import builder_of, gradients
from ..graph.effects import group
from ..graph.graph import Graph
from ..tracing.builder import GraphBuilder, Tracer
from .staged import step, update

if TYPE_CHECKING:
    from .optimizer import Optimizer


def compute_gradients(optimizer: Optimizer, loss: Any, var_list: Sequence[Any] | None, grad_loss: Any) -> list[Any]:
    """(gradient, variable) for each variable; None where the loss does not depend on it."""
    if not isinstance(loss, Tracer):
        raise GraphError(
            f"minimize() is of a loss in a graph, and got {loss!r}: of a tensor with a value, call loss.backward() "
            f"and then {optimizer.name}.step()"
        )
    xs = list(optimizer.parameters()) if var_list is None else list(var_list)
    return list(zip(gradients(loss, xs, None if grad_loss is None else [grad_loss]), xs))


def apply_gradients(
    optimizer: Optimizer, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any, name: str | None
) -> Tracer | None:
    """The op that moves each variable by its gradient; outside a session's graph the step itself, which gives None."""
    pairs = [(p, g) for g, p in grads_and_vars if g is not None]
    if not pairs:
        raise NoGradientError(f"{optimizer.name} has nothing to move: the loss depends on none of the variables")
    known = {*map(id, optimizer.parameters())}
    for p, g in pairs:
        if id(p) not in known:
            raise ValueError(f"{optimizer.name} was not made with {p!r}, and moves only what it was made with")
        if np.shape(g) != p.shape:
            raise ShapeError(f"a gradient has the shape of what it moves, {p.spec}, and got one of shape {np.shape(g)}")
    builder = builder_of([g for _, g in pairs])
    if not isinstance(builder, Graph):
        applied(optimizer, builder, pairs, global_step)
        return None
    with builder.building():
        given = update(optimizer, builder, pairs, builder.assigned)
        counted = [] if global_step is None else [global_step.assign_add(1)]
        return group(*given, *counted, name=optimizer.name if name is None else name)


def applied(
    optimizer: Optimizer, builder: GraphBuilder | None, pairs: Sequence[tuple[Any, Any]], global_step: Any
) -> None:
    """The step with these gradients: now, or as part of the function that is being traced."""
    if builder is None:
        optimizer.step_by((p, p.lift(g)) for p, g in pairs)
    else:
        step(optimizer, builder, pairs)
    if global_step is not None:
        with no_grad():
            global_step.add_(1)
