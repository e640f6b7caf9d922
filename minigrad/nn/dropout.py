"""Dropout, as layers: active in training, the identity after it."""

from __future__ import annotations

from typing import Any

from .. import functional
from .module import Module


class Dropout(Module):
    """Each element zero with probability p, the others divided by 1 − p: see functional.dropout."""

    def __init__(self, p: float = 0.5, inplace: bool = False):
        if not 0 <= p <= 1:
            raise ValueError(f"{type(self).__name__} needs a probability of 0 to 1, and got p={p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Any, *, key: Any = None) -> Any:
        return self.placed(input, functional.dropout(input, self.p, self.training, key=key))

    def placed(self, x: Any, y: Any) -> Any:
        """y; where `inplace` is asked, in x's memory."""
        return x.copy_(y) if self.inplace and y is not x else y

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout1d(Dropout):
    """Each channel of x (N, C, L) or (C, L) zero with probability p: see functional.dropout1d."""

    def forward(self, input: Any, *, key: Any = None) -> Any:
        return self.placed(input, functional.dropout1d(input, self.p, self.training, key=key))


class Dropout2d(Dropout):
    """Each channel of x (N, C, H, W) zero with probability p: see functional.dropout2d."""

    def forward(self, input: Any, *, key: Any = None) -> Any:
        return self.placed(input, functional.dropout2d(input, self.p, self.training, key=key))


class Dropout3d(Dropout):
    """Each channel of x (N, C, D, H, W) or (C, D, H, W) zero with probability p: see functional.dropout3d."""

    def forward(self, input: Any, *, key: Any = None) -> Any:
        return self.placed(input, functional.dropout3d(input, self.p, self.training, key=key))
