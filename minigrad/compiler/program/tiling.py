"""How the axes of a loop are cut: *leading* ones, which become one axis and are cut into blocks, and *trailing* ones,
which each block has whole.

Elements are taken in the order in which they lie in memory. An operand that broadcasts does so along all leading axes
(a bias: every block reads the same) or none (a mean per row: blocks read their part).

Loops over blocks: a group of elementwise ops on large arrays, run on a piece that stays in the cache at a time.

A full reduction makes one number of each block, in an array of their own, and one of those at the end. The blocks are
always the same, and so is the result, however many threads there are. Under a sum, a product is a `dot`, and a sum
two sums: that reads less, and is why reductions are in a loop only where another order of adding was allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from ...base.spec import Spec
from ...core.graph import Graph
from ...core.node import Node
from ...core.op import Op
from ...ops import Add, BroadcastTo, Max, Mean, Min, Mul, Sum
from .buffer import Buffer, Section, Shape, Step, contiguous, laid_out, reshaped, shell
from .lower import BLOCK, Lowering, layout, recorded
from .memory_plan import MemoryPlan, lies_over, plan
from .record import Recorder


@dataclass(frozen=True)
class Cutting:
    """How the axes of a loop are cut.

    shape      that every node of the body broadcasts to
    order      of the axes, as they lie in memory
    leading    how many of them, from the first, are one axis
    """

    shape: Shape
    order: tuple[int, ...]
    leading: int

    @property
    def length(self) -> int:
        """Of the leading axis."""
        return prod(self.shape[a] for a in self.order[: self.leading])

    @property
    def trailing(self) -> Shape:
        return tuple(self.shape[a] for a in self.order[self.leading :])

    @property
    def rows(self) -> int:
        """Of the leading axis, in one block."""
        return max(1, min(self.length, BLOCK // max(1, prod(self.trailing))))

    @property
    def blocks(self) -> int:
        return -(-self.length // self.rows)

    def new(self, dtype: np.dtype) -> Buffer:
        """An array for a result of the whole loop."""
        return Buffer(shell(self.shape, dtype, contiguous(self.shape, dtype.itemsize, self.order)), "planned")


def cutting_of(graph: Graph, xs: list[Buffer]) -> Cutting:
    """With as many leading axes as all operands let be one."""
    shape = np.broadcast_shapes(*(n.spec.shape for n in graph.nodes))
    order = tuple(laid_out(shape, [x for x in xs if x.shell.shape == shape]))
    for leading in range(len(shape), 1, -1):
        if all(can_lead(aligned(x.shell, shape, order), [shape[a] for a in order], leading) for x in xs):
            return Cutting(shape, order, leading)
    return Cutting(shape, order, 1)


def aligned(x: np.ndarray, shape: Shape, order: tuple[int, ...]) -> np.ndarray:
    """x with all axes of the loop, those it lacks having length 1, in that order."""
    return x.reshape((1,) * (len(shape) - x.ndim) + x.shape).transpose(order)


def can_lead(x: np.ndarray, shape: list[int], leading: int) -> bool:
    """Whether x's leading axes can be one, or are none."""
    if all(n == 1 for n in x.shape[:leading]):
        return True
    if list(x.shape[:leading]) != shape[:leading]:
        return False
    return reshaped(x, (prod(shape[:leading]), *x.shape[leading:])) is not None


def leading_first(recorder: Recorder, x: Buffer, cutting: Cutting) -> Buffer:
    """x (leading, *trailing), or (*trailing) if it is the same for all blocks."""
    order, leading, n = cutting.order, cutting.leading, len(cutting.shape)
    y = recorder.abstract(x)
    if order != tuple(sorted(order)) and y.ndim:
        lifted = (1,) * (n - y.ndim) + y.shape
        y = (y if lifted == y.shape else y.reshape(lifted)).transpose(*order)
    lifted = (1,) * (n - y.ndim) + y.shape
    trailing = lifted[leading:]
    target = trailing if all(n == 1 for n in lifted[:leading]) else (prod(lifted[:leading]), *trailing)
    while len(target) == len(trailing) and target[:1] == (1,):
        target = trailing = target[1:]
    return y.buffer if target == y.shape else y.reshape(target).buffer


