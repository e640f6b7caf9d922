"""A program whose runs of steps are C++ functions where possible: these *parts* are called from readable Python.

    def program(x0, x1):
        y0 = empty((64, 10), float32)
        part0(x0, x1, y0)                                   # Affine, Tanh: 3 steps
        return (y0,)

A part receives the arrays that come from outside; it addresses the program's workspace itself. If an array lacks the
memory layout that the plan expects, the part works on a copy. Overflows raise no warning.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ...compiler.program.buffer import Buffer, ProgramStep, Section
from ...compiler.program.emit import Lines, text_of
from ...compiler.program.memory_plan import ALIGNED, MemoryPlan
from ...compiler.program.program import Program, Workspace, names, together
from ...compiler.program.source import Text
from ...compiler.program.tiling import drop_unused_views
from ..c import storage_type
from .lower import lower_to_groups
from .toolchain import library
from .writer import HEAD, CppWriter

OBJECT = object.__basicsize__  # bytes of the header of every Python object
WORTH_SHARING = 1 << 18  # elements: from this many on, waking threads pays off


def native(graph: Graph, threads: int = 1, into: Mapping[int, int] | None = None) -> Program:
    """The program of a graph with C++ parts, or a plain Program if they cannot be compiled."""
    program = NativeProgram(graph, threads, into)
    if program.parts and layout_is_known():
        program.library = library(f"#define OBJECT {OBJECT}\n{HEAD}{program.c_source}")
    return program if program.library is not None or not program.parts else Program(graph, threads, into)


class NativeProgram(Program):
    """A Program with C++ parts.

    parts      the parts
    library    their compiled library
    """

    library: ctypes.CDLL | None = None

    def section(self, graph: Graph) -> Section:
        return lower_to_groups(graph)

    def emit(self, section: Section) -> Text:
        self.writer = CppWriter()
        self.parts: list[NativePart] = []

        def lines(*given: Any) -> Lines:
            return NativeLines(self, *given)

        return text_of(self.plan, section.arguments, names(self.graph), self.threads, lines)

    @property
    def c_source(self) -> str:
        """The C++ that runs: all parts, after the functions they call. It needs functions.h."""
        return "\n".join([self.writer.text, *(part.text for part in self.parts)]).lstrip()

    def bind(self, workspace: Workspace) -> dict[str, Any]:
        parts = {part.name: part.caller(self.library, workspace) for part in self.parts}
        return super().bind(workspace) | parts


@dataclass
class NativePart:
    """Steps that form one C++ function, or one function per thread.

    functions   names of the functions
    text        the C++ of all of them
    steps       number of steps
    operands    the arrays it receives
    writes      indices of the operands it writes
    nodes       the nodes it computes
    """

    functions: list[str]
    text: str
    steps: int
    operands: tuple[Buffer, ...]
    writes: tuple[int, ...]
    nodes: tuple[Node, ...]

    name = property(lambda self: self.functions[0].partition("_")[0])

    def caller(self, library: Any, workspace: Workspace) -> Callable[..., None]:
        """The part as a Python function of arrays. An array with an unplanned layout is copied, and copied back."""
        run, *others = (getattr(library, name) for name in self.functions)
        for f in (run, *others):
            f.argtypes, f.restype = [ctypes.c_void_p] * 3, ctypes.c_int
        objects, memory, array_type = ctypes.c_void_p * len(self.operands), workspace.memory, id(np.ndarray)
        address, writes = memory.__array_interface__["data"][0], self.writes

        def call(*arrays: Any) -> None:
            given = objects(*map(id, arrays)), address, array_type
            misfit = together(lambda f: f(*given), *((f,) for f in (run, *others))) if others else run(*given)
            if misfit >= 0:
                x = np.array(arrays[misfit], order="C")
                call(*arrays[:misfit], x, *arrays[misfit + 1 :])
                if misfit in writes:
                    arrays[misfit][...] = x

        call.memory = memory  # type: ignore[attr-defined]  # keeps the memory alive as long as the function
        return call


class ArrayObject(ctypes.Structure):
    """The C struct of a NumPy array, as functions.h reads it."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p), ("ndim", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("shape", "strides", "base", "dtype")), ("flags", ctypes.c_int),
    ]  # fmt: skip


@cache
def layout_is_known() -> bool:
    """Whether this Python and this NumPy use the struct layout that ArrayObject assumes."""
    for x in (np.empty((2, 3)), np.empty((4, 6))[1::2, 3:]):
        found = ArrayObject.from_address(id(x) + OBJECT)
        told = (x.__array_interface__["data"][0], x.ndim, x.flags.num)
        if (found.data, found.ndim, found.flags) != told:
            return False
    return True


# -- which steps ------------------------------------------------------------------------------------------


