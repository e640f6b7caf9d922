"""A forward pass as the ops that it is made of: traced without elements, or watched as it runs.

What is kept of it is what `Records` of a real run would say: which op ran on which results, in which module's call, and
in whose memory each result is. Where a view needs a copy, strides tell, and `forward` itself, run on arrays that have
strides and no elements, works them out (graph/compiler/program/abstract_array.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autograd.function_rule import Called
from ..engine.base.device import META, Device
from ..engine.base.errors import GraphError, NoValueError, ShapeError
from ..engine.base.pytree import leaves, substituted
from ..engine.base.spec import Spec, Specs
from ..engine.core.calls import following
from ..engine.core.modes import in_mode, watching
from ..engine.core.node import Node, toposort
from ..engine.core.op import Op
from ..engine.tensor.rules import CompiledRule
from ..engine.tensor.tensor import Tensor, made
from ..graph.compiler.program.abstract_array import AbstractArray
from ..graph.compiler.program.buffer import hull
from ..graph.compiler.program.lower import Layout, recorded
from ..graph.compiler.program.record import Recorder
from ..graph.function import run_functions_eagerly
from ..graph.placeholder import TensorSpec
from ..graph.trace import Tracing

WAY_OUT = "estimate(..., run=True) runs the model once, on inputs with values, and counts what ran"


@dataclass(frozen=True)
class ForwardPass:
    """What ran.

    nodes      the ops that the results depend on, and what they read, in the order in which they run
    outputs    the results
    home       node → the node in whose memory it is: its own, or that of which it is a view
    tensors    node that is read → its tensor
    arguments  those of them that are given at each call
    """

    nodes: list[Node]
    outputs: list[Node]
    home: Mapping[Node, Node]
    tensors: Mapping[Node, Tensor]
    arguments: frozenset[Node]


def traced(model: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> ForwardPass:
    """The forward pass on these arguments, of whose tensors only the specs are read.

    Raises NoValueError where the model asks for a value, GraphError where values decide how often an op runs.
    """
    builder, symbols = begun((args, options))
    args, options = substituted((args, options), lambda x: isinstance(x, Tensor), symbols)
    try:
        with builder.building(), in_mode(tracked=False, watchers=()):
            result = model(*args, **options)
            outputs = [builder.lift(y).node for y in leaves(result) if hasattr(y, "spec")]
        return ended(builder, outputs)
    except NoValueError as error:
        said = f"{error}\nestimate() runs the model without values, and it asks for one; what is given as a tuple of "
        said += f"whole numbers is the shape of a tensor. {WAY_OUT}"
        raise NoValueError(said) from error
    finally:
        builder.closed = True


def watched(model: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> ForwardPass:
    """The forward pass, run; each op that ran becomes a node, as in a trace."""
    builder, _ = begun((args, options))
    echo = Echo(builder)
    with run_functions_eagerly(), following(), watching(echo):
        result = model(*args, **options)
    for op, y, _ in echo.held:
        if isinstance(op, Called) or (y.tracked and not y.is_leaf and not isinstance(y.node.rule, CompiledRule)):
            raise GraphError(f"{op} is a Function, or in a checkpoint: estimate() counts it without run=True")
    return ended(builder, [echo.of(y).node for y in leaves(result) if isinstance(y, Tensor)])


class Echo:
    """A watcher that has each op that runs take its place in a graph, too."""

    def __init__(self, builder: Tracing) -> None:
        self.builder = builder
        self.symbols = {id(x): symbol for x, symbol in builder.arguments}  # id of a tensor → its symbol
        self.held: list[Any] = []  # so that no id is another's by and by

    def of(self, x: Tensor) -> Any:
        return self.symbols[id(x)] if id(x) in self.symbols else self.builder.lift(x)

    def saw(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        self.held.append((op, y, y.value))
        if not isinstance(op, Called):  # which is refused afterwards
            with in_mode(builder=self.builder, watchers=(), autocast=None):
                x, *others = map(self.of, xs)
                self.symbols[id(y)] = x.apply(op, *others)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


def begun(tree: Any) -> tuple[Tracing, list[Any]]:
    """A graph to be built of a call with these arguments, and the symbols of the tensors in them."""
    builder, given = Tracing({}), [x for x in leaves(tree) if isinstance(x, Tensor)]
    return builder, [builder.given(f"input{i}", x, x.spec) for i, x in enumerate(given)]


def ended(builder: Tracing, outputs: list[Node]) -> ForwardPass:
    """What was built, as far as the outputs depend on it."""
    nodes = in_order(outputs)
    tensors = {node: x for node, x in builder.origins().items() if isinstance(x, Tensor)}
    return ForwardPass(nodes, outputs, homes(nodes, tensors), tensors, frozenset(builder.inputs))


def in_order(outputs: list[Node]) -> list[Node]:
    """What the outputs depend on, as it was built. Raises GraphError where there are none, and for a branch or loop."""
    if not outputs:
        raise GraphError("estimate() counts what leads to a result, and the model gave no tensor: return one")
    nodes = sorted(toposort(*outputs), key=lambda node: node.born)
    for node in nodes:
        if isinstance(node.spec, Specs):
            raise GraphError(f"{node.op} is a branch, a loop or a Function, of which values decide. {WAY_OUT}")
    return nodes


def homes(nodes: list[Node], tensors: Mapping[Node, Tensor]) -> dict[Node, Node]:
    """Node → the node in whose memory it is."""
    home: dict[Node, Node] = {}
    layouts: dict[Node, Layout] = {}
    readers: dict[int, Node] = {}  # id of an array that is given → the first node that is it
    for node in nodes:
        strides, home[node] = hull(node.spec).strides, node
        if node in tensors:
            strides = tensors[node].value.strides
            home[node] = readers.setdefault(id(tensors[node].value), node)
        elif node.inputs:
            strides, source = lying(node.op, tuple(layouts[x] for x in node.inputs), node.spec)
            home[node] = node if source is None else home[node.inputs[source]]
        layouts[node] = Layout(node.spec.shape, node.spec.dtype, strides)
    return home


class Strides(Recorder):
    """The recorder of which only the layout of the result is asked: constants are not worked out."""

    def triangle(self, f: Callable[..., Any], x: AbstractArray, offset: int = 0) -> AbstractArray:
        return self.empty(x.shape, x.dtype)


def lying(op: Op, layouts: tuple[Layout, ...], spec: Spec) -> tuple[tuple[int, ...], int | None]:
    """The strides of an op's result, and the number of the operand in whose memory it is, if it is in one's."""
    template = recorded(op, layouts, spec, Strides)
    if template is None:
        return hull(spec).strides, 0 if op.is_view else None
    y = template.result
    return y.shell.strides, next((i for i, x in enumerate(template.operands) if x in y.roots), None)


# -- arguments ------------------------------------------------------------------------------------------


def specified(tree: Any, device: Device, dtype: Any) -> Any:
    """The arguments, with a tensor for each array, TensorSpec, Spec, and shape, which is a tuple of whole numbers.

    device    of the model: what is counted need not be moved there
    dtype     of what is given as a shape
    """
    if isinstance(tree, dict):
        return {name: specified(each, device, dtype) for name, each in tree.items()}
    if isinstance(tree, tuple) and tree and all(n is None or type(n) is int for n in tree):
        if not all(n is not None and n >= 0 for n in tree):
            raise ShapeError(f"a shape is a tuple of whole numbers, 0 or more, and got {tree}")
        tree = Spec(tree, dtype, device)
    if isinstance(tree, list | tuple) and not hasattr(tree, "_fields"):
        return type(tree)(specified(each, device, dtype) for each in tree)
    tree = tree.spec() if isinstance(tree, TensorSpec) else Tensor(tree) if isinstance(tree, np.ndarray) else tree
    if isinstance(tree, Spec):
        return without_elements(tree, device)
    if isinstance(tree, Tensor) and tree.spec.device is not device:
        return without_elements(tree.spec, device).requires_grad_(tree.requires_grad)
    return tree


def without_elements(spec: Spec, device: Device) -> Tensor:
    """A tensor of that spec, of which no element is there, as if it were on that device."""
    if not spec.is_known:
        raise ShapeError(f"estimate() counts for one shape, and {spec} has lengths that are open: say all of them")
    return made(META.xp.empty(spec.shape, spec.dtype), Spec(spec.shape, spec.dtype, device))
