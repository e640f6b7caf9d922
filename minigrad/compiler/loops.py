"""Loops over blocks: a group of elementwise ops on large arrays, run on a piece that stays in the cache at a time.

A full reduction makes one number of each block, in an array of their own, and one of those at the end. The blocks are
always the same, and so is the result, however many threads there are. Under a sum, a product is a `dot`, and a sum
two sums: that reads less, and is why reductions are in a loop only where another order of adding was allowed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..node import Node
from ..op import Op
from ..ops import Add, BroadcastTo, Max, Mean, Min, Mul, Sum
from ..spec import Spec
from .buffers import Plan, lies_over, plan
from .cutting import Cutting, block_shell, cutting_of, leading_first
from .graph import Graph
from .lower import Lowering, layout, recorded
from .record import Recorder
from .steps import Section, Shape, Step, Value, shell


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

    def step(
        self, operands: tuple[Value, ...], writes: tuple[int, ...], blockwise: tuple[int, ...], node: Node
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
        homes = {root for root, t in self.plan.tenants.items() if t.argument is w} | {w}
        first = min(k for k, s in enumerate(self.plan.steps) if any(v.root in homes for v in s.written))
        last = self.plan.last.get(r, -1)
        if last != first:
            return last < first
        step = self.plan.steps[first]
        return any(lies_over(step, root, r) for root in homes if any(v.root is root for v in step.written))


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
    recorder = Recorder(lowering.steps)
    cutting = cutting_of(graph, xs)
    outputs = [y for y in graph.outputs if y is not None]
    terms = {y: terms_of(graph, y) for y in outputs if type(y.op) in COMBINE and not y.spec.shape}
    ys = [
        recorder.buffer((cutting.blocks, len(terms[y])), y.spec.dtype) if y in terms else cutting.buffer(y.spec.dtype)
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
    graph: Graph, node: Node, operands: tuple[Value, ...], cutting: Cutting, terms: dict[Node, list[tuple[Node, ...]]]
) -> Loop:
    """The loop of a graph over its operands and the arrays that it fills.

    terms    of each full reduction: see terms_of
    """
    cut = tuple(v.shell.ndim == 1 + len(cutting.trailing) for v in operands)
    blocks = [Value(block_shell(v, cutting.rows, has), "argument") for v, has in zip(operands, cut)]
    body = Body(dict(zip(graph.inputs, blocks)), (cutting.rows, *cutting.trailing), node)
    outputs = [y for y in graph.outputs if y is not None]
    fulls = [body.full(y) for y in outputs if y not in terms]
    numbers = [(y, term) for y in outputs if y in terms for term in terms[y]]
    sums = [body.number(y.op, [body.spread(x) for x in term], y.spec.dtype) for y, term in numbers]
    arguments = (*blocks, *(Value(shell((), y.spec.dtype), "argument") for y, _ in numbers))
    into = {i: len(graph.inputs) + i for i in range(len(fulls) + len(sums))}
    plan_of_body = plan(Section(arguments, body.steps, (*fulls, *sums)), into)
    counts = tuple(len(terms[y]) for y in outputs if y in terms)
    return Loop(plan_of_body, arguments, cutting.length, cutting.rows, cut, counts, 1 + len(cutting.trailing))


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
