"""Lowering: from nodes to steps. Each op's `forward` is run once on the recorder, for each layout of its operands.

What is recorded for an op on operands of certain shapes, dtypes and strides is kept, as a template, so that the
thousandth `tanh` of a graph costs a look-up. What cannot be recorded is one step that calls `forward`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from keyword import iskeyword
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ....engine.base.device import CPU
from ....engine.base.spec import Spec, Specs
from ....engine.core.graph import Graph
from ....engine.core.interpret import value as computed
from ....engine.core.node import Node
from ....engine.core.op import Elementwise, Op
from ....engine.ops import BroadcastTo, ControlDep, Input, TupleGet
from ..passes.fuse import Fused, alone
from .abstract_array import AbstractArray
from .buffer import Buffer, Shape, Step, hull, laid_out, shell
from .record import Recorder

BLOCK = 1 << 16  # elements of a loop's block: a few arrays of so many stay in the cache


class Layout(NamedTuple):
    """All that a template depends on, of an operand."""

    shape: Shape
    dtype: np.dtype
    strides: Shape


class Template(NamedTuple):
    """What an op does with operands of certain layouts."""

    operands: tuple[Buffer, ...]
    steps: list[Step]
    result: Buffer


class Lowering:
    """A graph on its way to steps.

    values    node → what stands for it: a Buffer; of an op with several results, a tuple of them
    steps     so far
    """

    def __init__(self, values: dict[Node, Any]):
        self.values = values
        self.steps: list[Step] = []

    def of(self, node: Node) -> Any:
        """The value of a node whose inputs have theirs."""
        xs = [self.values[x] for x in node.inputs]
        match node.op:
            case Input():
                return computed(node)  # which raises
            case TupleGet(i) if isinstance(xs[0], tuple):
                return xs[0][i]
            case ControlDep() if not isinstance(xs[0], tuple):
                return xs[0]
            case Fused(body) if is_planned(node.spec):
                if not is_long(node.op.shape, xs) or are_rows(node.op.shape, node.spec, xs):
                    return self.inlined(body, xs)
                return self.in_blocks(node, body, xs)
        if not node.inputs and hasattr(node.op, "value"):
            return constant(node)
        if isinstance(node.op, Elementwise):
            xs = self.narrow(node, xs)
        template = None if not can_record(node, xs) else recorded(node.op, tuple(map(layout, xs)), node.spec)
        if template is None:
            return self.called(node, xs)
        if isinstance(node.op, Elementwise) and is_long(node.spec.shape, xs) and calls(template) > 1:
            if are_rows(node.spec.shape, node.spec, xs):
                return self.instance(node, template, xs)
            return self.in_blocks(node, alone(node.op, tuple(x.spec for x in node.inputs), node.spec), xs)
        return self.instance(node, template, xs)

    def narrow(self, node: Node, xs: list[Any]) -> list[Any]:
        """The operands of an elementwise op; those that were broadcast as they were before, where that will do.

        To read one number again and again is quicker than to step through a view of it.
        """
        for i, x in enumerate(node.inputs):
            if isinstance(x.op, BroadcastTo):
                before = [*xs[:i], self.values[x.inputs[0]], *xs[i + 1 :]]
                if np.broadcast_shapes(*(v.shell.shape for v in before)) == node.spec.shape:
                    xs = before
        return xs

    def in_blocks(self, node: Node, graph: Graph, xs: list[Buffer]) -> Any:
        """A graph of elementwise ops on large arrays: here, as if they were small; in tiling.py, a loop."""
        return self.inlined(graph, xs)

    def inlined(self, body: Graph, xs: list[Buffer]) -> Any:
        """What a graph makes of these operands, its steps among these."""
        inner = type(self)(dict(zip(body.inputs, xs, strict=True)))
        inner.steps = self.steps
        ys = inner.through(body)
        return ys[0] if len(ys) == 1 else ys

    def through(self, graph: Graph) -> tuple[Any, ...]:
        """The values of a graph's outputs, those of its inputs being known."""
        for node in graph.nodes:
            if node not in self.values:
                self.values[node] = self.of(node)
        return tuple(None if y is None else self.values[y] for y in graph.outputs)

    def instance(self, node: Node, template: Template, xs: list[Buffer]) -> Buffer:
        """The template's steps on these operands. Its result."""
        new = dict(zip(template.operands, xs, strict=True))

        def moved(v: Buffer) -> Buffer:
            if v in new or v.kind == "constant":
                return new.get(v, v)
            roots = tuple(dict.fromkeys(r for root in v.roots if root is not v for r in moved(root).roots))
            base = new.get(v.root) if v.root is not v else None
            new[v] = Buffer(v.shell, v.kind, roots, v.offset + (base.offset if base else 0))
            return new[v]

        for s in template.steps:
            made = s.result and moved(s.result)
            operands = tuple(map(moved, s.operands))
            self.steps.append(replace(s, operands=operands, result=made, node=node))
        return moved(template.result)

    def called(self, node: Node, xs: list[Any], spec: Any = None) -> Any:
        """One step that calls the op. What it gives may look into its operands, if the op says so."""
        flat = tuple(v for x in xs for v in (x if isinstance(x, tuple) else (x,)))
        name = type(node.op).__name__.lower()
        name += "_" * iskeyword(name)
        scope = {name: node.op.forward, "xp": CPU.xp if node.spec.device is None else node.spec.device.xp}
        names = iter(range(len(flat)))
        rows = [[f"{{{next(names)}}}" for _ in (x if isinstance(x, tuple) else (x,))] for x in xs]
        args = [f"({''.join(f'{v}, ' for v in row)})" if isinstance(x, tuple) else row[0] for x, row in zip(xs, rows)]
        text = f"{name}({', '.join(['xp', *args])})"
        spec = node.spec if spec is None else spec
        if hasattr(node.op, "gives"):  # a branch or a loop, whose results are arrays of their own
            pieces = tuple(Buffer(hull(s), "made", spec=s) for s in spec)
            self.steps.append(Step(text, flat, (), None, scope, node=node, results=pieces))
            return pieces
        several = isinstance(spec, Specs)
        if not several and not spec.shape:
            text, scope["asarray"] = f"asarray({text})", np.asarray
        made = Buffer(shell((), np.dtype(object)) if several else hull(spec), "made", spec=spec)
        if several or node.op.is_view or node.op.effect:  # a print gives back what it was given
            made.roots = (made, *dict.fromkeys(r for x in flat for r in x.roots))
        self.steps.append(Step(text, flat, (), made, scope, node=node))
        return tuple(self.piece(node, made, i, s) for i, s in enumerate(spec)) if several else made

    def piece(self, node: Node, row: Buffer, i: int, spec: Spec) -> Buffer:
        """One of several results."""
        made = Buffer(hull(spec), "view", row.roots, spec=spec)
        self.steps.append(Step(f"{{0}}[{i}]", (row,), (), made, node=node))
        return made


