"""What StaticVsDynamic needs of a framework: the ops of an eager run, and a static graph with the values of one run.

minigrad's own are in course/widgets/own_runs.py; those of other frameworks are in readers/*_runs.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any, Protocol

from .picture import Arrow, Box, Picture
from .words import join_names

SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "truediv": "÷", "matmul": "@", "getitem": "[ ]", "eq": "=",
         "iadd": "+=", "isub": "−=", "imul": "×=", "setitem": "[ ] =", "lt": "<", "gt": ">",
         "ge": "≥", "le": "≤", "dot_general": "@",
         "convert_element_type": "convert"}  # fmt: skip
# called with an op's symbol, its results, its operands and, if known, its line; "" for an edit in place: the result is
# now what the operand is
Saw = Callable[..., None]


@dataclass
class StaticRun:
    """The graph that tracing a function built, and one run of it.

    picture    its boxes, with their values
    lines      box of an op → the line of the user's code that built it
    results    what it returned, without the lists and dictionaries around
    order      the boxes of ops, in the order in which they run
    effects    boxes that are in the graph for what they do, such as to print
    branches   box of an if → what its branches do: true: + 1 | false: as it is
    taken      box of an if → the branch that ran, such as true
    inner      box of an if or of a loop → the lines inside
    prints     box → what it printed in this run
    drops      whether the graph leaves out ops that no result needs
    """

    picture: Picture
    lines: Mapping[str, int]
    results: Sequence[Any]
    order: Sequence[str]
    effects: set[str] = field(default_factory=set)
    branches: Mapping[str, str] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    inner: dict[str, set[int]] = field(default_factory=dict)
    prints: dict[str, str] = field(default_factory=dict)
    drops: bool = False


class Traces(Protocol):
    """A function and its graphs, one for each kind of arguments.

    trace_count    how often it was traced
    """

    trace_count: int

    def trace_for(self, *args: Any) -> Any:
        """Trace the function unless a graph for arguments of this kind exists."""

    def run(self, *args: Any) -> StaticRun:
        """Run the graph for these arguments."""


class Framework(Protocol):
    """A framework.

    title    of the panel with the static graph
    """

    title: str

    def is_tensor(self, x: Any) -> bool: ...

    def describe(self, x: Any) -> Box:
        """A box for a tensor or a number, without id and name."""

    def names(self, f: Callable[..., Any]) -> dict[int, str]:
        """id of each tensor that f can reach → its name."""

    def prepare(self, f: Any, args: Sequence[Any]) -> AbstractContextManager[Sequence[Any]]:
        """A block in which f may run without changing the user's objects. It returns the arguments to use."""

    def watch(self, saw: Saw) -> AbstractContextManager[Any]:
        """A block that reports each op."""

    def trace(self, f: Any) -> Traces: ...


class RunBuilder:
    """Collects the boxes of a `StaticRun` in the order in which they run."""

    def __init__(self) -> None:
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self.lines: dict[str, int] = {}
        self.branches: dict[str, str] = {}
        self.taken: dict[str, str] = {}
        self.prints: dict[str, str] = {}
        self.inner: dict[str, set[int]] = {}

    def add(self, box: Box, operands: Iterable[str | Box] = (), line: int = 0) -> str:
        """Add a box, and boxes for those operands that have none yet. Returns its id."""
        tails = [self.add(x) if isinstance(x, Box) else x for x in operands]
        self.boxes.append(replace(box, id=f"b{len(self.boxes) + 1}"))
        id = self.boxes[-1].id
        self.arrows += [Arrow(f"a{len(self.arrows) + i}", tail, id) for i, tail in enumerate(tails, 1)]
        self.lines |= {id: line} if line else {}
        return id

    def add_branches(self, box: str, taken: str, words: Mapping[str, Sequence[str]]) -> None:
        """Describe the branches of an if, by the symbols of their ops."""
        self.branches[box], self.taken[box] = words_for(words), taken

    def finish(self, results: Sequence[Any]) -> StaticRun:
        """The run, without inputs that nothing reads."""
        read = {arrow.tail for arrow in self.arrows}
        boxes = tuple(box for box in self.boxes if box.kind == "op" or box.id in read)
        order = [box.id for box in boxes if box.kind == "op"]
        picture = Picture(boxes, tuple(self.arrows))
        return StaticRun(
            picture,
            self.lines,
            results,
            order,
            branches=self.branches,
            taken=self.taken,
            inner=self.inner,
            prints=self.prints,
        )


def op_box(sign: str, results: Sequence[Box]) -> Box:
    """The box of an op with these results."""
    spec, value = " ".join(y.spec for y in results), join_names([y.value for y in results])
    return Box("", "op", "", sign, spec, value, "")


def words_for(branches: Mapping[str, Sequence[str]]) -> str:
    """What branches do, by the symbols of their ops: true: + 1 | false: as it is."""
    few = {name: ", ".join(signs[:3]) + "…" * (len(signs) > 3) for name, signs in branches.items()}
    return " | ".join(f"{name}: {words or 'as it is'}" for name, words in few.items())


def own_line(frames: Iterable[tuple[str, int]], code: CodeType) -> int:
    """The last line among the frames that belongs to this code; 0 if none does.

    frames    (file, line), the caller before the function it calls
    """
    lines = {line for _, _, line in code.co_lines() if line}
    inner = [x for x in code.co_consts if isinstance(x, CodeType)]
    found = [line for file, line in frames if file == code.co_filename and line in lines]
    return found[-1] if found else next(filter(None, (own_line(frames, x) for x in inner)), 0)
