"""export: a traced function as an ONNX file.

    mg.onnx.export(net, (x,), "net.onnx", input_names=["image"], output_names=["logits"], dynamic_axes={"image": [0]})

The graph is the trace, before any compiler pass. Parameters become initializers under their names in `state_dict`. Each
op is written by its spelling if ONNX has an equivalent op, else by its decomposition, else by running its `forward`.

int8 layers are written in QDQ form, which engines recognise: QuantizeLinear and DequantizeLinear around a float layer.
An engine with integer kernels replaces these nodes by such a kernel. Any other engine multiplies floats; its results
differ only in the last bits.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...engine.base.dimension import is_unknown, named_length
from ...engine.base.errors import GraphError, MinigradError
from ...engine.base.pytree import paths
from ...engine.base.spec import Spec
from ...engine.base.whole_file import replace_file
from ...engine.core.graph import Graph
from ...engine.core.interpret import is_constant, walk_graph
from ...engine.core.modes import in_mode
from ...engine.core.node import Node
from ...engine.core.op import Op
from ...engine.ops import Const, TupleGet, Within
from ...engine.ops.effect import Effect
from ...engine.tensor.symbol import Symbol
from ...engine.tensor.tensor import Tensor
from ...graph.compiler.program.abstract_array import Unrecordable
from ...graph.function import TracedFunction, is_tensor
from ...graph.trace import Trace, identifier
from ...nn.linear import Conv2d, Linear
from ...nn.module import Module
from ...nn.quantization.affine import INT32, limits, spread
from ...nn.quantization.layers import STATE, QuantizedLayer, floating, kinds, product
from ...nn.quantization.workflow import replace_modules
from .function import NodeReading, OnnxFunction
from .named_array import NamedArray, is_empty
from .recorder import OnnxNumPy
from .spellings import SPELLINGS, spells
from .writer import PARAMETERS, NodeWriter, value_info

IR_VERSION = 10  # released with opset 21: engines refuse files newer than themselves
OPSETS = range(20, 25)  # the opsets that the spellings support
# What a forward may raise if it reads elements, which a NamedArray does not have.
FAILURES = (NotImplementedError, TypeError, AttributeError, ValueError, IndexError)


def export(
    func: Callable[..., Any], args: Any, path: str | os.PathLike[str], input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None, dynamic_axes: Mapping[str, Any] | None = None, opset: int = 21,
) -> None:  # fmt: skip
    """Export a module or a function of tensors, traced with example arguments, to an ONNX file.

    args            a tensor or a tuple of arguments; arguments that are not tensors become constants of the graph
    output_names    names of the results; by default the keys of the returned dictionary, or output, output_1, …
    dynamic_axes    name of an input → its axes of variable length: [0], or {0: "batch"}

    Gradients that the function returns are exported too. Dropout and batch norm follow the module's mode.
    onnx.checker checks the model; only then does the file replace an older one, in one step. Raises GraphError for an
    op that ONNX cannot express, with the line that called it.
    """
    if type(opset) is not int or opset not in OPSETS:
        raise ValueError(f"mg.onnx.export writes opset {OPSETS[0]} to {OPSETS[-1]}, got {opset}")
    args = args if isinstance(args, tuple) else (args,)
    func = to_qdq(func.python_function if isinstance(func, TracedFunction) else func)
    trace, names = trace_function(func, args, input_names, dynamic_axes or {})
    if output_names is None and isinstance(func, OnnxFunction):
        output_names = func.outputs
    model = model_of(trace, names, parameter_names(func), output_names, opset)
    replace_file(path, [model.SerializeToString()])


# -- the trace --------------------------------------------------------------------------------------


def trace_function(
    func: Any, args: tuple[Any, ...], input_names: Any, dynamic_axes: Mapping[str, Any]
) -> tuple[Trace, Any]:
    """Return the trace and the input names. Raises GraphError if the function has side effects."""
    f = TracedFunction(func)
    tensors: list[Tensor] = []
    args, options = f.parameters.bind_arguments(args, {})
    f.key(args, options, tensors)
    said = [identifier(name) for name, x in f.parameters.leaves(args, options) if is_tensor(x)]
    if isinstance(func, OnnxFunction) and len(said) == len(func.inputs):
        said = [*func.inputs]
    names = choose_names("input_names", input_names, said)
    if unknown := set(dynamic_axes) - {*names}:
        raise ValueError(f"dynamic_axes names {', '.join(sorted(unknown))}, but the inputs are {', '.join(names)}")
    specs = [dynamic_spec(x.spec, name, dynamic_axes.get(name, [])) for x, name in zip(tensors, names)]
    trace = f.trace_with_specs(args, options, tensors, specs)
    if trace.list_changes():
        raise GraphError(
            f"{f.__name__} changes {', '.join(trace.list_changes())} besides what it returns, which ONNX cannot "
            "express: export net.eval(), or return the new values, and gradients as mg.autograd.grad returns them"
        )
    return trace, names


def dynamic_spec(spec: Spec, name: str, axes: Any) -> Spec:
    """Return the spec with unknown lengths on these axes. Raises ValueError for an axis that the spec lacks."""
    called = axes if isinstance(axes, Mapping | list | tuple) else None
    if called is None or any(type(a) is not int or not -spec.ndim <= a < spec.ndim for a in called):
        raise ValueError(
            f'dynamic_axes must be axes, [0], or named axes, {{0: "batch"}}; for {name}, {spec}, got {axes}'
        )
    shape: list[Any] = list(spec.shape)
    for axis in called:
        length = called[axis] if isinstance(called, Mapping) else f"{name}_axis_{axis % spec.ndim}"
        if not isinstance(length, str) or not length.isidentifier():
            raise ValueError(f"dynamic_axes must name a length by an identifier; for {name}, got {length!r}")
        shape[axis] = named_length(length)
    return spec.with_shape(tuple(shape))


def choose_names(what: str, said: Sequence[str] | None, own: Sequence[str]) -> list[str]:
    """The names that the user specified, or `own`, the defaults. Raises ValueError unless there is one per default."""
    if said is None:
        return list(own)
    words = isinstance(said, list | tuple) and all(isinstance(name, str) and name for name in said)
    if not words or len(said) != len(own) or len({*said}) != len(own):
        raise ValueError(f"{what} needs {len(own)} different names, got {said!r}")
    return list(said)


def parameter_names(func: Any) -> dict[int, str]:
    """id of a tensor → its name in the module's state_dict."""
    named_parts = [getattr(func, kind)() for kind in ("named_parameters", "named_buffers") if hasattr(func, kind)]
    return {id(x): name for parts in named_parts for name, x in parts}


