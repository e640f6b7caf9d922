"""load: an ONNX file as a function of tensors.

    net = mg.onnx.load("net.onnx")
    logits = net(image)

Each node runs as the tensor operations that `readings.py` lists for its op, so the function can be differentiated,
trained, traced, drawn, compiled and exported again. An op without a reading is expanded into other ops if the model or
the ONNX standard defines it as a function. For any other op, loading fails with an error that names it.

A file is only data. Loading runs no op and needs no more memory than the size of the file; onnx.checker checks the
model first. A run, however, takes whatever time and memory the model needs.
"""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from graphlib import CycleError, TopologicalSorter
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import defs, helper, numpy_helper

from ...engine.base.errors import DTypeError, GraphError, SavedFileError, ShapeError
from ...engine.core.modes import current, in_mode
from ...engine.methods import Operand
from ...engine.tensor.tensor import Tensor
from ...nn.module import Module
from . import networks, shapes  # noqa: F401  (these register their readings)
from .readings import READINGS, is_known
from .writer import PARAMETERS, dtype_of, element

NEWEST = 28  # the opset up to which the readings were compared with the standard
HINT = "consumed_inputs"  # an attribute of opset 1: the operands that may be overwritten
STATISTICS = {"BatchNormalization": slice(3, 5)}  # inputs that are measured, not trained
Scope = Mapping[str, Any]


def load(source: str | os.PathLike[str] | bytes) -> OnnxFunction:
    """Load an ONNX file, or the bytes of one, as a function.

    Raises SavedFileError if the file is not a valid model, GraphError if it uses an op that minigrad does not support.
    """
    try:
        model = onnx.load_model_from_string(source) if isinstance(source, bytes) else onnx.load(Path(source))
        check(model)
    except (DecodeError, onnx.checker.ValidationError, ValueError) as reason:
        name = "these bytes hold" if isinstance(source, bytes) else f"{source} holds"
        raise SavedFileError(f"{name} no valid ONNX model: {reason}") from None
    return OnnxFunction(model)


def check(model: onnx.ModelProto) -> None:
    """Raises ValidationError if the model is not valid. As in ONNX Runtime, nodes may come in any order, and the
    shapes of inputs and the types of outputs may be missing.
    """
    for part in (model.graph, *model.functions):
        sort_nodes(part)
    for x in model.graph.output:  # only its name is read
        x.type.CopyFrom(helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, ()))
    tensors = [x.type.tensor_type for x in model.graph.input if x.type.HasField("tensor_type")]
    without = [kind for kind in tensors if not kind.HasField("shape")]
    for kind in without:
        kind.shape.SetInParent()
    onnx.checker.check_model(model)
    for kind in without:
        kind.ClearField("shape")


def sort_nodes(graph: Any) -> None:
    """Move each node of a graph, and of its subgraphs, after the nodes whose results it reads."""
    maker = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    reads = {i: {maker[name] for name in read_by([node]) if name in maker} for i, node in enumerate(graph.node)}
    if any(j >= i for i, needed in reads.items() for j in needed):
        with suppress(CycleError):  # the checker refuses cycles
            nodes = [graph.node[i] for i in TopologicalSorter(reads).static_order()]
            del graph.node[:]
            graph.node.extend(nodes)
    for node in graph.node:
        for a in node.attribute:
            if a.type == a.GRAPH:
                sort_nodes(a.g)


class OnnxFunction(Module):
    """A loaded model. Call it with its inputs, by position or by name; it returns a tensor or a tuple of tensors.

    inputs       name → (dtype, shape); a length that is not fixed is None or a name
    outputs      names of the outputs
    variables    name → tensor: trainable ones are parameters, the others buffers
    """

    unnoted = frozenset({"body"})  # never edited, so a traced function need not check it at each call

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.name = graph.name
        self.variables = {x.name: tensor(x) for x in graph.initializer}
        learn = trainable_names(model)
        for name, x in self.variables.items():
            x.requires_grad_(x.spec.is_float and name in learn)
        self.inputs = {x.name: input_type(x) for x in graph.input if x.name not in self.variables}
        self.outputs = [x.name for x in graph.output]
        self.reader = Reader(model.opset_import, {(f.domain, f.name, f.overload): f for f in model.functions}, {})
        self.body = self.reader.body(graph)._replace(arrays={})
        refuse(self.name or "the model", self.reader.unread(graph.node, set()))

    def _own_parameters(self) -> Any:
        return ((name, x) for name, x in self.variables.items() if x.requires_grad)

    def _own_buffers(self) -> Any:
        return ((name, x) for name, x in self.variables.items() if not x.requires_grad)

    def forward(self, *xs: Any, **named: Any) -> Any:
        names = [*self.inputs][: len(xs)]
        given = dict(zip(names, xs)) | named
        if len(xs) > len(self.inputs) or {*given} != {*self.inputs} or {*names} & {*named}:
            came = f"{len(xs)} by place{', and ' if named else ''}{', '.join(named)}"
            raise TypeError(f"{self.name} takes {', '.join(self.inputs) or 'no inputs'}, but was called with {came}")
        found = {name: validate_input(name, x, *self.inputs[name]) for name, x in given.items()}
        ys = self.body({**self.variables, **found})
        return ys[0] if len(ys) == 1 else ys

    def extra_repr(self) -> str:
        return f"{', '.join(self.inputs)} → {', '.join(self.outputs)}"


