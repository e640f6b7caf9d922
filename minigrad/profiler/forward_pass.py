"""A forward pass as the ops that it is made of: traced without elements, or watched as it runs.

What is kept of it is what `Records` of a real run would say: which op ran on which results, in which module's call, and
in whose memory each result is. Where a view needs a copy, strides tell, and `forward` itself, run on arrays that have
strides and no elements, works them out (compiler/program/abstract_array.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.device import META, Device
from ..base.errors import GraphError, NoValueError, ShapeError
from ..base.pytree import leaves, substituted
from ..base.spec import Spec, Specs
from ..compiler.program.abstract_array import AbstractArray
from ..compiler.program.buffer import Buffer, hull, shell
from ..compiler.program.lower import Layout
from ..compiler.program.record import Recorder
from ..core.calls import following
from ..core.modes import in_mode, watching
from ..core.node import NamedNode, Node, place, toposort
from ..core.op import Op
from ..core.versions import owner
from ..graph.function import run_functions_eagerly
from ..graph.placeholder import TensorSpec
from ..graph.trace import Tracing
from ..ops import Alias, Leaf, StopGradient
from ..tensor.rules import CompiledRule
from ..tensor.tensor import Tensor, made

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
    builder = Tracing({})
    given = [x for x in leaves((args, options)) if isinstance(x, Tensor)]
    symbols = [builder.given(f"input{i}", x, x.spec) for i, x in enumerate(given)]
    args, options = substituted((args, options), lambda x: isinstance(x, Tensor), symbols)
    try:
        with builder.building(), in_mode(recording=True, tracked=False, watchers=()):
            result = model(*args, **options)
            outputs = [builder.lift(y).node for y in leaves(result) if hasattr(y, "spec")]
    except NoValueError as error:
        said = f"{error}\nestimate() runs the model without values, and it asks for one. {WAY_OUT}"
        raise NoValueError(said) from error
    finally:
        builder.closed = True
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


@lru_cache(maxsize=8192)
def lying(op: Op, layouts: tuple[Layout, ...], spec: Spec) -> tuple[tuple[int, ...], int | None]:
    """The strides of an op's result, and the number of the operand in whose memory it is, if it is in one's."""
    recorder, operands = Strides(), [Buffer(shell(*entry), "argument") for entry in layouts]
    try:
        y = op.forward(recorder, *(AbstractArray(recorder, x) for x in operands))
    except Exception:  # whatever an op may stumble over, having no elements
        y = None
    if not isinstance(y, AbstractArray) or (y.shape, y.dtype) != (spec.shape, spec.dtype):
        return hull(spec).strides, 0 if op.is_view else None
    return y.strides, next((i for i, x in enumerate(operands) if x in y.buffer.roots), None)


class Watcher:
    """Writes down the ops of a real run as nodes, as a trace would; and which of them share memory."""

    def __init__(self) -> None:
        self.nodes: dict[int, NamedNode] = {}  # id of a tensor → its node
        self.tensors: dict[Node, Tensor] = {}
        self.home: dict[Node, Node] = {}
        self.owners: dict[int, Node] = {}  # id of an array that owns its memory → the node that brought it
        self.held: list[Any] = []  # so that no id is another's by and by

    def saw(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        inputs = tuple(map(self.of, xs))
        if isinstance(op, Alias):
            self.nodes[id(y)] = inputs[0]
            self.held.append((y, y.value))
            return
        node = self.at(op, inputs, y)
        if not y.tracked and any(x.tracked for x in xs):
            self.at(StopGradient(), (node,), y)

    def pulled(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass

    def of(self, x: Tensor) -> NamedNode:
        if id(x) not in self.nodes:
            self.tensors[self.at(Leaf() if x.node is None else x.node.op, (), x)] = x
        return self.nodes[id(x)]

    def at(self, op: Op, inputs: tuple[Node, ...], y: Tensor) -> NamedNode:
        """A new node, which y is at from here on."""
        node = self.nodes[id(y)] = NamedNode(op, inputs, y.spec, op.kind, place())
        self.held.append((y, y.value))
        self.home[node] = self.owners.setdefault(id(owner(y.value)), node)
        return node


def watched(model: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> ForwardPass:
    """The forward pass, run."""
    watcher = Watcher()
    given = frozenset(watcher.of(x) for x in leaves((args, options)) if isinstance(x, Tensor))
    with run_functions_eagerly(), following(), in_mode(recording=True), watching(watcher):
        result = model(*args, **options)
        outputs: list[Node] = [watcher.of(y) for y in leaves(result) if isinstance(y, Tensor)]
    for node in (y.node for y, _ in watcher.held if y.tracked and not y.is_leaf):
        if not isinstance(node.rule, CompiledRule):
            raise GraphError(f"{node.op} is a Function, or in a checkpoint: estimate() counts it without run=True")
    return ForwardPass(in_order(outputs), outputs, watcher.home, watcher.tensors, given)


# -- arguments ------------------------------------------------------------------------------------------


def specified(tree: Any, device: Device, dtype: Any) -> Any:
    """The arguments, with a tensor for each array, TensorSpec, Spec, and shape, which is a tuple of whole numbers.

    device    of the model: what is counted need not be moved there
    dtype     of what is given as a shape
    """
    if isinstance(tree, tuple) and tree and all(type(n) is int for n in tree):
        return without_elements(Spec(tree, dtype, device))
    if isinstance(tree, dict):
        return {name: specified(each, device, dtype) for name, each in tree.items()}
    if isinstance(tree, list | tuple) and not hasattr(tree, "_fields"):
        return type(tree)(specified(each, device, dtype) for each in tree)
    if isinstance(tree, TensorSpec):
        tree = tree.spec()
    tree = Tensor(tree) if isinstance(tree, np.ndarray) else tree
    if isinstance(tree, Spec):
        return without_elements(Spec(tree.shape, tree.dtype, device))
    if isinstance(tree, Tensor) and tree.spec.device is not device:
        return without_elements(Spec(tree.shape, tree.dtype, device)).requires_grad_(tree.requires_grad)
    return tree


def without_elements(spec: Spec) -> Tensor:
    """A tensor of that spec, of which no element is there."""
    if not spec.is_known:
        raise ShapeError(f"estimate() counts for one shape, and {spec} has lengths that are open: say all of them")
    return made(META.xp.empty(spec.shape, spec.dtype), spec)
