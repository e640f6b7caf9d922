"""Graphs as JSON: the name of each node's op in the op table, the fields of the op, and the numbers of its inputs.

    {"op": "Sum", "fields": {"axes": {"tuple": [0]}, "keepdims": false}, "inputs": [3],
     "spec": ["F64", [{"length": [[["batch"], 1]]}]], "name": "Sum", "place": 0}

The schema is in docs/saved_graphs.md. The names of ops are looked up in OPS, never imported. An op's fields are checked
against their annotations, and the spec it infers from its inputs against the spec in the file.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from math import prod
from pathlib import PurePath, PureWindowsPath
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from ...engine import ops
from ...engine.base import dimension
from ...engine.base.device import CPU, Device
from ...engine.base.errors import SavedFileError, StateError
from ...engine.base.pytree import leaves
from ...engine.base.spec import Spec, Specs
from ...engine.core.graph import Graph
from ...engine.core.node import NamedNode, Node, Place, spot
from ...engine.core.op import Op, complete
from ...engine.core.random_bits import default_sequence
from ...engine.ops.convolution import Window
from ...engine.ops.movement import diagonal_length
from ...engine.ops.pattern import Slice, extent
from ...graph.compiler.control import Cond, Scan, While
from ...graph.compiler.passes.fold import Folded, leaf
from ...graph.compiler.passes.purify import STEPS
from .container import DTYPES, short
from .values import Decoder, Encoder

PYTHONS_OWN = {"Keep", "PyFunc"}  # hold objects of the running Python process
OF_SESSIONS = {"Assign", "AssignAdd", "AssignSub", "Read", "Leaf", "Op"}
OPS: dict[str, type[Op]] = {
    name: op
    for name, op in vars(ops).items()
    if isinstance(op, type) and issubclass(op, Op) and name not in PYTHONS_OWN | OF_SESSIONS
} | {op.__name__: op for op in (Cond, While, Scan, Folded)}
CODES = {dtype: code for code, dtype in DTYPES.items()}
OPERATIONS: dict[str, Callable[..., Any]] = {
    **{operation.__name__: operation for operation in dimension.SIGNS},
    **{operation.__name__: operation for operation in (dimension.clamped, dimension.divided, extent, diagonal_length)},
}
MOST_TERMS = 16  # terms of a length; more could make products too large when multiplied out


def plain(text: Any) -> str:
    """The text if it is safe in a comment of generated code: one printable line. Raises SavedFileError otherwise."""
    if not isinstance(text, str) or not text.isprintable() or "*/" in text or "\\" in text or len(text) > 500:
        raise SavedFileError(f"{short(text)} is not a valid name")
    return text


class GraphEncoder(Encoder):
    """Encodes values that may contain graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.places: dict[Place, int] = {}
        self.lengths: dict[str, str] = {str(STEPS): "?steps"}

    def graph(self, graph: Graph) -> Any:
        """Encode a graph: its inputs first, then each node before its users."""
        numbers = {node: i for i, node in enumerate(dict.fromkeys([*graph.inputs, *graph.nodes]))}
        outputs = [None if y is None else numbers[y] for y in graph.outputs]
        return {"nodes": [self.node(x, numbers) for x in numbers], "inputs": len(graph.inputs), "outputs": outputs}

    def node(self, node: Node, numbers: dict[Node, int]) -> Any:
        """Encode a node. Raises StateError, with the line that built it, if its op cannot be saved."""
        place: Place | None = getattr(node, "place", None)
        try:
            said = self.op(node.op) | {"inputs": [numbers[x] for x in node.inputs], "spec": self.spec(node.spec)}
        except StateError as error:
            where = "" if place is None else f", built at {place},"
            raise StateError(f"{node.op}{where} cannot be saved: {error}") from None
        if isinstance(node, NamedNode):
            said["name"] = node.name
        if place is not None:
            said["place"] = self.places.setdefault(strip_folders(place), len(self.places))
        return said

    def op(self, op: Any) -> dict[str, Any]:
        """Encode an op as its name and its fields."""
        name = type(op).__name__
        if OPS.get(name) is not type(op):
            why = "is a session's" if name in OF_SESSIONS else "holds Python code or an object of this process"
            raise StateError(f"{name} {why}; a saved graph can hold only ops of the op table")
        if isinstance(op, Folded):
            return {"op": name, "array": self.array(op.value, "constant")}
        values = {f.name: self.value(getattr(op, f.name), (f.name,)) for f in fields(op)}
        return {"op": name, "fields": values} if values else {"op": name}

    def spec(self, spec: Spec | Specs) -> Any:
        """Encode a spec as [dtype, lengths]; the specs of several results as {"several": a list of specs}."""
        if isinstance(spec, Specs):
            return {"several": [self.spec(each) for each in spec]}
        if spec.device is not CPU or spec.dtype not in CODES:
            raise StateError(f"it is {spec}, but a saved graph is for the CPU: trace it there, after model.to('cpu')")
        return [CODES[spec.dtype], [self.value(n) for n in spec.shape]]

    def special(self, x: Any, path: tuple[str, ...]) -> Any:
        match x:
            case dimension.Length():
                return {"length": [[[self.factor(f) for f in product], n] for product, n in x.terms]}
            case dimension.Formula():
                return self.factor(x)
            case Slice():
                return {"slice": [self.value(n) for n in x]}
            case Window():
                return {"window": {f.name: self.value(getattr(x, f.name)) for f in fields(x)}}
            case Graph():
                return {"graph": self.graph(x)}
            case Op():
                return {"op": self.op(x)}
            case np.dtype() if x in CODES:
                return {"dtype": CODES[x]}
            case np.generic():
                return self.value(x.item(), path)
        if x is Ellipsis or x is CPU or x is default_sequence:
            return {"ellipsis" if x is Ellipsis else "device" if x is CPU else "random": None}
        return super().special(x, path)

    def factor(self, factor: Any) -> Any:
        """A length's name, or ?number if it is anonymous; for a formula, its operation and operands."""
        if isinstance(factor, str):
            return self.lengths.setdefault(factor, f"?{len(self.lengths)}") if factor[0] == "?" else factor
        name = getattr(factor.operation, "__name__", "")
        if OPERATIONS.get(name) is not factor.operation:
            raise StateError(f"the length {factor} is computed by Python code")
        return {"formula": [name, *map(self.value, factor.numbers)]}