def trainable_names(model: onnx.ModelProto) -> set[str]:
    """The names of trainable arrays: the list in a model that minigrad wrote, else all but scalars and statistics."""
    said = next((p.value for p in model.metadata_props if p.key == PARAMETERS), None)
    if said is not None:
        try:
            return set(map(str, json.loads(said)))
        except (ValueError, TypeError, RecursionError):
            raise SavedFileError(f"{PARAMETERS} of the model must be a list of names, got {said[:80]!r}") from None
    still = {name for node in model.graph.node for name in node.input[STATISTICS.get(node.op_type, slice(0))]}
    return {x.name for x in model.graph.initializer if x.dims} - still


def input_type(x: onnx.ValueInfoProto) -> tuple[Any, Any]:
    """The dtype and the shape of an input; None, None for a sequence or an optional value."""
    dtype, said = dtype_in(x.type, x.name), x.type.tensor_type
    if not x.type.HasField("tensor_type"):
        return None, None
    if not said.HasField("shape"):
        return dtype, None
    return dtype, [n.dim_value if n.HasField("dim_value") else n.dim_param or None for n in said.shape.dim]


def dtype_in(said: onnx.TypeProto, name: str) -> Any:
    """The dtype of a tensor, or of the tensors in a sequence. Raises GraphError for any other type."""
    kind = said.WhichOneof("value")
    if kind == "tensor_type":
        return dtype_of(said.tensor_type.elem_type, name)
    if kind in ("sequence_type", "optional_type"):
        return dtype_in(getattr(said, kind).elem_type, name)
    raise GraphError(f"{name} is a {kind}, but mg.onnx.load reads only tensors and sequences")


def tensor(x: onnx.TensorProto) -> Tensor:
    """An array of the file. Raises SavedFileError if it has more or fewer bytes than its shape needs."""
    dtype_of(x.data_type, x.name)
    if x.data_location == x.EXTERNAL:  # onnx.load(path) has read external data already, from the model's folder only
        raise SavedFileError(f"the array {x.name} lies in another file: load the model by its path, not from its bytes")
    try:
        array = numpy_helper.to_array(x)
    except (ValueError, TypeError, OverflowError) as reason:
        raise SavedFileError(f"cannot read the array {x.name} of shape {[*x.dims][:8]}: {reason}") from None
    return Tensor(np.array(array))


def validate_input(name: str, x: Any, dtype: Any, shape: Any) -> Any:
    """An input as a tensor. Raises DTypeError or ShapeError if it does not match the file's declaration."""
    if dtype is None:
        if isinstance(x, list | tuple):
            return [validate_input(name, part, None, None) for part in x]
        return x if x is None or isinstance(x, Operand) else Tensor(x)
    x = x if isinstance(x, Operand) else Tensor(x)
    if x.dtype != dtype:
        raise DTypeError(f"the input {name} must be {dtype}, got {x.dtype}: convert it, as with x.astype({dtype})")
    fits = shape is None or (len(shape) == x.ndim and all(m == n for m, n in zip(shape, x.shape) if type(m) is int))
    if not fits:
        raise ShapeError(f"the input {name} must have shape {shape}, got {x.spec}")
    return x


# -- reading graphs ---------------------------------------------------------------------------------


class Body(NamedTuple):
    """A graph that is ready to run: a model's, a function's, or a subgraph of a branch or a loop."""

    steps: list[NodeReading]
    inputs: list[str]
    outputs: list[str]
    arrays: dict[str, Tensor]

    def __call__(self, around: Scope, *xs: Any) -> tuple[Any, ...]:
        """Run the graph on its inputs and on values of the enclosing graph."""
        values: dict[str, Any] = {**self.arrays, **dict(zip(self.inputs, xs, strict=False))}
        scope: Any = ChainMap(values, around)  # type: ignore[arg-type]
        for step in self.steps:
            values.update(zip(step.node.output, step(scope), strict=False))
        return tuple(scope[name] if name else None for name in self.outputs)


