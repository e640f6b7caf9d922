"""Loops over blocks: a group of elementwise ops on large arrays, run on a piece that stays in the cache at a time.

Elements are taken in the order in which they lie in memory. The axes of the loop are cut in two: *leading* ones, which
become one axis and are cut into blocks, and *trailing* ones, which each block has whole. An operand that broadcasts
does so along all leading axes (a bias: every block reads the same) or none (a mean per row: blocks read their part).

A full reduction makes one number of each block, in an array of their own, and one of those at the end. The blocks are
always the same, and so is the result, however many threads there are. Under a sum, a product is a `dot`, and a sum
two sums: that reads less, and is why reductions are in a loop only where another order of adding was allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ..node import Node
from ..op import Op
from ..ops import Add, BroadcastTo, Max, Mean, Min, Mul, Sum
from ..spec import Spec
from .axes import laid_out
from .buffers import Plan, lies_over, plan
from .graph import Graph
from .lower import BLOCK, Lowering, layout, recorded
from .record import Recorder
from .steps import Section, Shape, Step, Value, contiguous, shell


@dataclass(frozen=True, eq=False)
class Loop:
    """A section that is run on one block after the other.

    plan       of its body, whose arguments are blocks of what is read and of what is written, then single numbers
    arguments  of the body
    length     of the leading axis
    rows       of it, in one block
    cut        which operands have the leading axis; the others are whole in each block
    terms      of each reduction: how many numbers each block gives
    axes       how many a value of the body has, if it is cut as well; None if all are
    """

    plan: Plan
    arguments: tuple[Value, ...]
    length: int
    rows: int
    cut: tuple[bool, ...]
    terms: tuple[int, ...]
    axes: int | None = None

    def is_cut(self, value: Value) -> bool:
        """Whether a value of the body has the axis that blocks are cut along."""
        return self.axes is None or (value.shell.ndim == self.axes and value.shell.shape[0] == self.rows)

    @property
    def blocks(self) -> int:
        return -(-self.length // self.rows)


def lowered(graph: Graph) -> Section:
    """The graph as steps, those of elementwise ops on large arrays in loops."""
    arguments = {x: Value(shell(x.spec.shape, x.spec.dtype), "argument") for x in graph.inputs}
    lowering = InBlocks(dict(arguments))
    outputs = lowering.through(graph)
    return Section(tuple(arguments.values()), lowering.steps, outputs)


class InBlocks(Lowering):
    """A graph on its way to steps, with loops."""

    def in_blocks(self, node: Node, graph: Graph, xs: list[Value]) -> Any:
        return loop(self, node, graph, xs)


def loop(lowering: Lowering, node: Node, graph: Graph, xs: list[Value]) -> Any:
    """The graph over blocks, as a step of the lowering. The values of its outputs: one, or a tuple."""
    shape = loop_shape(graph)
    recorder = Recorder(lowering.steps)
    order, leading = cutting(shape, xs)
    trailing = tuple(shape[a] for a in order[leading:])
    length = prod(shape[a] for a in order[:leading])
    rows = max(1, min(length, BLOCK // max(1, prod(trailing))))

    outputs = [y for y in graph.outputs if y is not None]
    reduced = [terms_of(graph, y) if type(y.op) in COMBINE and not y.spec.shape else None for y in outputs]
    ys = [
        Value(shell(shape, y.spec.dtype, contiguous(shape, y.spec.dtype.itemsize, tuple(order))), "buffer")
        if terms is None
        else recorder.buffer((-(-length // rows), len(terms)), y.spec.dtype)
        for y, terms in zip(outputs, reduced)
    ]
    full = [y for y, terms in zip(ys, reduced) if terms is None]
    numbers = [(y.op, term, y.spec.dtype) for y, terms in zip(outputs, reduced) for term in terms or ()]
    partials = [y for y, terms in zip(ys, reduced) if terms is not None]
    operands = [leading_first(recorder, v, shape, order, leading) for v in [*xs, *full]]
    cut = tuple(v.shell.ndim == 1 + len(trailing) for v in operands)

    blocks = [Value(block_shell(v, rows, has), "argument") for v, has in zip(operands, cut)]
    body = Body(dict(zip(graph.inputs, blocks)), (rows, *trailing), node)
    fulls = [body.full(y) for y, terms in zip(outputs, reduced) if terms is None]
    sums = [body.number(op, [body.spread(x) for x in term], dtype) for op, term, dtype in numbers]
    arguments = (*blocks, *(Value(shell((), dtype), "argument") for *_, dtype in numbers))
    into = {i: len(xs) + i for i in range(len(fulls) + len(sums))}
    inner = plan(Section(arguments, body.steps, (*fulls, *sums)), into)

    counts = tuple(len(terms) for terms in reduced if terms is not None)
    made = Loop(inner, arguments, length, rows, cut, counts, 1 + len(trailing))
    names = ", ".join(f"{{{i}}}" for i in range(len(operands) + len(partials)))
    written = tuple(range(len(xs), len(operands) + len(partials)))
    pairs = frozenset((w, r) for w in written[: len(full)] for r in range(len(xs)) if is_over(inner, arguments, w, r))
    step = Step(f"loop({names})", (*operands, *partials), written, over=pairs, node=node, loop=made)
    lowering.steps.append(step)
    results = [
        v if terms is None else combined(recorder, y, v) for v, y, terms in zip(ys, outputs, reduced, strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def is_over(inner: Plan, arguments: tuple[Value, ...], written: int, read: int) -> bool:
    """Whether the body writes an argument only once it has read the other, or element by element as it reads it."""
    w, r = arguments[written], arguments[read]
    homes = {root for root, t in inner.tenants.items() if t.argument is w} | {w}
    first = min(k for k, s in enumerate(inner.steps) if any(v.root in homes for v in s.written))
    last = inner.last.get(r, -1)
    if last != first:
        return last < first
    step = inner.steps[first]
    return any(lies_over(step, root, r) for root in homes if any(v.root is root for v in step.written))


def loop_shape(graph: Graph) -> Shape:
    """The one shape that every node of the body broadcasts to."""
    return np.broadcast_shapes(*(n.spec.shape for n in graph.nodes))


# -- geometry -----------------------------------------------------------------------------------------


def cutting(shape: Shape, xs: list[Value]) -> tuple[list[int], int]:
    """The axes as they lie in memory, and how many of them, the leading ones, can be one."""
    order = list(laid_out(shape, [x for x in xs if x.shell.shape == shape]))
    for leading in range(len(shape), 1, -1):
        if all(can_lead(aligned(x.shell, shape, order), [shape[a] for a in order], leading) for x in xs):
            return order, leading
    return order, 1


def aligned(x: np.ndarray, shape: Shape, order: list[int]) -> np.ndarray:
    """x with all axes of the loop, those it lacks having length 1, in that order."""
    return x.reshape((1,) * (len(shape) - x.ndim) + x.shape).transpose(order)


def can_lead(x: np.ndarray, shape: list[int], leading: int) -> bool:
    """Whether x's leading axes can be one, or are none."""
    if all(n == 1 for n in x.shape[:leading]):
        return True
    if list(x.shape[:leading]) != shape[:leading]:
        return False
    try:
        x.reshape((prod(shape[:leading]), *x.shape[leading:]), copy=False)
    except ValueError:
        return False
    return True