# -- the model --------------------------------------------------------------------------------------


def model_of(trace: Trace, names: Sequence[str], called: Mapping[int, str], output_names: Any, opset: int) -> Any:
    """Build the ONNX model of a trace."""
    g = Exporting(NodeWriter(names))
    given = [NamedArray(g, name, x.spec.shape, x.spec.dtype) for name, x in zip(names, trace.graph.inputs)]
    for x in given:
        for axis, n in enumerate(x.shape):
            if is_unknown(n):
                g.lengths.setdefault(str(n), (x.name, axis))
    inputs = [value_info(x.name, x.dtype, x.shape) for x in given]
    captured, learned = write_captured(g, trace, called)
    outputs = write_results(g, trace, given + captured, output_names)
    graph = helper.make_graph(g.writer.nodes, "minigrad", inputs, outputs, list(g.writer.constants.values()))
    g.writer.constants, g.writer.nodes = {}, []
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="minigrad")
    helper.set_model_props(model, {PARAMETERS: json.dumps(learned)})
    validate_model(model, g.writer.places)
    if g.writer.rare:
        why = (
            f"ONNX Runtime has no {', '.join(sorted(g.writer.rare))} of float64 on the CPU, and will not load this file"
        )
        warnings.warn(f"{why}: export net.float(), with arguments in float32", stacklevel=3)
    return model


