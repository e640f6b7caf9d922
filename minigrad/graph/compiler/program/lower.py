"""Lowering: from nodes to steps. Each op's `forward` runs on the recorder once per layout of its operands.

The recorded steps for given shapes, dtypes and strides are cached as a template, so the thousandth `tanh` of a graph
costs one look-up. An op that cannot be recorded becomes one step that calls `forward`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import count, repeat, starmap
from keyword import iskeyword
from math import prod
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from ....engine.base.device import CPU
from ....engine.base.spec import Spec, Specs
from ....engine.core.graph import Graph
from ....engine.core.interpret import value as computed
from ....engine.core.node import Node
from ....engine.core.op import Elementwise, Op
from ....engine.ops import BroadcastTo, ControlDep, Input, TupleGet
from ..passes.fuse import Fused, single_op_graph
from .abstract_array import AbstractArray
from .buffer import Buffer, ProgramStep, Shape, hull, laid_out, roots_of, shell
from .record import Recorder

SPEC = attrgetter("spec")
BLOCK = 1 << 16  # elements of a loop's block: a few such blocks fit into the cache


class Layout(NamedTuple):
    """The properties of an operand that a template depends on."""

    shape: Shape
    dtype: np.dtype
    strides: Shape


class Template(NamedTuple):
    """The recorded steps of an op on operands of certain layouts."""

    operands: tuple[Buffer, ...]
    steps: list[ProgramStep]
    result: Buffer


class Lowering:
    """Lowers a graph to steps.

    values    node → its Buffer; a tuple of them for an op with several results
    steps     the steps so far
    """

    def __init__(self, values: dict[Node, Any]):
        self.values = values
        self.steps: list[ProgramStep] = []

    def lower_node(self, node: Node) -> Any:
        """Lower a node whose inputs are lowered. Returns its value."""
        xs = [*map(self.values.__getitem__, node.inputs)]
        match node.op:
            case Input():
                return computed(node)  # an input without a value: raises TypeError
            case TupleGet(i) if isinstance(xs[0], tuple):
                return xs[0][i]
            case ControlDep() if not isinstance(xs[0], tuple):
                return xs[0]
            case Fused(body) if is_planned(node.spec):
                if not is_long(node.op.shape, xs) or are_rows(node.op.shape, node.spec, xs):
                    return self.inline_graph(body, xs)
                return self.in_blocks(node, body, xs)
        if not node.inputs and hasattr(node.op, "value"):
            return constant(node)
        if isinstance(node.op, Elementwise):
            xs = self.narrow(node, xs)
        template = None if not can_record(node, xs) else record_op(node.op, tuple(map(layout, xs)), node.spec)
        if template is None:
            return self.call_op(node, xs, node.spec)
        long = isinstance(node.op, Elementwise) and is_long(node.spec.shape, xs) and calls(template) > 1
        if long and not are_rows(node.spec.shape, node.spec, xs):
            return self.in_blocks(node, single_op_graph(node.op, tuple(x.spec for x in node.inputs), node.spec), xs)
        return self.instance(node, template, xs)

    def narrow(self, node: Node, xs: list[Any]) -> list[Any]:
        """An op's operands before their broadcasts, which NumPy does anyway: a number is faster than a view of it."""
        for i, x in enumerate(node.inputs):
            if isinstance(x.op, BroadcastTo):
                before = [*xs[:i], self.values[x.inputs[0]], *xs[i + 1 :]]
                if np.broadcast_shapes(*(v.shell.shape for v in before)) == node.spec.shape:
                    xs = before
        return xs

    def in_blocks(self, node: Node, graph: Graph, xs: list[Buffer]) -> Any:
        """Lower elementwise ops on large arrays: here like ops on small ones; tiling.py overrides this with a loop."""
        return self.inline_graph(graph, xs)

    def inline_graph(self, body: Graph, xs: list[Buffer]) -> Any:
        """Lower a graph on these operands into the same list of steps. Returns its value; several values as a tuple."""
        inner = type(self)(dict(zip(body.inputs, xs, strict=True)))
        inner.steps = self.steps
        ys = inner.lower_graph(body)
        return ys[0] if len(ys) == 1 else ys

    def lower_graph(self, graph: Graph) -> tuple[Any, ...]:
        """Lower all nodes of a graph whose inputs have values. Returns the values of its outputs."""
        for node in graph.nodes:
            if node not in self.values:
                self.values[node] = self.lower_node(node)
        return tuple([None if y is None else self.values[y] for y in graph.outputs])

    def instance(self, node: Node, template: Template, xs: list[Buffer]) -> Buffer:
        """Append the template's steps on these operands. Returns the result."""
        new = dict(zip(template.operands, xs, strict=True))

        def rebase_buffer(v: Buffer) -> Buffer:
            if v in new or v.kind == "constant":
                return new.get(v, v)
            roots = () if v.roots == (v,) else roots_of([rebase_buffer(root) for root in v.roots if root is not v])
            base = new.get(v.root) if v.root is not v else None
            new[v] = Buffer(v.shell, v.kind, roots, v.offset + (base.offset if base else 0))
            return new[v]

        for s in template.steps:
            made = s.result and rebase_buffer(s.result)
            operands = tuple(map(rebase_buffer, s.operands))
            self.steps.append(replace(s, operands=operands, result=made, node=node))
        return rebase_buffer(template.result)

    def call_op(self, node: Node, xs: list[Any], spec: Any) -> Any:
        """Append one step that calls the op. Its result may alias its operands if it is a view or has an effect."""
        flat = tuple(v for x in xs for v in (x if isinstance(x, tuple) else (x,)))
        name = type(node.op).__name__.lower()
        name += "_" * iskeyword(name)
        scope = {name: node.op.forward, "xp": CPU.xp if node.spec.device is None else node.spec.device.xp}
        text = f"{name}({', '.join(['xp', *placeholders(xs)])})"
        if hasattr(node.op, "gives"):  # a branch or a loop: its results own their memory
            pieces = tuple(Buffer(hull(s), "made", spec=s) for s in spec)
            self.steps.append(ProgramStep(text, flat, (), None, scope, node=node, results=pieces))
            return pieces
        several = isinstance(spec, Specs)
        if not several and not spec.shape:
            text, scope["asarray"] = f"asarray({text})", np.asarray
        made = Buffer(shell((), np.dtype(object)) if several else hull(spec), "made", spec=spec)
        if several or node.op.is_view or node.op.effect:  # a print returns its operand
            made.roots = (made, *roots_of(flat))
        self.steps.append(ProgramStep(text, flat, (), made, scope, node=node))
        return tuple(self.piece(node, made, i, s) for i, s in enumerate(spec)) if several else made

    def piece(self, node: Node, row: Buffer, i: int, spec: Spec) -> Buffer:
        """Append the step that picks one of several results."""
        made = Buffer(hull(spec), "view", row.roots, spec=spec)
        self.steps.append(ProgramStep(f"{{0}}[{i}]", (row,), (), made, node=node))
        return made


