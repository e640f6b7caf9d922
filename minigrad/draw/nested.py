"""Graphs whose ops contain graphs: branches, loops and called functions.

    operands → inputs of the inner graph → its ops → the op

minigrad's own branches and loops are read by `NodeReader`:

    p, k → the nodes of both branches → if             the if selects one branch's results
    c → carry → the nodes of test and body → while     the carry is the body's result from the second turn on

If a branch or a body reads a value from outside, an arrow comes from outside. All arrows point forward; only the word
"carry" shows that a body's results go into the next turn.

A reader describes every op by a `NamedOp`; `OpEntries` sorts the ops and puts them into scopes. A name is any key that
the framework has for a value: the name of a tensor, a variable of a jaxpr, a node of torch.fx.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf, prod
from typing import Any

from ..engine.core.graph import Graph
from ..engine.core.node import Node, toposort
from ..graph.compiler.control import Cond, Control
from ..graph.compiler.passes.purify import graphs_of
from .graphs import is_constant, pieces, whole
from .listing import Entry, Path, Scope
from .rules import sign_of
from .words import join_names

KINDS = {
    "If": "branch", "Case": "branch", "While": "loop", "Loop": "loop", "Scan": "loop", "PartitionedCall": "call",
}  # fmt: skip
PURPOSES = {"then_branch": "if it holds", "else_branch": "if not", "cond": "before each turn", "body": "at each turn"}
WORDS = {"true": "if it holds", "false": "if not", "test": "before each turn", "body": "at each turn"}
MOST = 50_000  # nodes; a function that is called twice counts twice
FEW = 6  # a constant with more numbers shows none of them
SHORT = {"double": "f64", "float": "f32", "string": "str"}
ARRAY = re.compile(r"\b(?:bool|pred|[a-z]+(\d+)\w*)\[([\d, ]*)\]")
Values = ChainMap[Any, Entry]
Names = Sequence[str]


@dataclass
class NamedOp:
    """An op or a leaf.

    entry      its entry, without inputs and scopes; a leaf whose path is None is drawn where its users are. None for a
               call that is only a group: its results are those of its part
    inputs     names of the values that the op itself reads; "" for an operand that is left out
    outputs    names of the values that the op makes
    around     the scopes that its name tells; those of which a label occurs further outside are left out, and scopes in
               the same place with the same `thing` are one
    scopes     the scopes inside `around`; if the op has parts, the last scope is the op itself
    parts      the graphs in the op, such as branches; the op also reads their results

    An Entry may be used in place of a name.
    """

    entry: Entry | None
    inputs: Sequence[Any] = ()
    outputs: Sequence[Any] = ()
    around: Sequence[Scope] = ()
    scopes: Sequence[Scope] = ()
    parts: Sequence[NamedGraph] = ()


@dataclass
class NamedGraph:
    """A graph. Its inputs are leaves among its ops.

    ops         may be a generator; a function that is called twice is described twice
    outputs     names of its results; "" for a result that is not a value
    operands    name of an input → the outer value that is passed for it, if any
    symbols     name of an input → the symbol that it is shown with: carry, row, input; otherwise, only its operand is
    scope       the graph's scope, such as then_branch; None if its ops are in the scope of the op around the graph
    """

    ops: Iterable[NamedOp]
    outputs: Sequence[Any]
    operands: Mapping[Any, Any] = field(default_factory=dict)
    symbols: Mapping[Any, str] = field(default_factory=dict)
    scope: Scope | None = None


class OpEntries:
    """The entries of graphs and of all graphs in them, in the order in which they are read: a leaf before its users."""

    def __init__(self, most: float | None = None) -> None:
        self.most, self.entries = MOST if most is None else most, list[Entry]()
        self.numbers: dict[int, int] = {}  # id of an entry → its number
        self.scopes: dict[tuple[Path, Any], Scope] = {}

    def add(self, entry: Entry, operands: Iterable[Entry] = ()) -> int:
        """Add an entry, if it is new, after its operands. Returns its number. Raises ValueError above `most`."""
        if id(entry) not in self.numbers:
            entry.inputs = tuple([self.add(x) for x in operands])
            if len(self.entries) == self.most:
                raise ValueError(f"the graph has more than {self.most:,} nodes: view a function that it calls")
            self.numbers[id(entry)] = len(self.entries)
            self.entries.append(entry)
        return self.numbers[id(entry)]

    def read(self, graph: NamedGraph, outside: Values | None = None, path: Path = (), user: str = "") -> list[Any]:
        """Add a graph's ops. Returns its results' entries.

        outside    the values of the graphs around
        user       the op that contains the graph
        """
        outside = ChainMap() if outside is None else outside
        operands = {name: find(x, outside, user) for name, x in graph.operands.items() if x != ""}
        values = outside.new_child({name: x for name, x in operands.items() if name not in graph.symbols})
        for op in graph.ops:
            results, name = list[Any]([op.entry] * len(op.outputs)), next(iter(op.outputs), "")
            if name in operands and name not in graph.symbols:
                continue
            if op.entry is None or (op.entry.kind == "op" and name not in operands):
                results = self.add_op(op, values, path)
            elif name in operands:
                op.entry.kind, op.entry.sign, op.entry.path = "op", graph.symbols[name], path
                self.add(op.entry, [operands[name]])
            elif op.entry.path is not None:
                op.entry.path = (*path, *op.scopes)
            values.update(zip(op.outputs, results))
        for entry in values.maps[0].values():
            self.add(entry)
        return [None if name == "" else find(name, values, "an output") for name in graph.outputs]

    def add_op(self, op: NamedOp, values: Values, path: Path) -> list[Any]:
        """Add the graphs in an op, then the op. Returns the entries of its results."""
        user = f"{op.entry.sign} → {op.entry.name}" if op.entry else ""
        outer = {scope.label for scope in path}
        for scope in [scope for scope in op.around if scope.label not in outer]:
            path += (self.scopes.setdefault((path, scope.thing), scope),)
        path += tuple(op.scopes)
        operands, results = [find(x, values, user) for x in op.inputs if x != ""], list[Any]()
        for part in op.parts:
            results += self.read(part, values, (*path, part.scope) if part.scope else path, user)
        if op.entry is None:
            return results
        op.entry.path = path
        self.add(op.entry, [*operands, *(x for x in results if x is not None)])
        return [op.entry] * len(op.outputs)


def entries_of(graph: NamedGraph) -> list[Entry]:
    """The entries of a graph; those of its results say that they are outputs."""
    reader = OpEntries()
    for number in {reader.add(entry) for entry in reader.read(graph)}:
        reader.entries[number].facts += ("an output",)
    return reader.entries


def find(name: Any, values: Values, user: str) -> Entry:
    """The entry of the value with this name. Raises ValueError if there is none."""
    try:
        return name if isinstance(name, Entry) else values[name]
    except KeyError:
        message = f"{user} reads {name!r}, but no input, constant or earlier op has this name"
        raise ValueError(message) from None


def part_of(
    label: str, thing: Any, ops: Sequence[NamedOp], outputs: Names, symbols: Mapping[str, str], xs: Names
) -> NamedGraph:
    """A graph that an op calls with the last of its operands xs. `symbols` has all inputs of the graph."""
    scope = Scope("scope", label, PURPOSES.get(label, ""), thing) if label else None
    return NamedGraph(ops, outputs, dict(zip(symbols, xs[max(0, len(xs) - len(symbols)) :])), symbols, scope)


def op_entry(sign: str, results: Names, specs: Sequence[str], thing: Any, facts: Sequence[str]) -> Entry:
    """The entry of an op. If a spec is known, result names made from `sign`, such as Relu_1, are left out."""
    names = [name.rpartition("/")[2] for name in results]
    new = [name for name in names if not sign.lower().startswith(re.sub(r"(_output)?_?\d+$", "", name).lower())]
    name = join_names(new if any(specs) else names)
    spec = " ".join(specs)
    return Entry("op", sign, name, spec, thing, bytes_of(spec), facts=tuple(facts))


def make_constant(entry: Entry, value: str) -> None:
    """Turn an op's entry into a constant's. A `value` that is not "" is shown in place of name and spec."""
    entry.kind, entry.sign, entry.value, entry.path = "constant", "", value, None
    if value:
        entry.name, entry.spec, entry.facts = "", "", (entry.spec, *entry.facts)


@cache
def short_name(dtype: str) -> str:
    """A dtype as minigrad writes it: f32, bf16, u8, bool."""
    return re.sub(r"^(bf|[fuic])[a-z]+(?=\d)", r"\1", SHORT.get(dtype, dtype))


def spec_text(dtype: str, lengths: Sequence[object] | None) -> str:
    """A type as minigrad writes it: f32[3, ?]; f32[…] if even the rank is unknown."""
    shape = "…" if lengths is None else ", ".join("?" if n in (None, "") else str(n) for n in lengths)
    return f"{short_name(dtype.lower())}[{shape}]"


def bytes_of(spec: str) -> int | None:
    """The bytes of arrays, from their spec; None if a length is unknown, or the size of an element."""
    arrays = ARRAY.findall(spec)
    sizes = [(prod(map(int, filter(None, lengths.split(", ")))) * int(bits or 8) + 7) // 8 for bits, lengths in arrays]
    return sum(sizes) if len(sizes) == spec.count("[") > 0 and " of " not in spec else None


# -- minigrad's own branches and loops --------------------------------------------------------------------------------


class NodeReader:
    """Describes nodes, and all nodes in their branches and loops.

    outside    returns the entry of a node that is in no part
    inside     returns the entry of a node in a part, from its name and its results that are read
    names      node → its name
    read       a node with several results → the results that are read
    """

    def __init__(
        self, outside: Callable[[Node], Entry], inside: Callable[[Node, str, Path | None, Sequence[Node]], Entry],
        names: Mapping[Node, str], read: Mapping[Node, Sequence[Node]],
    ):  # fmt: skip
        self.outside, self.inside, self.names, self.read = outside, inside, names, dict(read)
        self.leaves: dict[Node, Entry] = {}

    def entries(self, ops: Iterable[Node]) -> list[Entry]:
        found = OpEntries(inf)
        found.read(NamedGraph((op for node in ops for op in self.describe(node, None)), ()))
        return found.entries

    def entry(self, node: Node, part: Graph | None) -> Entry:
        """The entry of a node in a part; if `part` is None, of a node outside."""
        return self.outside(node) if part is None else self.inside(node, self.name(node), None, self.read.get(node, ()))

    def name(self, node: Node) -> str:
        return self.names.get(node, "")

    def source(self, node: Node, part: Graph | None) -> Any:
        """What a node reads: a node with operands, an input of the part, or the entry of a constant or of a leaf."""
        node = whole(node)
        if is_constant(node):
            return self.entry(node, part)
        if node.inputs or (part is not None and node in part.inputs):
            return node
        return self.leaves.get(node) or self.leaves.setdefault(node, self.entry(node, part))

    def describe(self, node: Node, part: Graph | None) -> Iterator[NamedOp]:
        """Describe a node of a part, after the carries of a loop."""
        xs = [self.source(x, part) for x in node.inputs]
        if not xs and not is_constant(node):
            leaf = self.source(node, part)
            yield NamedOp(leaf, outputs=[node], scopes=leaf.path or ())
        elif isinstance(node.op, Control):
            yield from self.control(node, node.op, xs, self.entry(node, part))
        else:
            found = self.entry(node, part)
            yield NamedOp(found, xs, [node], scopes=found.path or ())

    def control(self, node: Node, op: Control, xs: list[Any], found: Entry) -> Iterator[NamedOp]:
        """Describe the carries and rows of a loop, then a branch or a loop with its parts."""
        is_branch = isinstance(op, Cond)
        scopes = [*(found.path or ()), Scope("scope", sign_of(op), "branch" if is_branch else "loop", node)]
        own, given = (xs[:1], xs[1:]) if is_branch else ([], xs)
        graphs: dict[str, Graph] = {name: getattr(op, name) for name in graphs_of(op)}
        used = {x for graph in graphs.values() for x in self.live_nodes(node, graph)}
        updated = 0 if is_branch else op.carried + op.sliced  # type: ignore[attr-defined]
        for i, inputs in enumerate(zip(*(graph.inputs for graph in graphs.values()))):
            if i < updated and not used.isdisjoint(inputs):
                yield NamedOp(self.carry(node, i, inputs[-1]), [given[i]], [inputs[-1]], scopes=scopes)
                given[i] = inputs[-1]
        parts = []
        for name, graph in graphs.items():
            scope = Scope("scope", name, WORDS.get(name, ""), graph)
            operands = {x: outer for x, outer in zip(graph.inputs, given) if x in used}
            results = [self.source(y, graph) for y in self.results(node, graph)]
            parts.append(NamedGraph(self.inner(node, graph), results, operands, scope=scope))
        yield NamedOp(found, own, [node], scopes=scopes, parts=parts)

    def carry(self, control: Node, i: int, x: Node) -> Entry:
        """The entry of carry or row number i. Its name is that of the loop's result, if the result has a name."""
        found = self.inside(x, self.name(x), None, ())
        found.kind, found.sign = "op", "carry" if i < control.op.carried else "row"  # type: ignore[attr-defined]
        found.name = "" if found.name.startswith(found.sign) else found.name
        results = self.read.get(control, ()) if found.sign == "carry" else ()
        named = [self.name(y) for y in results if y.op.i == i]  # type: ignore[attr-defined]
        found.name = next(filter(None, named), found.name)
        return found

    def inner(self, control: Node, graph: Graph) -> Iterator[NamedOp]:
        """Describe the nodes of a part that its results and effects need."""
        self.read |= pieces(graph.nodes)
        for node in self.live_nodes(control, graph):
            if node.inputs and whole(node) is node:
                yield from self.describe(node, graph)

    def results(self, control: Node, graph: Graph) -> list[Node]:
        """The results of a part that are read or carried to the next turn, without those saved for backward."""
        op, count, read = control.op, len(graph.outputs), self.read.get(control)
        some = range(count - 1) if read is None else [piece.op.i for piece in read]  # type: ignore[attr-defined]
        wanted = {0} if graph is getattr(op, "test", None) else {*some, *range(getattr(op, "carried", 0))}
        return [y for i, y in enumerate(graph.outputs) if y is not None and i in wanted]

    def live_nodes(self, control: Node, graph: Graph) -> list[Node]:
        ends = [*self.results(control, graph), *(node for node in graph.nodes if node.op.effect)]
        return toposort(*ends) if ends else []
