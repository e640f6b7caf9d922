"""ONNX models: nodes with their attributes, initialisers by name, subgraphs and functions as groups.

A model is only read: nothing runs, and external data is not loaded, since its shapes are in the model itself.
"""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import PurePath
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto, helper, numpy_helper

from ..listing import LONGEST, Entry, Listing, Scope
from ..nested import FEW, KINDS, NamedGraph, NamedOp, bytes_of, entries_of, make_constant, op_entry, part_of, spec_text
from ..tensors import format_array
from ..words import join_names, number, shorten

FRAME = re.compile(r'File "(.+)", line (\d+), in (.+)(?:\n +(?!File)(.+))?')  # a frame of a stack trace
Body = GraphProto | FunctionProto
Specs = ChainMap[str, str]  # name of a value → its spec; "" if it is unknown


def listing_of(x: Any, args: Sequence[Any], names: Mapping[str, object]) -> Listing:
    """The listing of a ModelProto, a GraphProto, or the path of a .onnx file.

    Raises TypeError for another object or for arguments; ValueError for a damaged file.
    """
    if args:
        raise TypeError("an ONNX model takes no example arguments: it has one graph for all arguments")
    model = model_of(x)
    typed, notes = with_shapes(model)
    entries = entries_of(ModelReader(model).graph(typed.graph, ChainMap()))
    opsets = join_names([f"{opset.version} of {opset.domain or 'ai.onnx'}" for opset in model.opset_import])
    maker = f", made by {model.producer_name} {model.producer_version}".rstrip() * bool(model.producer_name)
    about = f"ONNX, IR version {model.ir_version}, opset {opsets or 'unknown'}{maker}."
    return Listing(shorten(join_names([y.name for y in model.graph.output]), LONGEST), entries, [about, *notes])


def model_of(x: Any) -> ModelProto:
    if isinstance(x, str | os.PathLike):
        path = os.fspath(x)
        try:
            x = onnx.load(path, load_external_data=False)
        except DecodeError:
            x = ModelProto()
        if not x.graph.ByteSize():
            raise ValueError(f"{path} is no ONNX file, or a part of it is missing: no graph can be read from it")
    if isinstance(x, GraphProto):
        x = ModelProto(graph=x)
    if not isinstance(x, ModelProto):
        came = type(x).__name__
        raise TypeError(f"expected an ONNX ModelProto or GraphProto, or the path of a .onnx file; got {came}")
    return x


