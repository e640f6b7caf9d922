"""Comparisons, logic, and choosing between values.

Ops whose result is not a real number, such as comparisons, have None for a derivative.
"""

from __future__ import annotations

import numpy as np

from ..base.spec import broadcast
from ..core.op import Elementwise
from .special import blockwise

# -- questions ------------------------------------------------------------------------------------


class Predicate(Elementwise):
    """z = whether a condition on x, or on x and y, holds. The result is a boolean, so it has no derivative"""

    def partials(self, z, *xs): return (None,) * len(xs)


class Greater(Predicate):
    """z = x > y"""

    symbol = ">"

    def forward(self, xp, x, y): return x > y


class GreaterEqual(Predicate):
    """z = x ≥ y"""

    symbol = "≥"

    def forward(self, xp, x, y): return x >= y


class Less(Predicate):
    """z = x < y"""

    symbol = "<"

    def forward(self, xp, x, y): return x < y


class LessEqual(Predicate):
    """z = x ≤ y"""

    symbol = "≤"

    def forward(self, xp, x, y): return x <= y


class Equal(Predicate):
    """z = whether x equals y"""

    symbol = "="

    def forward(self, xp, x, y): return xp.equal(x, y)


class NotEqual(Predicate):
    """z = whether x differs from y"""

    symbol = "≠"

    def forward(self, xp, x, y): return xp.not_equal(x, y)


class IsNaN(Predicate):
    """y = whether x is NaN"""

    method = "isnan"

    def forward(self, xp, x): return xp.isnan(x)


class IsInf(Predicate):
    """y = whether x is ∞ or −∞"""

    method = "isinf"

    def forward(self, xp, x): return xp.isinf(x)


class IsFinite(Predicate):
    """y = whether x is neither NaN nor ∞ nor −∞"""

    method = "isfinite"

    def forward(self, xp, x): return xp.isfinite(x)


# -- logic: of booleans, and of the bits of integers --------------------------------------------------


class And(Predicate):
    """z = x and y, bit by bit"""

    symbol = "∧"

    def forward(self, xp, x, y): return xp.bitwise_and(x, y)


class Or(Predicate):
    """z = x or y, bit by bit"""

    symbol = "∨"

    def forward(self, xp, x, y): return xp.bitwise_or(x, y)


class Xor(Predicate):
    """z = either x or y, bit by bit"""

    def forward(self, xp, x, y): return xp.bitwise_xor(x, y)


class Not(Predicate):
    """y = not x, bit by bit"""

    def forward(self, xp, x): return ~x


# -- choosing -------------------------------------------------------------------------------------------


class Kept(Elementwise):
    """z = t where c holds, 0 elsewhere: `Where` with 0, which is also the gradient's path through a `Where`"""

    inline = False

    @blockwise
    def forward(self, xp, t, c): return select_or_zero(xp, t, c)

    def partials(self, z, t, c): return c, None
    def flops(self, z, t, c): return 2 * z.size


def select_or_zero(xp, t, c):
    """t where c holds, else 0. Bit operations avoid branches, which take ten times as long when mispredicted."""
    if xp is not np and (own := getattr(xp, "kept", None)):  # C has its own
        return own(t, c)
    bits = np.dtype(f"i{t.dtype.itemsize}")
    return (-c.astype(bits) & t.view(bits)).view(t.dtype)


class Where(Elementwise):
    """z = x where c holds, y elsewhere"""

    def forward(self, xp, c, x, y): return xp.where(c, x, y)
    def partials(self, z, c, x, y): return None, c, ~c
    def jvp(self, dxs, z, c, x, y): return dxs[1].where(c, dxs[2])