class NodeReading(NamedTuple):
    """A node, and the reading that runs it."""

    node: onnx.NodeProto
    options: dict[str, Any]
    bodies: dict[str, Body]
    schema: Any
    reading: Any

    def __str__(self) -> str:
        name = f" ({self.node.name})" if self.node.name else ""
        return f"{title(self.node)}{name}"

    def __call__(self, scope: Scope) -> Sequence[Any]:
        xs = [scope[name] if name else None for name in self.node.input]
        options = self.options | {name: partial(body.__call__, scope) for name, body in self.bodies.items()}
        try:
            # While tracing, a node whose inputs are all known, such as a shape, is computed and not traced.
            if current.mode.builder is not None and not self.bodies and all(map(is_known, xs)):
                with in_mode(builder=None, recording=False):
                    ys = self.reading(*xs, **options)
            else:
                ys = self.reading(*xs, **options)
            return self.cast_results(xs, ys if isinstance(ys, tuple) else (ys,))
        except GraphError as reason:
            raise GraphError(f"{self}: {reason}") from reason
        except Exception as error:
            error.add_note(f"in {self} of an ONNX model")
            raise

    def cast_results(self, xs: Sequence[Any], ys: Sequence[Any]) -> Sequence[Any]:
        """Cast the results to the dtypes of the op's schema, so that readings need not do it."""
        if self.schema is None:
            return ys
        said = dict(FIXED)
        for i, x in zip(schema_parameters(self.schema.inputs, len(xs)), xs):
            if i.is_homogeneous and isinstance(x, Operand) and said.setdefault(i.type_str, x.dtype) != x.dtype:
                raise GraphError(f"operands of {said[i.type_str]} and {x.dtype}, but the standard wants one dtype")
        made = []
        for o, y in zip(schema_parameters(self.schema.outputs, len(ys)), ys):
            dtype = said.get(o.type_str) if o.is_homogeneous else None
            made.append(y if dtype is None or not isinstance(y, Operand) or y.dtype == dtype else y.astype(dtype))
        return made


def schema_parameters(parameters: Sequence[Any], n: int) -> Sequence[Any]:
    """The schema's parameter for each of n operands; a variadic last parameter repeats."""
    return [*parameters, *[p for p in parameters[-1:] if p.option.name == "Variadic"] * n]


signature_of = cache(signature)  # thousands of nodes of a model share a few readings
FIXED = {"tensor(int64)": np.dtype(np.int64), "tensor(bool)": np.dtype(bool), "tensor(float)": np.dtype(np.float32)}


