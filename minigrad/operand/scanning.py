"""Running totals, products and extremes along one axis, and the differences that undo them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .. import ops
from ..errors import ShapeError
from ..op import Op
from ..ops.scan import along
from .base import Base
from .ordering import Found
from .synonyms import hears_dim


class Scanning(Base):
    """y[t] from all x[≤ t] along an axis: the shape stays."""

    __slots__ = ()

    @hears_dim
    def cumsum(self, axis: int, *, dtype: Any = None) -> Self:
        """x₀, x₀ + x₁, x₀ + x₁ + x₂, … Integers and booleans sum to int64."""
        return self._summand(dtype)._scanned(ops.CumSum, axis)._as(dtype)

    @hears_dim
    def cumprod(self, axis: int, *, dtype: Any = None) -> Self:
        """x₀, x₀ x₁, x₀ x₁ x₂, …; its gradient is right where factors are 0, too."""
        return self._summand(dtype)._scanned(ops.CumProd, axis)._as(dtype)

    @hears_dim
    def logcumsumexp(self, axis: int) -> Self:
        """ln of the running sum of eˣ, without forming a large eˣ."""
        return self.real_valued()._scanned(ops.LogCumSumExp, axis)

    @hears_dim
    def cummax(self, axis: int) -> Found:
        """The largest element so far, and where it stands: the last such place."""
        return self._running(ops.ArgCumMax, axis)

    @hears_dim
    def cummin(self, axis: int) -> Found:
        """The smallest element so far, and where it stands: the last such place."""
        return self._running(ops.ArgCumMin, axis)

    def trapezoid(self, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
        """∫ y dx along an axis, by straight lines between samples: at places x, or dx apart."""
        return self._trapezoids(x, dx, dim).sum(dim)

    def cumulative_trapezoid(self, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Any:
        """The same up to each sample but the first."""
        return self._trapezoids(x, dx, dim).cumsum(dim)

    def _trapezoids(self: Any, x: Any, dx: float, dim: int) -> Any:
        axis = self.axis(dim)
        width = dx if x is None else self.lift(x).diff(1, -1 if np.ndim(x) == 1 else dim)
        if np.ndim(width) == 1:
            width = width.reshape(-1, *[1] * (self.ndim - axis - 1))
        return (self[along(axis, 1, None)] + self[along(axis, None, -1)]) * width / 2

    @hears_dim
    def diff(self, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Self:
        """x₁ − x₀, x₂ − x₁, …, n times over: one element fewer each time."""
        axis = self.axis(axis)
        ends = [self.lift(e) for e in (prepend, append) if e is not None]
        if ends:
            parts = [self, *ends] if prepend is None else [ends[0], self, *ends[1:]]
            return parts[0].apply(ops.Concatenate(axis), *parts[1:]).diff(n, axis)
        if n < 0:
            raise ShapeError(f"diff of {self.spec} is taken 0 times or more, and {n} was asked")
        y = self if n else self.clone()
        for _ in range(n):
            late, early = y[along(axis, 1, None)], y[along(axis, None, -1)]
            y = late != early if y.dtype == np.bool_ else late - early
        return y

    def _scanned(self, op: Callable[[int], Op], axis: Any) -> Self:
        x, a = self._single(axis)
        return x._gathered(op(a)).reshape(self.shape)

    def _running(self, op: Callable[[int], Op], axis: Any) -> Found:
        x, a = self._single(axis)
        places = x.apply(op(a))
        return Found(x.gather(a, places).reshape(self.shape), places.reshape(self.shape))
