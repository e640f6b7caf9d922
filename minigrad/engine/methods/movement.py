"""Moving elements: the same numbers in other places. Names and semantics are PyTorch's.

shape     reshape view flatten unflatten ravel squeeze unsqueeze
order     transpose permute movedim swapaxes T mT flip roll rot90
copies    broadcast_to expand tile repeat repeat_interleave
pieces    split chunk tensor_split unbind unfold
matrices  tril triu diagonal diag_embed diag diagflat trace
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from math import prod
from typing import Any, Self

import numpy as np

from .. import ops
from ..base.dimension import is_unknown, require_known, wrap_dimension
from ..base.errors import AxisError, ShapeError
from ..core.modes import current
from .arguments import accept_dim, integers, whole


class Movement:
    """Methods for shape, order and pieces. They do no arithmetic, except for sum_to, which undoes a broadcast."""

    __slots__ = ()

    # -- shape --------------------------------------------------------------------------------

    def reshape(self, *lengths: Any, shape: Any = None) -> Self:
        """The same elements in another shape; one length may be −1, and is inferred."""
        shape = self._resolve_shape(integers(lengths if shape is None else (shape,)))
        itself = shape == self.spec.shape and (current.mode.recording or not self._has_history())
        return self if itself else self.apply(ops.Reshape(shape))

    def view(self, *shape: Any) -> Self:
        """The same memory in another shape; a new view even if the shape stays. In a graph, a reshape."""
        return self.apply(ops.Reshape(self._resolve_shape(integers(shape))))

    def reshape_as(self, other: Any) -> Self: return self.reshape(other.shape)
    def view_as(self, other: Any) -> Self: return self.view(other.shape)

    def clone(self) -> Self:
        """A copy: the same numbers in new memory."""
        return self.apply(ops.Clone())

    def contiguous(self) -> Self:
        """The same numbers, laid out in memory in axis order, so that `view` can reshape them; copied if necessary."""
        return self.apply(ops.Contiguous())

    @accept_dim
    def flatten(self, start_axis: int = 0, end_axis: int = -1) -> Self:
        """Merge the axes from start_axis to end_axis, both included, into one."""
        if not self.ndim:
            return self.reshape(1)
        start, end = self.axis(start_axis), self.axis(end_axis)
        if start > end:
            raise ShapeError(f"flatten of {self.spec} goes from an axis to a later one, not from {start} to {end}")
        merged = (*self.shape[:start], prod(self.shape[start : end + 1]), *self.shape[end + 1 :])
        return self if start == end else self.reshape(merged)

    def ravel(self) -> Self: return self.reshape(self.size)

    @accept_dim
    def unflatten(self, axis: int, sizes: Any) -> Self:
        """Split one axis into several; one of the sizes may be −1, and is inferred."""
        axis, sizes = self.axis(axis), integers((sizes,))
        known = prod(n for n in sizes if n != -1)
        if sizes.count(-1) == 1 and known and self.shape[axis] % known == 0:
            sizes = tuple(self.shape[axis] // known if n == -1 else n for n in sizes)
        if min(sizes, default=1) < 0 or prod(sizes) != self.shape[axis]:
            raise ShapeError(f"unflatten needs sizes whose product is {self.shape[axis]}, and got {sizes}")
        return self.reshape(self.shape[:axis] + sizes + self.shape[axis + 1 :])

    @accept_dim
    def squeeze(self, axis: Any = None) -> Self:
        """Remove axes of length 1: all of them, or those among the given axes."""
        axes = self._reduction(axis, False, ())[0]
        return self.reshape(tuple(n for a, n in enumerate(self.shape) if a not in axes or n != 1))

    @accept_dim
    def unsqueeze(self, axis: int) -> Self:
        """Insert an axis of length 1, which becomes axis `axis` of the result."""
        place = self._new_axis(axis)
        return self.reshape((*self.shape[:place], 1, *self.shape[place:]))

    # -- order --------------------------------------------------------------------------------

    @accept_dim
    def permute(self, *order: Any, axes: Any = None) -> Self:
        """The axes in another order. Each axis must be given once."""
        order = integers(order if axes is None else (axes,))
        return self.apply(ops.Transpose(tuple(a % self.ndim if -self.ndim <= a < self.ndim else a for a in order)))

    def transpose(self, *axes: Any, **two: int) -> Self:
        """Exchange two axes, as in PyTorch: transpose(0, 1).

        NumPy's forms are accepted where they are unambiguous: transpose() reverses the axes; a tuple of all axes,
        or more than two separate axes, is a new order, as in permute.
        """
        if two or len(axes) == 2:
            return self.swapaxes(*axes, **two)
        return self.permute(*axes) if axes else self.permute(*reversed(range(self.ndim)))

    @accept_dim
    def swapaxes(self, axis0: int, axis1: int) -> Self:
        """Exchange two axes."""
        order = list(range(self.ndim or 1))
        a, b = self._single(axis0)[1], self._single(axis1)[1]
        order[a], order[b] = b, a
        return self.permute(*order[: self.ndim])

    swapdims = swapaxes

    @accept_dim
    def movedim(self, source: Any, destination: Any) -> Self:
        """Move some axes to other places; the others keep their order."""
        come = [self.axis(a) for a in integers((source,) if isinstance(source, int) else source)]
        go = [self.axis(a) for a in integers((destination,) if isinstance(destination, int) else destination)]
        if len(set(come)) != len(come) or len(set(go)) != len(go) or len(come) != len(go):
            raise ShapeError(f"movedim moves each axis once, to different places, and got {source} to {destination}")
        order = [a for a in range(self.ndim) if a not in come]
        for place, axis in sorted(zip(go, come)):
            order.insert(place, axis)
        return self.permute(*order)

    moveaxis = movedim

    def t(self) -> Self:
        """Transpose a matrix; a tensor with fewer axes is returned unchanged."""
        if self.ndim > 2:
            raise ShapeError(f"t() transposes a matrix, and this is {self.spec}: name the axes, as in transpose(0, 1)")
        return self.transpose()

    T = property(lambda self: self.transpose(), doc="The axes reversed.")
    mT = mH = property(lambda self: self.swapaxes(-2, -1), doc="The last two axes exchanged.")
    H = property(lambda self: self.t(), doc="A matrix transposed.")

    @accept_dim
    def flip(self, *along: Any, axes: Any = None) -> Self:
        """Reverse the order of the elements along some axes."""
        along = integers(along if axes is None else (axes,))
        chosen = self._reduction(along, False, ())[0]
        if len(chosen) < len(along) and self.ndim:
            raise ShapeError(f"flip takes each axis once, not {along}")
        return self.apply(ops.Flip(chosen))

    def fliplr(self) -> Self: return self.flip(1)
    def flipud(self) -> Self: return self.flip(0)

    @accept_dim
    def roll(self, shifts: Any, axes: Any = None) -> Self:
        """Shift elements cyclically along axes; without axes, along the flattened tensor."""
        shifts = integers((shifts,))
        if axes is None or (shifts and axes in ((), [])):
            return self.ravel().roll(shifts, 0).reshape(self.shape)
        axes = tuple(self.axis(a) for a in integers((axes,)))
        if len(shifts) != len(axes):
            raise ShapeError(f"roll needs one shift for each axis, and got {shifts} for {axes}")
        return self.apply(ops.Roll(shifts, axes))

    @accept_dim
    def rot90(self, k: int = 1, axes: Any = (0, 1)) -> Self:
        """Rotate k times by 90°, from the first of two axes towards the second."""
        a, b = (self.axis(n) for n in integers((axes,)))
        if a == b:
            raise ShapeError(f"rot90 needs two different axes, and got {axes}")
        flipped = self.flip(((), b, (a, b), a)[k % 4]) if k % 4 else self.clone()
        return flipped.swapaxes(a, b) if k % 2 else flipped

    # -- copies -------------------------------------------------------------------------------

    def broadcast_to(self, *shape: Any) -> Self:
        """Repeat axes of length 1 to fill the shape."""
        shape = integers(shape)
        return self.reshape(shape) if shape == self.spec.shape else self.apply(ops.BroadcastTo(shape))

    def expand(self, *sizes: Any) -> Self:
        """As broadcast_to; −1 keeps the length of an axis."""
        sizes = integers(sizes)
        added = len(sizes) - self.ndim
        shape = [self.spec.shape[a - added] if n == -1 and a >= added >= 0 else n for a, n in enumerate(sizes)]
        return self.broadcast_to(*shape)

    def expand_as(self, other: Any) -> Self: return self.expand(other.shape)

    @accept_dim
    def tile(self, *times: Any, axes: Any = None) -> Self:
        """Repeat the tensor along each axis. If there are fewer numbers than axes, they apply to the last axes."""
        times = integers(times if axes is None else (axes,))
        times = (1,) * (self.ndim - len(times)) + times
        shape = (1,) * (len(times) - self.ndim) + self.spec.shape
        if min(times, default=0) < 0:
            raise ShapeError(f"tile repeats 0 times or more, not {times}")
        between = self.reshape(tuple(m for n in shape for m in (1, n)))
        laid = between.broadcast_to(tuple(m for pair in zip(times, shape) for m in pair))
        return laid.clone().reshape(tuple(r * n for r, n in zip(times, shape)))

    def repeat(self, *sizes: Any) -> Self:
        """Repeat the tensor along each axis, as PyTorch's repeat does. NumPy's repeat is repeat_interleave."""
        if len(integers(sizes)) < self.ndim:
            raise ShapeError(f"repeat needs a number for each axis of {self.spec}, got {sizes}; tile accepts fewer")
        return self.tile(*sizes)

    @accept_dim
    def repeat_interleave(self, repeats: Any, axis: Any = None, *, output_size: int | None = None) -> Self:
        """Repeat each element along an axis, one copy after the other; without an axis, along the flattened tensor.

        repeats        one number for all elements, or a number for each element
        output_size    the length of the result, if known; the actual length is checked against it
        """
        if output_size is not None:
            y = self.repeat_interleave(repeats, axis)
            if y.shape[axis or 0] != output_size:
                raise ShapeError(f"repeat_interleave returns {y.spec}, and output_size is {output_size}")
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

    # -- pieces -------------------------------------------------------------------------------

    @accept_dim
    def split(self, split_size: Any, axis: int = 0) -> tuple[Self, ...]:
        """Cut an axis into pieces of length split_size, the last possibly shorter; or into pieces of given lengths."""
        axis = self.axis(axis)
        n = self.spec.shape[axis]
        if isinstance(split_size, tuple | list):
            lengths = integers((split_size,))
            if sum(lengths) != n or min(lengths, default=0) < 0:
                raise ShapeError(f"split needs lengths that add up to {n}, axis {axis} of {self.spec}, not {lengths}")
        else:
            size = whole(split_size)
            if size < 0 or (size == 0 and n):
                raise ShapeError(f"split needs pieces of at least one element, and got {size}")
            if is_unknown(n):
                pieces = n // size
                require_known(f"split of {self.spec}, to count the pieces,", pieces)
                return self._pieces(axis, (size,) * pieces)
            lengths = tuple(min(size, n - start) for start in range(0, n, size or 1)) or (0,)
        return self._pieces(axis, lengths)

    @accept_dim
    def chunk(self, chunks: int, axis: int = 0) -> tuple[Self, ...]:
        """Cut an axis into `chunks` pieces or fewer, all of one length except the last."""
        axis = self.axis(axis)
        if chunks < 1:
            raise ShapeError(f"chunk needs at least one piece, and got {chunks}")
        n = self.shape[axis]
        return self.split(-(-n // chunks), axis) if n else self._pieces(axis, (0,) * chunks)

    @accept_dim
    def tensor_split(self, indices_or_sections: Any, axis: int = 0) -> tuple[Self, ...]:
        """Cut an axis into that many pieces, the first ones longer by 1 if needed; or cut it at the given indices."""
        axis = self.axis(axis)
        n = self.shape[axis]
        if hasattr(indices_or_sections, "spec"):
            indices_or_sections = indices_or_sections.numpy().tolist()
        if isinstance(indices_or_sections, tuple | list):
            bounds = [0, *integers((indices_or_sections,)), n]
            parts = [range(n)[start:stop] for start, stop in pairwise(bounds)]
            return tuple(self.narrow(axis, min(part.start, n), len(part)) for part in parts)
        sections = whole(indices_or_sections)
        if sections < 1:
            raise ShapeError(f"tensor_split needs at least one piece, and got {sections}")
        return self._pieces(axis, tuple(n // sections + (i < n % sections) for i in range(sections)))

    split_with_sizes = split
    def hsplit(self, indices_or_sections: Any) -> Any: return self.tensor_split(indices_or_sections, int(self.ndim > 1))
    def vsplit(self, indices_or_sections: Any) -> Any: return self.tensor_split(indices_or_sections, 0)
    def dsplit(self, indices_or_sections: Any) -> Any: return self.tensor_split(indices_or_sections, 2)

    @accept_dim
    def unbind(self, axis: int = 0) -> tuple[Self, ...]:
        """The slices along an axis, each without that axis."""
        axis = self.axis(axis)
        require_known(f"unbind of {self.spec}, to count the slices,", self.spec.shape[axis])
        return tuple(self.select(axis, i) for i in range(self.shape[axis]))

    def unfold(self, dimension: int, size: int, step: int = 1) -> Self:
        """The windows of length `size` along an axis, one every `step` places; their elements form the last axis."""
        x, axis = self._single(dimension)
        n = x.shape[axis]
        if not 0 <= size <= n or step < 1:
            raise ShapeError(f"unfold needs windows of at most {n}, and steps of at least 1, not {size} and {step}")
        y = x.movedim(axis, -1).apply(ops.Windows(size, step)).movedim(-2, axis)
        return y if self.ndim else y.reshape(size)

    # -- matrices -----------------------------------------------------------------------------

    def tril(self, diagonal: int = 0) -> Self: return self.apply(ops.Tril(whole(diagonal)))
    def triu(self, diagonal: int = 0) -> Self: return self.apply(ops.Triu(whole(diagonal)))
    def diagflat(self, offset: int = 0) -> Any: return self.reshape(self.size).diag_embed(offset)
    def trace(self) -> Self: return self._matrix("trace").diagonal().sum()

    @accept_dim
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """The elements at (i, i + offset) of two axes, as a new last axis."""
        return self.movedim((axis1, axis2), (-2, -1)).apply(ops.Diagonal(whole(offset)))

    @accept_dim
    def diag_embed(self, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Self:
        """Matrices, in two new axes, with the elements of the last axis on their diagonal, and zeros elsewhere."""
        if not self.ndim:
            raise ShapeError(f"diag_embed needs an axis for the diagonal, and this is {self.spec}")
        n = self.spec.shape[-1] + abs(whole(offset))
        return self.apply(ops.OnDiagonal((n, n), whole(offset))).movedim((-2, -1), (axis1, axis2))

    def diag(self, diagonal: int = 0) -> Self:
        """For a vector, the matrix that has it on the diagonal; for a matrix, its diagonal."""
        return self.diag_embed(diagonal) if self.ndim == 1 else self._matrix("diag").diagonal(diagonal).clone()

    # -- undoing a broadcast, and parsing arguments -----------------------------------------------

    def sum_to(self, shape: tuple[int, ...]) -> Self:
        """The adjoint of a broadcast from `shape`: sum over the axes that the broadcast added or stretched."""
        shape = integers((shape,))
        if shape == self.spec.shape:
            return self
        added = self.ndim - len(shape)
        stretched = tuple(a for a, n in enumerate(self.spec.shape) if a < added or shape[a - added] != n)
        total = self.sum(stretched, keepdims=True)
        if any(is_unknown(shape[a - added]) for a in stretched if a >= added):  # as in x[:1], which may be empty
            return total.reshape(total.shape[added:])[tuple(slice(0, wrap_dimension(n)) for n in shape)]
        return total.reshape(shape)

    def sum_to_size(self, *size: Any) -> Self: return self.sum_to(integers(size))

    def _resolve_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape with its −1, if it has one, replaced by the length that fits."""
        if any(n < -1 for n in shape) or shape.count(-1) > 1:
            raise ShapeError(f"a shape has lengths of 0 or more, and at most one −1 to be inferred; this is {shape}")
        if -1 not in shape:
            return shape
        is_open = is_unknown(known := -prod(shape)) or (known and is_unknown(self.spec.size % known))
        return shape if is_open else ops.resolve_shape(shape, self.spec)

    def _has_history(self) -> bool:
        """Whether gradients may flow through this tensor. If so, a result made under no_grad needs a new tensor."""
        return self.tracked and not (isinstance(self.node.op, ops.StopGradient) and len(self.node.inputs) == 1)

    def _new_axis(self, axis: Any) -> int:
        """The position of a new axis, counted from the left. Raises AxisError if out of range."""
        n = whole(axis)
        if not -self.ndim - 1 <= n <= self.ndim:
            raise AxisError(f"{self.spec} has room for a new axis at {-self.ndim - 1} to {self.ndim}, and not at {n}")
        return n % (self.ndim + 1)

    def _pieces(self, axis: int, lengths: tuple[int, ...]) -> tuple[Self, ...]:
        """Consecutive pieces of these lengths."""
        ends = list(accumulate(lengths))
        return tuple(self.narrow(axis, end - length, length) for end, length in zip(ends, lengths))

    def _matrix(self, name: str) -> Self:
        """Return self. Raises ShapeError if self is not a matrix."""
        if self.ndim != 2:
            raise ShapeError(f"{name} needs a matrix, and this is {self.spec}: diagonal takes two axes of any tensor")
        return self
