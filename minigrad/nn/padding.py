"""Margins, as layers: a width for all ends, or, as for functional.pad, two for each axis, the last axis first."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import functional
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


def over_axes(name: str, mode: str, base: type[Padding] = Padding) -> list[type[Any]]:
    """The layers with such a margin over one, two and three axes."""
    inside = {"mode": mode, "__doc__": base.__doc__, "__module__": "minigrad.nn"}
    return [type(f"{name}{n}d", (base,), inside | {"n": n}) for n in (1, 2, 3)]


ZeroPad1d, ZeroPad2d, ZeroPad3d = over_axes("ZeroPad", "constant")
ConstantPad1d, ConstantPad2d, ConstantPad3d = over_axes("ConstantPad", "constant", Constant)
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = over_axes("ReflectionPad", "reflect")
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = over_axes("ReplicationPad", "replicate")
CircularPad1d, CircularPad2d, CircularPad3d = over_axes("CircularPad", "circular")