def write_captured(g: Exporting, trace: Trace, called: Mapping[int, str]) -> tuple[list[NamedArray], list[str]]:
    """Write the captured tensors as initializers; returns them, and the names of the trainable ones."""
    arrays: list[NamedArray] = []
    learned: list[str] = []
    for name, tensor in zip(trace.names[trace.given :], trace.captured):
        array = np.asarray(tensor.value)
        name = g.writer.constant(array, called.get(id(tensor), name))
        arrays.append(NamedArray(g, name, array.shape, array.dtype))
        learned += [name] if tensor.requires_grad else []
    return arrays, learned


def write_results(g: Exporting, trace: Trace, given: Sequence[NamedArray], output_names: Any) -> list[Any]:
    """Write the nodes of the trace and name its results; returns the declarations of the outputs."""
    results = g.run(trace.graph, given)
    ys = [resolve_output(g, place, results, given) for place in trace.places]
    if not ys:
        raise GraphError("an ONNX graph must return a tensor, but the function returns none: return its results")
    own = [f"output_{i}" if i else "output" for i in range(len(ys))]
    if isinstance(trace.template, dict):
        own = [identifier(path) for path in paths(trace.template, "")]
    said = [g.writer.fresh(name) for name in choose_names("output_names", output_names, own)]
    g.writer.nodes += [helper.make_node("Identity", [y.name], [name]) for name, y in zip(said, ys)]
    return [value_info(name, y.dtype, y.shape) for name, y in zip(said, ys)]


def validate_model(model: Any, places: Mapping[str, Any]) -> None:
    """Raises GraphError, with the line of user code, for a node that ONNX forbids, such as most ops on integers."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as reason:
        found = [name for name in places if re.search(rf"\b{re.escape(name)}\W", str(reason))]
        where = "".join(f"{name} ({places[name]}): " for name in found[:1])
        raise GraphError(f"{where}ONNX does not allow this graph: {reason}") from reason


def resolve_output(g: Exporting, place: tuple[str, Any], results: Sequence[Any], given: Sequence[NamedArray]) -> Any:
    """One output of the function: a computed result, an argument, a captured tensor, or a view of one of these."""
    kind, there = place
    if kind == "result":
        return results[there]
    if kind == "argument":
        return given[there]
    if kind == "view":
        x, op, *_ = there
        return g.emit_op(op, None, [resolve_output(g, x, results, given)])
    if not isinstance(there, Tensor):
        raise GraphError(f"an ONNX graph can only return tensors, but the function returns {there!r}: leave it out")
    return g.as_operand(np.asarray(there.value))


class Exporting(OnnxNumPy):
    """The recorder, extended to write whole graphs node by node."""

    def run(self, graph: Graph, xs: Sequence[NamedArray]) -> tuple[Any, ...]:
        """Write the graph's nodes for these inputs; return its outputs."""
        return walk_graph(graph, xs, self.emit_node)

    def emit_node(self, node: Node, xs: Sequence[NamedArray]) -> Any:
        if is_constant(node):
            return self.as_operand(node.op.value, node.spec.dtype)  # type: ignore[attr-defined]
        if (known := empty_result(node, xs)) is not None:
            return self.as_operand(known, node.spec.dtype)
        self.writer.within(getattr(node, "name", "") or node.op.label, getattr(node, "place", None))
        y = self.emit_op(node.op, node, xs)
        if isinstance(y, NamedArray) and y.dtype != node.spec.dtype and not isinstance(node.op, Within):
            where = f" ({place})" if (place := getattr(node, "place", None)) else ""
            advice = "convert its operands first"
            raise GraphError(f"{node.op}{where} returns {node.spec.dtype}, but {y.dtype} in ONNX: {advice}")
        return y

    def emit_op(self, op: Any, node: Any, xs: Sequence[Any]) -> Any:
        """Write an op by its spelling, its decomposition or its `forward`, and return its result."""
        if isinstance(op, TupleGet):
            return xs[0][op.i]
        try:
            if isinstance(op, Effect):
                raise Unrecordable("it has side effects")
            if (spelling := SPELLINGS.get(type(op))) is not None:
                with suppress(NotImplementedError):
                    return spelling(self, op, *xs)
            if hasattr(op, "decompose"):
                inputs = tuple(Node(Const(i, 1.0), (), Spec(x.shape, x.dtype)) for i, x in enumerate(xs))
                return self.run(Graph(inputs, (op.decompose(*map(Symbol, inputs)).node,)), xs)[0]
            # Forwards cache tables per array module. Here tables are nodes, so each op gets its own copy of the module.
            y = op.forward(copy(self), *xs)
            return y if isinstance(y, tuple) else self.as_operand(y).as_it_is()
        except (Unrecordable, MinigradError, *FAILURES) as reason:
            place = getattr(node, "place", None)
            where = f" ({place})" if place else ""
            open_ = [n for x in xs for n in getattr(x, "shape", ()) if is_unknown(n)]
            why: Any = reason
            if open_ and isinstance(reason, FAILURES):
                why = f"it needs the length {open_[0]}, which is known only at run time"
            raise GraphError(f"{op}{where} cannot be written in ONNX: {why}") from reason