def strip_folders(place: Place) -> Place:
    """The place, with its file as <net.py>: without folders, in brackets, as Python names code that has no file."""
    cell = spot(place.file, place.line)
    known = PureWindowsPath(PurePath(place.file).name).name if cell.startswith(place.file) else cell.split(",")[0]
    file = "".join(c for c in known if c.isprintable() and c not in "\\*").strip("<>")
    return Place(f"<{file}>", place.line, place.function, place.module)


class GraphDecoder(Decoder):
    """Decodes values that may contain graphs. Raises SavedFileError for anything that GraphEncoder does not write."""

    def __init__(self, arrays: dict[str, np.ndarray], places: Any):
        super().__init__(arrays)
        self.lengths: dict[str, Any] = {"?steps": STEPS}
        if not isinstance(places, list):
            raise SavedFileError(f"places must be a list, got {short(places)}")
        self.places = [self.place(each) for each in places]

    def place(self, said: Any) -> Place:
        match said:
            case [str(file), int(line), str(function), str(module)] if file[:1] == "<" and file[-1:] == ">":
                return Place(plain(file), line, plain(function), plain(module))
        raise SavedFileError(f"{short(said)} is not a place")

    def graph(self, said: Any) -> Graph:
        """Decode a graph, in which each node may read only earlier nodes."""
        match said:
            case {"nodes": list(listed), "inputs": int(given), "outputs": list(outputs)} if len(said) == 3:
                nodes: list[Node] = []
                for each in listed:
                    nodes.append(self.node(each, nodes))
                if [isinstance(x.op, ops.Input) for x in nodes] != [i < given for i in range(len(nodes))]:
                    raise SavedFileError(f"a graph says it has {given} inputs, but has others")
                return Graph(tuple(nodes[:given]), tuple(None if i is None else item_at(nodes, i) for i in outputs))
        raise SavedFileError(f"{short(said)} is not a graph")

    def node(self, said: Any, before: list[Node]) -> Node:
        """Decode a node, which may read only earlier nodes."""
        if not isinstance(said, dict) or not isinstance(said.get("inputs"), list):
            raise SavedFileError(f"{short(said)} is not a node")
        op, inputs = self.op(said), tuple(item_at(before, i) for i in said["inputs"])
        spec = self.spec(said.get("spec"))
        if spec != self.infer_spec(op, inputs, spec):
            raise SavedFileError(f"{short(op)} gives no {spec} of {short([x.spec for x in inputs])}")
        if "name" not in said:
            return Node(op, inputs, spec)  # type: ignore[arg-type]
        place = item_at(self.places, said["place"]) if "place" in said else None
        return NamedNode(op, inputs, spec, plain(said["name"]), place)

    def infer_spec(self, op: Op, inputs: tuple[Node, ...], spec: Any) -> Any:
        """The spec that the op infers for its result; for an input or a constant, the given spec if it is valid."""
        match op:
            case ops.Input():
                return None if inputs or isinstance(spec, Specs) else Spec(spec.shape, spec.dtype)
            case ops.Const():
                return None if inputs or isinstance(spec, Specs) else number(op, spec)
            case Folded():
                return None if inputs else Spec(op.shape, op.dtype)
        try:
            return op.infer(*(x.spec for x in inputs))
        except Exception as error:  # wrong fields and specs can fail in any way
            raise SavedFileError(f"{short(op)} refuses its inputs: {short(error)}") from None

    def op(self, said: Any) -> Any:
        """Decode an op of the op table."""
        name = said.get("op") if isinstance(said, dict) else None
        kind = OPS.get(name) if isinstance(name, str) else None
        if kind is None:
            raise SavedFileError(f"{short(name)} is no op of the op table")
        if kind is Folded:
            array = self.array(said.get("array"))
            return leaf(array) if array.ndim else None
        return self.construct(kind, said.get("fields", {}))

    def construct(self, kind: type, said: Any) -> Any:
        """Construct an op or a window from its fields, after checking them against the annotations."""
        hints = hints_of(kind)
        if not isinstance(said, dict) or said.keys() != hints.keys():
            raise SavedFileError(f"{kind.__name__} must have the fields {[*hints]}, got {short(said)}")
        values = {name: self.value(value) for name, value in said.items()}
        for name, value in values.items():
            if not suits(value, hints[name]):
                raise SavedFileError(f"{kind.__name__}.{name} must be {hints[name]}, got {short(value)}")
            for x in () if kind is ops.Print else leaves(value):
                if isinstance(x, str) and set(plain(x)) & {"'", '"'}:
                    raise SavedFileError(
                        f"{kind.__name__}.{name} goes into generated code, so it cannot be {short(value)}"
                    )
        return kind(*(values[name] for name in hints))  # positional, as elsewhere: ops are cached by their arguments

    def spec(self, said: Any) -> Spec | Specs:
        match said:
            case {"several": list(each)} if len(said) == 1:
                return Specs(tuple(self.spec(one) for one in each))  # type: ignore[misc]
            case [str(code), list(shape)] if code in DTYPES:
                lengths = tuple(self.value(n) for n in shape)
                known = [n for n in lengths if type(n) is int]
                if all(suits(n, int) for n in lengths) and all(n >= 0 for n in known) and prod(known) < 1 << 62:
                    return Spec(lengths, DTYPES[code])
        raise SavedFileError(f"{short(said)} is not a spec")

    def special(self, kind: str, what: Any) -> Any:
        match kind, what:
            case "length", list() if 0 < len(what) <= MOST_TERMS:
                return sum(self.term(each) for each in what)
            case "formula", [str(name), *numbers] if name in OPERATIONS:
                return self.formula(OPERATIONS[name], [self.value(n) for n in numbers])
            case "slice", [_, _, _]:
                return Slice(*(self.value(n) for n in what))
            case "window", _:
                return self.construct(Window, what)
            case "graph", _:
                return self.graph(what)
            case "op", _:
                return self.op(what)
            case "dtype", str() if what in DTYPES:
                return DTYPES[what]
            case (("ellipsis" | "device" | "random"), None):
                return {"ellipsis": Ellipsis, "device": CPU, "random": default_sequence}[kind]
        return super().special(kind, what)

    def term(self, said: Any) -> Any:
        """A coefficient times lengths and formulas."""
        match said:
            case [list(product), int(n)] if len(product) <= MOST_TERMS:
                factors = [self.value(f) if isinstance(f, dict) else self.length(f) for f in product]
                if all(suits(f, int) for f in factors):
                    return prod(factors, start=n)
        raise SavedFileError(f"{short(said)} is not a term of a length")

    def length(self, name: Any) -> Any:
        """The length with this name; a new length for each new ?number."""
        if isinstance(name, str) and name.isascii() and name.isidentifier():
            return dimension.named_length(name)
        if not isinstance(name, str) or name[:1] != "?" or not (name in self.lengths or name[1:].isdigit()):
            raise SavedFileError(f"{short(name)} is not the name of a length")
        return self.lengths.setdefault(name, dimension.fresh_length())

    def formula(self, operation: Callable[..., Any], numbers: list[Any]) -> Any:
        """The result of an operation on numbers and lengths."""
        small = all(not isinstance(n, dimension.Length) or len(n.terms) <= MOST_TERMS for n in numbers)
        of_numbers = all(n is None or isinstance(n, int | float | dimension.Unknown) for n in numbers)
        power = operation in (operator.pow, operator.lshift)
        if small and of_numbers and not (power and not any(isinstance(n, dimension.Formula) for n in numbers)):
            try:
                return dimension.unwrap_dimension(operation(*numbers))
            except Exception as error:  # numbers of the wrong type can fail in any way
                raise SavedFileError(f"{operation.__name__} of {short(numbers)}: {short(error)}") from None
        raise SavedFileError(f"{operation.__name__} of {short(numbers)} is not a length")


