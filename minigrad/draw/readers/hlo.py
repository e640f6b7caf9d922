"""HLO, the language of XLA, read from text: that of jax.jit(f).lower(x).compile().as_text(), or a file dumped by XLA.

An instruction is a node, and a computation that it calls is a group. A fusion is only a group, into which its operands
go. A loop, a branch or a reduction is a node as well, which reads what its computations return.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

from ...engine.core.node import Place
from ..listing import Entry, Listing, Path, Scope
from ..listing_readers import line_of
from ..subgraphs import WORDS
from ..words import shorten

MOST = 50_000  # nodes; what is called twice counts twice
LONGEST = 60  # characters of a fact
HEAD = re.compile(r"(ENTRY )?%?(\S+) (?:\(.*\) -> .*)?\{$")  # of a computation
INSTRUCTION = re.compile(r"\s+(?:ROOT )?%?(\S+) = (.+?) ([a-z][\w\-]*)\((.*?)\)((?:, [\w\-]+=.*)?)$")
ROW = re.compile(r"(\d+) (.+)$")  # of a table: FileNames, FunctionNames, FileLocations, StackFrames
ATTRIBUTE = re.compile(r", ([\w\-]+)=(\{[^{}]*\}|[^,{]+)")
ITEM = re.compile(r"\[\W*(\w+)\W*?\]")  # of a dictionary or a list: ['w'], in compiled text [\'w\']
ARRAY = re.compile(r"\b([a-z]+)(\d*)\w*\[([\d,]*)\]")
PARTS = {  # attributes that name computations → the label of the computation; "" for its own name
    "condition": "test",
    "body": "body",
    "true_computation": "true",
    "false_computation": "false",
    **dict.fromkeys(("calls", "to_apply", "branch_computations", "called_computations", "select", "scatter"), ""),
}


class EntryList:
    """Entries in the order in which they are read: a leaf goes before its first user."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.numbers: dict[int, int] = {}

    def add(self, entry: Entry, operands: Iterable[Entry] = ()) -> int:
        """Add an entry, if it is new, after its operands. Returns its number. ValueError if there are too many."""
        if id(entry) not in self.numbers:
            entry.inputs = tuple([self.add(x) for x in operands])
            if len(self.entries) == MOST:
                raise ValueError(f"the graph has more than {MOST:,} nodes: view a function that it calls")
            self.numbers[id(entry)] = len(self.entries)
            self.entries.append(entry)
        return self.numbers[id(entry)]


class Instruction(NamedTuple):
    """A line of a computation: name = type op(operands), rest."""

    name: str
    type: str
    op: str
    operands: str
    rest: str