def empty_result(node: Node, xs: Sequence[Any]) -> Any:
    """The result, if it or every operand is empty, since engines disagree on empty arrays; else None."""
    if type(node.spec) is not Spec or isinstance(node.op, Effect):
        return None
    if is_empty(node.spec.shape):
        return np.zeros(node.spec.shape, node.spec.dtype)
    if not xs or not all(isinstance(x, NamedArray) and is_empty(x.shape) for x in xs):
        return None
    with np.errstate(all="ignore"):
        return node.op.forward(np, *(np.zeros(x.shape, x.dtype) for x in xs))


# -- int8 layers, in QDQ form -------------------------------------------------------------------------


@dataclass(frozen=True)
class QuantizeLinear(Op):
    """q = x / s rounded to the nearest integer, plus z, clipped to the range of z's dtype"""

    axis: int = 0

    def infer(self, x: Spec, s: Spec, z: Spec) -> Spec:  # type: ignore[override]
        return x.with_dtype(z.dtype)


@dataclass(frozen=True)
class DequantizeLinear(Op):
    """x = (q − z) s, with one s and z per tensor, or per index along the axis; z is 0 by default"""

    axis: int = 0

    def infer(self, q: Spec, s: Spec, *z: Spec) -> Spec:  # type: ignore[override]
        return q.with_dtype(s.dtype)


@spells(QuantizeLinear, DequantizeLinear)
def emit_quantize(g: Any, op: Any, x: NamedArray, s: NamedArray, *z: NamedArray) -> Any:
    read = (node.input[0] for node in g.writer.nodes if node.op_type == "DequantizeLinear")
    if x.name in g.writer.constants and x.name in read:
        x, z = duplicate_initializer(g, x), tuple(duplicate_initializer(g, t) for t in z)
    dtype = z[0].dtype if isinstance(op, QuantizeLinear) else s.dtype
    return g.call(type(op).__name__, [x, s, *z], x.shape, dtype, axis=op.axis)


def duplicate_initializer(g: Any, x: NamedArray) -> NamedArray:
    """Copy an initializer for each use: on CPUs that need uint8, ONNX Runtime converts initializers with one use."""
    array = numpy_helper.to_array(g.writer.constants[x.name])
    return NamedArray(g, g.writer.constant(array, x.name), x.shape, x.dtype)


