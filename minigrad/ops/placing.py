"""Placing: elements kept where they are, or put into a larger tensor; everything else is zero.

pad         ↔  the middle
diagonal    ↔  a matrix that is zero but for its diagonal
tril, triu  ↔  themselves
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import ShapeError
from ..op import Linear
from ..standin import at, bounds, clamped, is_unknown, length, named


@dataclass(frozen=True)
class Pad(Linear):
    """x with a margin of one value.

    widths    before and after, for each axis
    """

    widths: tuple[tuple[int, int], ...]
    value: float = 0.0

    symbol = "pad"
    inline = False

    def infer(self, x):
        if len(self.widths) != x.ndim:
            raise ShapeError(f"pad needs two widths for each axis of {x}, and got {self.widths}")
        return x.with_shape(tuple(before + n + after for n, (before, after) in zip(x.shape, self.widths)))

    def middle(self, shape):
        """Where x lies in the result."""
        return tuple(slice(before, before + n) for n, (before, _) in zip(shape, self.widths))

    def forward(self, xp, x):
        y = xp.full(tuple(before + n + after for n, (before, after) in zip(x.shape, self.widths)), self.value, x.dtype)
        y[self.middle(x.shape)] = x
        return y

    def adjoint(self, gy, x): return gy[self.middle(x.shape)]
    def jvp(self, dxs, y, *xs): return dxs[0].apply(Pad(self.widths))


def diagonal_length(rows: int, columns: int, offset: int) -> int:
    """How many elements lie on a diagonal; `offset` counts above the main one."""
    down, across = rows + min(offset, 0), columns - max(offset, 0)
    least, other = sorted((down, across))  # a length that is not known is the larger
    low, high = bounds(length(other - least)) if is_unknown(least) else (0, 0)
    if low < 0 < high:
        name = f"min({rows}, {columns}, {offset})"
        return named(name, lambda lengths: diagonal_length(at(rows, lengths), at(columns, lengths), offset))
    least, other = (other, least) if low < 0 else (least, other)
    return clamped(other, 0, max(least, 0)) if is_unknown(other) and not is_unknown(least) else clamped(least)


@dataclass(frozen=True)
class Diagonal(Linear):
    """y[…, i] = x[…, i, i + offset]: a diagonal of the last two axes. A view: no bytes."""

    offset: int = 0

    symbol = "diagonal"
    inline = False
    is_view = True

    def infer(self, x):
        if x.ndim < 2:
            raise ShapeError(f"a diagonal needs two axes to lie in, and this is {x}: diag_embed makes a matrix of it")
        return x.with_shape((*x.shape[:-2], diagonal_length(x.shape[-2], x.shape[-1], self.offset)))

    def forward(self, xp, x):
        y = xp.diagonal(x, self.offset, -2, -1)
        if xp is np:
            y.flags.writeable = x.flags.writeable  # NumPy alone says no by default
        return y

    def adjoint(self, gy, x): return gy.apply(OnDiagonal(x.spec.shape[-2:], self.offset))


@dataclass(frozen=True)
class OnDiagonal(Linear):
    """y[…, i, i + offset] = x[…, i] in a matrix of zeros.

    shape    of the matrix: rows, columns
    """

    shape: tuple[int, int]
    offset: int = 0

    symbol = "diag_embed"
    inline = False

    def infer(self, x):
        if x.shape[-1:] != (diagonal_length(*self.shape, self.offset),):
            raise ShapeError(f"diagonal {self.offset} of a matrix {self.shape} does not hold the last axis of {x}")
        return x.with_shape((*x.shape[:-1], *self.shape))

    def forward(self, xp, x):
        rows, columns = self.shape
        start = self.offset if self.offset >= 0 else -self.offset * columns
        y = xp.zeros((*x.shape[:-1], rows * columns), x.dtype)
        y[..., start :: columns + 1][..., : x.shape[-1]] = x  # a step of one row and one column
        return y.reshape(*x.shape[:-1], rows, columns)

    def adjoint(self, gy, x): return gy.apply(Diagonal(self.offset))


@dataclass(frozen=True)
class Triangle(Linear):
    """What both triangles have in common.

    offset    of the diagonal that bounds it, which belongs to it; counted above the main one
    """

    offset: int = 0

    def infer(self, x):
        if x.ndim < 2:
            raise ShapeError(f"{self} needs matrices in the last two axes, and got {x}")
        return x

    def adjoint(self, gy, x): return gy.apply(self)


@dataclass(frozen=True)
class Tril(Triangle):
    """y = x on and below a diagonal of the last two axes, 0 above."""

    symbol = "tril"

    def forward(self, xp, x): return xp.tril(x, self.offset)


@dataclass(frozen=True)
class Triu(Triangle):
    """y = x on and above a diagonal of the last two axes, 0 below."""

    symbol = "triu"

    def forward(self, xp, x): return xp.triu(x, self.offset)
