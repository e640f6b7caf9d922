"""TensorFlow's eager runs, and the graphs of tf.function with the values of a run, for StaticVsDynamic."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import tensorflow as tf
from tensorflow.compat import as_str
from tensorflow.python.eager.wrap_function import VariableHolder, WrappedFunction
from tensorflow.python.framework.op_callbacks import add_op_callback, remove_op_callback
from tensorflow.python.util.tf_stack import extract_stack

from ..listing_of import modules_of
from ..names import names_in
from ..nested import spec_text
from ..picture import Box
from ..static_run import SIGNS, Saw, StaticRun, code_of, own_line, reachable
from ..tensors import format_array
from .tensorflow import GraphReader

title = "tf.function: built once, run often"
TYPES = {
    "realdiv": "div", "greater": "gt", "less": "lt", "equal": "eq", "greaterequal": "ge",
    "lessequal": "le", "stridedslice": "getitem",
}  # fmt: skip
SHAPED = "Sum", "Mean", "Max", "Min", "Prod", "Reshape", "Transpose", "ExpandDims", "Tile", "StridedSlice", "ConcatV2"
PARTS = "then_branch", "else_branch", "body", "cond"
HIDDEN = "Placeholder", "Const", "Identity", "ReadVariableOp", "NoOp"  # no symbols in branches


def is_tensor(x: Any) -> bool:
    return isinstance(x, tf.Tensor | tf.Variable)


def describe(x: Any) -> Box:
    kind, spec = ("leaf", spec_text(x.dtype.base_dtype.name, x.shape)) if x.shape.rank else ("constant", "")
    return Box("", kind, "", "", spec, repr(x.numpy()) if x.dtype == tf.string else format_array(x.numpy()), "")


def names(f: Any) -> dict[int, str]:
    return names_in(reachable(f), lambda x: id(x) if is_tensor(x) else None)


@contextmanager
def prepare(f: Any, args: Sequence[Any]) -> Iterator[Sequence[Any]]:
    held = modules_of(f, (tf.Module, tf.Variable), args).values()
    before = [(x, x.numpy()) for each in held for x in getattr(each, "variables", [each])]
    try:
        yield args
    finally:
        for variable, value in before:
            variable.assign(value)


@contextmanager
def watch(saw: Saw) -> Iterator[None]:
    def report(type: str, xs: Any, attrs: Any, ys: Any, op_name: Any = None, graph: Any = None) -> None:
        if type == "PrintV2":  # TensorFlow writes to stderr without Python
            sys.stdout.write(xs[0].numpy().decode() + as_str(attrs[attrs.index("end") + 1]))
        elif ys and graph is None and all(is_value(y) and y.dtype != tf.string for y in ys):
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


class ConcreteTraces:
    """A function and its concrete functions."""

    def __init__(self, f: Any):
        self.f = getattr(f, "python_function", f)
        self.traced = tf.function(self.f)

    trace_count = property(lambda self: self.traced.experimental_get_tracing_count())

    def trace_for(self, *args: Any) -> Any:
        return self.traced.get_concrete_function(*args)

    def user_line(self) -> int:
        return line_in(self.f, extract_stack())

    def run(self, *args: Any) -> StaticRun:
        concrete = self.trace_for(*args)
        with prepare(self.f, args):
            run = FunctionRun(concrete, self.f, [x for x in tf.nest.flatten(args) if is_tensor(x)]).found
        with prepare(self.f, args):
            run.results = tf.nest.flatten(self.traced(*args))
        return run


Traces = ConcreteTraces


def line_in(f: Any, stack: Any) -> int:
    """The line of f in a stack of TensorFlow, which knows what AutoGraph made of each line."""
    return own_line([(frame.filename, frame.lineno) for frame in stack.get_user_frames()], code_of(f)) if stack else 0


class FunctionRun:
    """Boxes for the ops of a graph, with the values of one run. Each read of a variable is a leaf."""

    def __init__(self, concrete: Any, f: Any, args: Sequence[Any]):
        self.f, graph, self.found = f, concrete.graph, StaticRun()
        self.function = GraphReader(graph, []).function
        known = {id(getattr(x, "handle", x)): name for name, x in reachable(f).items()}
        self.names = {inner.ref(): known.get(id(outer), "captured") for outer, inner in graph.captures}
        self.values = {inner.ref(): outer for outer, inner in graph.captures if is_value(outer)}
        given = [x for x in concrete.inputs if x.ref() not in self.names]
        made = [y for op in graph.get_operations() if op.type != "Placeholder" for y in op.outputs if is_value(y)]
        run = WrappedFunction(graph, VariableHolder()).prune(given, made)
        self.values |= zip([x.ref() for x in (*given, *made)], (*args, *(run(*args) if made else ())))
        for op in graph.get_operations():
            self.add(op)

    def add(self, op: Any) -> None:
        if op.type == "Identity":
            for found in cast(Any, (self.found.box_of, self.found.unused)):
                found |= {op.outputs[0].ref(): found[x.ref()] for x in op.inputs if x.ref() in found}
        elif op.type in ("Placeholder", "Const", "ReadVariableOp"):
            self.add_leaf(op)
        elif op.type not in ("NoOp", "StringFormat"):
            self.add_op(op, [y for y in op.outputs if y.consumers()] or op.outputs)

    def add_leaf(self, op: Any) -> None:
        """Make the box of an input, a constant or a variable that is read."""
        source = op.inputs[0] if op.inputs else op.outputs[0]
        name = "" if op.type == "Const" else self.names.get(source.ref(), op.name)
        for ref in [y.ref() for y in op.outputs if y.ref() in self.values]:
            box = describe(self.values[ref])
            self.found.unused[ref] = replace(box, name=name, kind="leaf" if name else box.kind)

    def add_op(self, op: Any, ys: Sequence[Any]) -> None:
        xs, sign, attr = [x.ref() for x in operands_of(op.type, op.inputs)], sign_of(op.type), op.node_def.attr
        results = [describe(self.values[y.ref()]) for y in ys if is_value(y)]
        operands = [x for x in xs if x in self.found.box_of or x in self.found.unused]
        refs = [y.ref() for y in op.outputs]
        box = self.found.run_op(sign, refs, results, operands, line_in(self.f, op.traceback))
        if op.type == "PrintV2":
            self.found.prints[box] = as_str(self.values[op.inputs[0].ref()].numpy() + op.get_attr("end"))
        if graphs := [self.function(op, attr[key].func.name).get_operations() for key in PARTS if key in attr]:
            self.found.inner[box] = {line for ops in graphs for x in ops if (line := line_in(self.f, x.traceback))}
        if sign == "if":
            signs = [[sign_of(x.type) for x in ops if x.type not in HIDDEN] for ops in graphs]
            self.found.add_branches(box, str(bool(self.values[xs[0]])).lower(), dict(zip(("true", "false"), signs)))


def is_value(x: Any) -> bool:
    return x.dtype not in (tf.resource, tf.variant)
