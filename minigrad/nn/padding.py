"""Margins, as layers: a width for all ends, or, as for functional.pad, two for each axis, the last axis first."""

from __future__ import annotations

from typing import Any, ClassVar

from .held import Held, held, over_axes


@held
class Padding(Held):
    """x (N, C, *size), or (C, *size), with a margin around its places: see functional.pad."""

    function = "pad"
    mode: ClassVar[str]
    n: ClassVar[int]
    padding: Any

    def __post_init__(self) -> None:
        self.padding = (self.padding,) * (2 * self.n) if isinstance(self.padding, int) else tuple(self.padding)

    def _options(self) -> dict[str, Any]:
        return {"pad": self.padding, "mode": self.mode}

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad(Padding):
    """A margin of zeros."""

    mode = "constant"


class ReflectionPad(Padding):
    """A margin mirrored at the edge, which is not repeated."""

    mode = "reflect"


class ReplicationPad(Padding):
    """A margin that repeats the edge."""

    mode = "replicate"


class CircularPad(Padding):
    """A margin of what is at the other end."""

    mode = "circular"


@held
class ConstantPad(ZeroPad):
    """A margin of one value."""

    value: float

    def _options(self) -> dict[str, Any]:
        return super()._options() | {"value": self.value}

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


ZeroPad1d, ZeroPad2d, ZeroPad3d = over_axes(ZeroPad)
ConstantPad1d, ConstantPad2d, ConstantPad3d = over_axes(ConstantPad)
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = over_axes(ReflectionPad)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = over_axes(ReplicationPad)
CircularPad1d, CircularPad2d, CircularPad3d = over_axes(CircularPad)
