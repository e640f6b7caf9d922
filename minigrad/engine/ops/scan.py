"""Scans: a running total, product or maximum along one axis. y has the shape of x.

    y₀ = x₀    y₁ = x₀ ∘ x₁    y₂ = x₀ ∘ x₁ ∘ x₂    …

If ∘ is associative, n elements need log₂ n steps, each on the whole array: after a step of width s,
y[t] combines the 2s elements that end at t (Hillis and Steele 1986, “Data parallel algorithms”).

The derivative of every scan here is a linear recurrence in the other direction, and the derivative of a linear
recurrence is one too (Martin and Cundy 2018, “Parallelizing linear recurrent neural nets over sequence
length”, https://arxiv.org/abs/1709.04057). So the gradient of a product needs no division, even with zeros, and
second derivatives need no extra rules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.dtypes import result_type
from ..base.errors import ShapeError
from ..base.spec import Spec, common_device
from ..core.op import Linear, Op


def along(axis: int, start: int | None, stop: int | None) -> tuple[Any, ...]:
    """The index that takes start:stop of one axis, and the whole of all other axes."""
    return (*(slice(None),) * axis, slice(start, stop))


def widths(n: int) -> list[int]:
    """1, 2, 4, … below n"""
    return [1 << k for k in range(max(n - 1, 0).bit_length())]


class CumSum(Linear):
    """y[t] = Σ x[≤ t] along the axis; from the end if reverse"""

    axis: int
    reverse: bool = False

    autocast = "float32"

    def infer(self, x): return x.with_dtype(np.cumsum(np.empty(0, x.dtype)).dtype)

    def forward(self, xp, x):
        if self.reverse:
            return xp.flip(xp.cumsum(xp.flip(x, self.axis), self.axis), self.axis)
        return xp.cumsum(x, self.axis)

    def adjoint(self, gy, x): return gy.apply(CumSum(self.axis, not self.reverse))
    def flops(self, y, x): return x.size


class Shift(Linear):
    """y[t] = x[t − by] along the axis; 0 where t − by is outside"""

    axis: int
    by: int

    inline = False

    def infer(self, x): return x

    def forward(self, xp, x):
        y = xp.zeros_like(x)
        if self.by > 0:
            y[along(self.axis, self.by, None)] = x[along(self.axis, None, -self.by)]
        else:
            y[along(self.axis, None, self.by)] = x[along(self.axis, -self.by, None)]
        return y

    def adjoint(self, gy, x): return gy.apply(Shift(self.axis, -self.by))


class Recurrence(Op):
    """y[t] = b[t] + a[t] y[t − 1] along the axis, for operands (b, a); from the end if reverse"""

    axis: int
    reverse: bool = False

    def infer(self, b, a):
        if b.shape != a.shape:
            raise ShapeError(f"{self} needs two operands of one shape, and got {b} with {a}")
        return Spec(b.shape, result_type(b.dtype, a.dtype), common_device(self, b, a))

    def forward(self, xp, b, a):
        if self.reverse:
            b, a = xp.flip(b, self.axis), xp.flip(a, self.axis)
        y, w = b.astype(xp.result_type(b, a)), a  # w[t]: the product of a over the window that ends at t
        for s in widths(y.shape[self.axis]):
            late, early = along(self.axis, s, None), along(self.axis, None, -s)
            y[late] += w[late] * y[early]
            w = xp.concatenate((w[along(self.axis, None, s)], w[late] * w[early]), self.axis)
        return xp.flip(y, self.axis) if self.reverse else y

    def vjp(self, gy, y, b, a):
        gb = gy.apply(Recurrence(self.axis, not self.reverse), a.apply(self.shift(-1)))
        return gb, gb * y.apply(self.shift(1))

    def jvp(self, dxs, y, b, a):
        db, da = dxs
        return (db + da * y.apply(self.shift(1))).apply(self, a)

    def shift(self, by: int) -> Shift:
        """A Shift by ±1 in the direction of the recurrence."""
        return Shift(self.axis, -by if self.reverse else by)

    def flops(self, y, b, a): return 2 * y.size


class CumProd(Op):
    """y[t] = Π x[≤ t] along the axis; Π x[< t] if exclusive; from the end if reverse"""

    axis: int
    exclusive: bool = False
    reverse: bool = False

    autocast = "float32"

    def infer(self, x): return x.with_dtype(np.cumprod(np.empty(0, x.dtype)).dtype)

    def forward(self, xp, x):
        if self.reverse:
            x = xp.flip(x, self.axis)
        if self.exclusive:
            before = xp.cumprod(x[along(self.axis, None, -1)], self.axis)
            y = xp.ones(x.shape, before.dtype)
            y[along(self.axis, 1, None)] = before
        else:
            y = xp.cumprod(x, self.axis)
        return xp.flip(y, self.axis) if self.reverse else y

    def vjp(self, gy, y, x):
        back = Recurrence(self.axis, not self.reverse)
        gy = gy.apply(back.shift(1)) if self.exclusive else gy
        return self.before(y, x) * gy.apply(back, x.apply(back.shift(1))),

    def jvp(self, dxs, y, x):
        on = Recurrence(self.axis, self.reverse)
        dy = (dxs[0] * self.before(y, x)).apply(on, x)
        return dy.apply(on.shift(1)) if self.exclusive else dy

    def before(self, y, x):
        """Π x[< t], in the direction of the scan."""
        return y if self.exclusive else x.apply(CumProd(self.axis, True, self.reverse))

    def flops(self, y, x): return x.size


class LogCumSumExp(Op):
    """y[t] = ln Σ exp x[≤ t] along the axis, without forming a large exp"""

    axis: int

    def infer(self, x): return x

    def forward(self, xp, x):
        y = x.copy()
        for s in widths(x.shape[self.axis]):
            late = along(self.axis, s, None)
            y[late] = xp.logaddexp(y[late], y[along(self.axis, None, -s)])
        return y

    def vjp(self, gy, y, x):
        # gx[k] = Σ gy[t ≥ k] exp(x[k] − y[t]). Since y never decreases, every factor of the recurrence is at most 1.
        back = Recurrence(self.axis, reverse=True)
        return gy.apply(back, self.step(y, -1)) * (x - y).exp(),

    def jvp(self, dxs, y, x): return (dxs[0] * (x - y).exp()).apply(Recurrence(self.axis), self.step(y, 1))

    def step(self, y, by: int):
        """exp(−d), where d ≥ 0 is the difference of each y from its neighbour `by` places back."""
        beside = y.apply(Shift(self.axis, by))
        return (-abs(y - beside).where(y != beside, 0)).exp()  # 1 between two infinities, where d would be NaN

    def flops(self, y, x): return 3 * x.size


class ArgCumMax(Op):
    """y[t] = the index of the largest of x[≤ t] along the axis; the last index, if tied. NaN counts as largest."""

    axis: int

    def infer(self, x): return x.with_dtype(np.intp)

    def forward(self, xp, x):
        n = x.shape[self.axis]
        places = xp.arange(n).reshape((n,) + (1,) * (x.ndim - 1 - self.axis))
        best, y = x.copy(), xp.broadcast_to(places, x.shape).copy()
        for s in widths(n):
            late, early = along(self.axis, s, None), along(self.axis, None, -s)
            stays = self.holds(best[late], best[early]) | (best[late] != best[late])
            y[late] = xp.where(stays, y[late], y[early])
            best[late] = xp.where(stays, best[late], best[early])
        return y

    def holds(self, late, early): return late >= early
    def flops(self, y, x): return x.size


class ArgCumMin(ArgCumMax):
    """y[t] = the index of the smallest of x[≤ t] along the axis; the last index, if tied. NaN counts as smallest."""

    symbol = "argcummin"

    def holds(self, late, early): return late <= early
