"""What fills a tensor in place: a number on its diagonal, or random numbers. The names are PyTorch's.

Random numbers come from the sequence that mg.manual_seed starts, or from the `generator` that is given.
"""

from __future__ import annotations

from math import inf, log1p, pi
from typing import Any

import numpy as np

from . import ops
from .editable import Editable, become
from .errors import ShapeError
from .modes import current
from .op import Op
from .sequence import default_sequence


class Filling(Editable):
    """The part of Tensor that takes new values, whatever the old ones were."""

    __slots__ = ()

    def uniform_(self: Any, low: float = 0.0, high: float = 1.0, *, generator: Any = None) -> Any:
        """Take numbers uniform in [low, high)."""
        become(self, self._drawn(ops.RandomUniform(self.shape, self.dtype), generator) * (high - low) + low)
        return self

    def normal_(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
        """Take numbers from N(mean, std²)."""
        become(self, self._drawn(ops.RandomNormal(self.shape, self.dtype), generator) * std + mean)
        return self

    def bernoulli_(self: Any, p: float = 0.5, *, generator: Any = None) -> Any:
        """Take 1 with probability p, and 0 otherwise."""
        drawn = self._drawn(ops.RandomBernoulli(self.shape, np.dtype(bool), float(p)), generator)
        become(self, drawn.astype(self.dtype))
        return self

    def log_normal_(self: Any, mean: float = 1.0, std: float = 2.0, *, generator: Any = None) -> Any:
        """Take numbers whose logarithms are from N(mean, std²)."""
        become(self, (self._drawn(ops.RandomNormal(self.shape, self.dtype), generator) * std + mean).exp())
        return self

    def exponential_(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
        """Take waiting times, for what happens λ times in a unit of time."""
        become(
            self,
            -(-self._drawn(ops.RandomUniform(self.shape, self.dtype), generator)).log1p()
            / above_0("lambd of exponential_", lambd),
        )
        return self

    def cauchy_(self: Any, median: float = 0.0, sigma: float = 1.0, *, generator: Any = None) -> Any:
        """Take numbers of Cauchy's distribution, which has no mean: half of them are within σ of the median."""
        angle = (self._drawn(ops.RandomUniform(self.shape, self.dtype), generator) - 0.5) * pi
        become(self, angle.tan() * above_0("sigma of cauchy_", sigma) + median)
        return self

    def geometric_(self: Any, p: float, *, generator: Any = None) -> Any:
        """Take how many attempts it needs to succeed, which each does with probability p."""
        drawn = self._drawn(ops.RandomUniform(self.shape, np.dtype(float)), generator)
        become(self, ((-drawn).log1p() / log1p(-above_0("p of geometric_", p, 1))).floor().astype(self.dtype) + 1)
        return self

    def fill_diagonal_(self: Any, fill_value: float) -> Any:
        """Take a number where all indices are equal."""
        if self.ndim < 2 or (self.ndim > 2 and len(set(self.shape)) > 1):
            raise ShapeError(f"a matrix has a diagonal, and so have more axes of one length; this is {self.spec}")
        self[(np.arange(min(self.shape)),) * self.ndim] = fill_value
        return self

    def _drawn(self: Any, op: Op, generator: Any) -> Any:
        """What a random op draws by the next key."""
        sequence = default_sequence if generator is None else generator.sequence
        if (stage := current.mode.staging) is not None:
            return stage.apply(ops.NextKey(sequence), (0,)).apply(op)
        return self.lift(sequence.next_words()).apply(op)


def above_0(what: str, x: float, below: float = inf) -> float:
    """x. Raises ValueError where it is not in between."""
    if not 0 < x < below:
        raise ValueError(f"the {what} is more than 0{f' and less than {below}' * (below < inf)}, and this is {x}")
    return x
