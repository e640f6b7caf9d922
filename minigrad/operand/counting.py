"""Which values there are, and how often. The length of what is found is in the values, so a symbol cannot say it.

No gradient passes: how often something occurs does not change by a nudge.
"""

from __future__ import annotations

from math import prod
from typing import Any, Self

from ..errors import DTypeError
from .base import Base
from .synonyms import hears_dim


class Counting(Base):
    """Elements told apart, counted, and looked up among others."""

    __slots__ = ()

    @hears_dim
    def unique(
        self, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
    ) -> Any:
        """The different elements, or slices along an axis, in order, whether `sorted` is asked or not.

        return_inverse    also where each element of x is among them
        return_counts     also how often each of them is in x
        """
        a = None if axis is None else self.axis(axis)
        xp = self.spec.device.xp
        found, inverse, counts = xp.unique(self._read(), return_inverse=True, return_counts=True, axis=a)
        inverse = inverse.reshape(self.shape if a is None else self.shape[a])
        return self._asked(found, inverse if return_inverse else None, counts if return_counts else None)

    @hears_dim
    def unique_consecutive(
        self, return_inverse: bool = False, return_counts: bool = False, axis: int | None = None
    ) -> Any:
        """The elements, or slices along an axis, in order, each run of equal ones as one; results as in unique."""
        xp, a = self.spec.device.xp, None if axis is None else self.axis(axis)
        x = self._read().reshape(-1) if a is None else xp.moveaxis(self._read(), a, 0)
        begins = xp.ones(len(x), bool)
        begins[1:] = (x[1:] != x[:-1]).reshape(len(x[1:]), prod(x.shape[1:])).any(1)
        run = xp.cumsum(begins) - 1
        counts = xp.bincount(run) if return_counts else None
        found = x[begins] if a is None else xp.moveaxis(x[begins], 0, a)
        return self._asked(found, run.reshape(self.shape if a is None else -1) if return_inverse else None, counts)

    def bincount(self, weights: Any = None, minlength: int = 0) -> Self:
        """How often each of 0, 1, 2, … is in a vector of integers, or the sum of its weights."""
        if self.dtype.kind not in "iub" or self.ndim != 1:
            raise DTypeError(f"bincount needs a vector of integers, and got {self.spec}: use .astype(int) or .ravel()")
        w = None if weights is None else self.lift(weights)._read()
        return self.lift(self.spec.device.xp.bincount(self._read(), w, minlength))

    def histc(self, bins: int = 100, min: float = 0, max: float = 0) -> Self:
        """How many elements fall into each of `bins` equal parts of min to max; of the whole range if they are one."""
        x = self._read()
        low, high = (min, max) if min != max or not x.size else (float(x.min()), float(x.max()))
        if low == high:
            low, high = low - 1, high + 1
        counts, _ = self.spec.device.xp.histogram(x, bins, (low, high))
        return self.lift(counts.astype(x.dtype))

    def isin(self, test_elements: Any, *, invert: bool = False) -> Self:
        """Whether each element is among those; with `invert`, whether it is not."""
        among = self.spec.device.xp.isin(self._read(), self.lift(test_elements)._read())
        return self.lift(~among if invert else among)

    def _asked(self, found: Any, *more: Any) -> Any:
        """The arrays that were asked for as tensors: several, or one alone."""
        given = [self.lift(array) for array in (found, *more) if array is not None]
        return given[0] if len(given) == 1 else tuple(given)