def block_shell(x: Buffer, rows: int, is_cut: bool) -> np.ndarray:
    """One block of x."""
    shape = (rows, *x.shell.shape[1:]) if is_cut else x.shell.shape
    return shell(shape, x.shell.dtype, x.shell.strides)


@dataclass(frozen=True, eq=False)
class TiledLoop:
    """A section that is run on one block after the other.

    plan       of its body, whose arguments are blocks of what is read and of what is written, then single numbers
    arguments  of the body
    length     of the leading axis
    rows       of it, in one block
    cut        which operands have the leading axis; the others are whole in each block
    terms      of each reduction: how many numbers each block gives
    axes       how many a value of the body has, if it is cut as well; None if all are
    """

    plan: MemoryPlan
    arguments: tuple[Buffer, ...]
    length: int
    rows: int
    cut: tuple[bool, ...]
    terms: tuple[int, ...]
    axes: int | None = None

    def is_cut(self, value: Buffer) -> bool:
        """Whether a value of the body has the axis that blocks are cut along."""
        return self.axes is None or (value.shell.ndim == self.axes and value.shell.shape[0] == self.rows)

    @property
    def blocks(self) -> int:
        return -(-self.length // self.rows)

    def step(
        self, operands: tuple[Buffer, ...], writes: tuple[int, ...], blockwise: tuple[int, ...], node: Node
    ) -> Step:
        """The loop as a step.

        writes       which operands it writes
        blockwise    which of those it fills block by block; into the others go numbers, one of each block
        """
        names = ", ".join(f"{{{i}}}" for i in range(len(operands)))
        reads = [i for i in range(len(operands)) if i not in writes]
        over = frozenset((w, r) for w in blockwise for r in reads if self.writes_over(w, r))
        return Step(f"loop({names})", operands, writes, over=over, node=node, loop=self)

    def writes_over(self, written: int, read: int) -> bool:
        """Whether the body writes an argument only once it has read the other, or element by element as it reads it.

        An operand that is not cut is read again by each block, and so never read for the last time.
        """
        if not self.cut[read]:
            return False
        w, r = self.arguments[written], self.arguments[read]
        homes = {root for root, t in self.plan.allocations.items() if t.argument is w} | {w}
        first = min(k for k, s in enumerate(self.plan.steps) if any(v.root in homes for v in s.written))
        last = self.plan.last.get(r, -1)
        if last != first:
            return last < first
        step = self.plan.steps[first]
        return any(lies_over(step, root, r) for root in homes if any(v.root is root for v in step.written))


def lowered(graph: Graph) -> Section:
    """The graph as steps, those of elementwise ops on large arrays in loops."""
    arguments = {x: Buffer(shell(x.spec.shape, x.spec.dtype), "argument") for x in graph.inputs}
    lowering = InBlocks(dict(arguments))
    outputs = lowering.through(graph)
    return Section(tuple(arguments.values()), lowering.steps, outputs)


class InBlocks(Lowering):
    """A graph on its way to steps, with loops."""

    def in_blocks(self, node: Node, graph: Graph, xs: list[Buffer]) -> Any:
        return loop(self, node, graph, xs)


def loop(lowering: Lowering, node: Node, graph: Graph, xs: list[Buffer]) -> Any:
    """The graph over blocks, as a step of the lowering. The values of its outputs: one, or a tuple."""
    recorder = Recorder(lowering.steps)
    cutting = cutting_of(graph, xs)
    outputs = [y for y in graph.outputs if y is not None]
    terms = {y: terms_of(graph, y) for y in outputs if type(y.op) in COMBINE and not y.spec.shape}
    ys = [
        recorder.new((cutting.blocks, len(terms[y])), y.spec.dtype) if y in terms else cutting.new(y.spec.dtype)
        for y in outputs
    ]
    full = [v for v, y in zip(ys, outputs) if y not in terms]
    partials = [v for v, y in zip(ys, outputs) if y in terms]
    operands = tuple(leading_first(recorder, v, cutting) for v in [*xs, *full])

    writes = tuple(range(len(xs), len(operands) + len(partials)))
    over = loop_over(graph, node, operands, cutting, terms)
    lowering.steps.append(over.step((*operands, *partials), writes, writes[: len(full)], node))
    results = tuple(combined(recorder, y, v) if y in terms else v for v, y in zip(ys, outputs))
    return results[0] if len(results) == 1 else results


def loop_over(
    graph: Graph, node: Node, operands: tuple[Buffer, ...], cutting: Cutting, terms: dict[Node, list[tuple[Node, ...]]]
) -> TiledLoop:
    """The loop of a graph over its operands and the arrays that it fills.

    terms    of each full reduction: see terms_of
    """
    cut = tuple(v.shell.ndim == 1 + len(cutting.trailing) for v in operands)
    blocks = [Buffer(block_shell(v, cutting.rows, has), "argument") for v, has in zip(operands, cut)]
    body = Body(dict(zip(graph.inputs, blocks)), (cutting.rows, *cutting.trailing), node)
    outputs = [y for y in graph.outputs if y is not None]
    fulls = [body.full(y) for y in outputs if y not in terms]
    numbers = [(y, term) for y in outputs if y in terms for term in terms[y]]
    sums = [body.number(y.op, [body.spread(x) for x in term], y.spec.dtype) for y, term in numbers]
    arguments = (*blocks, *(Buffer(shell((), y.spec.dtype), "argument") for y, _ in numbers))
    into = {i: len(graph.inputs) + i for i in range(len(fulls) + len(sums))}
    plan_of_body = plan(Section(arguments, body.steps, (*fulls, *sums)), into)
    counts = tuple(len(terms[y]) for y in outputs if y in terms)
    return TiledLoop(plan_of_body, arguments, cutting.length, cutting.rows, cut, counts, 1 + len(cutting.trailing))


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

    def full(self, node: Node) -> Buffer:
        """The value of a node over the whole block, in memory of its own."""
        x = self.spread(node)
        return x if x.kind == "planned" else self.copied(x)

    def spread(self, node: Node) -> Buffer:
        """The value of a node over the whole block."""
        (x,) = self.through(Graph((), (node,)))
        return x if x.shell.shape == self.shape else self.copied(x)

    def copied(self, x: Buffer) -> Buffer:
        recorder = Recorder(self.steps)
        return recorder.copy(x, recorder.new(self.shape, x.shell.dtype)).buffer

    def number(self, op: Op, xs: list[Buffer], dtype: np.dtype) -> Buffer:
        """What a block gives towards a full reduction."""
        recorder = Recorder(self.steps)
        out = recorder.new((), dtype)
        if len(xs) == 1:
            return recorder.reduce(
                COMBINE[type(op)], recorder.abstract(xs[0]), None, None, recorder.abstract(out)
            ).buffer
        # A block may be a short one: its length is not to be written down.
        flat = [x.shell.size for x in xs]
        lines = [
            x if x.shell.ndim == 1 else recorder.view(x, "{0}.reshape(-1)", shell((n,), dtype)).buffer
            for x, n in zip(xs, flat)
        ]
        return recorder.call("dot({0}, {1}, {2})", out, *lines, dot=np.dot).buffer


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


def combined(recorder: Recorder, y: Node, partials: Buffer) -> Buffer:
    """The reduction, from the numbers of all blocks."""
    out = recorder.new((), y.spec.dtype)
    recorder.reduce(COMBINE[type(y.op)], recorder.abstract(partials), None, None, recorder.abstract(out))
    if isinstance(y.op, Mean):
        recorder.ufunc(np.true_divide, (recorder.abstract(out), y.op.count(y.inputs[0].spec)), out)
    return out
