"""What a program does, in steps: the level below nodes, where every result has a place in memory.

A node says *what* to compute. A step is one call of NumPy, with the array it writes into; and a buffer is an array that
steps read and write, known by its shape, dtype and strides before there is any memory for it. Many buffers look into
one memory: a reshape, a slice. Such a memory is itself a buffer, the *root* of those that look into it.

    argument    given at each call
    constant    known when the program is made
    planned     memory that the program plans: see memory_plan.py
    made        an array that a step brings along, where NumPy knows no `out=` or the op cannot be followed

The axes of a result lie in memory in the order that NumPy chooses: in that order a sum is added up, to the last bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ....engine.base.dimension import is_unknown
from ....engine.base.spec import Spec

Shape = tuple[int, ...]
MANY = 1 << (20 if np.intp(0).nbytes == 8 else 10)  # steps of a loop, in the shape of a stack of which rows are asked
HEARS_COPY = np.lib.NumpyVersion(np.__version__) >= "2.1.0"  # reshape does, and setting the shape goes out of use


@lru_cache(maxsize=4096)
def shell(shape: Shape, dtype: np.dtype, strides: Shape | None = None) -> np.ndarray:
    """An array without memory: to be asked for its shape, strides and views, never for an element."""
    told = tuple(MANY if is_unknown(n) else n for n in shape)
    return as_strided(np.empty(1, dtype), told, contiguous(told, dtype.itemsize) if strides is None else strides)


def hull(spec: Spec) -> np.ndarray:
    """The shell of an array that comes as it likes: for all we know, contiguous, and, of a length not known, large."""
    return shell(tuple(int(n) if n < 1 << 40 else 1 << 16 for n in spec.shape), spec.dtype)


def reshaped(x: np.ndarray, shape: Shape) -> np.ndarray | None:
    """Such an array in another shape; None where that would copy it, which its memory does not allow."""
    try:
        if HEARS_COPY:
            return x.reshape(shape, copy=False)
        x = x.view()
        x.shape = shape
    except (ValueError, AttributeError):
        return None
    return x


def contiguous(shape: Shape, itemsize: int, axes: tuple[int, ...] | None = None) -> Shape:
    """The strides of an array whose axes follow one another in memory in that order, the last the closest."""
    strides, step = [0] * len(shape), itemsize
    for a in reversed(range(len(shape)) if axes is None else axes):
        strides[a] = step
        step *= max(shape[a], 1)
    return tuple(strides)


@dataclass(eq=False, slots=True, repr=False)  # to show the shell would be to read it
class Buffer:
    """An array that steps read and write.

    shell    its shape, dtype and strides
    kind     argument, constant, planned, made; or view
    roots    the memories it may look into: itself, unless it is a view
    offset   of its first element in its root, in bytes
    array    of a constant
    spec     of one that the op brings along as it likes: its shell is a guess where a length is not known
    """

    shell: np.ndarray
    kind: str
    roots: tuple[Buffer, ...] = ()
    offset: int = 0
    array: Any = None
    spec: Any = None

    def __post_init__(self) -> None:
        self.roots = self.roots or (self,)

    @property
    def root(self) -> Buffer:
        return self.roots[0]

    @property
    def nbytes(self) -> int:
        return int(self.shell.nbytes)

    def __repr__(self) -> str:
        return f"{self.kind} {self.shell.dtype}{[*self.shell.shape]}"

    def lies_as(self, other: Buffer) -> bool:
        """Whether each element is as far from the start of its root as the same element of the other."""
        mine, its = self.shell, other.shell
        same = (mine.shape, mine.strides, mine.itemsize) == (its.shape, its.strides, its.itemsize)
        return same and self.offset == other.offset and len(self.roots) == len(other.roots) == 1

    def is_same_as(self, other: Buffer) -> bool:
        """Whether both are the same elements of one memory."""
        return self.roots == other.roots and self.lies_as(other)


def address(array: np.ndarray) -> int:
    """Where the first element is."""
    place: int = array.__array_interface__["data"][0]
    return place


@dataclass(eq=False, slots=True)
class Step:
    """One line of a program.

    text      the line, with {0}, {1}, … for the operands; for a view or an array made, its right-hand side
    operands  what it reads and writes
    writes    which of the operands it writes into
    result    the buffer it makes, if that is a new one: a view, or an array made
    results   the arrays that a branch or a loop brings along
    scope     the names in the text: functions, ops
    over      what it writes may lie exactly over what it reads: pairs of operands (written, read); all for None
    quiet     the floating-point errors that are expected here, and not told
    node      the node it is part of
    leads     which operands have the leading axis of what is written, so that it may be done on some rows at a time;
              None where it may not
    loop      what it runs in blocks, if it is a loop
    does      the same in a word, for a program that is not NumPy's: a ufunc, np.dot, np.copyto, a ReduceStep, …
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

    @property
    def written(self) -> tuple[Buffer, ...]:
        """What it writes into."""
        return tuple(self.operands[i] for i in self.writes)

    @property
    def read(self) -> tuple[Buffer, ...]:
        """What it reads."""
        return tuple(x for i, x in enumerate(self.operands) if i not in self.writes)

    @property
    def is_view(self) -> bool:
        """Whether it only says where to look."""
        return self.result is not None and self.result.kind == "view"

    @property
    def touched(self) -> list[Buffer]:
        """The memories that it reads or writes; a view only looks at one."""
        return [] if self.is_view else [r for v in self.operands for r in v.roots]

    def may_lie_over(self, written: int, read: int) -> bool:
        """Whether operand `written` may be the very memory of operand `read`."""
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
    """Steps in order, from arguments to outputs.

    outputs    None where nothing is returned
    """

    arguments: tuple[Buffer, ...]
    steps: list[Step]
    outputs: tuple[Buffer | None, ...]


def laid_out(shape: Shape, like: Sequence[Buffer]) -> tuple[int, ...]:
    """The axes of a result in the order in which they lie in memory, outermost first, as NumPy chooses it.

    One axis goes inside another where the operands have it so; where they contradict each other, the usual order wins.
    """
    n = len(shape)
    if all(x.shell.flags.c_contiguous for x in like):
        return tuple(range(n))
    strides = [aligned_strides(x.shell, n) for x in like]
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


def aligned_strides(x: np.ndarray, n: int) -> list[int]:
    """The strides along n axes, counted from the right; 0 where x does not step, since it broadcasts."""
    return [0] * (n - x.ndim) + [stride if length != 1 else 0 for stride, length in zip(x.strides, x.shape)]


def copied_order(x: np.ndarray) -> tuple[int, ...]:
    """The axes of a copy in the order in which they lie in memory."""
    return tuple(sorted(range(x.ndim), key=lambda a: -abs(x.strides[a])))


def reduced_order(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...] | None:
    """The axes of a reduction of x, in the order in which x's own lie in memory."""
    if x.flags.c_contiguous:
        return None
    left = [a for a in range(x.ndim) if keepdims or a not in axes]
    return tuple(left.index(a) for a in laid_out(x.shape, (Buffer(x, "argument"),)) if a in left)


def turned(x: np.ndarray, letters: str, wanted: str) -> Buffer:
    """x as the axes of an einsum's result see it."""
    strides = tuple(x.strides[letters.index(c)] if c in letters else 0 for c in wanted)
    shape = tuple(x.shape[letters.index(c)] if c in letters else 1 for c in wanted)
    return Buffer(shell(shape, x.dtype, strides), "argument")
