"""HLO, the language of XLA, read from text: from jax.jit(f).lower(x).compile().as_text(), or from a file dumped by XLA.

An instruction is a node, and a computation that it calls is a group. A fusion is only a group: its operands go to the
nodes in it. A loop, a branch or a reduction is also a node, and reads what its computations return.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...engine.core.node import Place
from ..listing import Entry, EntryList, Listing, Path, Scope
from ..listing_readers import line_of
from ..subgraphs import WORDS
from ..words import shorten
from .nested import LONGEST, bytes_of

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

    def entry(self, path: Path) -> Entry:
        """The instruction's entry. The spec has no layouts; the facts have no metadata and no long attributes."""
        spec = re.sub(r" ?(\{[^}]*\}|/\*.*?\*/)", "", self.type).replace(",", ", ")
        said = [(key, value) for key, value in ATTRIBUTE.findall(self.rest) if key not in (*PARTS, "metadata")]
        facts = tuple(f"{key} {value}" for key, value in said if value != "{}" and len(value) <= LONGEST)
        if self.op == "constant":
            value = shorten(self.operands, 12)
            return Entry("constant", "", "", spec * ("[]" not in spec), self, bytes_of(spec), value=value, path=None)
        if self.op == "parameter":
            known = re.search(r'op_name="(.*?)"', self.rest)
            name = known[1] if known and not path else self.name
            return give_name(Entry("leaf", "", "", spec, self, bytes_of(spec), path=path), name)
        return Entry("op", self.op, self.name, spec, self, bytes_of(spec), facts=facts, path=path)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The label and the name of each computation that this instruction calls."""
        found = [(PARTS[key], NAME.findall(names)) for key, names in ATTRIBUTE.findall(self.rest) if key in PARTS]
        return [(label or name, name) for label, names in found for name in names]


class HloReader(EntryList):
    """Collects the entries of an HLO module.

    computations    name of a computation → its instructions
    roots           name of a computation → name of the instruction whose result it returns
    tables          the tables at the head of a compiled module, from which the user's lines are read
    """

    def __init__(self, text: str):
        super().__init__()
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

    def read(self, name: str, given: Sequence[Entry] | None, path: Path) -> Entry:
        """Add a computation's instructions, and return its result's entry. `given`: its parameters, if known."""
        env: dict[str, Entry] = {}
        for each in self.computations[name]:
            if each.op == "parameter" and given is not None:
                env[each.name] = given[int(each.operands)]
            elif each.op in ("parameter", "constant"):
                env[each.name] = each.entry(path)
            else:
                env[each.name] = self.instruction(each, [env[x] for x in NAME.findall(each.operands) if x in env], path)
        for entry in env.values():
            self.add(entry)
        return env[self.roots[name]]

    def instruction(self, each: Instruction, xs: Sequence[Entry], path: Path) -> Entry:
        """Add the computations that an instruction calls, then the instruction. Returns the entry of its result."""
        if each.op in ("fusion", "call"):
            return self.read(each.parts[0][1], xs, (*path, Scope("module", each.name, each.op, each)))
        given: Sequence[Sequence[Entry] | None] = [None] * len(each.parts)  # None for a reduction's parameters
        if each.op in ("while", "conditional"):
            path = (*path, Scope("scope", each.name, "loop" if each.op == "while" else "branch", each))
            given, xs = [[x] for x in xs[1:]], xs[:1]
        found = each.entry(path)
        if each.op == "while":
            carry = Entry("op", "carry", "", found.spec, each, found.nbytes, path=path)
            self.add(carry, xs)
            given, xs = [[carry], [carry]], []
        for (label, name), its in zip(each.parts, given, strict=True):
            scope = Scope("module" if its is None else "scope", label, WORDS.get(label, "computation"), each)
            xs = [*xs, self.read(name, its, (*path, scope))]
        found.line = self.line(each)
        self.add(found, xs)
        return found

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
    reader.read("ENTRY", None, ())
    return Listing(text.split(None, 2)[1].rstrip(","), reader.entries)
