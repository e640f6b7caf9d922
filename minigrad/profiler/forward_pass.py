"""A forward pass as a graph of its ops: traced without elements, or watched as it runs.

The graph holds what the records of a real run would: which op ran on which results, in which module's call, and whose
memory each result shares. Strides decide whether a view needs a copy. An op's `forward` computes them, on arrays
without elements (graph/compiler/program/abstract_array.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autograd.function_rule import FunctionCall
from ..engine.base.device import META, Device
from ..engine.base.errors import GraphError, NoValueError, ShapeError
from ..engine.base.pytree import leaves, replace_leaves
from ..engine.base.spec import Spec, Specs
from ..engine.core.calls import following
from ..engine.core.modes import in_mode, watching
from ..engine.core.node import Node, toposort
from ..engine.core.op import Op
from ..engine.tensor.rules import CompiledRule
from ..engine.tensor.tensor import Tensor, wrap_array
from ..graph.compiler.program.abstract_array import AbstractArray
from ..graph.compiler.program.buffer import hull
from ..graph.compiler.program.lower import Layout, record_op
from ..graph.compiler.program.record import Recorder
from ..graph.function import run_functions_eagerly
from ..graph.placeholder import TensorSpec
from ..graph.trace import TraceBuilder

WAY_OUT = "estimate(..., run=True) runs the model once, on inputs with values, and counts what ran"


@dataclass(frozen=True)
class ForwardPass:
    """The nodes of a forward pass.

    nodes      the ops that the results depend on, and the leaves that they read, in execution order
    outputs    the results
    home       node → the node whose memory it shares: itself, unless it is a view
    tensors    leaf → its tensor
    arguments  the leaves that are arguments of the call
    """

    nodes: list[Node]
    outputs: list[Node]
    home: Mapping[Node, Node]
    tensors: Mapping[Node, Tensor]
    arguments: frozenset[Node]


def trace_forward(model: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> ForwardPass:
    """Trace the forward pass on these arguments. Only the specs of tensors are read.

    Raises NoValueError if the model reads a value, GraphError if values decide how often an op runs.
    """
    builder, symbols = start_trace((args, options))
    args, options = replace_leaves((args, options), lambda x: isinstance(x, Tensor), symbols)
    try:
        with builder.building(), in_mode(tracked=False, watchers=()):
            outputs = [builder.lift(y).node for y in leaves(model(*args, **options)) if hasattr(y, "spec")]
        return finish_trace(builder, outputs)
    except NoValueError as error:
        said = f"{error}\nestimate() runs the model without values, and the model reads one. (A tuple of integers is "
        said += f"taken as the shape of a tensor.) {WAY_OUT}"
        raise NoValueError(said) from error
    finally:
        builder.closed = True


def watch_forward(model: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> ForwardPass:
    """Run the forward pass. Each op that runs becomes a node, as in a trace."""
    builder, _ = start_trace((args, options))
    echo = Echo(builder)
    with run_functions_eagerly(), following(), watching(echo):
        result = model(*args, **options)
    for op, y, _ in echo.held:
        if isinstance(op, FunctionCall) or (y.tracked and not y.is_leaf and not isinstance(y.node.rule, CompiledRule)):
            raise GraphError(f"{op} is a Function, or in a checkpoint: estimate() counts it without run=True")
    return finish_trace(builder, [echo.symbol_of(y).node for y in leaves(result) if isinstance(y, Tensor)])


class Echo:
    """A watcher that adds each op that runs to a graph."""

    def __init__(self, builder: TraceBuilder) -> None:
        self.builder = builder
        self.symbols = {id(x): symbol for x, symbol in builder.arguments}  # id of a tensor → its symbol
        self.held: list[Any] = []  # kept alive, so that no id is reused

    def symbol_of(self, x: Tensor) -> Any:
        return self.symbols[id(x)] if id(x) in self.symbols else self.builder.lift(x)

    def on_forward(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        self.held.append((op, y, y.value))
        if not isinstance(op, FunctionCall):  # watch_forward refuses it after the run
            with in_mode(builder=self.builder, watchers=(), autocast=None):
                x, *others = map(self.symbol_of, xs)
                self.symbols[id(y)] = x.apply(op, *others)

    def on_backward(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


def start_trace(tree: Any) -> tuple[TraceBuilder, list[Any]]:
    """A new trace, and a symbol for each tensor in the arguments."""
    builder, given = TraceBuilder({}), [x for x in leaves(tree) if isinstance(x, Tensor)]
    return builder, [builder.add_argument(f"input{i}", x, x.spec) for i, x in enumerate(given)]


def finish_trace(builder: TraceBuilder, outputs: list[Node]) -> ForwardPass:
    """The forward pass that the outputs depend on."""
    nodes = in_order(outputs)
    tensors = {node: x for node, x in builder.origins.items() if isinstance(x, Tensor)}
    return ForwardPass(nodes, outputs, homes(nodes, tensors), tensors, frozenset(builder.inputs))


def in_order(outputs: list[Node]) -> list[Node]:
    """The nodes that the outputs depend on, in execution order. Raises GraphError for none, or for a branch or loop."""
    if not outputs:
        raise GraphError("estimate() counts the ops behind a result, and the model returned no tensor: return one")
    nodes = sorted(toposort(*outputs), key=lambda node: node.born)
    for node in nodes:
        if isinstance(node.spec, Specs):
            raise GraphError(f"{node.op} is a branch, a loop or a Function, and its cost depends on values. {WAY_OUT}")
    return nodes


def homes(nodes: list[Node], tensors: Mapping[Node, Tensor]) -> dict[Node, Node]:
    """Node → the node whose memory it shares: itself, unless it is a view."""
    home: dict[Node, Node] = {}
    layouts: dict[Node, Layout] = {}
    readers: dict[int, Node] = {}  # id of a leaf's array → the first node that reads it
    for node in nodes:
        strides, home[node] = hull(node.spec).strides, node
        if node in tensors:
            strides = tensors[node].value.strides
            home[node] = readers.setdefault(id(tensors[node].value), node)
        elif node.inputs:
            strides, source = result_layout(node.op, tuple(layouts[x] for x in node.inputs), node.spec)
            home[node] = node if source is None else home[node.inputs[source]]
        layouts[node] = Layout(node.spec.shape, node.spec.dtype, strides)
    return home


class Strides(Recorder):
    """A recorder used only for the layout of a result: it computes no constants."""

    def triangle(self, f: Callable[..., Any], x: AbstractArray, offset: int = 0) -> AbstractArray:
        return self.empty(x.shape, x.dtype)


def result_layout(op: Op, layouts: tuple[Layout, ...], spec: Spec) -> tuple[tuple[int, ...], int | None]:
    """The strides of an op's result, and the index of the operand it aliases, if any."""
    template = record_op(op, layouts, spec, Strides)
    if template is None:
        return hull(spec).strides, 0 if op.is_view else None
    y = template.result
    return y.shell.strides, next((i for i, x in enumerate(template.operands) if x in y.roots), None)