class HloReader(EntryList):
    """The entries of a module.

    computations    name → its instructions
    tables          the tables at the head of a compiled module, which know the user's lines
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
                if "ROOT " in line[: found.start(1)]:
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
        """Add the instructions of a computation. Returns the entry of its result. `given`: its parameters, if known."""
        env: dict[str, Entry] = {}
        for each in self.computations[name]:
            if each.op == "parameter" and given is not None:
                env[each.name] = given[int(each.operands)]
            else:
                env[each.name] = self.instruction(each, [env[x] for x in names_in(each.operands) if x in env], path)
        for entry in env.values():
            self.add(entry)
        return env[self.roots[name]]

    def instruction(self, each: Instruction, xs: Sequence[Entry], path: Path) -> Entry:
        """The entry of an instruction, after those of all that it calls. For a fusion, the entry of its result."""
        if each.op in ("parameter", "constant"):
            return given_entry(each, path)
        called = parts_of(each)
        if each.op in ("fusion", "call") and called:
            return self.read(called[0][1], xs, (*path, Scope("module", each.name, each.op, each)))
        given: Sequence[Sequence[Entry] | None] = [None] * len(called)  # two numbers, of a reduction
        if each.op in ("while", "conditional"):
            path = (*path, Scope("scope", each.name, "loop" if each.op == "while" else "branch", each))
            given, xs = [[x] for x in xs[1:]], xs[:1]
        found = Entry("op", each.op, each.name, spec_of(each), each, bytes_of(each), path=path, line=self.line(each))
        found.facts = facts_of(each)
        if each.op == "while":
            carry = Entry("op", "carry", "", found.spec, each, found.nbytes, path=path)
            self.add(carry, xs)
            given, xs = [[carry], [carry]], []
        for (label, name), its in zip(called, given, strict=True):
            scope = Scope("module" if its is None else "scope", label, WORDS.get(label, "computation"), each)
            xs = [*xs, self.read(name, its, (*path, scope))]
        self.add(found, xs)
        return found

    def line(self, each: Instruction) -> str:
        """The user's line that an instruction comes from; "" if the text does not say it."""
        if not (frame := re.search(r"stack_frame_id=(\d+)", each.rest)) or "StackFrames" not in self.tables:
            return ""
        about = dict(re.findall(r"(\w+)=(\d+)", self.tables["StackFrames"][frame[1]]))
        about = dict(re.findall(r"(\w+)=(\d+)", self.tables["FileLocations"][about["file_location_id"]]))
        file = self.tables["FileNames"][about["file_name_id"]]
        return line_of(Place(file, int(about["line"]), self.tables["FunctionNames"][about["function_name_id"]]))


def listing_of_text(text: str) -> Listing:
    """The listing of an HLO module. Raises ValueError for a text without an ENTRY computation."""
    reader = HloReader(text)
    if "ENTRY" not in reader.computations:
        raise ValueError('no ENTRY computation in the text: expected what jax.jit(f).lower(x).as_text("hlo") returns')
    reader.read("ENTRY", None, ())
    return Listing(text.split(None, 2)[1].rstrip(","), reader.entries)


def names_in(text: str) -> list[str]:
    return re.findall(r"[\w.\-]+", text)


def parts_of(each: Instruction) -> list[tuple[str, str]]:
    """(label, name) of each computation that an instruction calls."""
    found = [(PARTS[key], names_in(names)) for key, names in ATTRIBUTE.findall(each.rest) if key in PARTS]
    return [(label or name, name) for label, names in found for name in names]


def leaf(name: str, spec: str, thing: Any, nbytes: int, path: Path | None) -> Entry:
    """An argument. params['w'] is named params.w, and goes where it is read: it is a parameter of a model."""
    dotted = ITEM.sub(r".\1", name)
    return Entry("leaf", "", dotted, spec, thing, nbytes, path=path if dotted == name else None)


def given_entry(each: Instruction, path: Path) -> Entry:
    """A constant, or a parameter by the name that JAX has for it."""
    spec = spec_of(each)
    if each.op == "constant":
        return Entry("constant", "", "", spec * ("[]" not in spec), each, value=shorten(each.operands, 12), path=None)
    given = re.search(r'op_name="(.*?)"', each.rest)
    return leaf(given[1] if given and not path else each.name, spec, each, bytes_of(each), path)


def facts_of(each: Instruction) -> tuple[str, ...]:
    """The attributes of an instruction, without long ones, computations and metadata."""
    found = [(key, value) for key, value in ATTRIBUTE.findall(each.rest) if key not in (*PARTS, "metadata")]
    return tuple(f"{key} {value}" for key, value in found if value != "{}" and len(value) <= LONGEST)


def spec_of(each: Instruction) -> str:
    """The type of an instruction without the layouts of its arrays, as in f32[3, 4]."""
    return re.sub(r"\{[^}]*\}|/\*.*?\*/", "", each.type).replace(",", ", ").replace(",  ", ", ")


def bytes_of(each: Instruction) -> int:
    arrays = ARRAY.findall(each.type)
    return sum(prod(map(int, filter(None, dims.split(",")))) * int(bits or 8) // 8 for _, bits, dims in arrays)
