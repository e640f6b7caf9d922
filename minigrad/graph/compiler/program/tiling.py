"""Tiling: work on large arrays runs block by block, so that each block stays in the cache.

A group of elementwise ops becomes a loop. Its *leading* axes are merged into one axis, which is cut into blocks; its
*trailing* axes are whole in each block. Elements are processed in memory order. An operand broadcasts along all leading
axes (a bias: every block reads the same) or along none (a mean per row: each block reads its part). A full reduction
makes one number per block, then reduces these to one number. The result does not depend on the number of threads,
because the blocks do not. The sum of a product becomes a `dot`, and the sum of a sum becomes two sums: this reads less,
but adds in another order. So reductions join a loop only where another order is allowed.

Steps that treat each row separately become a loop too. A softmax takes the maximum of each row, subtracts it, takes the
exponential, sums and divides: five steps that would each read and write the whole array. But a row's result needs only
that row. So consecutive steps that write arrays with the same number of rows form the body of one loop, and arrays that
only they use are as large as one block. The arithmetic is the same, to the last bit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from math import prod
from operator import attrgetter
from typing import Any

import numpy as np

from ....engine.base.spec import Spec
from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.core.op import Op
from ....engine.ops import Add, BroadcastTo, Max, Mean, Min, Mul, Sum
from .buffer import Buffer, EinsumStep, ProgramStep, Section, Shape, contiguous, laid_out, reshape_view, shell
from .lower import BLOCK, Lowering, layout, record_op
from .memory_plan import MemoryPlan, lies_over, plan
from .record import Recorder

MOST_AFTER = 64  # the most steps that a run may move after its loop


@dataclass(frozen=True)
class Cutting:
    """How the axes of a loop are cut into blocks.

    shape      the shape that every node of the body broadcasts to
    order      the order of the axes in memory
    leading    number of axes, the first in `order`, that are merged into one
    """

    shape: Shape
    order: tuple[int, ...]
    leading: int

    @property
    def length(self) -> int:
        """The length of the leading axis."""
        return prod(self.shape[a] for a in self.order[: self.leading])

    @property
    def trailing(self) -> Shape:
        return tuple(self.shape[a] for a in self.order[self.leading :])

    @property
    def rows(self) -> int:
        """The length of one block along the leading axis."""
        return max(1, min(self.length, BLOCK // max(1, prod(self.trailing))))

    blocks = property(lambda self: -(-self.length // self.rows))

    def new(self, dtype: np.dtype) -> Buffer:
        """A planned array for a result of the whole loop."""
        return Buffer(shell(self.shape, dtype, contiguous(self.shape, dtype.itemsize, self.order)), "planned")


def cutting_of(graph: Graph, xs: list[Buffer]) -> Cutting:
    """The cutting with the most leading axes that can be merged in all operands."""
    shape = np.broadcast_shapes(*(n.spec.shape for n in graph.nodes))
    order = tuple(laid_out(shape, [x for x in xs if x.shell.shape == shape]))
    for leading in range(len(shape), 1, -1):
        if all(can_lead(align_to_loop(x.shell, shape, order), [shape[a] for a in order], leading) for x in xs):
            return Cutting(shape, order, leading)
    return Cutting(shape, order, 1)


def align_to_loop(x: np.ndarray, shape: Shape, order: tuple[int, ...]) -> np.ndarray:
    """x with all axes of the loop, in the order `order`; axes that x lacks have length 1."""
    return x.reshape((1,) * (len(shape) - x.ndim) + x.shape).transpose(order)


def can_lead(x: np.ndarray, shape: list[int], leading: int) -> bool:
    """Whether x's leading axes can be merged, or all have length 1."""
    if all(n == 1 for n in x.shape[:leading]):
        return True
    if list(x.shape[:leading]) != shape[:leading]:
        return False
    return reshape_view(x, (prod(shape[:leading]), *x.shape[leading:])) is not None


