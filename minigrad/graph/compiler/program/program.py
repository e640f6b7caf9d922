"""A program: a graph compiled to one Python function of NumPy calls, with all memory planned.

    Graph  →  steps (lower.py, record.py, tiling.py)  →  plan (memory_plan.py)  →  text (emit.py)  →  Program

Returned arrays belong to the caller; no later call overwrites them. The workspace is kept between calls. A call that
arrives while another is running gets its own workspace.

BLAS, which multiplies matrices for NumPy, wakes all its threads for every product of more than about 64 × 64 × 64, and
these threads spin until the last is done: a network of small layers becomes tens of times slower. So a program whose
products are all small runs with one BLAS thread, and restores the number of threads at its end.
"""

from __future__ import annotations

import ctypes
import linecache
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from itertools import count
from operator import attrgetter
from pathlib import Path
from sys import getrefcount
from threading import Lock
from types import CodeType
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ....engine.base.threads import get_num_threads, helpers, share
from ....engine.core.graph import Graph
from ....engine.ops import Input
from ....engine.tensor.precision import widen_graph
from .buffer import ProgramStep, Section
from .emit import Lines, text_of
from .memory_plan import MemoryPlan, plan
from .source import Text
from .tiling import in_rows, lower_to_blocks

ALONE = 1 << 18  # multiplications: up to this many, OpenBLAS uses one thread anyway
SMALL = 1 << 24  # multiplications: up to this many (under 1 ms), waking threads does not pay off


class OneThread:
    """`with one_thread:` BLAS uses one thread. Blocks may overlap: the last to end restores the number of threads."""

    def __init__(self) -> None:
        self.lock, self.inside, self.before = Lock(), 0, 1

    def __enter__(self) -> None:
        get, set_to = controls()
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.before = get()
                set_to(1)

    def __exit__(self, *_: Any) -> None:
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                controls()[1](self.before)


one_thread = OneThread()


def wants_one(steps: Iterable[ProgramStep]) -> bool:
    """Whether all products are small, and the largest is large enough for BLAS to use several threads."""
    products = [s for s in steps if not {"dot", "matmul"}.isdisjoint(s.scope) and s.operands[0].shell.ndim > 1]
    sizes = [s.operands[-1].shell.size * s.operands[0].shell.shape[-1] for s in products]
    return ALONE < max(sizes, default=0) <= SMALL


