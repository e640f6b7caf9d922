"""Lowering for C: a group of elementwise ops is one step, done in one loop whose values stay in registers.

What else there is stays what the recorder has made of it, and so may be a line of NumPy where C does not do it. Rows
are cut as for NumPy, in smaller blocks: a few arrays of one fit into the processor's nearest cache.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ....engine.core.op import Elementwise
from ....engine.ops import Affine, MatMul
from ...compiler.passes.fuse import Fused, alone, is_full_reduction, loop_shape
from ...compiler.program.buffer import Buffer, Section, Step, laid_out, shell
from ...compiler.program.lower import BLOCK, is_planned
from ...compiler.program.record import Recorder
from ...compiler.program.tiling import InBlocks, RowRun, combined, in_rows
from ..c import Expr, NotWritten
from ..group import reducer, statements
from .loops import GroupStep
from .reduce import LANES, PIECE, SMALL_PRODUCT
from .writer import CppWriter, check, library_of, may_cancel

IN_CACHE = 1 << 12  # elements of a block of rows


def lowered(graph: Graph) -> Section:
    """The graph as steps."""
    arguments = {x: Buffer(shell(x.spec.shape, x.spec.dtype), "argument") for x in graph.inputs}
    lowering = InGroups(dict(arguments))
    outputs = lowering.through(graph)
    return in_rows(Section(tuple(arguments.values()), lowering.steps, outputs), NativeRowRun)


class InGroups(InBlocks):
    """A graph on its way to steps, with groups.

    shown    nodes whose order of axes in memory an output may have
    """

    def through(self, graph: Graph) -> tuple[Any, ...]:
        self.shown = shown(graph)
        return super().through(graph)

    def of(self, node: Node) -> Any:
        xs = [self.values[x] for x in node.inputs]
        body = body_of(node)
        if node not in self.shown and isinstance(node.op, Affine | MatMul) and len(xs) == 2 and is_across(node, *xs):
            return self.turned(node, *xs)
        xs = self.narrow(node, xs) if isinstance(node.op, Elementwise) else xs
        does = None if body is None or not all(map(is_readable, xs)) else written(body)
        return super().of(node) if does is None else self.group(node, does, xs)

    def turned(self, node: Node, x: Buffer, w: Buffer) -> Buffer:
        """x w as (wᵀ xᵀ)ᵀ: BLAS copies what it reads across, and x is the smaller of the two."""
        recorder = Recorder(self.steps)
        y = recorder.new(node.spec.shape, node.spec.dtype, (1, 0))
        left, right, out = (recorder.abstract(v) for v in (w, x, y))
        recorder.dot(left if getattr(node.op, "transposed", False) else left.T, right.T, out.T)
        self.steps[-1].node = node
        return y

    def group(self, node: Node, does: GroupStep, xs: list[Buffer]) -> Any:
        """A group on these operands, as a step. Its value, or the tuple of its values."""
        recorder = Recorder(self.steps)
        outputs = [y for y in does.body.outputs if y is not None]
        flat = loop_shape(outputs[0])
        shape = in_long_rows(flat) if any(map(is_full_reduction, outputs)) else flat
        xs = [recorder.abstract(x).reshape(shape).buffer if x.shell.shape == flat != shape else x for x in xs]
        order = laid_out(shape, [x for x in xs if x.shell.shape == shape])
        partial = (shape[0], *[1] * (len(shape) - 1)) if are_long_rows(shape) else ()
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
            return combined(recorder, y, v) if is_full_reduction(y) else recorder.abstract(v).reshape(flat).buffer

        results = tuple(map(result, outputs, ys))
        return results[0] if len(results) == 1 else results


def is_readable(x: Any) -> bool:
    """Whether C can read an operand of a group, for which NumPy has no words."""
    if not isinstance(x, Buffer):
        return False
    try:
        check(x)
    except NotWritten:
        return False
    return True


def shown(graph: Graph) -> set[Node]:
    """The outputs of two axes or more, and what they follow in the order of these: all up to a product."""
    found: set[Node] = set()
    left = [y for y in graph.outputs if y is not None]
    while left:
        node = left.pop()
        if node not in found and (node.spec.shape is None or len(node.spec.shape) > 1):
            found.add(node)
            left += () if isinstance(node.op, Affine | MatMul) else node.inputs
    return found


def is_across(node: Node, x: Buffer, w: Buffer) -> bool:
    """Whether a product is a large one of a few rows and a matrix that lies in memory column by column."""
    xs, ws = x.shell, w.shell.T if getattr(node.op, "transposed", False) else w.shell
    plain = xs.ndim == ws.ndim == 2 and xs.dtype == ws.dtype and xs.dtype.kind == "f" and xs.dtype.itemsize > 2
    return (
        plain
        and xs.flags.c_contiguous
        and ws.T.flags.c_contiguous
        and xs.size * ws.shape[1] > SMALL_PRODUCT
        and len(xs) < ws.shape[1]
    )


def body_of(node: Node) -> Graph | None:
    """What a node does with elements, if that is all it does."""
    if not all(is_planned(x.spec) for x in (node, *node.inputs)):
        return None
    if isinstance(node.op, Fused):
        return node.op.body
    if isinstance(node.op, Elementwise) and node.inputs and not node.op.effect and not node.op.is_view:
        return alone(node.op, tuple(x.spec for x in node.inputs), node.spec)
    return None


@lru_cache(maxsize=256)
def written(body: Graph) -> GroupStep | None:
    """A group as C statements; None if C lacks one of its ops, or would round it differently."""
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
    """A long vector as rows of whole lanes; as it is, where none divide it."""
    n = prod(shape)
    heights = range(-(-n // BLOCK), n // PIECE + 1) if len(shape) == 1 and n > BLOCK else ()
    return next(((rows, n // rows) for rows in heights if n % (rows * LANES) == 0), shape)


def are_long_rows(shape: tuple[int, ...]) -> bool:
    """Whether a loop over that shape is better done row by row, with others."""
    return len(shape) > 1 and shape[0] > 1 and prod(shape) > BLOCK >= prod(shape[1:])


class NativeRowRun(RowRun):
    """A run of steps over rows that are all written in C: a loop in C."""

    def fits(self, step: Step) -> bool:
        return super().fits(step) and CppWriter().can(step)

    def keeps_bits(self, step: Step) -> bool:
        return True  # C sums each row in one fixed order

    def height(self, width: int) -> int:
        """The most rows that a block in the cache has and that go into all rows evenly."""
        wanted = max(1, IN_CACHE // width)
        return next(n for n in range(min(wanted, self.rows), 0, -1) if self.rows % n == 0)
