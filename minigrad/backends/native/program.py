"""A program in which runs of steps are parts: functions of C++, called by the same readable Python.

    def program(x0, x1):
        y0 = empty((64, 10), float32)
        part0(x0, x1, y0)                                   # Affine, Tanh: 3 steps
        return (y0,)

A part is given the arrays that come from outside of it; what lies in the program's workspace it finds by itself. Where
an array does not lie in memory as the plan expects, the part works on a copy. No warning is given of an overflow.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ...compiler.program.buffer import Buffer, Section, Step
from ...compiler.program.emit import Lines, text_of
from ...compiler.program.memory_plan import MemoryPlan
from ...compiler.program.program import Program, Workspace, names
from ...compiler.program.source import Text
from ...compiler.program.tiling import seen
from ...core.graph import Graph
from ..c import stored
from .lower import lowered
from .toolchain import library
from .writer import HEAD, CppWriter

OBJECT = object.__basicsize__  # bytes that every object begins with


def native(graph: Graph, threads: int = 1, into: Mapping[int, int] | None = None) -> Program:
    """The program of a graph, with parts; without any where they cannot be compiled."""
    program = NativeProgram(graph, threads, into)
    if program.parts and is_known():
        program.library = library(f"#define OBJECT {OBJECT}\n{HEAD}{program.c_source}")
    return program if program.library is not None or not program.parts else Program(graph, threads, into)


class NativeProgram(Program):
    """A Program with parts.

    parts      of it
    library    in which they are, compiled
    """

    library: ctypes.CDLL | None = None

    def section(self, graph: Graph) -> Section:
        return lowered(graph)

    def written(self, section: Section) -> Text:
        self.writer = CppWriter()
        self.parts: list[Part] = []

        def lines(*given: Any) -> Lines:
            return NativeLines(self, *given)

        return text_of(self.plan, section.arguments, names(self.graph), self.threads, lines)

    @property
    def c_source(self) -> str:
        """The C++ that runs: all parts, behind what they call. It stands on functions.h."""
        return "\n".join([self.writer.text, *(part.text for part in self.parts)])

    def bound(self, workspace: Workspace) -> dict[str, Any]:
        parts = {part.name: part.caller(self.library, workspace) for part in self.parts}
        return super().bound(workspace) | parts


@dataclass
class Part:
    """Steps that are one function of C++.

    steps       how many
    operands    the arrays that it is given
    writes      which of them it writes
    """

    name: str
    text: str
    steps: int
    operands: tuple[Buffer, ...]
    writes: tuple[int, ...]

    def caller(self, library: Any, workspace: Workspace) -> Callable[..., None]:
        """The function, to be called with arrays. One that does not lie in memory as it has to is copied, and back."""
        run, objects = getattr(library, self.name), ctypes.c_void_p * len(self.operands)
        run.argtypes, run.restype = [ctypes.c_void_p] * 3, ctypes.c_int
        memory, array_type, writes = workspace.memory, id(np.ndarray), self.writes
        address = memory.__array_interface__["data"][0]

        def call(*arrays: Any) -> None:
            misfit = run(objects(*map(id, arrays)), address, array_type)
            if misfit >= 0:
                x = np.array(arrays[misfit], order="C")
                call(*arrays[:misfit], x, *arrays[misfit + 1 :])
                if misfit in writes:
                    arrays[misfit][...] = x

        call.memory = memory  # type: ignore[attr-defined]  # for as long as it may be called
        return call


class ArrayObject(ctypes.Structure):
    """An array of NumPy's, as functions.h reads it."""

    _fields_: ClassVar = [
        ("data", ctypes.c_void_p),
        ("ndim", ctypes.c_int),
        *((name, ctypes.c_void_p) for name in ("shape", "strides", "base", "dtype")),
        ("flags", ctypes.c_int),
    ]


@cache
def is_known() -> bool:
    """Whether arrays are laid out as we take them to be: by this Python, and by this NumPy."""
    for x in (np.empty((2, 3)), np.empty((4, 6))[1::2, 3:]):
        seen = ArrayObject.from_address(id(x) + OBJECT)
        told = (x.__array_interface__["data"][0], x.ndim, x.flags.num)
        if (seen.data, seen.ndim, seen.flags) != told:
            return False
    return True


