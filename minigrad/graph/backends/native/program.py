"""A program whose runs of steps are C++ functions where possible: these *parts* are called from readable Python.

    def program(x0, x1):
        y0 = empty((64, 10), float32)
        part0(x0, x1, y0)                                   # Affine, Tanh: 3 steps
        return (y0,)

A part receives the arrays that come from outside; it addresses the program's workspace itself. If an array lacks the
memory layout that the plan expects, the part works on a copy. Overflows raise no warning.

A large step over rows is a part of its own, which threads share: each call runs on a few pieces of the rows. The
pieces depend on the shape alone, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from ....engine.core.graph import Graph
from ....engine.core.node import Node
from ...compiler.passes.fuse import is_full_reduction
from ...compiler.program.buffer import Buffer, ProgramStep, Section, copied_order
from ...compiler.program.emit import Lines
from ...compiler.program.memory_plan import ALIGNED
from ...compiler.program.program import LoopRunner, Program, Workspace
from ...compiler.program.source import Text
from ...compiler.program.tiling import drop_unused_views
from ..c import storage_type
from .loops import GroupStep, is_number
from .lower import lower_to_groups
from .reduce import LANES
from .toolchain import library
from .writer import HEAD, CppWriter

OBJECT = object.__basicsize__  # bytes of the header of every Python object
WORTH_SHARING = 1 << 18  # elements: from this many on, waking threads pays off
IN_PIECE = 1 << 16  # elements of a piece that one thread does at a time
Pieces = tuple[int, list[ProgramStep], dict[Buffer, int]]  # a step that was cut: see cut_into_pieces


def native(graph: Graph, threads: int | None = None, into: Mapping[int, int] | None = None) -> Program:
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
        self.lines = NativeLines
        return super().emit(section)

    @property
    def c_source(self) -> str:
        """The C++ that runs: all parts, after the functions they call. It needs functions.h."""
        return "\n".join([self.writer.text, *(part.text for part in self.parts)]).lstrip()

    def bind(self, workspace: Workspace) -> dict[str, Any]:
        scope = super().bind(workspace)
        return scope | {part.name: part.caller(self.library, workspace, scope["share"]) for part in self.parts}


@dataclass
class NativePart:
    """Steps that form one C++ function.

    name        the name of the function
    text        its C++
    steps       number of steps
    pieces      number of pieces that threads share; 0 if the part runs as a whole
    own         offset and size of the memory in the workspace that a thread needs for a piece
    operands    the arrays it receives
    writes      indices of the operands it writes
    nodes       the nodes it computes
    """

    name: str
    text: str
    steps: int
    pieces: int
    own: tuple[int, int]
    operands: tuple[Buffer, ...]
    writes: tuple[int, ...]
    nodes: tuple[Node, ...]

    def caller(self, library: Any, workspace: Workspace, share: LoopRunner) -> Callable[..., None]:
        """The part as a Python function of arrays. An array with an unplanned layout is copied, and copied back."""
        run, pieces = getattr(library, self.name), self.pieces
        shared = [ctypes.c_ssize_t, ctypes.c_ssize_t, np.ctypeslib.ndpointer(np.uint8)] if pieces else []
        run.argtypes, run.restype = [ctypes.c_void_p] * 3 + shared, ctypes.c_int
        objects, memory, array_type = ctypes.c_void_p * len(self.operands), workspace.memory, id(np.ndarray)
        address, writes = memory.__array_interface__["data"][0], self.writes
        own = [workspace.at(self.own[0], self.own[1:], np.dtype(np.uint8))]

        def call(*arrays: Any) -> None:
            given = objects(*map(id, arrays)), address, array_type
            misfit = run(*given, 0, 0, *own) if pieces else run(*given)  # no piece runs, only the check of arrays
            if misfit < 0 < pieces:
                # after Ctrl-C, another thread may use them longer than this call
                given[0].kept = arrays, memory  # type: ignore[attr-defined]
                share(run, pieces, given, own)
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


def cut_into_pieces(step: ProgramStep) -> Pieces | None:
    """A step over many rows, in pieces of about IN_PIECE elements; None if it has no rows, or threads do not pay off.

    Returns the number of pieces; the step on the first piece, and on the last one if that has fewer rows; and operand
    of the first piece → bytes from its place in a piece to its place in the next one.
    """
    step = outermost_axis_first(step)
    loop, largest = step.loop, max((v.shell.size for v in step.operands), default=0)
    cut = step.leads if loop is None else loop.cut
    if cut is None or largest < WORTH_SHARING or not CppWriter().can(step):
        return None
    strides = [v.shell.strides for v, c in zip(step.operands, cut) if c and v.shell.size == largest]
    if any(abs(each[0]) < max(map(abs, each)) for each in strides):
        return None  # each piece would be spread over the whole array
    rows, block = (step.write_operands[0].shell.shape[0], 1) if loop is None else (loop.length, loop.rows)
    blocks, width = rows // block, largest // rows * block
    most = max(1, IN_PIECE // width)
    even = (n for n in range(most, most // 2, -1) if blocks % n == 0 and n * width % LANES == 0)
    height = block * next(even, most)

    def piece(a: int, b: int) -> ProgramStep:
        operands = tuple(
            Buffer(v.shell[a:b], "view", v.roots, v.offset + a * v.shell.strides[0]) if c else v
            for v, c in zip(step.operands, cut)
        )
        return replace(step, operands=operands, loop=loop and replace(loop, length=b - a))

    count, rest = divmod(rows, height)
    steps = [piece(0, height), *([piece(rows - rest, rows)] if rest else [])]
    return count + len(steps) - 1, steps, {v: v.shell.strides[0] * height for v, c in zip(steps[0].operands, cut) if c}


def outermost_axis_first(step: ProgramStep) -> ProgramStep:
    """An elementwise step with its axes in the order of its result's memory; any other step unchanged."""
    does = step.does
    is_group = isinstance(does, GroupStep) and not any(y and is_full_reduction(y) for y in does.body.outputs)
    if step.leads is None or not (is_group or isinstance(does, np.ufunc) or does is np.copyto):
        return step
    y = step.operands[-1].shell
    order = sorted(copied_order(y), key=lambda a: y.shape[a] == 1)
    if order[:1] in ([], [0]):
        return step

    def turn(v: Buffer) -> Buffer:
        x = v.shell[(None,) * (y.ndim - v.shell.ndim)].transpose(order)
        return v if is_number(v) else Buffer(x, "view", v.roots, v.offset)

    operands = tuple(map(turn, step.operands))
    return replace(step, operands=operands, leads=tuple(v.shell.shape[:1] == y.shape[order[0] :][:1] for v in operands))