def number(op: ops.Const, spec: Spec) -> Spec | None:
    """The spec of a constant; None if its value is not a number of this dtype."""
    if not isinstance(op.value, int | float | dimension.Unknown) or op != ops.const(op.value):
        return None
    try:
        np.asarray(0 if isinstance(op.value, dimension.Unknown) else op.value, spec.dtype)
    except (OverflowError, ValueError):
        return None
    return Spec((), spec.dtype)


def item_at(among: list[Any], i: Any) -> Any:
    """The i-th item. Raises SavedFileError if it does not exist, or not yet."""
    if type(i) is not int or not 0 <= i < len(among):
        raise SavedFileError(f"number {short(i)} is out of range: {len(among)} are known so far")
    return among[i]


# -- fields and their annotations ---------------------------------------------------------------


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """Field → type, for an op or a window."""
    complete(kind)
    hints = get_type_hints(kind)
    return {f.name: hints[f.name] for f in fields(kind)} if is_dataclass(kind) else {}


def suits(value: Any, hint: Any) -> bool:
    """Whether a value has the type of an annotation; a length or a formula counts as a number."""
    within = get_args(hint)
    if get_origin(hint) in (Union, UnionType):
        return any(suits(value, each) for each in within)
    if get_origin(hint) is tuple:
        if not isinstance(value, tuple) or isinstance(value, Slice):
            return False
        wanted = within[:1] * len(value) if within[-1] is ... else within
        return len(value) == len(wanted) and all(map(suits, value, wanted))
    if hint is Any:
        return isinstance(value, int | float | dimension.Unknown | Op | NoneType)
    if hint is Slice:
        return isinstance(value, Slice) and all(suits(n, int | None) for n in value)
    if hint in (int, float):
        kinds = int | dimension.Length if hint is int else int | float | dimension.Unknown
        return not isinstance(value, bool) and isinstance(value, kinds)
    return isinstance(value, Device if hint is Device else hint)