def is_long(shape: Shape, xs: list[Buffer]) -> bool:
    """Whether a loop over that shape is worth while: it is large, and its operands lie in memory in one order."""
    return prod(shape) > BLOCK and len({laid_out(shape, [x]) for x in xs if x.shell.shape == shape}) < 2


def are_rows(shape: Shape, spec: Any, xs: list[Buffer]) -> bool:
    """Whether a loop over that shape may as well be steps over rows, which go together with others: see tiling.py."""
    whole = all(s.shape == shape for s in (spec if isinstance(spec, Specs) else (spec,)))
    flat = all(x.shell.flags.c_contiguous for x in xs if x.shell.shape == shape)
    return whole and flat and len(shape) > 1 and shape[0] > 1 and prod(shape[1:]) <= BLOCK


def is_planned(spec: Any) -> bool:
    """Whether memory can be set aside for it: it is on the CPU, and its lengths are known."""
    specs = spec if isinstance(spec, Specs) else (spec,)
    return all(s.device is CPU and s.nbytes < 1 << 40 for s in specs)  # a length not known is a very large number


def can_record(node: Node, xs: list[Any]) -> bool:
    """Whether the node may be taken apart into steps."""
    single = not any(isinstance(x, tuple) for x in xs) and not isinstance(node.spec, Specs)
    return single and not node.op.effect and all(map(is_planned, (node.spec, *(x.spec for x in node.inputs))))


def constant(node: Node) -> Buffer:
    """A number, as an array of no axes: NumPy takes it twice as fast as Python's own."""
    array = np.asarray(computed(node))
    return known(array.item(), str(array), array.dtype) if not array.ndim else Buffer(array, "constant", array=array)


@lru_cache(maxsize=4096)
def known(number: Any, written: str, dtype: np.dtype) -> Buffer:
    """The constant of that value and sign."""
    return Buffer(shell((), dtype), "constant", array=np.asarray(number, dtype))


def layout(x: Buffer) -> Layout:
    return Layout(x.shell.shape, x.shell.dtype, x.shell.strides)


@lru_cache(maxsize=8192)
def recorded(op: Op, layouts: tuple[Layout, ...], spec: Spec, by: type[Recorder] = Recorder) -> Template | None:
    """The op recorded; None where it cannot be, or is not what `infer` foretold."""
    recorder = by()
    operands = tuple(Buffer(shell(*entry), "argument") for entry in layouts)
    try:
        y = op.forward(recorder, *(AbstractArray(recorder, x) for x in operands))
    except Exception:  # whatever an op may stumble over, having no elements: with elements it may not
        return None
    if not isinstance(y, AbstractArray) or (y.shape, y.dtype) != (spec.shape, spec.dtype):
        return None
    return Template(operands, recorder.steps, y.buffer)


def calls(template: Template) -> int:
    """How many of its steps go over the elements."""
    return sum(not s.is_view for s in template.steps)
