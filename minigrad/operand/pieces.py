"""Pieces of a tensor, and parts of a matrix. Names and meaning are PyTorch's."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any, Self

from .. import ops
from ..dimension import needed
from ..errors import ShapeError
from ..standin import is_unknown
from .base import Base, integers, whole
from .synonyms import hears_dim


class Pieces(Base):
    """A tensor cut along an axis; the triangles and the diagonals of a matrix."""

    __slots__ = ()

    # -- pieces -------------------------------------------------------------------------------

    @hears_dim
    def split(self, split_size: Any, axis: int = 0) -> tuple[Self, ...]:
        """Pieces of that length along an axis, the last one shorter; or of the lengths said."""
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
                needed(f"split of {self.spec}, to say how many pieces there are,", pieces)
                return self._pieces(axis, (size,) * pieces)
            lengths = tuple(min(size, n - start) for start in range(0, n, size or 1)) or (0,)
        return self._pieces(axis, lengths)

    @hears_dim
    def chunk(self, chunks: int, axis: int = 0) -> tuple[Self, ...]:
        """That many pieces, or fewer, all of one length but the last."""
        axis = self.axis(axis)
        if chunks < 1:
            raise ShapeError(f"chunk needs at least one piece, and got {chunks}")
        n = self.shape[axis]
        return self.split(-(-n // chunks), axis) if n else self._pieces(axis, (0,) * chunks)

    @hears_dim
    def tensor_split(self, indices_or_sections: Any, axis: int = 0) -> tuple[Self, ...]:
        """So many pieces, the first ones longer by 1 where it does not come out even; or cut at the places said."""
        axis = self.axis(axis)
        n = self.shape[axis]
        if isinstance(indices_or_sections, Base):
            indices_or_sections = indices_or_sections.numpy().tolist()
        if isinstance(indices_or_sections, tuple | list):
            places = range(n)
            bounds = [0, *integers((indices_or_sections,)), n]
            return tuple(
                self.narrow(axis, min(part.start, n), len(part))
                for part in (places[start:stop] for start, stop in pairwise(bounds))
            )
        sections = whole(indices_or_sections)
        if sections < 1:
            raise ShapeError(f"tensor_split needs at least one piece, and got {sections}")
        return self._pieces(axis, tuple(n // sections + (i < n % sections) for i in range(sections)))

    split_with_sizes = split
    def hsplit(self, indices_or_sections: Any) -> Any: return self.tensor_split(indices_or_sections, int(self.ndim > 1))
    def vsplit(self, indices_or_sections: Any) -> Any: return self.tensor_split(indices_or_sections, 0)
    def dsplit(self, indices_or_sections: Any) -> Any: return self.tensor_split(indices_or_sections, 2)

    @hears_dim
    def unbind(self, axis: int = 0) -> tuple[Self, ...]:
        """The slices along an axis, which is gone in each."""
        axis = self.axis(axis)
        needed(f"unbind of {self.spec}, to say how many slices there are,", self.spec.shape[axis])
        return tuple(self.select(axis, i) for i in range(self.shape[axis]))

    def unfold(self, dimension: int, size: int, step: int = 1) -> Self:
        """The windows of `size` along an axis, one each `step`; what is in a window becomes the last axis."""
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

    @hears_dim
    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """The elements i, i + offset of two axes, as the last axis."""
        return self.movedim((axis1, axis2), (-2, -1)).apply(ops.Diagonal(whole(offset)))

    @hears_dim
    def diag_embed(self, offset: int = 0, axis1: int = -2, axis2: int = -1) -> Self:
        """The last axis laid on a diagonal of two axes, with zeros around."""
        if not self.ndim:
            raise ShapeError(f"diag_embed needs an axis to lay on a diagonal, and this is {self.spec}")
        n = self.spec.shape[-1] + abs(whole(offset))
        return self.apply(ops.OnDiagonal((n, n), whole(offset))).movedim((-2, -1), (axis1, axis2))

    def diag(self, diagonal: int = 0) -> Self:
        """A vector on the diagonal of a matrix; of a matrix, its diagonal."""
        return self.diag_embed(diagonal) if self.ndim == 1 else self._matrix("diag").diagonal(diagonal).clone()

    def _pieces(self, axis: int, lengths: tuple[int, ...]) -> tuple[Self, ...]:
        """Pieces of these lengths, one behind the other."""
        ends = list(accumulate(lengths))
        return tuple(self.narrow(axis, end - length, length) for end, length in zip(ends, lengths))

    def _matrix(self, name: str) -> Self:
        """self, if it is a matrix."""
        if self.ndim != 2:
            raise ShapeError(f"{name} needs a matrix, and this is {self.spec}: diagonal takes two axes of any tensor")
        return self
