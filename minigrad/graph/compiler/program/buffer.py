"""Steps and buffers: the level below nodes, where every result has a place in memory.

A node defines *what* to compute. A step is one NumPy call and the array it writes into. A buffer is an array that
steps read and write; its shape, dtype and strides are known before it has any memory. A buffer can be a view, such as a
reshape or a slice, of another buffer, its *root*. The kinds of buffers:

    argument    passed at each call
    constant    known when the program is built
    planned     memory that the program plans: see memory_plan.py
    made        an array that a step allocates, because its function has no `out=` or the op cannot be recorded

The axes of a result have the memory order that NumPy chooses, because the order of a sum decides its last bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ....engine.base.dimension import Length
from ....engine.base.spec import Spec

Shape = tuple[int, ...]
ROOTS = attrgetter("roots")
MANY = 1 << (20 if np.intp(0).nbytes == 8 else 10)  # stands in for an unknown length in a shell's shape
HEARS_COPY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # reshape accepts copy=; setting x.shape is deprecated


@lru_cache(maxsize=4096)
def shell(shape: Shape, dtype: np.dtype, strides: Shape | None = None) -> np.ndarray:
    """An array without memory, used for its shape, strides and views. Its elements must never be read."""
    told = tuple([MANY if isinstance(n, Length) else n for n in shape])
    return as_strided(np.empty(1, dtype), told, contiguous(told, dtype.itemsize) if strides is None else strides)


def hull(spec: Spec) -> np.ndarray:
    """The shell of an array whose layout is not planned: assumed contiguous; unknown lengths become large numbers."""
    return shell(tuple(int(n) if n < 1 << 40 else 1 << 16 for n in spec.shape), spec.dtype)


def reshape_view(x: np.ndarray, shape: Shape) -> np.ndarray | None:
    """A view of x in another shape; None if that needs a copy (x may be a shell, which has no elements to copy)."""
    try:
        if HEARS_COPY:
            return x.reshape(shape, copy=False)
        x = x.view()
        x.shape = shape
    except (ValueError, AttributeError):
        return None
    return x


def contiguous(shape: Shape, itemsize: int, axes: tuple[int, ...] | None = None) -> Shape:
    """The strides of a dense array whose axes lie in memory in the order `axes`, the last one innermost."""
    strides, step = [0] * len(shape), itemsize
    for a in reversed(range(len(shape)) if axes is None else axes):
        strides[a] = step
        step *= max(shape[a], 1)
    return tuple(strides)


@dataclass(eq=False, slots=True, repr=False)  # a repr would read the shell's elements
class Buffer:
    """An array that steps read and write.

    shell    an array with its shape, dtype and strides
    kind     argument, constant, planned, made or view
    roots    the buffers whose memory it may use: itself, unless it is a view
    root     the first of them
    offset   of its first element in its root, in bytes
    array    the value of a constant
    spec     the spec of a made array; its shell is a guess where a length is unknown
    """

    shell: np.ndarray
    kind: str
    roots: tuple[Buffer, ...] = ()
    offset: int = 0
    array: Any = None
    spec: Any = None
    root: Buffer = field(init=False)
    nbytes = property(attrgetter("shell.nbytes"))

    def __post_init__(self) -> None:
        self.roots = self.roots or (self,)
        self.root = self.roots[0]

    def __repr__(self) -> str:
        return f"{self.kind} {self.shell.dtype}{[*self.shell.shape]}"

    def lies_as(self, other: Buffer) -> bool:
        """Whether each element has the same offset in its root as the corresponding element of `other`."""
        mine, its = self.shell, other.shell
        same = (mine.shape, mine.strides, mine.itemsize) == (its.shape, its.strides, its.itemsize)
        return same and self.offset == other.offset and len(self.roots) == len(other.roots) == 1

    def is_same_as(self, other: Buffer) -> bool:
        """Whether both buffers are the same elements of the same memory."""
        return self.roots == other.roots and self.lies_as(other)


def roots_of(buffers: Iterable[Buffer]) -> tuple[Buffer, ...]:
    """The roots of several buffers, without repeats."""
    return tuple(dict.fromkeys(chain.from_iterable(map(ROOTS, buffers))))


def address(array: np.ndarray) -> int:
    """The address of the array's first element."""
    return int(array.__array_interface__["data"][0])


