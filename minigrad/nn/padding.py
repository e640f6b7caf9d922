"""Margins, as layers: a width for all ends, or, as for functional.pad, two for each axis, the last axis first."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import functional
from .held import numbered
from .module import Module


class Padding(Module):
    """x (N, C, *size), or (C, *size), with a margin around its places: see functional.pad."""

    n: ClassVar[int]
    mode: ClassVar[str]
    value: float | None = None

    def __init__(self, padding: Any):
        self.padding = (padding,) * (2 * self.n) if isinstance(padding, int) else tuple(padding)

    def forward(self, input: Any) -> Any:
        return functional.pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class Constant(Padding):
    """The same with a margin of one value."""

    def __init__(self, padding: Any, value: float):
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


ZeroPad1d, ZeroPad2d, ZeroPad3d = numbered(Padding, "ZeroPad", mode="constant")
ConstantPad1d, ConstantPad2d, ConstantPad3d = numbered(Constant, "ConstantPad", mode="constant")
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = numbered(Padding, "ReflectionPad", mode="reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = numbered(Padding, "ReplicationPad", mode="replicate")
CircularPad1d, CircularPad2d, CircularPad3d = numbered(Padding, "CircularPad", mode="circular")