def leading_first(recorder: Recorder, x: Buffer, cutting: Cutting) -> Buffer:
    """x in the shape (leading, *trailing), or (*trailing) if all blocks read the same elements."""
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
    """The shell of one block of x."""
    shape = (rows, *x.shell.shape[1:]) if is_cut else x.shell.shape
    return shell(shape, x.shell.dtype, x.shell.strides)


@dataclass(frozen=True, eq=False)
class TiledLoop:
    """A section that runs block by block.

    plan       the plan of the body, whose arguments are blocks of operands and of results, then single numbers
    arguments  the arguments of the body
    length     length of the leading axis
    rows       length of one block along it
    cut        which operands have the leading axis; the others are whole in each block
    terms      for each reduction, how many numbers each block makes
    axes       number of axes of a body value that has the leading axis; None if all values have it
    """

    plan: MemoryPlan
    arguments: tuple[Buffer, ...]
    length: int
    rows: int
    cut: tuple[bool, ...]
    terms: tuple[int, ...]
    axes: int | None = None

    def is_cut(self, value: Buffer) -> bool:
        """Whether a value of the body has the axis along which blocks are cut."""
        return self.axes is None or (value.shell.ndim == self.axes and value.shell.shape[0] == self.rows)

    blocks = property(lambda self: -(-self.length // self.rows))

    def step(
        self, operands: tuple[Buffer, ...], writes: tuple[int, ...], blockwise: tuple[int, ...], node: Node
    ) -> ProgramStep:
        """The loop as a step.

        writes       indices of the operands it writes
        blockwise    indices of written operands that are filled block by block; the others get one number per block
        """
        names = ", ".join(f"{{{i}}}" for i in range(len(operands)))
        reads = [i for i in range(len(operands)) if i not in writes]
        over = frozenset((w, r) for w in blockwise for r in reads if self.writes_over(w, r))
        return ProgramStep(f"loop({names})", operands, writes, over=over, node=node, loop=self)

    def writes_over(self, written: int, read: int) -> bool:
        """Whether the body writes argument `written` only after its last read of `read`, or element by element with it.

        Every block rereads an operand that is not cut, so that operand must not be overwritten.
        """
        if not self.cut[read]:
            return False
        w, r = self.arguments[written], self.arguments[read]
        homes = {root for root, t in self.plan.allocations.items() if t.argument is w} | {w}
        first = min(k for k, s in enumerate(self.plan.steps) if any(v.root in homes for v in s.write_operands))
        last = self.plan.last.get(r, -1)
        if last != first:
            return last < first
        step = self.plan.steps[first]
        return any(lies_over(step, root, r) for root in homes if any(v.root is root for v in step.write_operands))


def lower_to_blocks(graph: Graph) -> Section:
    """Lower a graph to steps, with elementwise ops on large arrays as loops."""
    arguments = {x: Buffer(shell(x.spec.shape, x.spec.dtype), "argument") for x in graph.inputs}
    lowering = InBlocks(dict(arguments))
    outputs = lowering.lower_graph(graph)
    return Section(tuple(arguments.values()), lowering.steps, outputs)


class InBlocks(Lowering):
    """Lowers a graph to steps and loops."""

    def in_blocks(self, node: Node, graph: Graph, xs: list[Buffer]) -> Any:
        return loop(self, node, graph, xs)


def loop(lowering: Lowering, node: Node, graph: Graph, xs: list[Buffer]) -> Any:
    """Append the loop over blocks of a graph to the lowering. Returns its value, or a tuple of values."""
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
    results = tuple(combine_partials(recorder, y, v) if y in terms else v for v, y in zip(ys, outputs))
    return results[0] if len(results) == 1 else results


def loop_over(
    graph: Graph, node: Node, operands: tuple[Buffer, ...], cutting: Cutting, terms: dict[Node, list[tuple[Node, ...]]]
) -> TiledLoop:
    """The loop of a graph over its operands and its result arrays.

    terms    for each full reduction, the result of terms_of
    """
    cut = tuple(v.shell.ndim == 1 + len(cutting.trailing) for v in operands)
    blocks = [Buffer(block_shell(v, cutting.rows, has), "argument") for v, has in zip(operands, cut)]
    body = BlockLowering(dict(zip(graph.inputs, blocks)), (cutting.rows, *cutting.trailing), node)
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


class BlockLowering(Lowering):
    """Lowers the body of a loop, for one block.

    shape    the shape of a block
    """

    def __init__(self, values: dict[Node, Any], shape: Shape, node: Node):
        super().__init__(values)
        self.shape, self.node = shape, node

    def lower_node(self, node: Node) -> Any:
        xs = [self.values[x] for x in node.inputs]
        if isinstance(node.op, BroadcastTo):
            return xs[0]  # ufuncs broadcast by themselves
        if not xs:
            return super().lower_node(node)
        spec = Spec(np.broadcast_shapes(*(x.shell.shape for x in xs)), node.spec.dtype)
        template = record_op(node.op, tuple(map(layout, xs)), spec)
        return self.call_op(node, xs, spec) if template is None else self.instance(node, template, xs)

    def full(self, node: Node) -> Buffer:
        """The value of a node, broadcast to the full shape of the block, in memory of its own."""
        x = self.spread(node)
        return x if x.kind == "planned" else self.copy_to_block(x)

    def spread(self, node: Node) -> Buffer:
        """The value of a node, broadcast to the full shape of the block."""
        (x,) = self.lower_graph(Graph((), (node,)))
        return x if x.shell.shape == self.shape else self.copy_to_block(x)

    def copy_to_block(self, x: Buffer) -> Buffer:
        recorder = Recorder(self.steps)
        return recorder.copy(x, recorder.new(self.shape, x.shell.dtype)).buffer

    def number(self, op: Op, xs: list[Buffer], dtype: np.dtype) -> Buffer:
        """The number that a block contributes to a full reduction."""
        recorder = Recorder(self.steps)
        out = recorder.new((), dtype)
        if len(xs) == 1:
            x, y = recorder.abstract(xs[0]), recorder.abstract(out)
            return recorder.reduce(COMBINE[type(op)], x, None, None, y).buffer
        # The last block may be shorter, so the text must not contain the length.
        flat = [x.shell.size for x in xs]
        lines = [
            x if x.shell.ndim == 1 else recorder.view(x, "{0}.reshape(-1)", shell((n,), dtype)).buffer
            for x, n in zip(xs, flat)
        ]
        return recorder.call("dot({0}, {1}, {2})", out, *lines, does=np.dot, dot=np.dot).buffer


# Full reduction → the ufunc that combines its partial results.
COMBINE: dict[type[Op], np.ufunc] = {Sum: np.add, Mean: np.add, Max: np.maximum, Min: np.minimum}


def terms_of(graph: Graph, y: Node) -> list[tuple[Node, ...]]:
    """The terms whose sum is the full reduction y: (x,) stands for the reduction of x, (u, v) for u · v."""
    (x,) = y.inputs

    def terms(x: Node) -> list[tuple[Node, ...]]:
        read = sum(reader.inputs.count(x) for reader in graph.nodes)
        is_ours = read == 1 and x not in graph.outputs and x.spec.dtype.kind == "f"
        if is_ours and isinstance(x.op, Add | Mul) and all(i.spec == x.spec for i in x.inputs):
            return [x.inputs] if isinstance(x.op, Mul) else [t for i in x.inputs for t in terms(i)]
        return [(x,)]

    return terms(x) if isinstance(y.op, Sum | Mean) else [(x,)]


def combine_partials(recorder: Recorder, y: Node, partials: Buffer) -> Buffer:
    """The result of a full reduction, from the partial results of all blocks."""
    out = recorder.new((), y.spec.dtype)
    recorder.reduce(COMBINE[type(y.op)], recorder.abstract(partials), None, None, recorder.abstract(out))
    if isinstance(y.op, Mean):
        recorder.ufunc(np.true_divide, (recorder.abstract(out), y.op.count(y.inputs[0].spec)), out)
    return out


# -- rows ---------------------------------------------------------------------------------------------


def in_rows(section: Section, new_run: Callable[[], RowRun] | None = None) -> Section:
    """The section with runs of row-wise steps replaced by loops."""
    new_run = new_run or RowRun
    operands = chain.from_iterable(map(attrgetter("operands"), section.steps))
    if max(map(attrgetter("shell.size"), operands), default=0) <= BLOCK:  # no run can start
        return Section(section.arguments, drop_unused_views(section.steps, section.outputs), section.outputs)
    uses = uses_of(section.steps)
    kept = {r for y in section.outputs if y is not None for r in y.roots}
    steps: list[ProgramStep] = []
    run = new_run()
    for step in section.steps:
        if not (run.takes(step) or run.passes(step)):
            steps += run.to_steps(uses, kept)
            run = new_run()
            if not run.takes(step):
                steps.append(step)
    steps += run.to_steps(uses, kept)
    return Section(section.arguments, drop_unused_views(steps, section.outputs), section.outputs)


def drop_unused_views(steps: list[ProgramStep], outputs: Iterable[Buffer | None]) -> list[ProgramStep]:
    """The steps without unused views."""
    used: set[Buffer | None] = set(outputs)
    kept: list[ProgramStep] = []
    for step in reversed(steps):
        if not step.is_view or step.result in used:
            kept.append(step)
            used.update(step.operands)
    return kept[::-1]


def uses_of(steps: Iterable[ProgramStep]) -> Counter[Buffer]:
    """How often each root is used."""
    return Counter(chain.from_iterable(map(attrgetter("memory_roots"), steps)))


@dataclass
class RowRun:
    """Consecutive steps that can form one loop over rows.

    views    views between the steps; they are moved before the loop
    after    other steps among these, which cannot join the loop; they are moved after the loop
    rows     number of rows of every written array
    byrow    root → whether every step that computes row i uses only row i of this root
    """

    steps: list[ProgramStep] = field(default_factory=list)
    views: list[ProgramStep] = field(default_factory=list)
    after: list[ProgramStep] = field(default_factory=list)
    rows: int = 0
    byrow: dict[Buffer, bool] = field(default_factory=dict)
    written: set[Buffer] = field(default_factory=set)

    def takes(self, step: ProgramStep) -> bool:
        """Add the step to the loop if possible. Returns whether it was added."""
        if step.leads is None or step.loop is not None or not step.writes:
            return False
        if not self.fits(step) or not self.keeps_bits(step):
            return False
        rows, made = step.write_operands[0].shell.shape[0], {out.root for out in step.write_operands}
        byrow: dict[Buffer, bool] = {}
        for v, leads in zip(step.operands, step.leads, strict=True):
            for root in v.roots:
                byrow[root] = byrow.get(root, self.byrow.get(root, True)) and leads and is_by_row(v, rows)
        if any(not fine for root, fine in byrow.items() if root in self.written or root in made):
            return False
        if self.after and conflict(step, self.after):
            return False
        self.steps.append(step)
        self.rows = rows
        self.byrow |= byrow
        self.written |= made
        return True

    def fits(self, step: ProgramStep) -> bool:
        """Whether the step has as many rows as the run; a first step must be large, with rows that fit a block."""
        rows = step.write_operands[0].shell.shape[0]
        if self.steps:
            return bool(rows == self.rows)
        size = max(v.shell.size for v in leading_operands(step))
        return bool(rows > 1 and size > BLOCK >= size // rows)

    def keeps_bits(self, step: ProgramStep) -> bool:
        """Whether the step sums in the same order in blocks. `einsum` does not if rows are long: it buffers pieces."""
        width = max(v.shell.size for v in step.operands) // step.write_operands[0].shell.shape[0]
        return not isinstance(step.does, EinsumStep) or width < np.getbufsize()

    def passes(self, step: ProgramStep) -> bool:
        """Set aside a view, or a step that can run after the loop. Returns whether it was set aside."""
        if step.is_view and not any(r.kind == "made" for r in step.operands[0].roots):
            self.views.append(step)
            return True
        if not self.steps or len(self.after) == MOST_AFTER:
            return False
        self.after.append(step)
        return True

    def to_steps(self, uses: Mapping[Buffer, int], kept: set[Buffer]) -> list[ProgramStep]:
        """The steps of the run: a loop if there are several, else the step itself."""
        width = max((v.shell.size // self.rows for s in self.steps for v in leading_operands(s)), default=0)
        loop = [make_row_loop(self, self.height(width), uses, kept)] if len(self.steps) > 1 else self.steps
        return [*self.views, *loop, *self.after]

    def height(self, width: int) -> int:
        """The number of rows of one block, for rows of `width` elements."""
        return max(1, BLOCK // width)


def conflict(step: ProgramStep, others: Iterable[ProgramStep]) -> bool:
    """Whether the step must stay after the others: one of them writes what the step uses, or uses what it writes."""
    touched = set(step.memory_roots)
    written = {r for v in step.write_operands for r in v.roots}
    made = set(step.operands)
    return any(
        other.result in made
        or not made.isdisjoint(other.results)
        or any(r in touched for v in other.write_operands for r in v.roots)
        or any(r in written for r in other.memory_roots)
        for other in others
    )


def leading_operands(step: ProgramStep) -> list[Buffer]:
    """The operands that have the leading axis."""
    assert step.leads is not None
    return [v for v, leads in zip(step.operands, step.leads) if leads]


def is_by_row(v: Buffer, rows: int) -> bool:
    """Whether row i of v lies in the i-th of `rows` equal parts of its root."""
    root = v.root
    pitch, rest = divmod(root.nbytes, rows)
    if rest or len(v.roots) > 1 or root.kind not in ("planned", "argument") or v.shell.shape[0] != rows:
        return False
    inner = [s * (n - 1) for s, n in zip(v.shell.strides[1:], v.shell.shape[1:])]
    inside = min(inner, default=0) >= 0 and 0 <= v.offset <= pitch - sum(inner) - v.shell.itemsize
    return bool(v.shell.strides[0] == pitch and inside)


def make_row_loop(run: RowRun, rows: int, uses: Mapping[Buffer, int], kept: set[Buffer]) -> ProgramStep:
    """The run as one loop over blocks of `rows` rows. Arrays that only its steps use shrink to one block."""
    own = {
        r: Buffer(shell((rows * (r.nbytes // run.rows),), np.dtype(np.uint8)), "planned")
        for r, n in uses_of(run.steps).items()
        if r.kind == "planned" and n == uses[r] and r not in kept and run.byrow[r]
    }
    arguments: dict[tuple[Buffer, bool], Buffer] = {}  # (operand, whether it has rows) → its block
    views: dict[Buffer, Buffer] = {}  # views of `own` buffers

    def block(v: Buffer, leads: bool) -> Buffer:
        if v.kind == "constant" and not v.shell.shape:
            return v
        part = block_shell(v, rows, leads)
        if v.root in own:
            return views.setdefault(v, Buffer(part, "view", (own[v.root],), v.offset))
        return arguments.setdefault((v, leads), Buffer(part, "argument"))

    body = [replace(s, operands=tuple(map(block, s.operands, s.leads or ())), leads=None) for s in run.steps]
    blocks, cut = tuple(arguments.values()), tuple(leads for _, leads in arguments)
    written = {v for s in body for v in s.write_operands}
    writes = tuple(i for i, v in enumerate(blocks) if v in written)
    loop = TiledLoop(plan(Section(blocks, body, ()), {}), blocks, run.rows, rows, cut, ())
    return loop.step(tuple(v for v, _ in arguments), writes, writes, run.steps[-1].node)
