"""Lowering for C: a group of elementwise ops becomes one step, a single loop whose values stay in registers.

Other ops keep the steps of the recorder, so they can run as NumPy calls where C cannot do them. Rows are cut into
blocks as for NumPy, but smaller ones: a few such blocks fit into the processor's L1 cache.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.core.op import Elementwise
from ....engine.ops import Affine, MatMul
from ...compiler.passes.fuse import Fused, is_full_reduction, loop_shape, single_op_graph
from ...compiler.program.buffer import Buffer, ProgramStep, Section, laid_out, shell
from ...compiler.program.lower import BLOCK, is_planned
from ...compiler.program.record import Recorder
from ...compiler.program.tiling import InBlocks, RowRun, combine_partials, in_rows
from ..c import Expr, NotWritten
from ..group import reducer, statements
from .loops import GroupStep
from .reduce import LANES, PIECE, SMALL_PRODUCT
from .writer import CppWriter, check, library_of, may_cancel

IN_CACHE = 1 << 12  # elements of a block of rows


def lower_to_groups(graph: Graph) -> Section:
    """Lower a graph to steps."""
    arguments = {x: Buffer(shell(x.spec.shape, x.spec.dtype), "argument") for x in graph.inputs}
    lowering = InGroups(dict(arguments))
    outputs = lowering.lower_graph(graph)
    return in_rows(Section(tuple(arguments.values()), lowering.steps, outputs), NativeRowRun)


class InGroups(InBlocks):
    """Lowers a graph to steps, with elementwise groups.

    shown    nodes whose memory order an output may inherit
    """

    def lower_graph(self, graph: Graph) -> tuple[Any, ...]:
        self.shown = find_visible_layouts(graph)
        return super().lower_graph(graph)

    def lower_node(self, node: Node) -> Any:
        xs = [self.values[x] for x in node.inputs]
        body = body_of(node)
        if node not in self.shown and isinstance(node.op, Affine | MatMul) and len(xs) == 2 and is_across(node, *xs):
            return self.lower_transposed(node, *xs)
        xs = self.narrow(node, xs) if isinstance(node.op, Elementwise) else xs
        does = None if body is None or not all(map(is_readable, xs)) else emit_group(body)
        return super().lower_node(node) if does is None else self.group(node, does, xs)

    def lower_transposed(self, node: Node, x: Buffer, w: Buffer) -> Buffer:
        """x w as (wᵀ xᵀ)ᵀ: BLAS copies an operand it reads against its memory order, and x is smaller than w."""
        recorder = Recorder(self.steps)
        y = recorder.new(node.spec.shape, node.spec.dtype, (1, 0))
        left, right, out = (recorder.abstract(v) for v in (w, x, y))
        recorder.dot(left if getattr(node.op, "transposed", False) else left.T, right.T, out.T)
        self.steps[-1].node = node
        return y

    def group(self, node: Node, does: GroupStep, xs: list[Buffer]) -> Any:
        """Append the step of a group on these operands. Returns its value, or the tuple of its values."""
        recorder = Recorder(self.steps)
        outputs = [y for y in does.body.outputs if y is not None]
        flat = loop_shape(outputs[0])
        shape = in_long_rows(flat) if any(map(is_full_reduction, outputs)) else flat
        xs = [recorder.abstract(x).reshape(shape).buffer if x.shell.shape == flat != shape else x for x in xs]
        order = laid_out(shape, [x for x in xs if x.shell.shape == shape])
        is_by_rows = len(shape) > 1 and shape[0] > 1 and prod(shape) > BLOCK >= prod(shape[1:])  # can join other steps
        partial = (shape[0], *[1] * (len(shape) - 1)) if is_by_rows else ()
        ys = [
            recorder.new(partial, y.spec.dtype) if is_full_reduction(y) else recorder.new(shape, y.spec.dtype, order)
            for y in outputs
        ]
        operands = (*xs, *ys)
        leads = tuple(v.shell.ndim == len(shape) and v.shell.shape[:1] == shape[:1] for v in operands)
        in_step = bool(shape) and all(leads[len(xs) :])
        writes = tuple(range(len(xs), len(operands)))
        step = recorder.step("group", *operands, writes=writes, over=None, does=does, node=node)
        step.leads = leads if in_step else None

        def result(y: Node, v: Buffer) -> Buffer:
            if v.shell.shape == y.spec.shape:
                return v
            return (
                combine_partials(recorder, y, v) if is_full_reduction(y) else recorder.abstract(v).reshape(flat).buffer
            )

        results = tuple(map(result, outputs, ys))
        return results[0] if len(results) == 1 else results


def is_readable(x: Any) -> bool:
    """Whether C can read an operand. It must for a group, which cannot fall back to one NumPy call."""
    if not isinstance(x, Buffer):
        return False
    try:
        check(x)
    except NotWritten:
        return False
    return True


def find_visible_layouts(graph: Graph) -> set[Node]:
    """Outputs with two axes or more, and all nodes whose memory order they inherit, back to the nearest product."""
    found: set[Node] = set()
    left = [y for y in graph.outputs if y is not None]
    while left:
        node = left.pop()
        if node not in found and (node.spec.shape is None or len(node.spec.shape) > 1):
            found.add(node)
            left += () if isinstance(node.op, Affine | MatMul) else node.inputs
    return found


def is_across(node: Node, x: Buffer, w: Buffer) -> bool:
    """Whether a product is large, and multiplies a few rows by a matrix stored by columns."""
    xs, ws = x.shell, w.shell.T if getattr(node.op, "transposed", False) else w.shell
    plain = xs.ndim == ws.ndim == 2 and xs.dtype == ws.dtype and xs.dtype.kind == "f" and xs.dtype.itemsize > 2
    contiguous = plain and xs.flags.c_contiguous and ws.T.flags.c_contiguous
    return contiguous and xs.size * ws.shape[1] > SMALL_PRODUCT and len(xs) < ws.shape[1]


def body_of(node: Node) -> Graph | None:
    """The elementwise body of a node; None if the node does anything else."""
    if not all(is_planned(x.spec) for x in (node, *node.inputs)):
        return None
    if isinstance(node.op, Fused):
        return node.op.body
    if isinstance(node.op, Elementwise) and node.inputs and not node.op.effect and not node.op.is_view:
        return single_op_graph(node.op, tuple(x.spec for x in node.inputs), node.spec)
    return None


@lru_cache(maxsize=256)
def emit_group(body: Graph) -> GroupStep | None:
    """A group as C statements; None if C lacks one of its ops or would round it differently."""
    if 0 in loop_shape(next(y for y in body.outputs if y)) or any(map(may_cancel, body.nodes)):
        return None
    values = {x: Expr(f"x{k}", x.spec.dtype) for k, x in enumerate(body.inputs)}
    try:
        lines = [*statements(body, values)]
        library_of(" ".join(lines))
        for node in filter(is_full_reduction, body.nodes):
            reducer(node)
    except NotWritten:
        return None
    return GroupStep(body, lines, values)


def in_long_rows(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of a long vector cut into rows of whole lanes; unchanged if no such rows divide it evenly."""
    n = prod(shape)
    heights = range(-(-n // BLOCK), n // PIECE + 1) if len(shape) == 1 and n > BLOCK else ()
    return next(((rows, n // rows) for rows in heights if n % (rows * LANES) == 0), shape)


class NativeRowRun(RowRun):
    """A run of row-wise steps that can all be written in C: it becomes a loop in C."""

    def fits(self, step: ProgramStep) -> bool:
        return super().fits(step) and CppWriter().can(step)

    def keeps_bits(self, step: ProgramStep) -> bool:
        return True  # C sums each row in one fixed order

    def height(self, width: int) -> int:
        """The largest number of rows that fits into the cache and divides the number of all rows."""
        wanted = max(1, IN_CACHE // width)
        return next(n for n in range(min(wanted, self.rows), 0, -1) if self.rows % n == 0)
