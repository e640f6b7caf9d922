"""Movement ops: the same elements in other places, possibly with zeros between. They are linear; no arithmetic is done.

The adjoint of each op moves the gradient back:

    reshape       ↔  reshape
    transpose     ↔  transpose by the inverse permutation
    broadcast_to  ↔  sum
    flip          ↔  flip
    roll          ↔  roll the other way
    cat, stack    ↔  a split at the joints
    pad           ↔  cutting out the middle
    diagonal      ↔  a matrix that is zero except on its diagonal
    tril, triu    ↔  themselves
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..base.dimension import bounds, clamped, formula, is_unknown, quotient
from ..base.dtypes import result_type
from ..base.errors import ShapeError
from ..base.spec import Spec, broadcast_shape, common_device
from ..core.op import Linear, Op
from .index import Index
from .pattern import Slice


class Reshape(Linear):
    """y has x's elements, in the same order, in another shape.

    shape    if lengths are unknown, may contain −1 for a length that each run infers, as in x.reshape(n, −1)
    """

    shape: tuple[int, ...]

    is_view = True

    def infer(self, x):
        if -1 in self.shape:
            return x.with_shape(resolve_shape(self.shape, x))
        if prod(self.shape) != x.size:
            raise ShapeError(f"cannot reshape {x} ({x.size} elements) into {self.shape} ({prod(self.shape)} elements)")
        return x.with_shape(self.shape)

    def forward(self, xp, x): return x.reshape(self.shape)
    def adjoint(self, gy, x): return gy.reshape(x.shape)


def resolve_shape(shape: tuple[int, ...], x: Spec) -> tuple[int, ...]:
    """The shape with its −1 replaced by the length that fits. Raises ShapeError if no length or every length fits."""
    known = -prod(shape)
    n = quotient(x.size, known) if known else None
    if n is None and not (is_unknown(known) or (known and is_unknown(x.size))):
        raise ShapeError(f"cannot reshape {x} ({x.size} elements) into {shape}: no length fits the −1")
    n = x.size // known if n is None else n
    return tuple(n if m == -1 else m for m in shape)


class View(Reshape):
    """A reshape that never copies: y and x share their memory."""

    inline = False

    def forward(self, xp, x):
        y = x.reshape(self.shape)
        if y.size and x.ndim and not xp.may_share_memory(x, y):
            raise ShapeError(
                f"view {self.shape} of a tensor of shape {x.shape} would need a copy: its elements do not lie "
                "in memory in the order of its axes, as after a transpose. Use reshape, which copies where it must"
            )
        return y


class Contiguous(Linear):
    """y = x with its memory in axis order; a copy, unless x has that order already."""

    inline = False
    is_view = True

    def infer(self, x): return x
    def forward(self, xp, x): return xp.ascontiguousarray(x).reshape(x.shape)
    def adjoint(self, gy, x): return gy


class Transpose(Linear):
    """Axes permuted: y.shape[i] = x.shape[axes[i]]."""

    axes: tuple[int, ...]

    is_view = True

    def infer(self, x):
        if sorted(self.axes) != list(range(x.ndim)):
            raise ShapeError(f"transpose of {x} needs each axis once, 0 to {x.ndim - 1} in any order, not {self.axes}")
        return x.with_shape(tuple(x.shape[a] for a in self.axes))

    def forward(self, xp, x): return x.transpose(self.axes)
    def adjoint(self, gy, x): return gy.permute(*np.argsort(self.axes).tolist())


class BroadcastTo(Linear):
    """Repeat axes of length 1, and missing leading axes, to fill `shape`. A view: it needs no memory."""

    shape: tuple[int, ...]

    symbol = "broadcast"
    is_view = True

    def infer(self, x):
        if broadcast_shape(x.shape, self.shape) != self.shape or min(self.shape, default=0) < 0:
            raise ShapeError(f"cannot broadcast {x} to {self.shape}: counted from the right, only axes of 1 stretch")
        return x.with_shape(self.shape)

    def forward(self, xp, x): return xp.broadcast_to(x, self.shape)
    def adjoint(self, gy, x): return gy.sum_to(x.shape)


class Flip(Linear):
    """Reverse the order of the elements along some axes."""

    axes: tuple[int, ...]

    def infer(self, x): return x
    def forward(self, xp, x): return xp.flip(x, self.axes).copy()
    def adjoint(self, gy, x): return gy.flip(self.axes)


class Roll(Linear):
    """y[i + shift] = x[i] along each of the axes, cyclically: elements shifted past the end come in at the front."""

    shifts: tuple[int, ...]
    axes: tuple[int, ...]

    def infer(self, x): return x
    def forward(self, xp, x): return xp.roll(x, self.shifts, self.axes)
    def adjoint(self, gy, x): return gy.roll(tuple(-s for s in self.shifts), self.axes)


class Joining(Op):
    """The base class of Concatenate and Stack.

    axis    the axis of the result, counted from the left
    """

    axis: int

    def jvp(self, dxs, y, *xs): return dxs[0].apply(self, *dxs[1:])
    def flops(self, y, *xs): return 0

    def join_spec(self, shape: tuple[int, ...], *xs: Spec) -> Spec:
        """The spec of a result of this shape, with the operands' common dtype and device."""
        return Spec(shape, result_type(*(x.dtype for x in xs)), common_device(self, *xs))


