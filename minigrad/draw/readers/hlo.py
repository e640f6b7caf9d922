"""HLO, the language of XLA, read from text: from jax.jit(f).lower(x).compile().as_text(), or from a file dumped by XLA.

An instruction is a node, and a computation that it calls is a group. A fusion is only a group: its operands go to the
nodes in it. A loop, a branch or a reduction is also a node, and reads what its computations return.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ...engine.core.node import Place
from ..listing import LONGEST, Entry, Listing, Scope
from ..listing_readers import line_of
from ..nested import WORDS, NamedGraph, NamedOp, OpEntries, bytes_of
from ..words import shorten

HEAD = re.compile(r"(ENTRY )?%?(\S+) (?:\(.*\) -> .*)?\{$")  # the first line of a computation
INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?(\S+) = (.+?) ([a-z][\w\-]*)\((.*?)\)((?:, [\w\-]+=.*)?)$")
ROW = re.compile(r"(\d+) (.+)$")  # a line of a table: FileNames, FunctionNames, FileLocations, StackFrames
NAME = re.compile(r"[\w.\-]+")
ATTRIBUTE = re.compile(r", ([\w\-]+)=(\{[^{}]*\}|[^,{]+)")
ITEM = re.compile(r"\[\W*(\w+)\W*?\]")  # an index of a dictionary or a list: ['w'], in compiled text [\'w\']
PARTS = {  # attribute that names a computation → label of the computation; "": its name
    "condition": "test", "body": "body", "true_computation": "true", "false_computation": "false",
    **dict.fromkeys(("calls", "to_apply", "branch_computations", "called_computations", "select", "scatter"), ""),
}  # fmt: skip


def give_name(entry: Entry, name: str) -> Entry:
    """Name an argument. params['w'] becomes params.w; a model's parameter is drawn where it is read."""
    entry.name = ITEM.sub(r".\1", name)
    entry.path = entry.path if entry.name == name else None
    return entry


