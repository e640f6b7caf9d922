"""Rows brought to a common scale: to sum to 1, or to mean 0 and mean square 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .. import ops
from ..errors import AxisError, DTypeError
from ..op import Op
from .base import Base
from .synonyms import hears_dim


class Normalising(Base):
    """Softmax and standardising: the shape stays."""

    __slots__ = ()

    @hears_dim
    def softmax(self, axis: int | None = None, dtype: Any = None) -> Self:
        """eˣ / Σ eˣ along the axis: positive, and summing to 1. A row of −inf alone has none: NaN."""
        return self._as(dtype)._weighing(ops.Softmax, axis)

    @hears_dim
    def log_softmax(self, axis: int | None = None, dtype: Any = None) -> Self:
        """ln of softmax: x − ln Σ eˣ along the axis, which stays exact where softmax itself rounds to 0."""
        return self._as(dtype)._weighing(ops.LogSoftmax, axis)

    @hears_dim
    def softmin(self, axis: int | None = None, dtype: Any = None) -> Self:
        """softmax of −x: the smallest weighs most."""
        return self.apply(ops.Neg()).softmax(axis, dtype)

    @hears_dim
    def standardise(self, axis: Any = -1, eps: float = 1e-5) -> Self:
        """(x − mean) / √(var + ε) along an axis, several, or all; the variance is that of all n, not n − 1."""
        axes = self._floating("standardise")._reduction(axis, False)[0]
        return self._gathered(ops.Standardise(axes, float(eps)))

    @hears_dim
    def rms_normalise(self, axis: Any = -1, eps: float = 1e-5) -> Self:
        """x / √(mean x² + ε) along an axis, several, or all."""
        axes = self._floating("rms_normalise")._reduction(axis, False)[0]
        return self._gathered(ops.RMSNormalise(axes, float(eps)))

    def _weighing(self, op: Callable[[int], Op], axis: Any) -> Self:
        if axis is None:
            raise AxisError(f"a softmax of {self.spec} needs to be told its axis: dim=-1 is the last")
        x, a = self._single(axis)
        x = x if x.spec.is_float else x.astype(np.float64)
        return x._gathered(op(a)).reshape(self.shape)

    def _floating(self, name: str) -> Self:
        """self, if it has room for fractions."""
        if not self.spec.is_float:
            raise DTypeError(f"{name} needs floating numbers, and this is {self.spec}: use .astype(float)")
        return self
