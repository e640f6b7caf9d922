"""Where graphs begin: nodes without inputs."""

from __future__ import annotations

from dataclasses import dataclass
from math import copysign
from typing import Any

from ..dimension import Quotient, is_unknown
from ..op import Op
from ..shares import plain


class Leaf(Op):
    """A tensor the user made: data, or a parameter."""


@dataclass(frozen=True)
class Const(Op):
    """A Python number, or one divided by a length not known yet. Arrays are never constants: they may change.

    sign    tells 0.0 from −0.0, which are equal and yet divide differently
    """

    value: Any
    sign: float


@dataclass(frozen=True)
class Input(Op):
    """A value to be given at each run."""

    name: str


def const(number: float | Quotient) -> Const:
    """The op of a Python number. Raises GraphError where it was made of an unknown length and a float."""
    number = plain(number) if isinstance(number, float) else number
    return Const(number, 1.0 if is_unknown(number) or isinstance(number, Quotient) else copysign(1.0, number))
