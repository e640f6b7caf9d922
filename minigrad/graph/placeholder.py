"""The inputs of a graph: placeholders and TensorSpecs, whose values are passed to each run, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine import ops
from ..engine.base.device import CPU, Device
from ..engine.base.device import device as device_called
from ..engine.base.dimension import lengths_of
from ..engine.base.dtypes import kind
from ..engine.base.errors import DTypeError, GraphError, ShapeError
from ..engine.base.pytree import leaves
from ..engine.base.spec import Spec
from ..engine.core.modes import current
from ..engine.tensor.conversion import array_of
from ..engine.tensor.inplace import KINDS
from ..engine.tensor.tensor import Tensor
from ..tracing.builder import GraphBuilder, Tracer
from .compiler.passes.fold import leaf
from .graph import StaticGraph, get_default_graph

Shape = Sequence[int | str | None] | None


def placeholder(dtype: Any, shape: Shape = None, name: str | None = None) -> Tracer:
    """An input that each run feeds: `session.run(y, {x: data})`.

    shape    its lengths, with None or a name for a length that varies from run to run; () by default.
             None on axis 0 is the same length in the whole graph: the batch.
    """
    graph = get_default_graph()
    x = Tracer(graph.input("Placeholder" if name is None else name, Spec(parse_shape(shape), dtype)), graph)
    graph.given[x.node] = None
    return x


def placeholder_with_default(input: Any, shape: Shape = None, name: str | None = None) -> Tracer:
    """An input that a run may feed, with a default for runs that do not."""
    graph = get_default_graph()
    with graph.building():
        default = graph.lift(constant(input) if not isinstance(input, Tracer) else input)
    lengths = default.shape if shape is None else parse_shape(shape)
    node = graph.input("PlaceholderWithDefault" if name is None else name, Spec(lengths, default.dtype))
    graph.given[node] = default
    return Tracer(node, graph)


def parse_shape(shape: Shape) -> tuple[int, ...]:
    """The shape, with None on axis 0 as the batch length."""
    if isinstance(shape, int | str):
        raise ShapeError(f"a shape is a list of lengths, and got {shape!r}: write ({shape!r},)")
    return lengths_of(() if shape is None else shape, lambda axis: None if axis else "batch")


def constant(value: Any, dtype: Any = None, shape: Sequence[int] | None = None, name: str | None = None) -> Tracer:
    """A constant: a copy of the value, broadcast to the shape if there is one.

    In a traced function, a branch or a loop, it is part of the graph being built.
    """
    called = "Const" if name is None else name
    builder, graph = current.mode.builder, get_default_graph()
    if isinstance(value, Tracer):
        raise GraphError(f"a constant is known when the graph is built, and {value} is not: use identity()")
    array = array_of(value, dtype, None)
    array = array.copy() if shape is None else np.broadcast_to(array, tuple(shape)).copy()
    if builder is not None and not isinstance(outermost(builder), StaticGraph):  # the node holds the elements
        return Tracer(builder.node(leaf(array), (), Spec(array.shape, array.dtype), called), builder)
    if isinstance(value, int | float) and shape is None:
        y = Tracer(graph.node(ops.const(array.item()), (), Spec((), array.dtype), called), graph)
    else:
        y = graph.constant(array, called)
    (after,) = graph.after_waits([y])
    return after


def outermost(builder: GraphBuilder) -> GraphBuilder:
    """The outermost builder around this one."""
    return builder if builder.outer is None else outermost(builder.outer)


@dataclass(frozen=True)
class TensorSpec:
    """The shape (with unknown lengths, if any), the dtype and the name of a tensor.

    shape    a number for each axis; None for an unknown length, a string for a named one
    dtype    float64 by default

    None on axis 0 is the length named "batch", the same in all specs; on another axis it is a separate length.
    """

    shape: Any
    dtype: Any = np.float64
    name: str | None = None
    device: Device | str | None = None

    def __post_init__(self) -> None:
        if self.shape is None or isinstance(self.shape, int):
            raise ShapeError(
                f"a shape is a tuple, and this is {self.shape}: write ({self.shape},), with the comma, for one axis, "
                "and () for a single number"
            )

    @classmethod
    def from_tensor(cls, x: Tensor, name: str | None = None) -> TensorSpec:
        """The spec of a tensor."""
        return cls(x.shape, x.dtype, name, x.spec.device)

    def example(self) -> Tensor:
        """A tensor of zeros with this spec, where each unknown length is 1."""
        spec = self.spec()
        return Tensor(np.zeros([n if isinstance(n, int) else 1 for n in self.shape], spec.dtype), device=spec.device)

    def spec(self) -> Spec:
        """The engine's Spec, with unknown lengths as Lengths."""
        shape = lengths_of(tuple(self.shape), lambda axis: "batch" if axis == 0 else None)
        return Spec(shape, np.dtype(self.dtype), CPU if self.device is None else device_called(self.device))

    def accept(self, x: Any, name: str) -> Tensor:
        """x as a tensor of this spec. Raises ShapeError or DTypeError if it does not match."""
        tensor = x if isinstance(x, Tensor) else Tensor(fitting(x, self.spec(), f"argument {name}"), device=self.device)
        wanted, dtype = tuple(self.shape), np.dtype(self.dtype)
        fits = len(wanted) == tensor.ndim and all(
            n in (None, m) or isinstance(n, str) for n, m in zip(wanted, tensor.shape)
        )
        if not fits:
            raise ShapeError(f"argument {name} has shape {wanted} in input_signature, and came as {tensor.spec}")
        if tensor.dtype != dtype:
            raise DTypeError(
                f"argument {name} is {dtype} in input_signature, and came as {tensor.spec}: use .to({dtype})"
            )
        return tensor


def fitting(data: Any, spec: Spec, who: str) -> Any:
    """The data as an array of the spec's dtype. Raises DTypeError if the dtype cannot hold it."""
    array = array_of(data, None, spec.device)
    if array.dtype == spec.dtype:
        return array
    if KINDS[kind(array.dtype)] > KINDS[kind(spec.dtype)]:
        raise DTypeError(
            f"{who} is {spec}, and was fed {array.dtype}, which would lose digits: round it, or declare {array.dtype}"
        )
    cast = array.astype(spec.dtype)
    if spec.dtype.kind in "iu" and (wrong := cast != array).any():
        raise DTypeError(f"{who} is {spec}, and was fed {array[wrong].flat[0]}, which {spec.dtype} does not hold")
    return cast


def specs_only(signature: Any) -> tuple[Any, ...] | None:
    """An input signature as a tuple, or None. Raises TypeError if a leaf of it is not a TensorSpec."""
    for each in leaves(signature or ()):
        if not isinstance(each, TensorSpec):
            raise TypeError(
                f"input_signature holds a TensorSpec for each argument, and this is {each!r}: TensorSpec(()) is one "
                "number, TensorSpec((None,)) a row of any length"
            )
    return None if signature is None else tuple(signature)
