"""Run a graph on tensors, op by op, for watchers that must see each op, such as forward mode.

Python chooses the branches and runs the loops, so that every step is seen. Control flow then supports every derivative
that an eager program does: forward, reverse, forward over reverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.function import Function
from ..autograd.function_in_graph import Custom
from ..engine.base.errors import NoGradientError
from ..engine.base.spec import Spec, Specs, spec_of
from ..engine.core.graph import Graph
from ..engine.core.interpret import value, walk_graph
from ..engine.core.modes import in_mode
from ..engine.core.node import Node
from ..engine.ops import Stack, TupleGet
from ..engine.tensor.tensor import wrap_array
from .compiler.control import Cond, Loop, results

Tensors = Sequence[Any]


def on_tensors(graph: Graph, xs: Tensors) -> tuple[Any, ...]:
    """Run the graph on these operands, and return its outputs as tensors."""
    with in_mode(autocast=None):  # the graph has its casts already
        return walk_graph(graph, xs, result)


def result(node: Node, xs: Tensors) -> Any:
    """The result of a node on these operands: a tensor, or a tuple of tensors."""
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
        return (*carries, *stack_rows(rows, results(op.body)[op.carried :]))
    if isinstance(node.spec, Specs):  # opaque to forward mode, so its results have no tangent
        arrays: Any = op.forward(node.spec.device.xp, *(x.value for x in xs))
        return tuple(wrap_array(y, spec_of(y)) for y in arrays)
    return xs[0].apply(op, *xs[1:]) if xs else wrap_array(value(node), node.spec)


class HeldFunction(Function):
    """A Function stored in a graph, called with tensors. Its derivatives are the stored graphs of the user's rules."""

    @staticmethod
    def forward(ctx: Any, op: Custom, ys: Tensors, *xs: Any) -> Any:
        ctx.op = op
        ys = tuple(y.detach() for y in ys)  # the user's rule is the only derivative
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
                op.refused or f"{op} has a hand-written backward and no jvp: use mg.custom_jvp, or define its jvp"
            )
        return on_tensors(op.tangents, [*dxs[2 : 2 + n], *ctx.saved_tensors])


def stack_rows(rows: Sequence[Tensors], specs: Sequence[Spec]) -> list[Any]:
    """The results of all steps, stacked; if there are no steps, tensors with no rows."""
    if not rows:
        empty = [spec.with_shape((0, *(spec.shape if spec.is_known else (0,) * spec.ndim))) for spec in specs]
        return [wrap_array(spec.device.xp.empty(spec.shape, spec.dtype), spec) for spec in empty]
    return [ys[0].apply(Stack(0), *ys[1:]) for ys in zip(*rows)]