class NativeLines(Lines):
    """Emits the lines of a program, including calls of parts."""

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
            pieces = None if step.is_view else cut_into_pieces(step)
            if step.is_view:
                views.append((k, step))
            elif pieces is None and self.program.writer.can(step):
                run.append(step)
                last = k
            else:
                made += [*self.make_part(run, last), *views]
                made += self.make_part([step], k, pieces) if pieces else [(k, step)]
                run, views = [], []
        made += [*self.make_part(run, last), *views]
        kept = set(drop_unused_views([step for _, step in made], self.plan.outputs))
        return [(k, step) for k, step in made if step in kept]

    def home(self, v: Buffer) -> Buffer:
        """The array that holds a buffer: an argument, a constant, an array made for the caller or by a step."""
        home = self.plan.allocations.get(v.root)
        return v.root if home is None else home.argument or home.roots[0]

    def address(self, v: Buffer, operands: dict[Buffer, str]) -> str:
        """The C expression of a buffer's address; an array from outside the workspace becomes an operand."""
        home = self.plan.allocations.get(v.root)
        if home is not None and home.last is not None and home.argument is None:
            return f"w + {self.base + (home.offset or 0) + v.offset}"
        return f"{operands.setdefault(self.home(v), f'p{len(operands)}')} + {v.offset}"

    def make_part(self, run: list[ProgramStep], number: int, pieces: Pieces | None = None) -> list[Any]:
        """Make a part of a run of steps, or of one step in pieces. Returns its step in a list, or []."""
        if not run:
            return []
        name = f"part{len(self.program.parts)}"
        operands: dict[Buffer, str] = {}
        count, steps, moves = pieces or (0, run, {})

        def place(v: Buffer) -> str:
            move = f" + k * {moves[v]}" if v in moves else ""
            return f"({storage_type(v.shell.dtype)} *)({self.address(v, operands)}{move})"

        size = max(0 if step.loop is None else -(-step.loop.plan.size // ALIGNED) * ALIGNED for step in run)
        self.text.size = max(self.text.size, self.end + size)
        calls = [self.program.writer.call(step, place, "own" if count else f"w + {self.end}") for step in steps]
        text = self.function(name, operands, calls, count)
        written = {self.home(v) for step in run for v in step.write_operands}
        writes = tuple(i for i, v in enumerate(operands) if v in written)
        nodes = tuple(dict.fromkeys(step.node for step in run if step.node is not None))
        part = NativePart(name, text, len(run), count, (self.end, size), tuple(operands), writes, nodes)
        self.program.parts.append(part)
        call = f"{name}({', '.join(f'{{{i}}}' for i in range(len(operands)))})"
        return [(number, ProgramStep(call, tuple(operands), writes, scope={name: part}, node=run[-1].node, does=part))]

    def function(self, name: str, operands: Mapping[Buffer, str], calls: list[str], count: int) -> str:
        """The C++ function of a part. A part in pieces has a loop over them; a shorter last piece has its own call."""
        if count:
            last = f"if (k == {count - 1}) {calls[1]} else " if calls[1:] else ""
            calls = [f"for (index k = first; k < stop; k++) {{ {last}{calls[0]} }}"]
        more = ", index first, index stop, char *own" if count else ""
        lines = "".join(f"    {line}\n" for line in [*self.opening(operands), *calls, "return -1;"])
        return f'extern "C" int {name}(char **objects, char *w, char *type{more})\n{{\n{lines}}}\n'

    def opening(self, operands: Mapping[Buffer, str]) -> list[str]:
        """The first lines of a part: check the layout of arrays made elsewhere, and get pointers to all arrays."""
        others = [str(i) for i, v in enumerate(operands) if v.kind in ("argument", "made")]
        check = [
            f"static const int checked[] = {{{', '.join(others)}}};",
            f"if (const int k = misfit(objects, type, checked, {len(others)}); k >= 0) return k;",
        ]
        pointers = [f"char *const {name} = data_of(objects[{i}]);" for i, name in enumerate(operands.values())]
        return [*(check if others else ()), *pointers]
