"""The leaves of graphs, which have no inputs; and ops that return x itself, after a check or on another device."""

from __future__ import annotations

from math import copysign, prod
from typing import Any

from ..base.device import Device, device_of
from ..base.dimension import Unknown, bounds
from ..base.errors import BoundsError, ShapeError
from ..base.spec import Spec
from ..core.op import Linear, Op


class Leaf(Op):
    """A tensor the user made: data, or a parameter."""


class Const(Op):
    """A Python number, or a number computed from unknown lengths. Arrays are never constants: they may change.

    sign    distinguishes 0.0 from −0.0, which are equal but divide differently
    """

    value: Any
    sign: float


class Input(Op):
    """A value that is passed in at each run."""

    name: str


def const(number: float | Unknown) -> Const:
    """The op of a Python number, or of a number computed from unknown lengths."""
    return Const(number, 1.0 if isinstance(number, Unknown) else copysign(1.0, number))


class Alias(Linear):
    """y = x, as a separate node of the graph, so that hooks on y's gradient do not apply to x's."""

    inline = False
    is_view = True

    def infer(self, x): return x
    def forward(self, xp, x): return x[...]
    def adjoint(self, gy, x): return gy


class Several(Alias):
    """y = x, checked to have more than one element along `axes`: a statistic of one element would be undefined.

    rule    the reason for the check, for the error message
    """

    axes: tuple[int, ...]
    rule: str = "a spread needs more than one element"

    symbol = "several"

    def infer(self, x):
        if x.size and prod(x.shape[a] for a in self.axes) == 1:
            raise ShapeError(f"{self.rule}, and got {x}")
        return x


class OfShape(Linear):
    """y = x, checked to have this shape. Each run checks the lengths that are unknown when the graph is built.

    rule    the reason for the check, for the error message
    """

    shape: tuple[int, ...]
    rule: str

    inline = False
    is_view = True

    def infer(self, x):
        low_high = [bounds(n - m) for n, m in zip(x.shape, self.shape)]
        if len(x.shape) != len(self.shape) or not all(low <= 0 <= high for low, high in low_high):
            raise ShapeError(f"{self.rule}: expected shape ({', '.join(map(str, self.shape))}), got {x}")
        return x.with_shape(self.shape)

    def forward(self, xp, x): return x[...]
    def adjoint(self, gy, x): return gy.apply(OfShape(x.spec.shape, self.rule))


class Within(Op):
    """y = x. Raises an error with text `wanted` outside low … high: BoundsError for integers, ValueError for floats."""

    low: float
    high: float
    wanted: str

    is_view = True

    def infer(self, x): return x
    def vjp(self, gy, y, x): return (gy,)
    def jvp(self, dxs, y, x): return dxs[0]
    def flops(self, y, x): return 0
    def __str__(self): return f"Within({self.low}, {self.high})"

    def forward(self, xp, x):
        error = BoundsError if x.dtype.kind in "iu" else ValueError
        device_of(x).check_range(x, self.low, self.high, error, self.wanted)
        return x


class Clone(Linear):
    """y = x, copied to new memory."""

    def infer(self, x): return x
    def forward(self, xp, x): return x.copy()
    def adjoint(self, gy, x): return gy


class Move(Linear):
    """y = x, on another device."""

    device: Device

    symbol = "to"
    inline = False
    is_view = True  # if x is on that device already, y is x itself

    def infer(self, x): return Spec(x.shape, x.dtype, self.device)
    def forward(self, xp, x): return self.device.array(x)
    def adjoint(self, gy, x): return gy.apply(Move(x.spec.device))
