"""A graph run on tensors, op by op, for whoever must see each op: forward mode, whose tangents travel with the values.

A branch is chosen and a loop is run as Python would: so each turn is seen, and whatever can be asked of an eager
program (derivatives forwards, backwards, forwards over backwards) can be asked of control flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.function import Function
from ..autograd.function_in_graph import Custom
from ..engine.base.errors import NoGradientError
from ..engine.base.spec import Spec, Specs, spec_of
from ..engine.core.graph import Graph
from ..engine.core.interpret import value, walked
from ..engine.core.modes import in_mode
from ..engine.core.node import Node
from ..engine.ops import Stack, TupleGet
from ..engine.tensor.tensor import made
from .compiler.control import Cond, Loop, results

Tensors = Sequence[Any]


def on_tensors(graph: Graph, xs: Tensors) -> tuple[Any, ...]:
    """The outputs, as tensors."""
    with in_mode(autocast=None):  # its casts are written down
        return walked(graph, xs, result)


def result(node: Node, xs: Tensors) -> Any:
    """What a node makes of its operands: a tensor, or a tuple of several."""
    op = node.op
    if isinstance(op, TupleGet):
        return xs[0][op.i]
    if isinstance(op, Custom):
        n = op.results
        again: type[HeldFunction] = type(op.name, (HeldFunction,), {})
        return again.apply(op, tuple(xs[:n]), *xs[n:])
    if isinstance(op, Cond):
        return on_tensors(op.true if xs[0] else op.false, xs[1:])
    if isinstance(op, Loop):
        carries, rows = op.turns(xs, on_tensors)
        return (*carries, *stacked(rows, results(op.body)[op.carried :]))
    if isinstance(node.spec, Specs):  # nobody sees into it, and so its results stand still
        arrays: Any = op.forward(node.spec.device.xp, *(x.value for x in xs))
        return tuple(made(y, spec_of(y)) for y in arrays)
    return xs[0].apply(op, *xs[1:]) if xs else made(value(node), node.spec)


class HeldFunction(Function):
    """A Function that a graph holds, called with tensors: its derivatives are the graphs of those that were written."""

    @staticmethod
    def forward(ctx: Any, op: Custom, ys: Tensors, *xs: Any) -> Any:
        ctx.op = op
        ys = tuple(y.detach() for y in ys)  # what forward computed has no derivative but the one that was written
        ctx.save_for_backward(*ys, *xs)
        ctx.save_for_forward(*ys, *xs)
        return ys if op.results > 1 else ys[0]

    @staticmethod
    def backward(ctx: Any, *gys: Any) -> Any:
        gxs = on_tensors(ctx.op.backward, [*gys, *ctx.saved_tensors])
        return None, None, *gxs, *[None] * (len(ctx.saved_tensors) - ctx.op.results - len(gxs))

    @staticmethod
    def jvp(ctx: Any, *dxs: Any) -> Any:
        op, n = ctx.op, len(ctx.op.backward.outputs)
        if op.tangents is None:
            raise NoGradientError(
                op.refused
                or f"{op} has a backward rule of its own, and no forward one: take mg.custom_jvp, or write its jvp"
            )
        return on_tensors(op.tangents, [*dxs[2 : 2 + n], *ctx.saved_tensors])


def stacked(rows: Sequence[Tensors], specs: Sequence[Spec]) -> list[Any]:
    """What each step gave, in one tensor; of no steps, one of no rows."""
    if not rows:
        empty = [spec.with_shape((0, *(spec.shape if spec.is_known else (0,) * spec.ndim))) for spec in specs]
        return [made(spec.device.xp.empty(spec.shape, spec.dtype), spec) for spec in empty]
    return [ys[0].apply(Stack(0), *ys[1:]) for ys in zip(*rows)]
