"""Dropout, as layers: active in training, the identity after it."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import functional
from .held import numbered
from .module import Module


class Dropout(Module):
    """Each element zero with probability p, the others divided by 1 − p: see functional.dropout."""

    function: ClassVar[str] = "dropout"

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__} needs a probability of 0 to 1, and got p={p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Any, *, key: Any = None) -> Any:
        y = getattr(functional, self.function)(input, self.p, self.training, key=key)
        return input.copy_(y) if self.inplace and y is not input else y

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class OfChannels(Dropout):
    """Each channel of x (N, C, *size) or (C, *size) zero with probability p: see functional.dropout1d and its kin."""

    n: ClassVar[int]

    @property
    def function(self) -> str:  # type: ignore[override]
        return f"dropout{self.n}d"


Dropout1d, Dropout2d, Dropout3d = numbered(OfChannels, "Dropout")


class AlphaDropout(Dropout):
    """Dropout that keeps SELU's mean and variance: see functional.alpha_dropout."""

    function = "alpha_dropout"


class FeatureAlphaDropout(Dropout):
    """The same of whole channels."""

    function = "feature_alpha_dropout"
