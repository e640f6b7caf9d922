"""Many elements to one, along an axis, several, or all."""

from __future__ import annotations

from typing import Any, Self

from .. import ops
from .base import Base


class Reduction(Base):
    """Sums and their kin. PyTorch's `dim` and `keepdim` are heard as `axis` and `keepdims`."""

    __slots__ = ()

    def sum(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """Σ over an axis, several, or all."""
        return self.apply(ops.Sum(*self._reduction(axis, keepdims, **torch)))

    def mean(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """Σ / n over an axis, several, or all."""
        return self.apply(ops.Mean(*self._reduction(axis, keepdims, **torch)))

    def max(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """The largest element; tied ones share the gradient equally."""
        return self.apply(ops.Max(*self._reduction(axis, keepdims, **torch)))

    def logsumexp(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """ln Σ eˣ, without forming a large eˣ."""
        return self.apply(ops.LogSumExp(*self._reduction(axis, keepdims, **torch)))

    def _reduction(self, axis: Any, keepdims: bool, **torch: Any) -> tuple[tuple[int, ...], bool]:
        """The axes counted from the left, in order, and keepdims; PyTorch's `dim` and `keepdim` are heard too."""
        axis, keepdims = torch.pop("dim", axis), torch.pop("keepdim", keepdims)
        if torch:
            raise TypeError(f"a reduction takes axis (or dim) and keepdims (or keepdim), not {', '.join(torch)}")
        return self.axes(axis), bool(keepdims)
