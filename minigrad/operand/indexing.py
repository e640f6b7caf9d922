"""Choosing elements by their places."""

from __future__ import annotations

from typing import Any, Self

from .. import ops
from .base import Base


class Indexing(Base):
    """Some of the elements, by index."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Self:
        pattern, arrays = ops.pattern_of(index, self.shape)
        return self.apply(ops.Index(pattern), *arrays)