def leading_first(recorder: Recorder, x: Value, shape: Shape, order: list[int], leading: int) -> Value:
    """x (leading, *trailing), or (*trailing) if it is the same for all blocks."""
    y = recorder.shadow(x)
    if order != sorted(order) and y.ndim:
        lifted = (1,) * (len(shape) - y.ndim) + y.shape
        y = (y if lifted == y.shape else y.reshape(lifted)).transpose(*order)
    lifted = (1,) * (len(shape) - y.ndim) + y.shape
    trailing = lifted[leading:]
    target = trailing if all(n == 1 for n in lifted[:leading]) else (prod(lifted[:leading]), *trailing)
    while len(target) == len(trailing) and target[:1] == (1,):
        target = trailing = target[1:]
    return x if target == y.shape and y.value is x else y.reshape(target).value if target != y.shape else y.value


def block_shell(x: Value, rows: int, is_cut: bool) -> np.ndarray:
    """One block of x."""
    shape = (rows, *x.shell.shape[1:]) if is_cut else x.shell.shape
    return shell(shape, x.shell.dtype, x.shell.strides)


# -- the body -----------------------------------------------------------------------------------------


class Body(Lowering):
    """The body of a loop on its way to steps, over one block.

    shape    of a block
    """

    def __init__(self, values: dict[Node, Any], shape: Shape, node: Node):
        super().__init__(values)
        self.shape, self.node = shape, node

    def of(self, node: Node) -> Any:
        xs = [self.values[x] for x in node.inputs]
        if isinstance(node.op, BroadcastTo):
            return xs[0]  # ufuncs do it by themselves
        if not xs:
            return super().of(node)
        spec = Spec(np.broadcast_shapes(*(x.shell.shape for x in xs)), node.spec.dtype)
        template = recorded(node.op, tuple(map(layout, xs)), spec)
        return self.called(node, xs, spec) if template is None else self.instance(node, template, xs)

    def full(self, node: Node) -> Value:
        """The value of a node over the whole block, in memory of its own."""
        x = self.spread(node)
        return x if x.kind == "buffer" else self.copied(x)

    def spread(self, node: Node) -> Value:
        """The value of a node over the whole block."""
        (x,) = self.through(Graph((), (node,)))
        return x if x.shell.shape == self.shape else self.copied(x)

    def copied(self, x: Value) -> Value:
        recorder = Recorder(self.steps)
        return recorder.copy(x, recorder.buffer(self.shape, x.shell.dtype)).value

    def number(self, op: Op, xs: list[Value], dtype: np.dtype) -> Value:
        """What a block gives towards a full reduction."""
        recorder = Recorder(self.steps)
        out = recorder.buffer((), dtype)
        if len(xs) == 1:
            return recorder.reduce(COMBINE[type(op)], recorder.shadow(xs[0]), None, None, recorder.shadow(out)).value
        # A block may be a short one: its length is not to be written down.
        flat = [x.shell.size for x in xs]
        lines = [
            x if x.shell.ndim == 1 else recorder.view(x, "{0}.reshape(-1)", shell((n,), dtype)).value
            for x, n in zip(xs, flat)
        ]
        return recorder.call("dot({0}, {1}, {2})", out, *lines, dot=np.dot).value


