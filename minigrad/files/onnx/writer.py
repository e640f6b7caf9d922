"""An ONNX graph while it is written: nodes, unique names, and constants without duplicates.

A branch or a loop body is a subgraph: it has its own nodes and reads values of the graph around it by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...engine.base.errors import GraphError
from ...engine.core.node import Place

DTYPES = {
    *("FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE", "BOOL"),
    *(f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)),
}
IN_SINGLE = {
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "AveragePool", "Conv", "ConvTranspose", "Cosh", "Det", "Sinh",
}  # fmt: skip  # on the CPU, ONNX Runtime has these ops in float32 only; it refuses files with them in float64
PARAMETERS = "minigrad.parameters"  # metadata key: the names of the trainable arrays, a list in JSON


class NodeWriter:
    """Collects the nodes and initializers of a model.

    nodes       nodes of the graph or subgraph that is being written
    constants   name → initializer
    places      name of a node → the line of user code that it comes from
    rare        ops that the model uses in float64 but ONNX Runtime lacks in float64
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.known: dict[tuple[Any, ...], str] = {}
        self.names = {*names}
        self.scope = ""
        self.prefix = "value"
        self.place: Place | None = None
        self.places: dict[str, Place | None] = {}
        self.rare: set[str] = set()

    def within(self, name: str, place: Place | None) -> None:
        """Set the names of the nodes written next, from the name and the module of this node of the engine's graph."""
        self.place, self.prefix = place, name
        self.scope = place.module.replace(".", "/") + "/" if place and place.module else ""

    def fresh(self, name: str) -> str:
        """A unique name: this name, with a number added if it is taken."""
        made, i = name, 1
        while made in self.names:
            made, i = f"{name}_{i}", i + 1
        self.names.add(made)
        return made

    def node(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """Add a node of this kind; return the names of its outputs."""
        made = [self.fresh(self.prefix) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, made, name=f"{self.scope}{made[0]}.{kind}", **attributes))
        self.places[self.nodes[-1].name] = self.place
        return made

    def constant(self, array: np.ndarray, name: str = "constant") -> str:
        """Add an initializer; return its name, made unique. Equal constants without a name share one initializer."""
        key = (array.dtype.str, array.shape, array.tobytes()) if name == "constant" else (len(self.known),)
        if key not in self.known:
            self.known[key] = made = self.fresh(name)
            self.constants[made] = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), made)
        return self.known[key]

    @contextmanager
    def inside(self) -> Any:
        """Within this `with` block, nodes are added to a new subgraph."""
        around, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = around


def value_info(name: str, dtype: np.dtype, shape: Sequence[Any]) -> onnx.ValueInfoProto:
    """The declaration of a graph's input or output; a length that is not known becomes its name or formula."""
    lengths = [n if isinstance(n, int) else str(n) for n in shape]
    return helper.make_tensor_value_info(name, element(dtype), lengths)


def element(dtype: np.dtype) -> int:
    """ONNX's number for a dtype. Raises GraphError if it has none."""
    try:
        return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    except (KeyError, ValueError):
        raise GraphError(f"ONNX has no tensors of {dtype}") from None


def dtype_of(number: int, name: str) -> np.dtype:
    """The dtype with this ONNX number. Raises GraphError if minigrad does not have it."""
    kinds = onnx.TensorProto.DataType
    known = kinds.Name(number) if number in kinds.values() else str(number)
    if known not in DTYPES:
        raise GraphError(f"{name} is of dtype {known}, which minigrad does not have")
    return helper.tensor_dtype_to_np_dtype(number)
