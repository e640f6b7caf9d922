"""A graph run on tensors, op by op, for whoever must see each op: forward mode, whose tangents travel with the values.

A branch is chosen and a loop is run as Python would: so each turn is seen, and whatever can be asked of an eager
program (derivatives forwards, backwards, forwards over backwards) can be asked of control flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.function import Function
from ..autograd.function_in_graph import Custom
from ..base.errors import NoGradientError
from ..base.spec import Spec, Specs, spec_of
from ..compiler.control import Cond, Scan, While, results
from ..core.graph import Graph
from ..core.node import Node
from ..core.op import Op
from ..ops import Stack, TupleGet
from ..tensor.tensor import Tensor, made

Tensors = Sequence[Any]


def on_tensors(graph: Graph, xs: Tensors) -> list[Any]:
    """The outputs, as tensors."""
    values: dict[Node, Any] = dict(zip(graph.inputs, xs, strict=True))
    for node in graph.nodes:
        if node not in values:
            values[node] = result(node, [values[x] for x in node.inputs])
    return [None if y is None else values[y] for y in graph.outputs]


def result(node: Node, xs: Tensors) -> Any:
    """What a node makes of its operands: a tensor, or a tuple of several."""
    op = node.op
    if isinstance(op, TupleGet):
        return xs[0][op.i]
    if isinstance(op, Custom):
        n = op.results
        again: type[Again] = type(op.name, (Again,), {})
        return again.apply(op, tuple(xs[:n]), *xs[n:])
    if not xs:
        return constant(node)
    if isinstance(node.spec, Specs):
        return several(op, xs)
    return xs[0].apply(op, *xs[1:])


def constant(node: Node) -> Tensor:
    """The tensor of a leaf, or of an op without operands: a random key, say."""
    device = node.spec.device
    value = node.op.value if hasattr(node.op, "value") else node.op.forward(device.xp)
    return made(device.array(value, node.spec.dtype), node.spec)


def several(op: Op, xs: Tensors) -> tuple[Any, ...]:
    """What an op of several results gives."""
    match op:
        case Cond():
            return tuple(on_tensors(op.true if xs[0] else op.false, xs[1:]))
        case While():
            return while_loop(op, xs)
        case Scan():
            return scan(op, xs)
    arrays: Any = op.forward(xs[0].spec.device.xp, *(x.value for x in xs))
    return tuple(made(y, spec_of(y)) for y in arrays)  # nobody sees into it, and so they stand still


class Again(Function):
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
        return tuple(on_tensors(op.tangents, [*dxs[2 : 2 + n], *ctx.saved_tensors]))


def while_loop(op: While, xs: Tensors) -> tuple[Any, ...]:
    """c, ys = body(c, k) as long as test(c, k)"""
    n = op.carried
    carries, k = list(xs[:n]), xs[n:]
    rows: list[list[Any]] = []
    while on_tensors(op.test, [*carries, *k])[0]:
        ys = on_tensors(op.body, [*carries, *k])
        carries = ys[:n]
        rows.append(ys[n:])
    return (*carries, *stacked(rows, results(op.body)[n:]))


def scan(op: Scan, xs: Tensors) -> tuple[Any, ...]:
    """c, y[t] = body(c, x[t], k) for each t"""
    n, m = op.carried, op.carried + op.sliced
    carries, slices, k = list(xs[:n]), xs[n:m], xs[m:]
    rows: list[list[Any]] = []
    steps = range(op.steps(xs))
    for t in reversed(steps) if op.reverse else steps:
        ys = on_tensors(op.body, [*carries, *(x[t] for x in slices), *k])
        carries = ys[:n]
        rows.append(ys[n:])
    return (*carries, *stacked(rows[::-1] if op.reverse else rows, results(op.body)[n:]))


def stacked(rows: Sequence[Tensors], specs: Sequence[Spec]) -> list[Any]:
    """What each step gave, in one tensor; of no steps, one of no rows."""
    if not rows:
        empty = [spec.with_shape((0, *(spec.shape if spec.is_known else (0,) * spec.ndim))) for spec in specs]
        return [made(spec.device.xp.empty(spec.shape, spec.dtype), spec) for spec in empty]
    return [ys[0].apply(Stack(0), *ys[1:]) for ys in zip(*rows)]
