"""Lowering for C: a group of elementwise ops is one step, done in one loop whose values stay in registers.

What else there is stays what the recorder has made of it, and so may be a line of NumPy where C does not do it. Rows
are cut as for NumPy, in smaller blocks: a few arrays of one fit into the processor's nearest cache.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...compiler.passes.fuse import Fused, alone, is_full_reduction, loop_shape
from ...compiler.program.buffer import Buffer, Section, Step, laid_out, shell
from ...compiler.program.lower import BLOCK, is_planned
from ...compiler.program.record import Recorder
from ...compiler.program.tiling import InBlocks, RowRun, combined, in_rows
from ...core.graph import Graph
from ...core.node import Node
from ...core.op import Elementwise
from ..c import Expr, NotWritten
from ..group import reducer, statements
from .loops import GroupStep
from .writer import CppWriter, library_of

IN_CACHE = 1 << 12  # elements of a block of rows


def lowered(graph: Graph) -> Section:
    """The graph as steps."""
    arguments = {x: Buffer(shell(x.spec.shape, x.spec.dtype), "argument") for x in graph.inputs}
    lowering = InGroups(dict(arguments))
    outputs = lowering.through(graph)
    return in_rows(Section(tuple(arguments.values()), lowering.steps, outputs), NativeRowRun)


class InGroups(InBlocks):
    """A graph on its way to steps, with groups."""

    def of(self, node: Node) -> Any:
        xs = [self.values[x] for x in node.inputs]
        body = body_of(node)
        does = None if body is None else written(body)
        if does is None or not all(isinstance(x, Buffer) for x in xs):
            return super().of(node)
        return self.group(node, does, self.narrow(node, xs) if isinstance(node.op, Elementwise) else xs)

    def group(self, node: Node, does: GroupStep, xs: list[Buffer]) -> Any:
        """A group on these operands, as a step. Its value, or the tuple of its values."""
        recorder = Recorder(self.steps)
        outputs = [y for y in does.body.outputs if y is not None]
        shape = loop_shape(outputs[0])
        order = laid_out(shape, [x for x in xs if x.shell.shape == shape])
        partial = (shape[0], *[1] * (len(shape) - 1)) if are_long_rows(shape) else ()
        ys = [
            recorder.new(
                partial if is_full_reduction(y) else shape, y.spec.dtype, None if is_full_reduction(y) else order
            )
            for y in outputs
        ]
        operands = (*xs, *ys)
        leads = tuple(v.shell.ndim == len(shape) and v.shell.shape[:1] == shape[:1] for v in operands)
        in_step = bool(shape) and all(leads[len(xs) :])
        writes = tuple(range(len(xs), len(operands)))
        step = recorder.step("group", *operands, writes=writes, over=None, does=does, node=node)
        step.leads = leads if in_step else None
        results = tuple(
            combined(recorder, y, v) if is_full_reduction(y) and partial else v for y, v in zip(outputs, ys)
        )
        return results[0] if len(results) == 1 else results


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
    """A group in words of C; None where C has none for all of it."""
    if any(n.spec.dtype == np.float16 for n in body.nodes) or 0 in loop_shape(next(y for y in body.outputs if y)):
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


def are_long_rows(shape: tuple[int, ...]) -> bool:
    """Whether a loop over that shape is better done row by row, with others."""
    return len(shape) > 1 and shape[0] > 1 and prod(shape) > BLOCK >= prod(shape[1:])


class NativeRowRun(RowRun):
    """A run of steps over rows that are all written in C: a loop in C."""

    def takes(self, step: Step) -> bool:
        return CppWriter().can(step) and super().takes(step)

    def height(self, width: int) -> int:
        """The most rows that a block in the cache has and that go into all rows evenly."""
        wanted = max(1, IN_CACHE // width)
        return next(n for n in range(min(wanted, self.rows), 0, -1) if self.rows % n == 0)
