"""Graphs of other frameworks whose ops contain graphs: branches, loops and called functions.

    operands → inputs of the inner graph → its ops → the op     like minigrad's own loops: ../subgraphs.py

A reader describes every op by a `NamedOp`; `OpEntries` sorts the ops and puts them into scopes.
"""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

from ..listing import Entry, EntryList, Path, Scope
from ..words import join_names

KINDS = {
    "If": "branch", "Case": "branch", "While": "loop", "Loop": "loop", "Scan": "loop", "PartitionedCall": "call",
}  # fmt: skip
PURPOSES = {"then_branch": "if it holds", "else_branch": "if not", "cond": "before each turn", "body": "at each turn"}
FEW = 6  # a constant with more numbers shows none of them
LONGEST = 60  # characters
SHORT = {"double": "f64", "float": "f32", "string": "str"}
ARRAY = re.compile(r"\b(?:bool|pred|[a-z]+(\d+)\w*)\[([\d, ]*)\]")
Values = ChainMap[str, Entry]


@dataclass
class NamedOp:
    """An op or a leaf.

    entry      the op's entry, without inputs and scopes; a leaf whose path is None is drawn where its users are
    inputs     names of the values that the op reads; "" for an operand that is left out
    outputs    names of the values that the op makes
    scopes     the scopes around the op; scopes with equal `thing` are one. The last scope of an op with parts is the op
    parts      the graphs in the op, such as branches
    """

    entry: Entry
    inputs: Sequence[str] = ()
    outputs: Sequence[str] = ()
    scopes: Sequence[Scope] = ()
    parts: Sequence[NamedGraph] = ()


@dataclass
class NamedGraph:
    """A graph.

    inputs     name of an input → the symbol it is shown with: carry, row, input
    label      of the graph's scope, such as then_branch; "" if its ops are in the scope of the op around the graph
    """

    inputs: Mapping[str, str]
    ops: Sequence[NamedOp]
    outputs: Sequence[str]
    label: str = ""


class OpEntries(EntryList):
    """The entries of a graph and of all graphs in it."""

    def __init__(self, graph: NamedGraph) -> None:
        super().__init__()
        self.scopes: dict[tuple[Path, Any], Scope] = {}
        for number in {self.add(entry) for entry in self.read(graph, ChainMap(), (), {})}:
            self.entries[number].facts += ("an output",)

    def read(self, graph: NamedGraph, values: Values, path: Path, operands: Mapping[str, Entry]) -> list[Entry]:
        """Add a graph's ops, and return its results' entries. `operands`: name of an input → the operand's entry."""
        own = values.maps[0]
        for op in graph.ops:
            entry, name = op.entry, "".join(op.outputs[:1])
            if name in operands:
                entry.kind, entry.sign, entry.path = "op", graph.inputs[name], path
                self.add(entry, [operands[name]])
            elif entry.kind == "op":
                self.add_op(op, values, path)
            elif entry.path is not None:
                entry.path = path
                self.add(entry)
            own.update(dict.fromkeys(op.outputs, entry))
        for entry in own.values():
            self.add(entry)
        return [find(name, values, "an output") for name in graph.outputs]

    def add_op(self, op: NamedOp, values: Values, path: Path) -> None:
        """Add the graphs in an op, then the op. They read its last operands; the op reads their results instead."""
        user = f"{op.entry.sign} → {op.entry.name}"
        operands = [find(name, values, user) if name else None for name in op.inputs]
        op.entry.path = path = self.path(op, path)
        own, results = len(operands), list[Entry]()
        for part in op.parts:
            own = max(0, len(operands) - len(part.inputs))
            given = {name: x for name, x in zip(part.inputs, operands[own:]) if x is not None}
            scope = (Scope("scope", part.label, PURPOSES.get(part.label, ""), part),) if part.label else ()
            results += self.read(part, values.new_child(), path + scope, given)
        self.add(op.entry, [*filter(None, operands[:own]), *results])

    def path(self, op: NamedOp, path: Path) -> Path:
        """The path of an op: its graph's path, then the op's scopes that are not in that path."""
        outer = {scope.label for scope in path}
        for scope in op.scopes:
            if scope.label not in outer or (op.parts and scope is op.scopes[-1]):
                path += (self.scopes.setdefault((path, scope.thing), scope),)
        return path


def find(name: str, values: Values, user: str) -> Entry:
    """The entry of the value with this name. Raises ValueError if there is none."""
    try:
        return values[name]
    except KeyError:
        message = f"{user} reads {name!r}, but no input, constant or earlier op has this name"
        raise ValueError(message) from None


def op_entry(sign: str, results: Sequence[str], specs: Sequence[str], thing: Any, facts: Sequence[str]) -> Entry:
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