class Extremum(Elementwise):
    """The maximum or the minimum of x and y. If they tie, each gets half of the gradient."""

    def is_surpassed(self, x, y):
        """Whether y is chosen instead of x. If either is NaN, the result is NaN and both count as chosen."""
        raise NotImplementedError

    def vjp(self, gz, z, x, y): return tuple(self.part(gz, *pair).sum_to(pair[0].shape) for pair in ((x, y), (y, x)))
    def jvp(self, dxs, z, x, y): return self.part(dxs[0], x, y) + self.part(dxs[1], y, x)
    def part(self, t, x, y): return (t * 0.5).where(x.eq(y), t).where(~self.is_surpassed(x, y), 0)


class Maximum(Extremum):
    """z = max(x, y); where they tie, each gets half of the gradient"""

    symbol, method = "max", "maximum"

    def forward(self, xp, x, y): return xp.maximum(x, y)
    def is_surpassed(self, x, y): return x < y


class Minimum(Extremum):
    """z = min(x, y); where they tie, each gets half of the gradient"""

    symbol, method = "min", "minimum"

    def forward(self, xp, x, y): return xp.minimum(x, y)
    def is_surpassed(self, x, y): return x > y


class Clamp(Elementwise):
    """y = x clamped to [min, max], where None means no bound; the gradient passes at the bounds themselves"""

    min: float | None
    max: float | None

    def forward(self, xp, x):
        x = x if self.min is None else xp.maximum(x, self.min)
        return x if self.max is None else xp.minimum(x, self.max)

    def partials(self, y, x):
        if self.min is None:
            return x <= self.max,
        return x >= self.min if self.max is None else (x >= self.min) & (x <= self.max),


class NanToNum(Elementwise):
    """y = x with numbers in place of NaN, ∞ and −∞; None stands for the largest number of the dtype"""

    nan: float = 0.0
    posinf: float | None = None
    neginf: float | None = None

    symbol = "nan_to_num"

    def forward(self, xp, x): return xp.nan_to_num(x, nan=self.nan, posinf=self.posinf, neginf=self.neginf)
    def partials(self, y, x): return x.isfinite(),


class Heaviside(Elementwise):
    """z = 0 for x < 0, y for x = 0, 1 for x > 0"""

    def forward(self, xp, x, y): return xp.heaviside(x, y)
    def partials(self, z, x, y): return 0, x == 0


# -- quantisation -----------------------------------------------------------------------------------------


class Quantize(Elementwise):
    """q = x / s rounded to the nearest integer, plus z, clamped to [low, high]; NaN becomes low

    s, z    scale and zero point, as floats; z is an integer and represents 0
    """

    low: int
    high: int
    dtype: np.dtype

    def forward(self, xp, x, s, z): return nearest(xp, x, s, z, self.low, self.high).astype(self.dtype)
    def partials(self, q, x, s, z): return None, None, None


class FakeQuantize(Elementwise):
    """y = (q − z) s, where q is the result of `Quantize`: x after quantisation and back.

    The true slope of y is 0 wherever it exists. The rule returns the slope of x clamped to the range, so that earlier
    layers can learn: the straight-through estimate. Bengio et al. 2013, “Estimating or Propagating Gradients Through
    Stochastic Neurons for Conditional Computation”, section 3. https://arxiv.org/abs/1308.3432
    """

    low: int
    high: int

    estimated = True  # finite differences do not confirm the slope

    def infer(self, x, s, z): return broadcast(self, x, s, z).with_dtype(x.dtype)

    def forward(self, xp, x, s, z):
        return ((nearest(xp, x, s, z, self.low, self.high) - z).astype(s.dtype) * s).astype(x.dtype)

    def partials(self, y, x, s, z):
        q = x.apply(Quantize(self.low - 1, self.high + 1, np.dtype(np.int32)), s, z)  # one op, so no fast_math in it
        return (q >= self.low) & (q <= self.high), None, None


def nearest(xp, x, s, z, low, high):
    """x / s, rounded half to even, plus z, clamped to low … high. x / s is computed as x · (1 / s), as in PyTorch."""
    q = xp.rint(x * (1 / s)) + z
    q = xp.where(q >= low, q, low)  # also for NaN
    return xp.where(q <= high, q, high)
