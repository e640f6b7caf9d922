"""An ONNX graph while it is written: nodes, names that are used once, constants that are written once.

A branch or a body of a loop is a graph in a graph: it has its own nodes, and reads the values around it by their names.
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
}  # fmt: skip  # which ONNX Runtime has on the CPU in float32, and does not load in float64
PARAMETERS = "minigrad.parameters"  # what a model says of itself: which of its arrays learn, as a list in JSON


class NodeWriter:
    """Where nodes are added.

    nodes       of the graph that is being written just now
    constants   name → the array of an initializer
    places      name of a node → the line that asked for it
    rare        words of float64 that ONNX Runtime has not
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
        """Names what is written next after a node of the engine's graph, and the module that it is in."""
        self.place, self.prefix, self.scope = (
            place,
            name,
            place.module.replace(".", "/") + "/" if place and place.module else "",
        )

    def fresh(self, name: str) -> str:
        """The name, or one like it that nobody has."""
        made, i = name, 1
        while made in self.names:
            made, i = f"{name}_{i}", i + 1
        self.names.add(made)
        return made

    def node(self, kind: str, inputs: Sequence[str], outputs: int = 1, **attributes: Any) -> list[str]:
        """A node of that kind; the names of its outputs."""
        made = [self.fresh(self.prefix) for _ in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, made, name=f"{self.scope}{made[0]}.{kind}", **attributes))
        self.places[self.nodes[-1].name] = self.place
        return made

    def constant(self, array: np.ndarray, name: str = "constant") -> str:
        """An initializer of that name, or of one like it; of a constant without a name, the one that has its bytes."""
        key = (array.dtype.str, array.shape, array.tobytes()) if name == "constant" else (len(self.known),)
        if key not in self.known:
            self.known[key] = made = self.fresh(name)
            self.constants[made] = numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), made)
        return self.known[key]

    @contextmanager
    def inside(self) -> Any:
        """A block whose nodes are those of a graph in this one."""
        around, self.nodes = self.nodes, []
        try:
            yield self.nodes
        finally:
            self.nodes = around


def typed(name: str, dtype: np.dtype, shape: Sequence[Any]) -> onnx.ValueInfoProto:
    """A value as the inputs and outputs of a graph announce it; a length that is not known by its text."""
    lengths = [n if isinstance(n, int) else str(n) for n in shape]
    return helper.make_tensor_value_info(name, element(dtype), lengths)


def element(dtype: np.dtype) -> int:
    """ONNX's number of a dtype. Raises GraphError where it has none."""
    try:
        return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    except (KeyError, ValueError):
        raise GraphError(f"ONNX has no tensors of {dtype}") from None


def dtype_of(number: int, name: str) -> np.dtype:
    """The dtype that ONNX has under that number. Raises GraphError where it is none of ours."""
    kinds = onnx.TensorProto.DataType
    known = kinds.Name(number) if number in kinds.values() else str(number)
    if known not in DTYPES:
        raise GraphError(f"{name} is of {known}, of which there are no tensors here")
    return helper.tensor_dtype_to_np_dtype(number)