class Concatenate(Joining):
    """y = x₁, x₂, x₃, … one after the other along an existing axis."""

    symbol = "cat"

    def infer(self, *xs):
        sides = {x.shape[: self.axis] + x.shape[self.axis + 1 :] for x in xs}
        if min(x.ndim for x in xs) <= self.axis or len(sides) > 1:
            came = ", ".join(map(str, xs))
            raise ShapeError(f"cat along axis {self.axis} needs every other axis of one length, and got {came}")
        length = sum(x.shape[self.axis] for x in xs)
        return self.join_spec((*xs[0].shape[: self.axis], length, *xs[0].shape[self.axis + 1 :]), *xs)

    def forward(self, xp, *xs): return xp.concatenate(xs, self.axis)

    def vjp(self, gy, y, *xs):
        gxs, start = [], 0
        for x in xs:
            end = start + x.spec.shape[self.axis]
            gxs.append(gy.apply(Index((*(Slice(),) * self.axis, Slice(start, end)))))
            start = end
        return tuple(gxs)


class Stack(Joining):
    """y = x₁, x₂, … along a new axis: y[…, i, …] = xᵢ."""

    def infer(self, *xs):
        if len({x.shape for x in xs}) > 1:
            raise ShapeError(f"stack needs tensors of one shape, and got {', '.join(map(str, xs))}")
        return self.join_spec((*xs[0].shape[: self.axis], len(xs), *xs[0].shape[self.axis :]), *xs)

    def forward(self, xp, *xs): return xp.stack(xs, self.axis)
    def vjp(self, gy, y, *xs): return tuple(gy.select(self.axis, i) for i in range(len(xs)))


class Pad(Linear):
    """x with a margin filled with one value.

    widths    the margin's width (before, after) along each axis
    """

    widths: tuple[tuple[int, int], ...]
    value: float = 0.0

    inline = False

    def infer(self, x):
        if len(self.widths) != x.ndim:
            raise ShapeError(f"pad needs two widths for each axis of {x}, and got {self.widths}")
        return x.with_shape(tuple(before + n + after for n, (before, after) in zip(x.shape, self.widths)))

    def middle(self, shape):
        """The index of x in the result."""
        return tuple(slice(before, before + n) for n, (before, _) in zip(shape, self.widths))

    def forward(self, xp, x):
        y = xp.full(tuple(before + n + after for n, (before, after) in zip(x.shape, self.widths)), self.value, x.dtype)
        y[self.middle(x.shape)] = x
        return y

    def adjoint(self, gy, x): return gy[self.middle(x.shape)]
    def jvp(self, dxs, y, *xs): return dxs[0].apply(Pad(self.widths))


def diagonal_length(rows: Any, columns: Any, offset: int) -> Any:
    """The length of a diagonal; `offset` counts upwards from the main diagonal."""
    down, across = rows + min(offset, 0), columns - max(offset, 0)
    least, other = sorted((down, across))  # an unknown length sorts as the larger
    low, high = bounds(other - least) if is_unknown(least) else (0, 0)
    if low < 0 < high:
        return formula(f"min({rows}, {columns}, {offset})", diagonal_length, rows, columns, offset)
    least, other = (other, least) if low < 0 else (least, other)
    return clamped(other, 0, max(least, 0)) if is_unknown(other) and not is_unknown(least) else clamped(least)


class Diagonal(Linear):
    """y[…, i] = x[…, i, i + offset]: a diagonal of the last two axes. A view: it needs no memory."""

    offset: int = 0

    inline = False
    is_view = True

    def infer(self, x):
        if x.ndim < 2:
            raise ShapeError(f"a diagonal needs two axes, and this is {x}: diag_embed makes a matrix of it")
        return x.with_shape((*x.shape[:-2], diagonal_length(x.shape[-2], x.shape[-1], self.offset)))

    def forward(self, xp, x):
        y = xp.diagonal(x, self.offset, -2, -1)
        if xp is np:
            y.flags.writeable = x.flags.writeable  # NumPy's diagonal is read-only by default
        return y

    def adjoint(self, gy, x): return gy.apply(OnDiagonal(x.spec.shape[-2:], self.offset))


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


class Triangle(Linear):
    """The base class of Tril and Triu.

    offset    the diagonal that bounds the triangle, and belongs to it; counted upwards from the main diagonal
    """

    offset: int = 0

    def infer(self, x):
        if x.ndim < 2:
            raise ShapeError(f"{self} needs matrices in the last two axes, and got {x}")
        return x

    def adjoint(self, gy, x): return gy.apply(self)


class Tril(Triangle):
    """y = x on and below a diagonal of the last two axes, 0 above."""

    def forward(self, xp, x): return xp.tril(x, self.offset)


class Triu(Triangle):
    """y = x on and above a diagonal of the last two axes, 0 below."""

    def forward(self, xp, x): return xp.triu(x, self.offset)


class ViewScatter(Op):
    """z = x with `part` written to the elements that the view x → ops[0] → ops[1] → … shows."""

    ops: tuple[Op, ...]

    symbol = "overlay"

    def infer(self, x, part): return x

    def forward(self, xp, x, part):
        seen = xp.arange(x.size).reshape(x.shape)  # flat indices: writing to a view of z would depend on its layout
        for op in self.ops:
            seen = op.forward(xp, seen)
        z = xp.array(x, order="C")  # so that reshape below is a view
        z.reshape(-1)[seen.reshape(-1)] = part.reshape(-1)
        return z

    def vjp(self, gz, z, x, part):
        return gz.apply(self, gz.lift(0).astype(gz.dtype).broadcast_to(part.shape)), self.apply_view(gz)

    def apply_view(self, z):
        """The view of z: self.ops applied to z, one after the other."""
        for op in self.ops:
            z = z.apply(op)
        return z

    def jvp(self, dxs, z, x, part): return dxs[0].apply(self, dxs[1])
    def flops(self, z, x, part): return 0