# -- which steps ------------------------------------------------------------------------------------------


class NativeLines(Lines):
    """Lines of a program, those that call parts among them."""

    def __init__(self, program: NativeProgram, *given: Any):
        super().__init__(*given)
        self.program = program

    def section(self, graph: Graph) -> Section:
        return lowered(graph)

    def among(self, plan: MemoryPlan, names: dict[Buffer, str]) -> NativeLines:
        return NativeLines(self.program, self.text, plan, names, self.threads, self)

    def line(self, step: Step) -> str:
        """A part says how much it does."""
        if not isinstance(step.does, Part):
            return super().line(step)
        return f"{self.bound(step).format(*self.operands(step)):<52}# {step.does.steps} steps in C"

    def numbered(self, steps: Iterable[Step]) -> Iterable[tuple[int, Step]]:
        """The steps, runs of those that C can do as parts; views that are still needed come behind them."""
        made: list[Step] = []
        numbers: dict[Step, int] = {}
        run: list[Step] = []
        views: list[Step] = []
        for k, step in enumerate(steps):
            numbers[step] = k
            if step.is_view:
                views.append(step)
            elif self.program.writer.can(step):
                run.append(step)
            else:
                made += [*self.parted(run, numbers), *views, step]
                run, views = [], []
        made += [*self.parted(run, numbers), *views]
        return [(numbers[step], step) for step in seen(made, self.plan.outputs)]

    def home(self, v: Buffer) -> Buffer:
        """The array in which a buffer lies: an argument, a constant, one that is handed out or was brought along."""
        home = self.plan.allocations.get(v.root)
        return v.root if home is None else home.argument or home.roots[0]

    def parted(self, run: list[Step], numbers: dict[Step, int]) -> list[Step]:
        """The steps as one, a part."""
        if not run:
            return []
        name = f"part{len(self.program.parts)}"
        operands: dict[Buffer, str] = {}
        written: set[Buffer] = set()

        def place(v: Buffer) -> str:
            kind, home = stored(v.shell.dtype), self.plan.allocations.get(v.root)
            if home is not None and home.last is not None and home.argument is None:
                return f"({kind} *)(w + {self.base + (home.offset or 0) + v.offset})"
            base = operands.setdefault(self.home(v), f"p{len(operands)}")
            return f"({kind} *)({base} + {v.offset})" if v.offset else f"({kind} *){base}"

        lines = []
        for step in run:
            if step.loop is not None:
                self.text.size = max(self.text.size, self.end + step.loop.plan.size)
            lines.append(self.program.writer.call(step, place, f"w + {self.end}"))
            written |= {self.home(v) for v in step.written}
        text = "".join(f"    {line}\n" for line in [*self.opening(operands), *lines, "return -1;"])
        text = f'extern "C" int {name}(char **objects, char *w, char *type)\n{{\n{text}}}\n'
        writes = tuple(i for i, v in enumerate(operands) if v in written)
        part = Part(name, text, len(run), tuple(operands), writes)
        self.program.parts.append(part)
        call = f"{name}({', '.join(f'{{{i}}}' for i in range(len(operands)))})"
        step = Step(call, tuple(operands), writes, scope={name: part}, node=run[-1].node, does=part)
        numbers[step] = numbers[run[-1]]
        return [step]

    def opening(self, operands: Mapping[Buffer, str]) -> list[str]:
        """The first lines of a part: whether it can read what others have made, and where each array begins."""
        others = [str(i) for i, v in enumerate(operands) if v.kind in ("argument", "made")]
        check = [
            f"static const int checked[] = {{{', '.join(others)}}};",
            f"if (const int k = misfit(objects, type, checked, {len(others)}); k >= 0) return k;",
        ]
        pointers = [f"char *const {name} = data_of(objects[{i}]);" for i, name in enumerate(operands.values())]
        return [*(check if others else ()), *pointers]