class QDQLayer(QuantizedLayer):
    """An integer layer that multiplies dequantized values; zero points have the dtypes of the integers.

    bias_int, bias_scale    the bias as int32, with the scale s_x s_w of the product; None without a bias. If the bias
                            is not int32, ONNX Runtime computes a last layer in floats
    """

    @classmethod
    def from_layer(cls, layer: Any) -> Any:
        made: Any = cls.__new__(cls)
        vars(made).update(vars(layer))
        made.register_buffer("input_zero_point", layer.input_zero_point.astype(layer.quantize[2]))
        made.register_buffer("weight_zero_point", layer.weight_zero_point.astype(layer.weight_int.dtype))
        made.register_buffer("bias_int", None)
        if (b := layer.bias) is not None:
            made.register_buffer("bias_scale", layer.weight_scale * layer.input_scale)
            made.register_buffer("bias_int", (b.astype(np.float64) / made.bias_scale).round().astype(np.int32))
        return made

    def forward(self: Any, input: Any) -> Any:
        x, (low, high, dtype) = floating(input), self.quantize
        s, z = self.input_scale, self.input_zero_point
        with in_mode(autocast=None):
            y = x.astype(np.float32)
            if (low, high) != limits(dtype):  # QuantizeLinear clips to the dtype's range only
                y = y.clamp(*((end - int(z.item())) * s.item() for end in (low, high)))
            y = y.apply(QuantizeLinear(), s, z).apply(DequantizeLinear(), s, z)
            w = self.weight_int.apply(DequantizeLinear(), self.weight_scale, self.weight_zero_point)
            b = None if self.bias_int is None else self.bias_int.apply(DequantizeLinear(), self.bias_scale)
            return product(self, y, w, b).astype(x.dtype)


WRITTEN = kinds(QDQLayer)


class QDQStep(NodeReading):
    """A QDQ node of a loaded file that is exported unchanged, so that its integers stay integers."""

    def __call__(self, scope: Any) -> Any:
        xs = [scope[name] for name in self.node.input]
        integers = {x.dtype for x in (xs[0], *xs[2:]) if x.dtype.kind in "iu"}
        if not integers <= {np.dtype(n) for n in ("i1", "u1", "i4")} or xs[1].dtype != np.float32:
            return super().__call__(scope)
        kind = QuantizeLinear if self.node.op_type == "QuantizeLinear" else DequantizeLinear
        return (xs[0].apply(kind(self.options.get("axis", 1)), *xs[1:]),)


def is_qdq_step(step: NodeReading) -> bool:
    """Whether the node is a QuantizeLinear or DequantizeLinear with no attribute beyond those of our ops."""
    node, few = step.node, {"QuantizeLinear": 3, "DequantizeLinear": 2}
    has_inputs = len(node.input) >= few.get(node.op_type, 4) and all(node.input)
    return has_inputs and not node.domain and {*step.options} <= {"axis"}


def is_static(layer: Any) -> bool:
    """Whether this is an integer layer with a fixed input scale whose sums, including the bias, fit in int32.

    Engines do not check for overflow. A layer whose sums could overflow is written by running its `forward`.
    """
    if not isinstance(layer, QuantizedLayer) or layer.activation is not None:
        return False
    (low, high, _), (w, s_w, z_w, s, _, b) = layer.quantize, (getattr(layer, name) for name in STATE)
    distance = (w.astype(np.float64) - spread(z_w, 0, w.ndim)).abs().reshape(len(w), -1).sum(1)
    steps = 0 if b is None else b.astype(np.float64).abs() / (s_w * s)
    return bool((distance * (high - low) + steps < INT32).all())


def to_qdq(func: Any) -> Any:
    """A copy of the module with its integer layers in QDQ form; without integer layers, `func` itself."""
    if isinstance(func, OnnxFunction):
        made = copy(func)
        made.body = func.body._replace(steps=[QDQStep(*s) if is_qdq_step(s) else s for s in func.body.steps])
        return made
    if not isinstance(func, Module) or not any(map(is_static, func.modules())):
        return func

    def change(path: str, layer: Any, config: Any) -> Any:
        return WRITTEN[Conv2d if isinstance(layer, Conv2d) else Linear].from_layer(layer) if is_static(layer) else layer

    return replace_modules(func, change, None, False, "")
