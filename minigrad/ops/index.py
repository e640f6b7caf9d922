"""Indexing, and its adjoint: where `x[i]` reads, the gradient is added.

An index is a pattern, which is part of the op, and the integer arrays in it, which are operands:
`x[:, rows]` is `Index((Slice(), ARRAY))` of x and rows. So one op serves every batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np

from ..errors import DTypeError
from ..op import Op
from ..spec import Spec


class Slice(NamedTuple):
    """A slice that can be hashed, which Python's own cannot before 3.12."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None


ARRAY = "array"  # where an operand goes in a pattern

Pattern = tuple[Slice | int | EllipsisType | str | None, ...]


def pattern_of(index: Any, shape: tuple[int, ...]) -> tuple[Pattern, list[Any]]:
    """An index as Python gives it to `x[index]`, x being of that shape: its pattern, and its arrays in order."""
    parts: list[Any] = []
    arrays: list[Any] = []
    for part in index if isinstance(index, tuple) else (index,):
        if isinstance(part, slice):
            parts.append(Slice(part.start, part.stop, part.step))
        elif part is None or part is Ellipsis:
            parts.append(part)
        elif isinstance(part, int | np.integer) and not isinstance(part, bool):
            parts.append(int(part))
        else:
            found = mask_or_integers(part, index, shape)
            parts.extend([ARRAY] * len(found))
            arrays.extend(found)
    return tuple(parts), arrays


def mask_or_integers(part: Any, index: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The integer arrays an array-like index stands for: itself, or a mask's places, one array per axis."""
    if not hasattr(part, "dtype"):
        part = np.asarray(part, dtype=None if np.size(part) else np.int64)
    if part.dtype.kind == "b" and part.ndim:
        whole = index if isinstance(index, tuple) else (index,)
        as_numpy = tuple(np.asarray(p) if hasattr(p, "dtype") or isinstance(p, list) else p for p in whole)
        np.broadcast_to(False, shape)[as_numpy]  # NumPy says where a mask does not fit
        return np.nonzero(np.asarray(part))
    if part.dtype.kind not in "iu":
        raise DTypeError(f"an index is made of integers, slices or masks, and this one holds {part.dtype}: {part!r}")
    return (part,)


def filled(pattern: Pattern, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The index again, as NumPy wants it."""
    rest = iter(arrays)
    return tuple(next(rest) if p is ARRAY else slice(*p) if isinstance(p, Slice) else p for p in pattern)


@dataclass(frozen=True)
class Index(Op):
    """y = x[pattern], with integer arrays i₁, i₂, … where the pattern says ARRAY."""

    pattern: Pattern

    symbol = "[ ]"
    inline = False

    def infer(self, x, *arrays):
        shell = np.broadcast_to(np.empty((), x.dtype), x.shape)
        places = tuple(np.zeros(a.shape, a.dtype) for a in arrays)
        return x.with_shape(shell[filled(self.pattern, places)].shape)

    def forward(self, xp, x, *arrays): return x[filled(self.pattern, arrays)]
    def vjp(self, gy, y, x, *arrays): return gy.apply(IndexAdd(self.pattern, x.shape), *arrays), *(None for _ in arrays)
    def jvp(self, dxs, y, x, *arrays): return dxs[0].apply(self, *arrays)
    def flops(self, y, x, *arrays): return 0


@dataclass(frozen=True)
class IndexAdd(Op):
    """y = zeros of `shape` with x added at y[pattern]: places named twice receive twice."""

    pattern: Pattern
    shape: tuple[int, ...]

    symbol = "[ ]+="
    inline = False

    def infer(self, x, *arrays): return Spec(self.shape, x.dtype, x.device)

    def forward(self, xp, x, *arrays):
        y = xp.zeros(self.shape, x.dtype)
        if arrays:
            xp.add.at(y, filled(self.pattern, arrays), x)
        else:
            y[filled(self.pattern, ())] = x  # slices and integers name no place twice
        return y

    def vjp(self, gy, y, x, *arrays): return gy.apply(Index(self.pattern), *arrays), *(None for _ in arrays)
    def jvp(self, dxs, y, x, *arrays): return dxs[0].apply(self, *arrays)
    def flops(self, y, x, *arrays): return x.size
