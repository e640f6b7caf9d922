"""What StaticVsDynamic needs of an engine: the ops of an eager run, and a static graph with the values of one run.

minigrad's own are in course/widgets/own_runs.py; those of other frameworks are in readers/*_runs.py. Each module has

    title               the title of the panel with the static graph
    branch              its function for an if on a tensor, such as torch.cond, if tracing needs one
    is_tensor(x)        whether x is one of its tensors
    describe(x)         a box for a tensor or a number, without id and name
    names(f)            id of each tensor that f can reach → its name
    prepare(f, args)    a block in which f may run without changing the user's objects; it returns the arguments to use
    watch(saw)          a block that calls saw(symbol, results, operands) for each op, and for an edit in place, whose
                        result is its operand, saw("", results, operands); a fourth argument is the line that ran it
    Traces(f)           f and its graphs: trace_for(*args) traces f unless it has a graph for such arguments,
                        trace_count says how often it was traced, and run(*args) returns a StaticRun. If PrintRecorder
                        cannot find the line that prints, user_line() returns it
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import ismethod, unwrap
from types import CodeType
from typing import Any

from .names import variables_of
from .picture import Box, PictureBuilder
from .words import join_names

SIGNS = {"add": "+", "sub": "−", "mul": "×", "div": "÷", "truediv": "÷", "matmul": "@", "getitem": "[ ]", "eq": "=",
         "iadd": "+=", "isub": "−=", "imul": "×=", "setitem": "[ ] =", "lt": "<", "gt": ">",
         "ge": "≥", "le": "≤", "dot_general": "@", "convert_element_type": "convert"}  # fmt: skip
Saw = Callable[..., None]


@dataclass
class StaticRun(PictureBuilder):
    """The graph that tracing a function built, and one run of it.

    order      the boxes of ops, in the order in which they run
    lines      box of an op → the line of the user's code that built it
    results    what the run returned, without the lists and dictionaries around
    effects    boxes that are in the graph for their effects, such as printing
    branches   box of an if → what its branches do: true: + 1 | false: as it is
    taken      box of an if → the branch that ran, such as true
    inner      box of an if or of a loop → the lines inside
    prints     box → what it printed in this run
    unused     a value of the framework's graph → its box, which is added when an op reads it
    drops      whether the graph leaves out ops that no result needs
    """

    order: list[str] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    results: Sequence[Any] = ()
    effects: set[str] = field(default_factory=set)
    branches: dict[str, str] = field(default_factory=dict)
    taken: dict[str, str] = field(default_factory=dict)
    inner: dict[str, set[int]] = field(default_factory=dict)
    prints: dict[str, str] = field(default_factory=dict)
    unused: dict[Any, Box] = field(default_factory=dict)
    drops: bool = False

    def place(self, x: Any) -> str:
        """The id of a value's box. An input gets its box at its first use; a number gets a new box at each use."""
        if not isinstance(x, Box) and x in self.box_of:
            return self.box_of[x]
        box = x if isinstance(x, Box) else self.unused[x]
        return self.add_box(box, [x] * (box.kind == "leaf"))

    def run_op(self, sign: str, keys: Iterable[Any], results: Sequence[Box], xs: Sequence[Any], line: int) -> str:
        """Add the box of an op with these results, and a box for each operand in xs that has none. Returns its id."""
        tails = [*map(self.place, xs)]
        self.add_op(op_box(sign, results), keys, tails)
        self.order.append(id := next(reversed(self.boxes)))
        self.lines[id] = line
        return id

    def add_branches(self, box: str, taken: str, signs: Mapping[str, Sequence[str]]) -> None:
        """Describe the branches of an if, by the symbols of their ops."""
        few = {name: ", ".join(words[:3]) + "…" * (len(words) > 3) for name, words in signs.items()}
        self.branches[box] = " | ".join(f"{name}: {words or 'as it is'}" for name, words in few.items())
        self.taken[box] = taken


def op_box(sign: str, results: Sequence[Box]) -> Box:
    """The box of an op with these results."""
    spec, value = " ".join(y.spec for y in results), join_names([y.value for y in results])
    return Box("", "op", "", sign, spec, value, "")


def code_of(f: Any) -> CodeType:
    """The code of a function, without its decorators."""
    code: CodeType = unwrap(f).__code__
    return code


def reachable(f: Any) -> dict[str, Any]:
    """The global and enclosing variables that a function reads; for a method, also self."""
    return {**variables_of(unwrap(f)), **({"self": f.__self__} if ismethod(f) else {})}


def own_line(frames: Sequence[tuple[str, int]], code: CodeType) -> int:
    """The last line among the frames that belongs to this code; 0 if none does.

    frames    (file, line), the caller before the function it calls
    """
    lines = {line for _, _, line in code.co_lines() if line}
    inner = [x for x in code.co_consts if isinstance(x, CodeType)]
    found = [line for file, line in frames if file == code.co_filename and line in lines]
    return found[-1] if found else next(filter(None, (own_line(frames, x) for x in inner)), 0)
