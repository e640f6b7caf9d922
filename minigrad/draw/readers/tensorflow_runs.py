"""TensorFlow's eager runs, and the graphs of tf.function with the values of a run, for StaticVsDynamic."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from inspect import getclosurevars
from typing import Any

import tensorflow as tf
from tensorflow.python.eager.wrap_function import VariableHolder, WrappedFunction
from tensorflow.python.framework.op_callbacks import add_op_callback, remove_op_callback
from tensorflow.python.util.tf_stack import extract_stack

from ..names import names_in
from ..picture import Box
from ..static_run import SIGNS, RunBuilder, Saw, StaticRun, op_box, own_line
from ..tensors import format_array
from .nested import spec_text
from .tensorflow import GraphReader

title = "tf.function: built first, run later"
TYPES = {
    "realdiv": "div", "greater": "gt", "less": "lt", "equal": "eq", "greaterequal": "ge",
    "lessequal": "le", "stridedslice": "getitem",
}  # fmt: skip
SHAPED = "Sum", "Mean", "Max", "Min", "Prod", "Reshape", "Transpose", "ExpandDims", "Tile", "StridedSlice", "ConcatV2"
PARTS = "then_branch", "else_branch", "body", "cond"
ALIASES = "Identity", "ReadVariableOp", "StringFormat"  # ops without boxes: their first operand stands for them


def is_tensor(x: Any) -> bool:
    return isinstance(x, tf.Tensor | tf.Variable)


def describe(x: Any) -> Box:
    kind, spec = ("leaf", spec_text(x.dtype.base_dtype.name, x.shape)) if x.shape.rank else ("constant", "")
    return Box("", kind, "", "", spec, repr(x.numpy()) if x.dtype == tf.string else format_array(x.numpy()), "")


def names(f: Any) -> dict[int, str]:
    return names_in(reachable(f), lambda x: id(x) if is_tensor(x) else None)


def reachable(f: Any) -> dict[str, Any]:
    found = getclosurevars(f)
    return {**found.globals, **found.nonlocals}


@contextmanager
def prepare(f: Any, args: Sequence[Any]) -> Iterator[Sequence[Any]]:
    held = [y for x in (*reachable(f).values(), *args) for y in (getattr(x, "variables", None) or [x])]
    before = [(x, x.numpy()) for x in held if isinstance(x, tf.Variable)]
    try:
        yield args
    finally:
        for variable, value in before:
            variable.assign(value)


@contextmanager
def watch(saw: Saw) -> Iterator[None]:
    def report(type: str, xs: Any, attrs: Any, ys: Any, op_name: Any = None, graph: Any = None) -> None:
        if type == "PrintV2":  # TensorFlow writes to stderr without Python
            sys.stdout.write(xs[0].numpy().decode() + "\n")
        elif ys and graph is None and all(y.dtype not in (tf.string, tf.resource) for y in ys):
            saw(sign_of(type), ys, operands_of(type, xs))

    add_op_callback(report)
    try:
        yield
    finally:
        remove_op_callback(report)


def sign_of(type: str) -> str:
    name = re.sub("^Stateless|^Stateful|V\\d$|VariableOp$", "", type).lower()
    return SIGNS.get(TYPES.get(name, name), name)


def operands_of(type: str, xs: Sequence[Any]) -> list[Any]:
    """The operands to show: no axes, shapes or resources."""
    return [
        x for i, x in enumerate(xs) if x.dtype != tf.resource and not (i and type in SHAPED and x.dtype == tf.int32)
    ]


class FunctionTraces:
    """A function and its concrete functions."""

    def __init__(self, f: Any):
        self.f = getattr(f, "python_function", f)
        self.traced = tf.function(self.f)

    @property
    def trace_count(self) -> int:
        return int(self.traced.experimental_get_tracing_count())

    def trace_for(self, *args: Any) -> Any:
        return self.traced.get_concrete_function(*args)

    def user_line(self) -> int:
        return line_in(self.f, extract_stack())

    def run(self, *args: Any) -> StaticRun:
        concrete = self.trace_for(*args)
        with prepare(self.f, args):
            run = GraphRun(concrete, self.f, [x for x in tf.nest.flatten(args) if is_tensor(x)])
        with prepare(self.f, args):
            return run.boxes.finish(tf.nest.flatten(self.traced(*args)))


def trace(f: Any) -> FunctionTraces:
    return FunctionTraces(f)


def line_in(f: Any, stack: Any) -> int:
    """The line of f in a stack of TensorFlow, which knows what AutoGraph made of each line."""
    return own_line([(frame.filename, frame.lineno) for frame in stack.get_user_frames()], f.__code__) if stack else 0


class GraphRun:
    """Boxes for the ops of a graph, with the values of one run."""

    def __init__(self, concrete: Any, f: Any, args: Sequence[Any]):
        self.f, self.graph, self.boxes = f, concrete.graph, RunBuilder()
        self.reader = GraphReader(self.graph, [])
        own = {id(x.handle): (name, x) for name, x in reachable(f).items() if isinstance(x, tf.Variable)}
        held = [(own.get(id(outer), ("", outer)), inner) for outer, inner in self.graph.captures]
        self.values = {inner.ref(): x for (_, x), inner in held}
        self.names = {inner.ref(): name or names(f).get(id(x), "captured") for (name, x), inner in held}
        ops = self.graph.get_operations()
        ys = [
            y for op in ops if op.type != "Placeholder" for y in op.outputs if y.dtype not in (tf.resource, tf.variant)
        ]
        given = [x for x in concrete.inputs if x.ref() not in self.values]
        self.values |= zip([x.ref() for x in given], args)
        run = WrappedFunction(self.graph, VariableHolder()).prune(given, ys)
        self.values |= zip([y.ref() for y in ys], run(*args) if ys else ())
        self.box_of: dict[Any, str | Box] = {}
        for op in ops:
            self.add(op)

    def add(self, op: Any) -> None:
        box: str | Box | None = None
        if op.type in ALIASES:
            box = self.box_of.get(op.inputs[0].ref())
        elif op.type in ("Placeholder", "Const"):
            value = self.values.get(op.outputs[0].ref())
            box = (
                describe(value)
                if (value is not None and value.dtype not in (tf.string, tf.resource)) or is_variable(value)
                else None
            )
            if op.type == "Placeholder" and box is not None:
                box = self.boxes.add(replace(box, kind="leaf", name=self.names.get(op.outputs[0].ref(), op.name)))
        elif op.type != "NoOp":
            box = self.add_op(op)
        if box is not None:
            self.box_of.update((y.ref(), box) for y in op.outputs)

    def add_op(self, op: Any) -> str:
        operands = [self.box_of[x.ref()] for x in operands_of(op.type, op.inputs) if x.ref() in self.box_of]
        known = [y for y in op.outputs if y.ref() in self.values and y.dtype != tf.string]
        ys = [self.values[y.ref()] for y in [y for y in known if y.consumers()] or known]
        box = self.boxes.add(op_box(sign_of(op.type), [*map(describe, ys)]), operands, line_in(self.f, op.traceback))
        if op.type == "PrintV2":
            self.boxes.prints[box] = self.values[op.inputs[0].ref()].numpy().decode() + "\n"
        attr = op.node_def.attr
        graphs = [self.reader.function(op, attr[key].func.name) for key in PARTS if key in attr]
        if graphs:
            inner = [x for graph in graphs for x in graph.get_operations()]
            self.boxes.inner[box] = {line for x in inner if (line := line_in(self.f, x.traceback))}
        if sign_of(op.type) == "if":
            words = dict(zip(("true", "false"), map(words_of, graphs)))
            self.boxes.add_branches(box, str(bool(self.values[op.inputs[0].ref()])).lower(), words)
        return box


def is_variable(x: Any) -> bool:
    return isinstance(x, tf.Variable)


def words_of(graph: Any) -> list[str]:
    return [
        sign_of(op.type) for op in graph.get_operations() if op.type not in (*ALIASES, "Placeholder", "Const", "NoOp")
    ]