# -- arguments ------------------------------------------------------------------------------------------


def abstract_arguments(tree: Any, device: Device, dtype: Any) -> Any:
    """The arguments, with each array, TensorSpec, Spec and shape (a tuple of integers) replaced by a tensor.

    device    the model's device: the arguments need not be moved there
    dtype     the dtype of tensors given as a shape
    """
    if isinstance(tree, dict):
        return {name: abstract_arguments(each, device, dtype) for name, each in tree.items()}
    if isinstance(tree, tuple) and tree and all(n is None or type(n) is int for n in tree):
        if not all(n is not None and n >= 0 for n in tree):
            raise ShapeError(f"a shape is a tuple of whole numbers, 0 or more, and got {tree}")
        tree = Spec(tree, dtype, device)
    if isinstance(tree, list | tuple) and not hasattr(tree, "_fields"):
        return type(tree)(abstract_arguments(each, device, dtype) for each in tree)
    tree = tree.spec() if isinstance(tree, TensorSpec) else Tensor(tree) if isinstance(tree, np.ndarray) else tree
    if isinstance(tree, Spec):
        return without_elements(tree, device)
    if isinstance(tree, Tensor) and tree.spec.device is not device:
        return without_elements(tree.spec, device).requires_grad_(tree.requires_grad)
    return tree


def without_elements(spec: Spec, device: Device) -> Tensor:
    """A tensor of this spec without elements, as if it were on this device."""
    if not spec.is_known:
        raise ShapeError(f"estimate() counts for one shape, and {spec} has unknown lengths: give all of them")
    return wrap_array(META.xp.empty(spec.shape, spec.dtype), Spec(spec.shape, spec.dtype, device))