@cache
def controls() -> tuple[Callable[[], int], Callable[[int], Any]]:
    """Functions that get and set the number of threads; they do nothing if NumPy does not use its bundled OpenBLAS."""
    package = Path(np.__file__).parent
    for path in (*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")):
        library = ctypes.CDLL(str(path))  # already loaded by NumPy
        for before, after in (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", "")):
            get = getattr(library, f"{before}openblas_get_num_threads{after}", None)
            set_to = getattr(library, f"{before}openblas_set_num_threads{after}", None)
            if get is not None and set_to is not None:
                return get, set_to
    return int, int


_number = count()


class Program:
    """A compiled graph: it maps the inputs' arrays to the outputs' arrays; an output that is None stays None.

    threads    number of threads that share the blocks of large loops; None: get_num_threads(), at each call
    into       index of an output → index of the input whose array it overwrites, after the last read of the old value:
               a parameter's next value, an optimiser's state
    """

    lines: type[Lines] = Lines

    def __init__(self, graph: Graph, threads: int | None = None, into: Mapping[int, int] | None = None):
        self.graph, self.threads, self.into = graph, threads, dict(into or {})
        section = self.section(widen_graph(graph))
        self.plan: MemoryPlan = plan(section, self.into)
        self.text: Text = self.emit(section)
        self.whole = tuple(i for i, x in enumerate(section.arguments) if x in self.text.whole)
        self.one_thread = wants_one(self.text.steps)
        self.idle: list[Callable[..., tuple[Any, ...]]] = []

    def section(self, graph: Graph) -> Section:
        """The graph lowered to steps."""
        return in_rows(lower_to_blocks(graph))

    def emit(self, section: Section) -> Text:
        """The source text of the planned steps."""
        return text_of(self.plan, section.arguments, names(self.graph), self)

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        for i in self.whole:
            if not arrays[i].flags.c_contiguous:
                return self.through_copies(arrays)
        try:
            run = self.idle.pop()
        except IndexError:
            run = self.ready()
        if self.one_thread:
            with one_thread:
                ys = run(*arrays)
        else:
            ys = run(*arrays)
        self.idle.append(run)  # not after Ctrl-C: another thread may still write to its workspace
        return ys

    def through_copies(self, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run on copies, because an array that must be contiguous is not; copy results back into the arrays."""
        copies = tuple(map(np.ascontiguousarray, arrays))
        ys = list(self(*copies))
        for y, x in self.into.items():
            arrays[x][...] = ys[y]
            ys[y] = arrays[x]
        return tuple(ys)

    def ready(self) -> Callable[..., tuple[Any, ...]]:
        """The compiled function with a new workspace."""
        scope = self.text.scope | self.bind(Workspace(self.text.size))
        exec(self.code, scope)
        run: Callable[..., tuple[Any, ...]] = scope["program"]
        return run

    def bind(self, workspace: Workspace) -> dict[str, Any]:
        """Name in the text → the object it stands for, given a workspace."""
        self.loops = LoopRunner(self.threads)
        return {"at": workspace.at, "handed": ArrayRecycler, "one_thread": one_thread, "share": self.loops}

    @cached_property
    def code(self) -> CodeType:
        name = f"<program {next(_number)}>"
        linecache.cache[name] = (len(self.source), None, self.source.splitlines(True), name)
        return compile(self.source, name, "exec")

    source = property(attrgetter("text.source"), doc="The Python that runs.")
    buffers = property(attrgetter("plan"), doc="The memory of each result.")

    @property
    def peak_bytes(self) -> int:
        """Bytes of the workspace and of the arrays made for the caller."""
        return self.plan.peak_bytes + self.text.size - self.plan.size


def names(graph: Graph) -> list[str]:
    """The argument names: the inputs' own if all are unique identifiers that start with x, else x0, x1, …"""
    own = [x.op.name if isinstance(x.op, Input) else "" for x in graph.inputs]
    fit = all(name.isidentifier() and name[0] == "x" and name != "xp" for name in own) and len(set(own)) == len(own)
    return own if fit else [f"x{i}" for i in range(len(own))]


class Workspace:
    """The memory for a program's temporary arrays."""

    def __init__(self, size: int):
        memory = np.empty(size + 64, np.uint8)
        start = -memory.__array_interface__["data"][0] % 64  # at the start of a cache line
        self.memory = memory[start : start + size]

    def at(self, offset: int, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...] | None = None) -> Any:
        """An array at that offset in the workspace."""
        return np.ndarray(shape, dtype, self.memory, offset, strides)


class ArrayRecycler:
    """Allocates large arrays for the caller, and reuses the memory of an earlier array that is no longer referenced.

    The system maps new memory page by page, which takes as long as computing the result.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, strides: tuple[int, ...]):
        self.shape, self.dtype, self.strides = shape, dtype, strides
        self.owners: list[np.ndarray] = []

    def __call__(self) -> np.ndarray:
        for owner in self.owners:
            if getrefcount(owner) == 3:  # references: the list, the loop variable, the argument
                return np.ndarray(self.shape, self.dtype, owner, 0, self.strides)
        nbytes = self.dtype.itemsize * int(np.prod(self.shape))
        owner = np.empty(nbytes, np.uint8)
        self.owners = [*self.owners[-1:], owner]
        return np.ndarray(self.shape, self.dtype, owner, 0, self.strides)


class LoopRunner:
    """Runs the blocks of the loops of a program, on several threads if there are enough blocks.

    threads    number of threads; None: get_num_threads(), at each run
    own        id of a loop's function → for each thread, the arrays in which the loop keeps its temporary results
    nbytes     bytes of these arrays without the first thread's, which are in the program's workspace
    """

    def __init__(self, threads: int | None):
        self.threads, self.nbytes = threads, 0
        self.own: dict[int, list[list[np.ndarray]]] = {}

    def __call__(
        self, blocks: Callable[..., Any], count: int, arrays: Iterable[Any], scratch: list[np.ndarray]
    ) -> None:
        """Call blocks(*arrays, first, stop, *scratch) on ranges that together cover 0 to count."""
        number = self.threads or get_num_threads()
        threads = min(number, count // 2)  # with 2 or 3 blocks, threads do not pay off
        if threads < 2:
            blocks(*arrays, 0, count, *scratch)
            return
        own = self.own.setdefault(id(blocks), [scratch])
        for _ in range(len(own), threads):
            own.append(copy_layout(scratch))
            self.nbytes += own[-1][0].base.nbytes if scratch else 0  # type: ignore[union-attr]
        share(lambda first, stop, slot: blocks(*arrays, first, stop, *own[slot]), count, threads, helpers(number - 1))


def copy_layout(arrays: list[np.ndarray]) -> list[np.ndarray]:
    """New arrays that overlap each other in memory as these do."""
    bounds = [byte_bounds(x) for x in arrays]
    low = min((first for first, _ in bounds), default=0) // 64 * 64  # the workspace begins at such an address
    memory = Workspace(max((last for _, last in bounds), default=0) - low)
    return [memory.at(x.__array_interface__["data"][0] - low, x.shape, x.dtype, x.strides) for x in arrays]