def with_shapes(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model, or a copy with inferred types if some are missing; and a note if inference failed."""
    known = {value.name for value in (*model.graph.value_info, *model.graph.output) if value.type.ByteSize()}
    if all(name in known for node in model.graph.node for name in node.output if name):
        return model, []
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True), []
    except Exception as error:  # a model with a mistake is drawn without shapes: the user may want to find the mistake
        return model, [f"Shapes could not be inferred: {shorten(' '.join(str(error).split()), 4 * LONGEST)}"]


class ModelReader:
    """Describes the nodes of a model, of its subgraphs and of its functions."""

    def __init__(self, model: ModelProto) -> None:
        self.functions = {(f.domain, f.name, f.overload): f for f in model.functions}
        self.calls: list[str] = []  # the functions that are being read, outermost first

    def graph(self, graph: Body, specs: Specs, xs: Sequence[str] = (), label: str = "", rows: int = 0) -> NamedGraph:
        """Describe a graph that an op calls with the last of its operands xs, of which the last `rows` are rows."""
        typed = [x for x in (*graph.input, *graph.value_info, *graph.output) if not isinstance(x, str)]
        specs.update((value.name, type_text(value.type)) for value in typed)
        stored = [initialiser(tensor, tensor.dims) for tensor in getattr(graph, "initializer", ())]
        stored += [initialiser(tensor.values, tensor.dims) for tensor in getattr(graph, "sparse_initializer", ())]
        named = {entry.name for entry in stored}
        inputs = [name for name in names_of(graph.input) if name not in named]
        leaves = [NamedOp(entry, outputs=[entry.name]) for entry in (*stored, *(input_of(x, specs) for x in inputs))]
        sign = "carry" if isinstance(graph, GraphProto) else "input"
        signs = [sign] * (len(inputs) - rows) + ["row"] * rows
        ops = [*leaves, *(self.op(each, specs) for each in graph.node)]
        return part_of(label, graph, ops, names_of(graph.output), dict(zip(inputs, signs)), xs)

    def function(self, function: FunctionProto, node: NodeProto, specs: Specs) -> NamedGraph:
        """The body of the function that a node calls. Raises ValueError if the function calls itself."""
        name = f"{function.domain}.{function.name}"
        if name in self.calls:
            raise ValueError(f"the function {name} calls itself, which ONNX does not allow")
        both = [*zip(function.input, node.input), *zip(function.output, node.output)]
        self.calls.append(name)
        known = ChainMap({formal: specs[name] for formal, name in both if name in specs})
        body = self.graph(function, known, node.input)
        self.calls.pop()
        return body

    def subgraphs(self, node: NodeProto, specs: Specs) -> list[NamedGraph]:
        rows = sum(a.i for a in node.attribute if a.name == "num_scan_inputs")
        inner = [(a.name, graph) for a in node.attribute for graph in subgraphs(a)]
        return [self.graph(graph, specs.new_child(), node.input, name, rows) for name, graph in inner]

    def op(self, node: NodeProto, specs: Specs) -> NamedOp:
        """Describe a node and its subgraphs, or the function that it calls."""
        function = self.functions.get((node.domain, node.op_type, node.overload))
        parts = self.subgraphs(node, specs) if function is None else [self.function(function, node, specs)]
        results = [name for name in node.output if name]
        known = [spec for name in results if (spec := specs.get(name))]
        facts = [f"{what} {name}" for what, name in (("domain", node.domain), ("node", node.name)) if name]
        attributes = [attribute_text(attribute) for attribute in node.attribute if not subgraphs(attribute)]
        entry = op_entry(node.op_type, results, known, node, facts + attributes)
        entry.line = line_of(node)
        if node.op_type == "Constant":
            text = attributes[0].partition(" = ")[2]
            make_constant(entry, text if text != entry.spec else "")
        kind = "function" if function else KINDS.get(node.op_type, "control flow")
        own = [Scope("scope", node.name or node.op_type, kind, (*results, node.name))] * bool(parts)
        inputs = node.input[: len(node.input) - len(parts[-1].operands)] if parts else node.input
        return NamedOp(entry, inputs, results, modules_of(node), own, parts)


# -- parts of a graph -------------------------------------------------------------------------------------------------


def initialiser(tensor: TensorProto, lengths: Sequence[int]) -> Entry:
    """An initialiser of this shape; a sparse one stores fewer values. Values are read only if they are few."""
    spec = spec_text(TensorProto.DataType.Name(tensor.data_type), lengths)
    stored = [f"stored in {pair.value}, not loaded" for pair in tensor.external_data if pair.key == "location"]
    entry = Entry("leaf", "", tensor.name, spec, tensor, bytes_of(spec), path=None, facts=("initialiser", *stored))
    if not stored and prod(lengths) <= FEW and tensor.data_type != TensorProto.STRING and tensor.dims == lengths:
        entry.value = format_array(numpy_helper.to_array(tensor))
    return entry


def input_of(name: str, specs: Specs) -> Entry:
    spec = specs.get(name, "")
    return Entry("leaf", "", name, spec, None, bytes_of(spec))


def names_of(values: Iterable[Any]) -> list[str]:
    """The names of inputs or outputs. A function's inputs and outputs are names already."""
    return [getattr(value, "name", value) for value in values]


def subgraphs(attribute: onnx.AttributeProto) -> list[GraphProto]:
    return [attribute.g] if attribute.HasField("g") else list(attribute.graphs)


def modules_of(node: NodeProto) -> list[Scope]:
    """The modules around a node. torch.onnx writes them, with types, into its metadata, or else into its name."""
    hint = next((pair.value for pair in node.metadata_props if pair.key == "namespace"), "")
    if hint:
        pairs = [part.partition(": ") for part in hint.split("/")[1:-1]]
        return [Scope("module", label, of.rpartition(".")[2], label) for label, _, of in pairs]
    return [Scope("scope", part, "name scope", part) for part in node.name.strip("/").split("/")[:-1]]


def attribute_text(attribute: onnx.AttributeProto) -> str:
    """An attribute, such as alpha = 0.3. In a function, alpha = @slope means the attribute slope of the call."""
    text = str(helper.printable_attribute(attribute)).partition(" = ")[2]
    if attribute.HasField("t"):
        entry = initialiser(attribute.t, attribute.t.dims)
        text = entry.value or entry.spec
    elif attribute.HasField("f"):
        text = number(attribute.f)
    return shorten(f"{attribute.name} = {f'@{attribute.ref_attr_name}' if attribute.ref_attr_name else text}", LONGEST)


def type_text(kind: TypeProto) -> str:
    """A type: f32[batch, 3], sequence of f32[?]; "" if it is unknown."""
    name = kind.WhichOneof("value")
    if name is None:
        return ""
    held = getattr(kind, name)
    if name.endswith("tensor_type"):
        known = [n.dim_value if n.HasField("dim_value") else n.dim_param for n in held.shape.dim]
        lengths = [None if str(n).startswith("unk__") else n for n in known]  # the names that shape inference makes up
        return spec_text(TensorProto.DataType.Name(held.elem_type), lengths if held.HasField("shape") else None)
    return f"{name.removesuffix('_type')} of {type_text(held.value_type if name == 'map_type' else held.elem_type)}"


def line_of(node: NodeProto) -> str:
    """The innermost line of user code in the stack trace that torch.onnx leaves with a node."""
    traces = [pair.value for pair in node.metadata_props if pair.key.endswith("stack_trace")] or [node.doc_string]
    frames = [frame for frame in FRAME.findall(traces[0]) if "site-packages" not in frame[0]]
    for file, line, function, source in frames[-1:]:
        return f"line {line} of {PurePath(file).name}, in {function}" + f": {shorten(source, LONGEST)}" * bool(source)
    return ""
