"""load: an ONNX file as a function of tensors.

    net = mg.onnx.load("net.onnx")
    logits = net(image)

Each node is what `readings.py` says its op means: operations on tensors, so that the function can be differentiated,
trained, traced, drawn, compiled and exported again. An op without a reading is made of others, where the model or the
ONNX standard says of which; any other is refused by its name when the file is loaded.

A file is only data. Loading computes nothing, and takes no more memory than the file has bytes; what it says is checked
by onnx.checker first. A run is a run of whatever program the file holds: as long, and as large, as that says.
"""

from __future__ import annotations

import json
import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from graphlib import CycleError, TopologicalSorter
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import defs, helper, numpy_helper

from ...engine.base.errors import DTypeError, GraphError, SavedFileError, ShapeError
from ...engine.core.modes import current, in_mode
from ...engine.methods import Operand
from ...engine.tensor.tensor import Tensor
from ...nn.module import Module
from . import branches, networks, shapes  # noqa: F401  (whose readings join the table)
from .readings import READINGS, is_known
from .writer import PARAMETERS, dtype_of, element

NEWEST = 28  # the opset up to which the readings were compared with the standard
HINT = "consumed_inputs"  # of opset 1: which operands may be overwritten
STATISTICS = {"BatchNormalization": slice(3, 5)}  # inputs that are measured, and not learned
Scope = Mapping[str, Any]