class Instruction(NamedTuple):
    """A line of a computation: name = type op(operands), rest."""

    name: str
    type: str
    op: str
    operands: str
    rest: str

    def entry(self, is_outermost: bool) -> Entry:
        """The instruction's entry. The spec has no layouts; the facts have no metadata and no long attributes."""
        spec = re.sub(r" ?(\{[^}]*\}|/\*.*?\*/)", "", self.type).replace(",", ", ")
        options = [(key, value) for key, value in ATTRIBUTE.findall(self.rest) if key not in (*PARTS, "metadata")]
        facts = tuple(f"{key} {value}" for key, value in options if value != "{}" and len(value) <= LONGEST)
        if self.op == "constant":
            value = shorten(self.operands, 12)
            return Entry("constant", "", "", spec * ("[]" not in spec), self, bytes_of(spec), value=value, path=None)
        if self.op == "parameter":
            known = re.search(r'op_name="(.*?)"', self.rest)
            name = known[1] if known and is_outermost else self.name
            return give_name(Entry("leaf", "", "", spec, self, bytes_of(spec)), name)
        return Entry("op", self.op, self.name, spec, self, bytes_of(spec), facts=facts)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The label and the name of each computation that this instruction calls."""
        found = [(PARTS[key], NAME.findall(names)) for key, names in ATTRIBUTE.findall(self.rest) if key in PARTS]
        return [(label or name, name) for label, names in found for name in names]


class HloReader:
    """Describes the instructions of an HLO module.

    computations    name of a computation → its instructions
    roots           name of a computation → name of the instruction whose result it returns
    tables          the tables at the head of a compiled module, from which the user's lines are read
    """

    def __init__(self, text: str):
        self.computations: dict[str, list[Instruction]] = {}
        self.roots: dict[str, str] = {}
        self.tables: dict[str, dict[str, str]] = {}
        name = ""
        for line in text.splitlines():
            if found := INSTRUCTION.match(line):
                self.computations[name].append(Instruction(*found.groups()))
                if line.lstrip().startswith("ROOT "):
                    self.roots[name] = found[1]
            elif head := HEAD.match(line):
                name = "ENTRY" if head[1] else head[2]
                self.computations[name] = []
            elif row := ROW.match(line):
                self.tables[name][row[1]] = row[2].strip('"')
            elif line.isidentifier():
                name = line
                self.tables[name] = {}

    def graph(self, name: str, operands: Sequence[Any] = (), scope: Scope | None = None) -> NamedGraph:
        """Describe a computation. Without operands, as in a reduction, its parameters are leaves."""
        parameters = {each.name: int(each.operands) for each in self.computations[name] if each.op == "parameter"}
        given = {parameter: operands[i] for parameter, i in parameters.items() if operands}
        return NamedGraph(self.ops(name), [self.roots[name]], given, scope=scope)

    def ops(self, name: str) -> Iterator[NamedOp]:
        known = set[str]()
        for each in self.computations[name]:
            entry, xs = each.entry(name == "ENTRY"), [x for x in NAME.findall(each.operands) if x in known]
            known.add(each.name)
            if each.op in ("fusion", "call"):
                scope = Scope("module", each.name, each.op, each)
                yield NamedOp(None, (), [each.name], (), [scope], [self.graph(each.parts[0][1], xs)])
            elif entry.kind == "op":
                entry.line = self.line(each)
                yield from self.instruction(each, entry, xs)
            else:
                yield NamedOp(entry, outputs=[each.name])

    def instruction(self, each: Instruction, entry: Entry, xs: Sequence[str]) -> Iterator[NamedOp]:
        """Describe an instruction and the computations that it calls."""
        given: Sequence[Sequence[Any]] = [()] * len(each.parts)
        scopes, kind = list[Scope](), "module"
        if each.op in ("while", "conditional"):
            scopes, kind = [Scope("scope", each.name, "loop" if each.op == "while" else "branch", each)], "scope"
            given, xs = [[x] for x in xs[1:]], xs[:1]
        if each.op == "while":
            carry = Entry("op", "carry", "", entry.spec, each, entry.nbytes)
            yield NamedOp(carry, xs, scopes=scopes)
            given, xs = [[carry], [carry]], []
        named = [(name, Scope(kind, label, WORDS.get(label, "computation"), each)) for label, name in each.parts]
        parts = [self.graph(name, its, scope) for (name, scope), its in zip(named, given, strict=True)]
        yield NamedOp(entry, xs, [each.name], (), scopes, parts)

    def line(self, each: Instruction) -> str:
        """The line of user code that an instruction comes from; "" if unknown."""
        frame = re.search(r"stack_frame_id=(\d+)", each.rest)
        if frame is None or len(self.tables) != 4:
            return ""
        files, functions, places, frames = self.tables.values()
        at = dict(re.findall(r"(\w+)=(\d+)", frames[frame[1]]))
        at = dict(re.findall(r"(\w+)=(\d+)", places[at["file_location_id"]]))
        return line_of(Place(files[at["file_name_id"]], int(at["line"]), functions[at["function_name_id"]]))


def listing_of(text: str, args: Sequence[Any], names: Mapping[str, object]) -> Listing:
    """The listing of the text of an HLO module. Raises ValueError for StableHLO and for damaged text."""
    wanted = 'expected what jax.jit(f).lower(x).as_text(dialect="hlo") returns'
    if text.lstrip().startswith("module"):
        raise ValueError(f"StableHLO, which as_text() returns, cannot be read: {wanted}")
    reader = HloReader(text)
    if "ENTRY" not in reader.computations:
        raise ValueError(f"no ENTRY computation in the text: {wanted}")
    entries = OpEntries()
    entries.read(reader.graph("ENTRY"))
    return Listing(text.split(None, 2)[1].rstrip(","), entries.entries)