@dataclass(eq=False, slots=True)
class ProgramStep:
    """One line of a program.

    text      the line, with {0}, {1}, … for the operands; for a view or a made array, its right-hand side
    operands  the buffers it reads and writes
    writes    indices of the operands it writes into
    result    the new buffer it makes, if any: a view or a made array
    results   the arrays that a branch or a loop makes
    scope     the functions and ops that the text names
    over      pairs of operands (written, read) that may share exactly the same memory; None: all pairs may
    quiet     the floating-point errors that are expected and ignored
    node      the node it is part of
    leads     which operands have the result's leading axis; None if the step cannot run on a few rows at a time
    loop      the TiledLoop, if the step is one
    does      the operation, for programs in another language: a ufunc, np.dot, np.copyto, a ReduceStep, …
    is_view   whether it only makes a view
    read_operands, write_operands    the operands that it only reads, and those that it writes into
    """

    text: str
    operands: tuple[Buffer, ...]
    writes: tuple[int, ...] = ()
    result: Buffer | None = None
    scope: Mapping[str, Any] = field(default_factory=dict)
    over: frozenset[tuple[int, int]] | None = frozenset()
    quiet: frozenset[str] = frozenset()
    node: Any = None
    leads: tuple[bool, ...] | None = None
    loop: Any = None
    results: tuple[Buffer, ...] = ()
    does: Any = None
    is_view: bool = field(init=False)
    read_operands: tuple[Buffer, ...] = field(init=False)
    write_operands: tuple[Buffer, ...] = field(init=False)

    def __post_init__(self) -> None:
        self.is_view = self.result is not None and self.result.kind == "view"
        read = sorted({*range(len(self.operands))}.difference(self.writes))
        self.read_operands = tuple(map(self.operands.__getitem__, read))
        self.write_operands = tuple(map(self.operands.__getitem__, self.writes))

    @property
    def memory_roots(self) -> Iterable[Buffer]:
        """The roots that the step reads or writes; none if the step makes a view."""
        return () if self.is_view else chain.from_iterable(map(ROOTS, self.operands))

    def may_lie_over(self, written: int, read: int) -> bool:
        """Whether operand `written` may use exactly the memory of operand `read`."""
        return self.over is None or (written, read) in self.over


class ReduceStep(NamedTuple):
    """A step that applies a ufunc along axes."""

    ufunc: np.ufunc
    axes: tuple[int, ...]


class EinsumStep(NamedTuple):
    """A step that is an einsum."""

    subscripts: str


@dataclass(eq=False)
class Section:
    """Steps in order, from arguments to outputs. None stands for an output that is not returned."""

    arguments: tuple[Buffer, ...]
    steps: list[ProgramStep]
    outputs: tuple[Buffer | None, ...]


def laid_out(shape: Shape, like: Sequence[Buffer]) -> tuple[int, ...]:
    """The order of a result's axes in memory, outermost first, as NumPy chooses it.

    One axis lies inside another if it does so in the operands; where the operands disagree, C order wins.
    """
    n = len(shape)
    if all(map(attrgetter("shell.flags.c_contiguous"), like)):
        return tuple(range(n))
    shells = [x.shell for x in like]  # their strides are aligned at the right, and 0 where one broadcasts
    strides = [[0] * (n - x.ndim) + [s if m != 1 else 0 for s, m in zip(x.strides, x.shape)] for x in shells]
    order = [n - 1] * (n > 0)  # innermost first
    for a in reversed(range(n - 1)):
        place = len(order)
        for i in reversed(range(len(order))):
            pairs = [(abs(s[a]), abs(s[order[i]])) for s in strides if s[a] and s[order[i]]]
            if pairs and any(inner <= outer for outer, inner in pairs):
                break
            if pairs:
                place = i
        order.insert(place, a)
    return tuple(reversed(order))


def copied_order(x: np.ndarray) -> tuple[int, ...]:
    """The memory order of the axes of a copy of x, outermost first."""
    return tuple(sorted(range(x.ndim), key=lambda a: -abs(x.strides[a])))


def reduced_order(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...] | None:
    """The memory order of the axes that a reduction of x leaves: their order in x. None for C order."""
    if x.flags.c_contiguous:
        return None
    left = [a for a in range(x.ndim) if keepdims or a not in axes]
    return tuple(left.index(a) for a in laid_out(x.shape, (Buffer(x, "argument"),)) if a in left)


def einsum_view(x: np.ndarray, letters: str, wanted: str) -> Buffer:
    """A view of x with the axes of an einsum's result; axes that x lacks have stride 0."""
    strides = tuple(x.strides[letters.index(c)] if c in letters else 0 for c in wanted)
    shape = tuple(x.shape[letters.index(c)] if c in letters else 1 for c in wanted)
    return Buffer(shell(shape, x.dtype, strides), "argument")