def split_rows(step: ProgramStep, threads: int) -> list[ProgramStep]:
    """Split a step over many rows into one step per thread; return it whole if that does not pay off."""
    loop = step.loop
    cut = step.leads if loop is None else loop.cut
    if threads < 2 or cut is None or max(v.shell.size for v in step.operands) < WORTH_SHARING:
        return [step]
    rows, block = (step.write_operands[0].shell.shape[0], 1) if loop is None else (loop.length, loop.rows)
    if rows < 2 or rows % block:
        return [step]
    bounds = [rows // block * t // threads * block for t in range(threads + 1)]

    def part(a: int, b: int) -> ProgramStep:
        operands = tuple(rows_of(v, a, b) if c else v for v, c in zip(step.operands, cut))
        return replace(step, operands=operands, loop=loop and replace(loop, length=b - a))

    return [part(a, b) for a, b in pairwise(bounds) if a < b]


def rows_of(v: Buffer, first: int, stop: int) -> Buffer:
    """Rows `first` to `stop` of an array."""
    return Buffer(v.shell[first:stop], "view", v.roots, v.offset + first * v.shell.strides[0])


class NativeLines(Lines):
    """Emits the lines of a program, including calls of parts."""

    def __init__(self, program: NativeProgram, *given: Any):
        super().__init__(*given)
        self.program = program

    def section(self, graph: Graph) -> Section:
        return lower_to_groups(graph)

    def among(self, plan: MemoryPlan, names: dict[Buffer, str]) -> NativeLines:
        return NativeLines(self.program, self.text, plan, names, self.threads, self)

    def line(self, step: ProgramStep) -> str:
        """The line of a step; a part's line says how many steps it does."""
        if not isinstance(step.does, NativePart):
            return super().line(step)
        steps = f"{step.does.steps} step{'s' * (step.does.steps > 1)} in C"
        return f"{self.bind_names(step).format(*self.operands(step)):<52}# {steps}"

    def number_steps(self, steps: Iterable[ProgramStep]) -> Iterable[tuple[int, ProgramStep]]:
        """The steps, with runs of steps that C can do replaced by parts; views that are still used follow them."""
        made: list[tuple[int, ProgramStep]] = []
        run: list[ProgramStep] = []
        views: list[tuple[int, ProgramStep]] = []
        last = 0
        for k, step in enumerate(steps):
            pieces = [] if step.is_view else split_rows(step, self.threads)
            is_written = all(map(self.program.writer.can, pieces))
            if step.is_view:
                views.append((k, step))
            elif is_written and len(pieces) == 1:
                run.append(step)
                last = k
            else:
                made += [*self.make_part([run], last), *views]
                made += self.make_part([[s] for s in pieces], k) if is_written else [(k, step)]
                run, views = [], []
        made += [*self.make_part([run], last), *views]
        kept = set(drop_unused_views([step for _, step in made], self.plan.outputs))
        return [(k, step) for k, step in made if step in kept]

    def home(self, v: Buffer) -> Buffer:
        """The array that holds a buffer: an argument, a constant, an array made for the caller or by a step."""
        home = self.plan.allocations.get(v.root)
        return v.root if home is None else home.argument or home.roots[0]

    def make_part(self, runs: list[list[ProgramStep]], number: int) -> list[tuple[int, ProgramStep]]:
        """Make a part of runs of steps, one run per thread. Returns the part as one step; [] if there are no steps."""
        if not any(runs):
            return []
        name = f"part{len(self.program.parts)}"
        operands: dict[Buffer, str] = {}

        def place(v: Buffer) -> str:
            kind, home = storage_type(v.shell.dtype), self.plan.allocations.get(v.root)
            if home is not None and home.last is not None and home.argument is None:
                return f"({kind} *)(w + {self.base + (home.offset or 0) + v.offset})"
            base = operands.setdefault(self.home(v), f"p{len(operands)}")
            return f"({kind} *)({base} + {v.offset})" if v.offset else f"({kind} *){base}"

        lines = [self.calls(run, thread, place) for thread, run in enumerate(runs)]
        functions = [name] if len(runs) == 1 else [f"{name}_{thread}" for thread in range(len(runs))]
        text = "\n".join(self.function(f, operands, calls) for f, calls in zip(functions, lines))
        written = {self.home(v) for run in runs for step in run for v in step.write_operands}
        writes = tuple(i for i, v in enumerate(operands) if v in written)
        nodes = dict.fromkeys(step.node for run in runs for step in run if step.node is not None)
        part = NativePart(functions, text, len(runs[0]), tuple(operands), writes, tuple(nodes))
        self.program.parts.append(part)
        call = f"{name}({', '.join(f'{{{i}}}' for i in range(len(operands)))})"
        node = runs[-1][-1].node
        return [(number, ProgramStep(call, tuple(operands), writes, scope={name: part}, node=node, does=part))]

    def calls(self, run: list[ProgramStep], thread: int, place: Callable[[Buffer], str]) -> list[str]:
        """The lines of a run: one call per step. A loop gets workspace after that of the threads before."""
        lines = []
        for step in run:
            size = 0 if step.loop is None else -(-step.loop.plan.size // ALIGNED) * ALIGNED
            start = self.end + thread * size
            self.text.size = max(self.text.size, start + size)
            lines.append(self.program.writer.call(step, place, f"w + {start}"))
        return lines

    def function(self, name: str, operands: Mapping[Buffer, str], calls: Iterable[str]) -> str:
        text = "".join(f"    {line}\n" for line in [*self.opening(operands), *calls, "return -1;"])
        return f'extern "C" int {name}(char **objects, char *w, char *type)\n{{\n{text}}}\n'

    def opening(self, operands: Mapping[Buffer, str]) -> list[str]:
        """The first lines of a part: check the layout of arrays made elsewhere, and get pointers to all arrays."""
        others = [str(i) for i, v in enumerate(operands) if v.kind in ("argument", "made")]
        check = [
            f"static const int checked[] = {{{', '.join(others)}}};",
            f"if (const int k = misfit(objects, type, checked, {len(others)}); k >= 0) return k;",
        ]
        pointers = [f"char *const {name} = data_of(objects[{i}]);" for i, name in enumerate(operands.values())]
        return [*(check if others else ()), *pointers]