def title(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


class Reader:
    """Turns nodes into steps: by the table of readings, the model's own functions, or the standard.

    opsets       domain → version
    functions    (domain, name, overload) → a function of the model
    """

    def __init__(self, opsets: Iterable[Any], functions: Mapping[Any, Any], around: Mapping[str, int]) -> None:
        self.opsets = {**around} | {"" if o.domain == "ai.onnx" else o.domain: o.version for o in opsets}
        self.functions = functions
        if self.opsets.get("", 1) > NEWEST:
            raise GraphError(f"the model has opset {self.opsets['']}, and mg.onnx.load reads opsets up to {NEWEST}")

    def body(self, graph: onnx.GraphProto) -> Body:
        """A graph, ready to run. Declared types of inner values are ignored: nothing needs them."""
        if graph.sparse_initializer:
            raise GraphError("sparse initializers have no reading in mg.onnx.load")
        arrays = {x.name: tensor(x) for x in graph.initializer}
        inputs, outputs = ([x.name for x in xs] for xs in (graph.input, graph.output))
        return Body(self.steps(graph.node, outputs, {}), inputs, outputs, arrays)

    def steps(
        self, nodes: Iterable[onnx.NodeProto], outputs: Iterable[str], said: Mapping[str, Any]
    ) -> list[NodeReading]:
        """The steps that run these nodes, whose attributes may refer to `said`, the enclosing function's attributes."""
        used = {*outputs, *read_by(nodes)}
        return [self.step(complete(node, used, said)) for node in nodes]

    def step(self, node: onnx.NodeProto) -> NodeReading:
        bodies = {a.name: self.body(a.g) for a in node.attribute if a.type == a.GRAPH}
        options = {a.name: value(a) for a in node.attribute if a.name not in bodies and a.name != HINT}
        schema = self.schema(node)
        reading = READINGS.get(title(node)) if self.function(node) is None else None
        if reading is None:
            return NodeReading(node, {}, {}, schema, lambda *xs: self.inline_function(node, xs))
        known = signature_of(reading).parameters
        if "version" in known:
            options["version"] = schema.since_version
        if "outputs" in known:
            options["outputs"] = len(node.output)
        strange = {*options, *bodies} - {*known}
        if strange and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            raise GraphError(f"{title(node)} with {', '.join(sorted(strange))} has no reading in mg.onnx.load")
        return NodeReading(node, options, bodies, schema, reading)

    def schema(self, node: onnx.NodeProto) -> Any:
        """The op's schema in the standard; None if the standard has no such op."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            return defs.get_schema(node.op_type, self.opsets.get(domain, 1), domain)
        except defs.SchemaError:
            return None

    def function(self, node: onnx.NodeProto) -> Any:
        """The function that defines the node's op in the model itself; None if there is none."""
        return self.functions.get((node.domain, node.op_type, node.overload))

    def inline_function(self, node: onnx.NodeProto, xs: Sequence[Any]) -> tuple[Any, ...]:
        """Run the function that defines a node's op, with the node's attributes, or else the function's defaults."""
        own, schema = self.function(node), self.schema(node)
        function = own or standard(schema, node, xs)
        said = {a.name: a for a in function.attribute_proto}
        if own is None:
            said |= {n: a.default_value for n, a in schema.attributes.items() if a.default_value.name}
        said |= {a.name: a for a in node.attribute}
        reader = Reader(function.opset_import, self.functions, self.opsets)
        refuse(title(node), reader.unread(function.node, set()))
        asked = [name if wish else "" for name, wish in zip(function.output, node.output)]
        body = Body(reader.steps(function.node, asked, said), [*function.input], asked, {})
        return body({}, *xs, *[None] * (len(function.input) - len(xs)))

    def unread(self, nodes: Iterable[onnx.NodeProto], seen: set[Any]) -> set[str]:
        """The ops without a reading, in these nodes and in functions that they use. seen: functions already checked."""
        found: set[str] = set()
        for node in nodes:
            key, schema = (node.domain, node.op_type, node.overload), self.schema(node)
            if (function := self.function(node)) is not None:
                if key not in seen:
                    seen.add(key)
                    reader = Reader(function.opset_import, self.functions, self.opsets)
                    found |= reader.unread(function.node, seen)
            elif not (schema and (schema.has_function or schema.has_context_dependent_function)):
                found |= {title(node)} - READINGS.keys()
            for a in node.attribute:
                found |= self.unread(a.g.node, seen)
        return found


def refuse(name: str, ops: Iterable[str]) -> None:
    """Raises GraphError that names these ops, if there are any."""
    if unread := sorted(ops):
        raise GraphError(f"{name} needs {', '.join(unread)}, which mg.onnx.load cannot read")


def read_by(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """The names that these nodes and their subgraphs read."""
    found: set[str] = set()
    for node in nodes:
        found.update(node.input)
        for a in node.attribute:
            found |= {x.name for x in a.g.output} | read_by(a.g.node)
    return found


def complete(node: onnx.NodeProto, used: set[str], said: Mapping[str, Any]) -> onnx.NodeProto:
    """The node without its trailing unused results, each reference to an attribute replaced by that attribute."""
    n = max((i + 1 for i, name in enumerate(node.output) if name in used), default=1)
    if n >= len(node.output) and not any(a.ref_attr_name for a in node.attribute):
        return node
    made = onnx.NodeProto()
    made.CopyFrom(node)
    del made.output[n:], made.attribute[:]
    for a in node.attribute:
        if not a.ref_attr_name or a.ref_attr_name in said:
            made.attribute.append(said.get(a.ref_attr_name, a))
            made.attribute[-1].name = a.name
    return made


def standard(schema: Any, node: onnx.NodeProto, xs: Sequence[Any]) -> onnx.FunctionProto:
    """The ONNX standard's function body of an op, which may depend on the operands' types."""
    function = onnx.FunctionProto()
    if schema.has_function:
        function.ParseFromString(schema.get_function_with_opset_version(schema.function_opset_versions[-1]))
    else:
        version = schema.context_dependent_function_opset_versions[-1]
        types = [type_of(x).SerializeToString() for x in xs]
        text = node.SerializeToString()
        function.ParseFromString(schema.get_context_dependent_function_with_opset_version(version, text, types))
    return function


def type_of(x: Any) -> onnx.TypeProto:
    if isinstance(x, list):
        return helper.make_sequence_type_proto(type_of(x[0])) if x else onnx.TypeProto()
    return onnx.TypeProto() if x is None else helper.make_tensor_type_proto(element(x.dtype), x.shape)


def value(a: onnx.AttributeProto) -> Any:
    """An attribute as a Python value; an array becomes a tensor."""
    if a.type == a.TENSOR:
        return tensor(a.t)
    if a.type == a.STRING:
        return a.s.decode("utf-8", "replace")
    if a.type == a.STRINGS:
        return [text.decode("utf-8", "replace") for text in a.strings]
    if a.type in (a.INT, a.INTS, a.FLOAT, a.FLOATS):
        return helper.get_attribute_value(a)
    if a.type == a.TYPE_PROTO:
        return None
    raise GraphError(f"mg.onnx.load cannot read the attribute {a.name}: its type is not supported")
