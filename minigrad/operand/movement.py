"""Moving elements: the same numbers in other places. Names and meaning are PyTorch's.

shape     reshape view flatten unflatten ravel squeeze unsqueeze
order     transpose permute movedim swapaxes T mT flip roll rot90
copies    broadcast_to expand tile repeat repeat_interleave
"""

from __future__ import annotations

from math import prod
from typing import Any, Self

import numpy as np

from .. import ops
from ..dimension import said
from ..errors import AxisError, ShapeError
from ..standin import is_unknown
from .base import Base, integers, whole
from .synonyms import hears_dim


class Movement(Base):
    """Other shapes, other orders; no arithmetic, but for the sum that undoes a copy."""

    __slots__ = ()

    # -- shape --------------------------------------------------------------------------------

    def reshape(self, *lengths: Any, shape: Any = None) -> Self:
        """The same elements in another shape; one length may be −1, and is worked out."""
        shape = self._worked_out(integers(lengths if shape is None else (shape,)))
        return self if shape == self.spec.shape else self.apply(ops.Reshape(shape))

    def view(self, *shape: Any) -> Self:
        """The same memory in another shape. In a graph, where no memory is edited, a reshape."""
        return self.reshape(*shape)

    def reshape_as(self, other: Any) -> Self: return self.reshape(other.shape)
    def view_as(self, other: Any) -> Self: return self.view(other.shape)

    def clone(self) -> Self:
        """The same numbers in memory of their own."""
        return self.apply(ops.Clone())

    def contiguous(self) -> Self:
        """The same numbers, in memory in the order of the axes, so that `view` can reshape them: copied if need be."""
        return self.apply(ops.Contiguous())

    @hears_dim
    def flatten(self, start_axis: int = 0, end_axis: int = -1) -> Self:
        """The axes from the first to the last said, both included, as one."""
        if not self.ndim:
            return self.reshape(1)
        start, end = self.axis(start_axis), self.axis(end_axis)
        if start > end:
            raise ShapeError(f"flatten of {self.spec} goes from an axis to a later one, not from {start} to {end}")
        return self.reshape(*self.shape[:start], prod(self.shape[start : end + 1]), *self.shape[end + 1 :])

    def ravel(self) -> Self: return self.reshape(self.size)

    @hears_dim
    def unflatten(self, axis: int, sizes: Any) -> Self:
        """One axis as several; one of the sizes may be −1, and is worked out."""
        axis, sizes = self.axis(axis), integers((sizes,))
        known = prod(n for n in sizes if n != -1)
        if sizes.count(-1) == 1 and known and self.shape[axis] % known == 0:
            sizes = tuple(self.shape[axis] // known if n == -1 else n for n in sizes)
        if min(sizes, default=1) < 0 or prod(sizes) != self.shape[axis]:
            raise ShapeError(f"unflatten needs sizes whose product is {self.shape[axis]}, and got {sizes}")
        return self.reshape(self.shape[:axis] + sizes + self.shape[axis + 1 :])

    @hears_dim
    def squeeze(self, axis: Any = None) -> Self:
        """Without the axes of length 1: all of them, or those among the axes said."""
        axes = self._reduction(axis, False, ())[0]
        return self.reshape(tuple(n for a, n in enumerate(self.shape) if a not in axes or n != 1))

    @hears_dim
    def unsqueeze(self, axis: int) -> Self:
        """With one more axis, of length 1, at that place of the result."""
        place = self._new_axis(axis)
        return self.reshape((*self.shape[:place], 1, *self.shape[place:]))

    # -- order --------------------------------------------------------------------------------

    @hears_dim
    def permute(self, *order: Any, axes: Any = None) -> Self:
        """The axes in another order, each said once."""
        order = integers(order if axes is None else (axes,))
        return self.apply(ops.Transpose(tuple(a % self.ndim if -self.ndim <= a < self.ndim else a for a in order)))

    def transpose(self, *axes: Any, **two: int) -> Self:
        """Two axes exchanged, as in PyTorch: transpose(0, 1).

        NumPy's ways are heard where they cannot mean that: transpose() reverses the axes, and all of them in a tuple,
        or more than two one by one, are a new order, as in permute.
        """
        if two:
            return self.swapaxes(*axes, **two)
        if len(axes) == 2:
            return self.swapaxes(*axes)
        return self.permute(*axes) if axes else self.permute(*reversed(range(self.ndim)))

    @hears_dim
    def swapaxes(self, axis0: int, axis1: int) -> Self:
        """Two axes exchanged."""
        order = list(range(self.ndim or 1))
        a, b = self._single(axis0)[1], self._single(axis1)[1]
        order[a], order[b] = b, a
        return self.permute(*order[: self.ndim])

    swapdims = swapaxes

    @hears_dim
    def movedim(self, source: Any, destination: Any) -> Self:
        """Some axes moved to other places; the rest keep their order."""
        come = [self.axis(a) for a in integers((source,) if isinstance(source, int) else source)]
        go = [self.axis(a) for a in integers((destination,) if isinstance(destination, int) else destination)]
        if len(set(come)) != len(come) or len(set(go)) != len(go) or len(come) != len(go):
            raise ShapeError(f"movedim takes each axis once to a place of its own, not {source} to {destination}")
        order = [a for a in range(self.ndim) if a not in come]
        for place, axis in sorted(zip(go, come)):
            order.insert(place, axis)
        return self.permute(*order)

    moveaxis = movedim

    def t(self) -> Self:
        """A matrix transposed; anything smaller as it is."""
        if self.ndim > 2:
            raise ShapeError(f"t() turns a matrix, and this is {self.spec}: say which axes, as in transpose(0, 1)")
        return self.transpose()

    T = property(lambda self: self.transpose(), doc="The axes reversed.")
    mT = mH = property(lambda self: self.swapaxes(-2, -1), doc="The last two axes exchanged.")
    H = property(lambda self: self.t(), doc="A matrix transposed.")

    @hears_dim
    def flip(self, *along: Any, axes: Any = None) -> Self:
        """The order along some axes reversed."""
        along = integers(along if axes is None else (axes,))
        chosen = self._reduction(along, False, ())[0]
        if len(chosen) < len(along) and self.ndim:
            raise ShapeError(f"flip takes each axis once, not {along}")
        return self.apply(ops.Flip(chosen))

    def fliplr(self) -> Self: return self.flip(1)
    def flipud(self) -> Self: return self.flip(0)

    @hears_dim
    def roll(self, shifts: Any, axes: Any = None) -> Self:
        """Elements moved along axes, round the end; with no axis said, along the flattened tensor."""
        shifts = integers((shifts,))
        if axes is None or (shifts and axes in ((), [])):
            return self.ravel().roll(shifts, 0).reshape(self.shape)
        axes = tuple(self.axis(a) for a in integers((axes,)))
        if len(shifts) != len(axes):
            raise ShapeError(f"roll needs one shift for each axis, and got {shifts} for {axes}")
        return self.apply(ops.Roll(shifts, axes))

    @hears_dim
    def rot90(self, k: int = 1, axes: Any = (0, 1)) -> Self:
        """Turned k times by 90°, from the first of two axes towards the second."""
        a, b = (self.axis(n) for n in integers((axes,)))
        if a == b:
            raise ShapeError(f"rot90 turns a plane of two axes, and got {axes}")
        match k % 4:
            case 1:
                return self.flip(b).swapaxes(a, b)
            case 2:
                return self.flip(a, b)
            case 3:
                return self.flip(a).swapaxes(a, b)
        return self.clone()

    # -- copies -------------------------------------------------------------------------------

    def broadcast_to(self, *shape: Any) -> Self:
        """Axes of length 1 repeated to fill the shape."""
        shape = integers(shape)
        return self if shape == self.spec.shape else self.apply(ops.BroadcastTo(shape))

    def expand(self, *sizes: Any) -> Self:
        """The same, where −1 leaves an axis as it is."""
        sizes = integers(sizes)
        added = len(sizes) - self.ndim
        return self.broadcast_to(
            tuple(self.spec.shape[a - added] if n == -1 and a >= added >= 0 else n for a, n in enumerate(sizes))
        )

    def expand_as(self, other: Any) -> Self: return self.expand(other.shape)

    @hears_dim
    def tile(self, *times: Any, axes: Any = None) -> Self:
        """The whole, laid so often along each axis; counted from the last axis."""
        times = integers(times if axes is None else (axes,))
        times = (1,) * (self.ndim - len(times)) + times
        shape = (1,) * (len(times) - self.ndim) + self.spec.shape
        if min(times, default=0) < 0:
            raise ShapeError(f"tile repeats 0 times or more, not {times}")
        between = self.reshape(tuple(m for n in shape for m in (1, n)))
        laid = between.broadcast_to(tuple(m for pair in zip(times, shape) for m in pair))
        return laid.clone().reshape(tuple(r * n for r, n in zip(times, shape)))

    def repeat(self, *sizes: Any) -> Self:
        """The whole, laid so often along each axis: PyTorch's meaning. NumPy's repeat is repeat_interleave."""
        if len(integers(sizes)) < self.ndim:
            raise ShapeError(f"repeat needs a number for each axis of {self.spec}, and got {sizes}: tile needs fewer")
        return self.tile(*sizes)

    @hears_dim
    def repeat_interleave(self, repeats: Any, axis: Any = None, *, output_size: int | None = None) -> Self:
        """Each element so often, one behind the other, along an axis; with none said, along the flattened tensor.

        repeats        one number for all, or one for each
        output_size    how many there will be, for whoever knows it: it is checked
        """
        if output_size is not None:
            y = self.repeat_interleave(repeats, axis)
            if y.shape[axis or 0] != output_size:
                raise ShapeError(f"repeat_interleave gives {y.spec}, and output_size said {output_size}")
            return y
        if axis is None:
            return self.ravel().repeat_interleave(repeats, 0)
        axis = self.axis(axis)
        times = np.asarray(repeats if isinstance(repeats, int) else self.lift(repeats).numpy())
        if times.size and times.min() < 0:
            raise ShapeError(f"repeat_interleave repeats 0 times or more, not {times.min()}")
        if times.size == 1:
            each = self.unsqueeze(axis + 1)
            shape = (*each.shape[: axis + 1], times.item(), *self.shape[axis + 1 :])
            return each.broadcast_to(shape).clone().flatten(axis, axis + 1)
        if times.shape != self.shape[axis : axis + 1]:
            raise ShapeError(f"repeat_interleave along axis {axis} of {self.spec} got {times.shape} numbers")
        return self.index_select(axis, np.repeat(np.arange(times.size), times))

    # -- what undoes a copy, and what reads arguments --------------------------------------------

    def sum_to(self, shape: tuple[int, ...]) -> Self:
        """Undo a broadcast from `shape`: sum over the axes it added or stretched."""
        shape = integers((shape,))
        if shape == self.spec.shape:
            return self
        added = self.ndim - len(shape)
        stretched = tuple(a for a, n in enumerate(self.spec.shape) if a < added or shape[a - added] != n)
        total = self.sum(stretched, keepdims=True)
        if any(is_unknown(shape[a - added]) for a in stretched if a >= added):  # as those of x[:1], which may be none
            return total.reshape(total.shape[added:])[tuple(slice(0, said(n)) for n in shape)]
        return total.reshape(shape)

    def sum_to_size(self, *size: Any) -> Self: return self.sum_to(integers(size))

    def _worked_out(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape with its one −1, if any, replaced by the length that fits."""
        if any(n < -1 for n in shape) or shape.count(-1) > 1:
            raise ShapeError(f"a shape has lengths of 0 or more, and at most one −1 to be worked out; this is {shape}")
        if -1 not in shape:
            return shape
        is_open = is_unknown(known := -prod(shape)) or (known and is_unknown(self.spec.size % known))
        return shape if is_open else ops.worked_out(shape, self.spec)

    def _new_axis(self, axis: Any) -> int:
        """The place of an axis that is yet to come, counted from the left."""
        n = whole(axis)
        if not -self.ndim - 1 <= n <= self.ndim:
            raise AxisError(f"{self.spec} has room for a new axis at {-self.ndim - 1} to {self.ndim}, and not at {n}")
        return n % (self.ndim + 1)