def placeholders(xs: list[Any]) -> list[str]:
    """Format fields {0}, {1}, … for the operands of a call; an operand of several buffers is a tuple of fields."""
    fields = map("{{{}}}".format, count())
    return [f"({''.join(f'{next(fields)}, ' for _ in x)})" if isinstance(x, tuple) else next(fields) for x in xs]


def is_long(shape: Shape, xs: list[Buffer]) -> bool:
    """Whether a loop in blocks pays off: the shape is large, and all operands have the same order in memory."""
    return prod(shape) > BLOCK and len({laid_out(shape, [x]) for x in xs if x.shell.shape == shape}) < 2


def are_rows(shape: Shape, spec: Any, xs: list[Buffer]) -> bool:
    """Whether the ops can be steps over rows instead of a loop; tiling.py joins such steps into one loop."""
    whole = all(s.shape == shape for s in (spec if isinstance(spec, Specs) else (spec,)))
    flat = all(x.shell.flags.c_contiguous for x in xs if x.shell.shape == shape)
    return whole and flat and len(shape) > 1 and shape[0] > 1 and prod(shape[1:]) <= BLOCK


@lru_cache(maxsize=4096)
def is_planned(spec: Any) -> bool:
    """Whether memory for this spec can be planned: it is on the CPU, and its lengths are known."""
    if isinstance(spec, Specs):
        return all(map(is_planned, spec))
    return spec.device is CPU and spec.nbytes < 1 << 40  # an unknown length is a huge number


def can_record(node: Node, xs: list[Any]) -> bool:
    """Whether the node's op may be recorded as steps."""
    single = tuple not in map(type, xs) and not isinstance(node.spec, Specs)
    return single and not node.op.effect and all(map(is_planned, (node.spec, *map(SPEC, node.inputs))))


def constant(node: Node) -> Buffer:
    """A constant as a buffer. A number is a 0-d array, which NumPy reads twice as fast as a Python number."""
    array = np.asarray(computed(node))
    if not array.ndim:
        return scalar_constant(array.item(), str(array), array.dtype)
    return Buffer(array, "constant", array=array)


@lru_cache(maxsize=4096)
def scalar_constant(number: Any, written: str, dtype: np.dtype) -> Buffer:
    """The buffer of a constant number. The cache's key includes its text, `written`, to distinguish 0 from −0."""
    return Buffer(shell((), dtype), "constant", array=np.asarray(number, dtype))


def layout(x: Buffer) -> Layout:
    return Layout(x.shell.shape, x.shell.dtype, x.shell.strides)


@lru_cache(maxsize=8192)
def record_op(op: Op, layouts: tuple[Layout, ...], spec: Spec, by: type[Recorder] = Recorder) -> Template | None:
    """The recorded steps of an op; None if it cannot be recorded, or its result does not match `infer`."""
    operands = tuple(map(Buffer, starmap(shell, layouts), repeat("argument")))
    try:
        with np.errstate(all="warn"):  # the steps do not depend on what is ignored where the op is first compiled
            recorder = by()
            y = op.forward(recorder, *map(AbstractArray, repeat(recorder), operands))
    except Exception:  # without elements an op may fail in any way
        return None
    if not isinstance(y, AbstractArray) or (y.shape, y.dtype) != (spec.shape, spec.dtype):
        return None
    return Template(operands, recorder.steps, y.buffer)


def calls(template: Template) -> int:
    """The number of steps that read or write elements."""
    return sum(not s.is_view for s in template.steps)
