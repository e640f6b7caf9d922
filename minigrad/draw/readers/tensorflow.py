"""TensorFlow's graphs and Keras models: every op, with the functions that ops call, layers and name scopes as groups.

A function that has no trace for its arguments is traced, and a model is called symbolically: no op runs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

from ...engine.core.node import Place, place
from ..listing import LONGEST, Entry, Listing, Scope
from ..listing_readers import line_of
from ..nested import FEW, KINDS, NamedGraph, NamedOp, bytes_of, entries_of, make_constant, op_entry, part_of, spec_text
from ..tensors import format_array
from ..words import join_names, pluralize, shorten

LIBRARIES = ("site-packages", str(Path(__file__).parents[2]))  # folders without user code


def listing_of(x: Any, args: Sequence[Any], names: Mapping[str, object]) -> Listing:
    """The listing of a tf.function, a Keras model, a ConcreteFunction, a tf.Graph or a GraphDef.

    Raises TypeError for a value without a graph, and for a function whose graph depends on arguments that are missing.
    """
    layers = [*x._flatten_layers()] if hasattr(x, "_flatten_layers") else []
    losses = [(layer, [*layer._losses]) for layer in layers]
    try:
        graph = graph_of(x, args, layers)
    finally:
        for layer, before in losses:
            layer._losses[:] = before
    entries = entries_of(GraphReader(graph, layers).part(graph))
    count = len(graph.get_operations())
    inner = f", and {len(entries) - count} in the functions that they call" * (len(entries) > count)
    note = f"TensorFlow: {pluralize(count, 'op', 'ops')}{inner}."
    return Listing(f"a call of {x.name}" if layers else getattr(graph, "name", "a graph"), entries, [note])


def graph_of(x: Any, args: Sequence[Any], layers: Sequence[Any]) -> Any:
    """The tf.Graph of x; for a function, the graph of its trace for these arguments."""
    if isinstance(x, tf.compat.v1.GraphDef):
        with tf.Graph().as_default() as graph:
            tf.graph_util.import_graph_def(x, name="")
        return graph
    if isinstance(x, tf.Graph | tf.types.experimental.ConcreteFunction):
        return getattr(x, "graph", x)
    if isinstance(x, tf.Tensor | tf.Variable) or not callable(x):
        raise TypeError(
            f"{type(x).__name__} has no graph: TensorFlow records none when it runs eagerly. Give a function with its "
            "arguments, GraphView(f, x), or a Keras model, a ConcreteFunction, a tf.Graph or a GraphDef"
        )
    if layers and not x.built:
        shape = (None, *args[0].shape[1:]) if args and hasattr(args[0], "shape") else "(None, …)"
        raise TypeError(f"{x.name} has no weights yet: call it once, model(x), or build it, model.build({shape})")
    if not args and getattr(x, "inputs", None):
        inputs = x.inputs[0] if len(x.inputs) == 1 else x._inputs_struct
        args = [tf.nest.map_structure(lambda y: tf.TensorSpec(y.shape, y.dtype), inputs)]
    function = x if isinstance(x, tf.types.experimental.PolymorphicFunction) else tf.function(x)
    try:
        return function.get_concrete_function(*args).graph
    except TypeError as error:
        if args:
            raise
        raise TypeError(f"a function has a graph for each type of arguments: GraphView(f, x). {error}") from None


class GraphReader:
    """Describes the ops of a graph and of the functions that they call."""

    def __init__(self, graph: Any, layers: Sequence[Any]) -> None:
        self.graph = graph
        self.model = layers[0].name if layers else ""
        self.layers = {layer.name: type(layer).__name__ for layer in layers}
        self.labels = {part for op in graph.get_operations() for part in op.name.split("/")[:-1]}
        variables = {id(variable.handle): variable for variable in getattr(graph, "variables", ())}
        self.captured = {inner.op.name: variables.get(id(outer)) for outer, inner in getattr(graph, "captures", ())}
        self.asked = place()

    def part(self, graph: Any, label: str = "", sign: str = "", inputs: Sequence[str] = ()) -> NamedGraph:
        """Describe a graph. `sign`: the symbol of its inputs if an op calls it with `inputs`, otherwise ""."""
        ops = inputs_first(graph.get_operations())
        parts, found = {op.name: self.parts(op) for op in ops}, []
        scopes = self.scopes(ops, parts)
        for op in ops:
            *around, own = [scopes[name] for name in prefixes(op)]
            inner, read = parts[op.name], [x.name for x in operands(op)]
            read = read[: len(read) - len(inner[-1].operands)] if inner else read
            named = [scope for scope in around if scope.of]
            found.append(NamedOp(self.entry(op), read, [op.name], named, [own] * bool(inner), inner))
        symbols = {x.op.name: sign for x in getattr(graph, "inputs", ()) if sign}
        return part_of(label, graph, found, [y.op.name for y in getattr(graph, "outputs", ())], symbols, inputs)

    def scopes(self, ops: Sequence[Any], parts: Mapping[str, Sequence[NamedGraph]]) -> dict[str, Scope]:
        """Prefix of a name → its scope. An op with parts is a scope; a name scope has more than one op."""
        counts = Counter(prefix for op in ops if op.inputs for prefix in prefixes(op)[:-1])
        kinds = {prefix: "name scope" for prefix, count in counts.items() if count > 1}
        kinds |= {op.name: KINDS.get(base_type(op), "function") for op in ops if parts[op.name]}
        return {name: self.scope(name, kinds.get(name, "")) for op in ops for name in prefixes(op)}

    def parts(self, op: Any) -> list[NamedGraph]:
        """The functions that an op calls with its last inputs."""
        attributes = sorted(op.node_def.attr.items(), reverse=True)  # then before else, cond before body
        called = {key: attr.func.name for key, attr in attributes if attr.func.name}
        called |= {f"branch {i}": f.name for _, attr in attributes for i, f in enumerate(attr.list.func)}
        sign = "carry" if base_type(op) == "While" else "input" if base_type(op) in KINDS else ""
        inputs, labels = [x.name for x in operands(op)], {key: "" if key == "f" else key for key in called}
        return [self.part(self.function(op, name), labels[key], sign, inputs) for key, name in called.items()]

    def function(self, op: Any, name: str) -> Any:
        """The graph of a function that an op calls."""
        function = op.graph._get_function(name) or self.graph._get_function(name)
        with self.graph.as_default():  # an imported graph has only definitions
            return getattr(function, "graph", None) or function_def_to_graph(function.definition)

    def scope(self, prefix: str, kind: str) -> Scope:
        """The scope of all names with this prefix: a Keras layer, or a scope of this kind; hidden if `of` is ""."""
        label = prefix.rpartition("/")[2]
        base = re.sub(r"_\d+$", "", label)  # a layer called dense has the scope dense, or dense_1 if there is no dense
        if base in self.layers and (label not in self.layers or base not in self.labels):
            label = base
        of = "" if label == self.model else self.layers.get(label, kind)
        return Scope("module" if label in self.layers else "scope", label, of, prefix)

    def entry(self, op: Any) -> Entry:
        """The entry of an op, without its scopes and inputs."""
        shapes = [None if y.shape.rank is None else y.shape.as_list() for y in op.outputs]
        specs = [spec_text(y.dtype.base_dtype.name, shape) for y, shape in zip(op.outputs, shapes)]
        late = [f"at the next turn: {x.op.name}" for x in op.inputs if x.op.type == "NextIteration"]
        if op.control_inputs:
            late.append(f"runs after {shorten(join_names([x.name for x in op.control_inputs]), LONGEST)}")
        entry = op_entry(op.type, [op.name], specs, op, [f"op {op.name}", *attributes(op), *late])
        entry.line = self.line(op)
        if op.type == "Const":
            few = op.outputs[0].dtype != tf.string and op.outputs[0].shape.num_elements() <= FEW
            make_constant(entry, format_array(tf.get_static_value(op.outputs[0])) if few else "")
        elif op.type in ("Placeholder", "VarHandleOp", "VariableV2"):
            entry.kind, entry.sign, entry.path = "leaf", "", () if op.type == "Placeholder" else None
        if op.graph is self.graph and op.name in self.captured:
            entry.path, variable = None, self.captured[op.name]
            if variable is not None:
                entry.name, entry.spec = variable.name.partition(":")[0], spec_text(variable.dtype.name, variable.shape)
                entry.thing, entry.nbytes = variable, bytes_of(entry.spec)
                entry.facts += ("variable" + ", not trainable" * (not variable.trainable),)
        return entry

    def line(self, op: Any) -> str:
        """The line of user code that made an op; "" if that line calls minigrad."""
        frames = op.traceback.get_user_frames() if op.traceback else ()
        frames = [frame for frame in frames if not any(part in frame.filename for part in LIBRARIES)]
        for at in [Place(frame.filename, frame.lineno, frame.name) for frame in frames[-1:]]:
            return line_of(at) if at[:2] != (self.asked or ())[:2] else ""
        return ""


def operands(op: Any) -> list[Any]:
    """The ops that an op reads, except those that a loop of TensorFlow 1 reads at its next turn."""
    return [x.op for x in op.inputs if x.op.type != "NextIteration"]


def inputs_first(ops: Iterable[Any]) -> list[Any]:
    """Sort the ops so that each follows its operands: a gradient adds operands to loops that were made before."""
    found: dict[Any, None] = {}
    stack = [*ops][::-1]
    while stack:
        late = [x for x in operands(stack[-1]) if x not in found]
        stack += late
        if not late:
            found[stack.pop()] = None
    return [*found]


def base_type(op: Any) -> str:
    return re.sub("^Stateless|^Stateful", "", op.type)


def prefixes(op: Any) -> list[str]:
    """a, a/b and a/b/c for the name a/b/c."""
    return [*accumulate(op.name.split("/"), "{}/{}".format)]


def attributes(op: Any) -> list[str]:
    """The attributes of an op that are numbers, flags or words."""
    found = []
    for key, attr in sorted(op.node_def.attr.items()):
        held = attr.list if attr.HasField("list") else attr
        if key[0] != "_" and any((held.i, held.f, held.b, held.s)):
            value = op.get_attr(key)
            text = f"{key} = {value.decode(errors='replace') if isinstance(value, bytes) else value}"
            found += [text] * (text.isprintable() and len(text) <= LONGEST)
    return found