def load(source: str | os.PathLike[str] | bytes) -> OnnxFunction:
    """The function that an ONNX file, or the bytes of one, describes.

    Raises SavedFileError where it is no valid model, and GraphError where it uses what has no reading here.
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
    """Move each node of a graph, and of its subgraphs, behind the nodes whose results it reads."""
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
    """A loaded model: called with its inputs, in their order or by name. One tensor comes out, or a tuple.

    inputs       name → (dtype, shape), in which a length that is not fixed is None or a name
    outputs      names
    variables    name → tensor: those that learn are parameters, the others buffers
    """

    unnoted = frozenset({"body"})  # nothing edits it, and a traced function would go through it at each call

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.name = graph.name
        self.variables = {x.name: tensor(x) for x in graph.initializer}
        learn = learned(model)
        for name, x in self.variables.items():
            x.requires_grad_(x.spec.is_float and name in learn)
        self.inputs = {x.name: announced(x) for x in graph.input if x.name not in self.variables}
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
            raise TypeError(f"{self.name} takes {', '.join(self.inputs) or 'no inputs'}, and was called with {came}")
        found = {name: fitting(name, x, *self.inputs[name]) for name, x in given.items()}
        ys = self.body({**self.variables, **found})
        return ys[0] if len(ys) == 1 else ys

    def extra_repr(self) -> str:
        return f"{', '.join(self.inputs)} → {', '.join(self.outputs)}"


def learned(model: onnx.ModelProto) -> set[str]:
    """The arrays that learn: those of which an exported model says so; else all but numbers and statistics."""
    said = next((p.value for p in model.metadata_props if p.key == PARAMETERS), None)
    if said is not None:
        try:
            return set(map(str, json.loads(said)))
        except (ValueError, TypeError, RecursionError):
            raise SavedFileError(f"{PARAMETERS} of the model is no list of names: {said[:80]!r}") from None
    still = {name for node in model.graph.node for name in node.input[STATISTICS.get(node.op_type, slice(0))]}
    return {x.name for x in model.graph.initializer if x.dims} - still


def announced(x: onnx.ValueInfoProto) -> tuple[Any, Any]:
    """The dtype and the shape of an input; None, None of sequences and optional values."""
    dtype, said = dtype_in(x.type, x.name), x.type.tensor_type
    if not x.type.HasField("tensor_type"):
        return None, None
    if not said.HasField("shape"):
        return dtype, None
    return dtype, [n.dim_value if n.HasField("dim_value") else n.dim_param or None for n in said.shape.dim]


def dtype_in(said: onnx.TypeProto, name: str) -> Any:
    """The dtype of a tensor, or of those in a sequence. Raises GraphError for any other type."""
    kind = said.WhichOneof("value")
    if kind == "tensor_type":
        return dtype_of(said.tensor_type.elem_type, name)
    if kind in ("sequence_type", "optional_type"):
        return dtype_in(getattr(said, kind).elem_type, name)
    raise GraphError(f"{name} is a {kind}, and tensors and sequences are what mg.onnx.load reads")


def tensor(x: onnx.TensorProto) -> Tensor:
    """An array of the file. Raises SavedFileError where there are more or fewer bytes than its shape needs."""
    dtype_of(x.data_type, x.name)
    if x.data_location == x.EXTERNAL:  # of a file that was named, onnx.load has read it, from beside that file alone
        raise SavedFileError(f"the array {x.name} lies in another file: load the model by its path, and not its bytes")
    try:
        array = numpy_helper.to_array(x)
    except (ValueError, TypeError, OverflowError) as reason:
        raise SavedFileError(f"the array {x.name} of {[*x.dims][:8]} is not there: {reason}") from None
    return Tensor(np.array(array))


def fitting(name: str, x: Any, dtype: Any, shape: Any) -> Any:
    """An input. Raises DTypeError and ShapeError where it is not what the file announces."""
    if dtype is None:
        if isinstance(x, list | tuple):
            return [fitting(name, part, None, None) for part in x]
        return x if x is None or isinstance(x, Operand) else Tensor(x)
    x = x if isinstance(x, Operand) else Tensor(x)
    if x.dtype != dtype:
        raise DTypeError(f"the input {name} is of {dtype}, and {x.dtype} came: convert it, as with x.astype({dtype})")
    fits = shape is None or (len(shape) == x.ndim and all(m == n for m, n in zip(shape, x.shape) if type(m) is int))
    if not fits:
        raise ShapeError(f"the input {name} is of shape {shape}, and {x.spec} came")
    return x


# -- graphs, read -----------------------------------------------------------------------------------


class Body(NamedTuple):
    """A graph, ready to run: that of a model, of a function, or of a branch inside of one."""

    steps: list[Step]
    inputs: list[str]
    outputs: list[str]
    arrays: dict[str, Tensor]

    def __call__(self, around: Scope, *xs: Any) -> tuple[Any, ...]:
        """Its results, given what can be seen from where it stands, and its inputs."""
        values: dict[str, Any] = {**self.arrays, **dict(zip(self.inputs, xs, strict=False))}
        scope: Any = ChainMap(values, around)  # type: ignore[arg-type]
        for step in self.steps:
            values.update(zip(step.node.output, step(scope), strict=False))
        return tuple(scope[name] if name else None for name in self.outputs)


class Step(NamedTuple):
    """A node with its reading."""

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
        options = self.options | {name: inside(body, scope) for name, body in self.bodies.items()}
        try:
            # What is known while a graph is being traced, such as a shape, is worked out and not traced.
            if current.mode.builder is not None and not self.bodies and all(map(is_known, xs)):
                with in_mode(builder=None, recording=False):
                    return self.typed(xs, self.results(xs, options))
            return self.typed(xs, self.results(xs, options))
        except GraphError as reason:
            raise GraphError(f"{self}: {reason}") from reason
        except Exception as error:
            error.add_note(f"in {self} of an ONNX model")
            raise

    def results(self, xs: Sequence[Any], options: dict[str, Any]) -> Sequence[Any]:
        ys = self.reading(*xs, **options)
        return ys if isinstance(ys, tuple) else (ys,)

    def typed(self, xs: Sequence[Any], ys: Sequence[Any]) -> Sequence[Any]:
        """The results in the dtypes that the op's schema gives them, of which readings need not think."""
        if self.schema is None:
            return ys
        said = dict(FIXED)
        for i, x in zip(places(self.schema.inputs, len(xs)), xs):
            if i.is_homogeneous and isinstance(x, Operand) and said.setdefault(i.type_str, x.dtype) != x.dtype:
                raise GraphError(f"operands of {said[i.type_str]} and {x.dtype}, which the standard has of one type")
        made = []
        for o, y in zip(places(self.schema.outputs, len(ys)), ys):
            dtype = said.get(o.type_str) if o.is_homogeneous else None
            made.append(y if dtype is None or not isinstance(y, Operand) or y.dtype == dtype else y.astype(dtype))
        return made


