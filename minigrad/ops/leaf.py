"""Where graphs begin: nodes without inputs."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign
from typing import Any

from ..dimension import Formula
from ..op import Op
from ..standin import is_unknown


class Leaf(Op):
    """A tensor the user made: data, or a parameter."""


@dataclass(frozen=True)
class Const(Op):
    """A Python number, or one made of lengths not known yet. Arrays are never constants: they may change.

    sign    tells 0.0 from −0.0, which are equal and yet divide differently
    """

    value: Any
    sign: float


@dataclass(frozen=True)
class Input(Op):
    """A value to be given at each run."""

    name: str


def const(number: float | Formula) -> Const:
    """The op of a Python number, or of one that was calculated from lengths."""
    return Const(number, 1.0 if is_unknown(number) or isinstance(number, Formula) else copysign(1.0, number))