# A full reduction → the ufunc that does it.
COMBINE: dict[type[Op], np.ufunc] = {Sum: np.add, Mean: np.add, Max: np.maximum, Min: np.minimum}


def terms_of(graph: Graph, y: Node) -> list[tuple[Node, ...]]:
    """The nodes whose full reductions make up y: (x,) for that of x, (u, v) for the dot product of u and v."""
    (x,) = y.inputs
    readers: dict[Node, int] = {}
    for reader in graph.nodes:
        for i in reader.inputs:
            readers[i] = readers.get(i, 0) + 1

    def terms(x: Node) -> list[tuple[Node, ...]]:
        is_ours = readers.get(x) == 1 and x not in graph.outputs and x.spec.dtype.kind == "f"
        if is_ours and isinstance(x.op, Add | Mul) and all(i.spec == x.spec for i in x.inputs):
            return [x.inputs] if isinstance(x.op, Mul) else [t for i in x.inputs for t in terms(i)]
        return [(x,)]

    return terms(x) if isinstance(y.op, Sum | Mean) else [(x,)]


def combined(recorder: Recorder, y: Node, partials: Value) -> Value:
    """The reduction, from the numbers of all blocks."""
    out = recorder.buffer((), y.spec.dtype)
    recorder.reduce(COMBINE[type(y.op)], recorder.shadow(partials), None, None, recorder.shadow(out))
    if isinstance(y.op, Mean):
        recorder.ufunc(np.true_divide, (recorder.shadow(out), y.op.count(y.inputs[0].spec)), out)
    return out