def places(parameters: Sequence[Any], n: int) -> Sequence[Any]:
    """What a schema says of each of n operands, the last of which may be many."""
    return [*parameters, *[p for p in parameters[-1:] if p.option.name == "Variadic"] * n]


signature_of = cache(signature)  # a model has the same few readings in thousands of nodes
FIXED = {"tensor(int64)": np.dtype(np.int64), "tensor(bool)": np.dtype(bool), "tensor(float)": np.dtype(np.float32)}


def inside(body: Body, scope: Scope) -> Any:
    """A branch, or the body of a loop, as a function."""
    return lambda *xs: body(scope, *xs)


def title(node: onnx.NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain not in ("", "ai.onnx") else node.op_type


class Reader:
    """Finds what ops mean: in the table, among the model's own functions, or in the standard.

    opsets       domain → version
    functions    (domain, name, overload) → a function of the model
    """

    def __init__(self, opsets: Iterable[Any], functions: Mapping[Any, Any], around: Mapping[str, int]) -> None:
        self.opsets = {**around} | {"" if o.domain == "ai.onnx" else o.domain: o.version for o in opsets}
        self.functions = functions
        if self.opsets.get("", 1) > NEWEST:
            raise GraphError(f"the model is of opset {self.opsets['']}, and opsets up to {NEWEST} are read")

    def body(self, graph: onnx.GraphProto) -> Body:
        """A graph. What it announces of its inner values is not believed, and not needed."""
        if graph.sparse_initializer:
            raise GraphError("sparse initializers have no reading in mg.onnx.load")
        arrays = {x.name: tensor(x) for x in graph.initializer}
        inputs, outputs = ([x.name for x in xs] for xs in (graph.input, graph.output))
        return Body(self.steps(graph.node, outputs, {}), inputs, outputs, arrays)

    def steps(self, nodes: Iterable[onnx.NodeProto], outputs: Iterable[str], said: Mapping[str, Any]) -> list[Step]:
        """Nodes, of whose results those that nobody reads are not asked for."""
        used = {*outputs, *read_by(nodes)}
        return [self.step(trimmed(node, used), said) for node in nodes]

    def step(self, node: onnx.NodeProto, said: Mapping[str, Any]) -> Step:
        """A node; said are the attributes of the function around it, to which its own may refer."""
        node = resolved(node, said)
        bodies = {a.name: self.body(a.g) for a in node.attribute if a.type == a.GRAPH}
        options = {a.name: value(a) for a in node.attribute if a.name not in bodies and a.name != HINT}
        schema = self.schema(node)
        reading = READINGS.get(title(node)) if self.function(node) is None else None
        if reading is None:
            return Step(node, {}, {}, schema, lambda *xs: self.expanded(node, xs))
        known = signature_of(reading).parameters
        if "version" in known:
            options["version"] = schema.since_version
        if "outputs" in known:
            options["outputs"] = len(node.output)
        strange = {*options, *bodies} - {*known}
        if strange and not any(p.kind is p.VAR_KEYWORD for p in known.values()):
            raise GraphError(f"{title(node)} with {', '.join(sorted(strange))} has no reading in mg.onnx.load")
        return Step(node, options, bodies, schema, reading)

    def schema(self, node: onnx.NodeProto) -> Any:
        """What the standard says of the op; None of what is not in it."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        try:
            return defs.get_schema(node.op_type, self.opsets.get(domain, 1), domain)
        except defs.SchemaError:
            return None

    def function(self, node: onnx.NodeProto) -> Any:
        """The model's own function of that name; None if it has none."""
        return self.functions.get((node.domain, node.op_type, node.overload))

    def expanded(self, node: onnx.NodeProto, xs: Sequence[Any]) -> tuple[Any, ...]:
        """A node by its function: with the attributes that it has, or that the function has for want of them."""
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
        """The ops among these, and in what they are made of, that have no meaning here. seen: functions looked into."""
        found: set[str] = set()
        for node in nodes:
            key, schema = (node.domain, node.op_type, node.overload), self.schema(node)
            if (function := self.function(node)) is not None:
                if key not in seen:
                    seen.add(key)
                    reader = Reader(function.opset_import, self.functions, self.opsets)
                    found |= reader.unread(function.node, seen)
            elif title(node) not in READINGS and not (
                schema and (schema.has_function or schema.has_context_dependent_function)
            ):
                found.add(title(node))
            for a in node.attribute:
                found |= self.unread(a.g.node, seen)
        return found


def refuse(name: str, ops: Iterable[str]) -> None:
    """Raises GraphError if there are any."""
    if unread := sorted(ops):
        raise GraphError(f"{name} needs {', '.join(unread)}, of which mg.onnx.load has no reading")


def read_by(nodes: Iterable[onnx.NodeProto]) -> set[str]:
    """The names that these read, and the graphs inside them."""
    found: set[str] = set()
    for node in nodes:
        found.update(node.input)
        for a in node.attribute:
            found |= {x.name for x in a.g.output} | read_by(a.g.node)
    return found


def trimmed(node: onnx.NodeProto, used: set[str]) -> onnx.NodeProto:
    """The node without its last results, as far as they are not used."""
    n = max((i + 1 for i, name in enumerate(node.output) if name in used), default=1)
    if n >= len(node.output):
        return node
    made = onnx.NodeProto()
    made.CopyFrom(node)
    del made.output[n:]
    return made


def resolved(node: onnx.NodeProto, said: Mapping[str, Any]) -> onnx.NodeProto:
    """The node with the attributes that it refers to in the place of the references."""
    if not any(a.ref_attr_name for a in node.attribute):
        return node
    made = onnx.NodeProto()
    made.CopyFrom(node)
    del made.attribute[:]
    for a in node.attribute:
        if not a.ref_attr_name or a.ref_attr_name in said:
            made.attribute.append(said.get(a.ref_attr_name, a))
            made.attribute[-1].name = a.name
    return made


def standard(schema: Any, node: onnx.NodeProto, xs: Sequence[Any]) -> onnx.FunctionProto:
    """What the ONNX standard says an op is made of; it may depend on the types of the operands."""
    function = onnx.FunctionProto()
    if schema.has_function:
        function.ParseFromString(schema.get_function_with_opset_version(schema.function_opset_versions[-1]))
    else:
        version = schema.context_dependent_function_opset_versions[-1]
        types = [type_of(x).SerializeToString() for x in xs]
        function.ParseFromString(
            schema.get_context_dependent_function_with_opset_version(version, node.SerializeToString(), types)
        )
    return function


def type_of(x: Any) -> onnx.TypeProto:
    if isinstance(x, list):
        return helper.make_sequence_type_proto(type_of(x[0])) if x else onnx.TypeProto()
    return onnx.TypeProto() if x is None else helper.make_tensor_type_proto(element(x.dtype), x.shape)


def value(a: onnx.AttributeProto) -> Any:
    """An attribute as Python has it: numbers, texts, and arrays as tensors."""
    if a.type == a.TENSOR:
        return tensor(a.t)
    if a.type in (a.STRING, a.STRINGS):
        texts = [text.decode("utf-8", "replace") for text in (a.strings if a.type == a.STRINGS else [a.s])]
        return texts if a.type == a.STRINGS else texts[0]
    if a.type in (a.INT, a.INTS, a.FLOAT, a.FLOATS):
        found = helper.get_attribute_value(a)
        return [*found] if a.type in (a.INTS, a.FLOATS) else found
    if a.type == a.TYPE_PROTO:
        return None
    raise GraphError(f"the attribute {a.name} is of a kind that has no reading in mg.onnx.load")
