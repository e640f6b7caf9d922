"""Comparing and choosing: which is larger, and take it.

What is no function of a real number, as the answer to a question, has None for a derivative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.spec import broadcast
from ..core.op import Elementwise
from .special import blockwise

# -- questions ------------------------------------------------------------------------------------


class Question(Elementwise):
    """z = whether something holds of x, or of x and y: no nudge changes it by a little, so it has no derivative"""

    def partials(self, z, *xs): return (None,) * len(xs)


class Greater(Question):
    """z = x > y"""

    symbol = ">"

    def forward(self, xp, x, y): return x > y


class GreaterEqual(Question):
    """z = x ≥ y"""

    symbol = "≥"

    def forward(self, xp, x, y): return x >= y


class Less(Question):
    """z = x < y"""

    symbol = "<"

    def forward(self, xp, x, y): return x < y


class LessEqual(Question):
    """z = x ≤ y"""

    symbol = "≤"

    def forward(self, xp, x, y): return x <= y


class Equal(Question):
    """z = whether x equals y"""

    symbol = "="

    def forward(self, xp, x, y): return xp.equal(x, y)


class NotEqual(Question):
    """z = whether x differs from y"""

    symbol = "≠"

    def forward(self, xp, x, y): return xp.not_equal(x, y)


class IsNaN(Question):
    """y = whether x is no number"""

    method = "isnan"

    def forward(self, xp, x): return xp.isnan(x)


class IsInf(Question):
    """y = whether x is ∞ or −∞"""

    method = "isinf"

    def forward(self, xp, x): return xp.isinf(x)


class IsFinite(Question):
    """y = whether x is a number, and neither ∞ nor −∞"""

    method = "isfinite"

    def forward(self, xp, x): return xp.isfinite(x)


# -- logic: of booleans, and of the bits of integers --------------------------------------------------


class And(Question):
    """z = x and y, bit by bit"""

    symbol = "∧"

    def forward(self, xp, x, y): return xp.bitwise_and(x, y)


class Or(Question):
    """z = x or y, bit by bit"""

    symbol = "∨"

    def forward(self, xp, x, y): return xp.bitwise_or(x, y)


class Xor(Question):
    """z = either x or y, bit by bit"""

    def forward(self, xp, x, y): return xp.bitwise_xor(x, y)


class Not(Question):
    """y = not x, bit by bit"""

    def forward(self, xp, x): return ~x


# -- choosing -------------------------------------------------------------------------------------------


class Kept(Elementwise):
    """z = t where c holds, 0 elsewhere: `Where` of 0, and what becomes of a gradient on its way through a choice"""

    inline = False

    @blockwise
    def forward(self, xp, t, c): return kept(xp, t, c)

    def partials(self, z, t, c): return c, None
    def flops(self, z, t, c): return 2 * z.size


def kept(xp, t, c):
    """t where c holds, else 0: bit by bit; a branch for each element is guessed wrong, and takes ten times as long."""
    if xp is not np and (own := getattr(xp, "kept", None)):  # C has one
        return own(t, c)
    bits = np.dtype(f"i{t.dtype.itemsize}")
    return (-c.astype(bits) & t.view(bits)).view(t.dtype)


class Where(Elementwise):
    """z = x where c holds, y elsewhere"""

    def forward(self, xp, c, x, y): return xp.where(c, x, y)
    def partials(self, z, c, x, y): return None, c, ~c
    def jvp(self, dxs, z, c, x, y): return dxs[1].where(c, dxs[2])


class Extremum(Elementwise):
    """The one of x and y that the other has not lost to; where they tie, each has half of the gradient."""

    def lost(self, x, y):
        """Whether x is not the one. Beside what is no number, which is the result, nobody has lost."""
        raise NotImplementedError

    def vjp(self, gz, z, x, y): return tuple(self.part(gz, *pair).sum_to(pair[0].shape) for pair in ((x, y), (y, x)))
    def jvp(self, dxs, z, x, y): return self.part(dxs[0], x, y) + self.part(dxs[1], y, x)
    def part(self, t, x, y): return (t * 0.5).where(x.eq(y), t).where(~self.lost(x, y), 0)


class Maximum(Extremum):
    """z = max(x, y); where they tie, each has half of the gradient"""

    symbol, method = "max", "maximum"

    def forward(self, xp, x, y): return xp.maximum(x, y)
    def lost(self, x, y): return x < y


class Minimum(Extremum):
    """z = min(x, y); where they tie, each has half of the gradient"""

    symbol, method = "min", "minimum"

    def forward(self, xp, x, y): return xp.minimum(x, y)
    def lost(self, x, y): return x > y


@dataclass(frozen=True)
class Clamp(Elementwise):
    """y = x moved into [min, max], where None is no bound; the gradient passes at the bounds themselves"""

    min: float | None
    max: float | None

    def forward(self, xp, x):
        x = x if self.min is None else xp.maximum(x, self.min)
        return x if self.max is None else xp.minimum(x, self.max)

    def partials(self, y, x):
        if self.min is None:
            return x <= self.max,
        return x >= self.min if self.max is None else (x >= self.min) & (x <= self.max),


@dataclass(frozen=True)
class NanToNum(Elementwise):
    """y = x with numbers in place of NaN, ∞ and −∞; None for the largest of its dtype"""

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


# -- the nearest of few numbers ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Quantize(Elementwise):
    """q = x / s to the nearest whole number, plus z, moved into [low, high]; what is no number becomes low

    s, z    scale and zero point, as floats: z, which is whole, stands for 0
    """

    low: int
    high: int
    dtype: np.dtype

    def forward(self, xp, x, s, z): return nearest(xp, x, s, z, self.low, self.high).astype(self.dtype)
    def partials(self, q, x, s, z): return None, None, None


@dataclass(frozen=True)
class FakeQuantize(Elementwise):
    """y = (q − z) s, where q is what `Quantize` gives: what is left of x.

    Its slope is 0 wherever it has one. Said is that of x moved into the range, so that what is behind it can learn: the
    straight-through estimate, an untruth. Bengio et al. 2013, “Estimating or Propagating Gradients Through Stochastic
    Neurons for Conditional Computation”, section 3. https://arxiv.org/abs/1308.3432
    """

    low: int
    high: int

    estimated = True  # which no finite difference confirms

    def infer(self, x, s, z): return broadcast(self, x, s, z).with_dtype(x.dtype)

    def forward(self, xp, x, s, z):
        return ((nearest(xp, x, s, z, self.low, self.high) - z).astype(s.dtype) * s).astype(x.dtype)

    def partials(self, y, x, s, z):
        q = x.apply(Quantize(self.low - 1, self.high + 1, np.dtype(np.int32)), s, z)  # no step of it is made faster
        return (q >= self.low) & (q <= self.high), None, None


def nearest(xp, x, s, z, low, high):
    """x / s + z as a whole number from low to high, by the product with 1 / s, as PyTorch has it; halves go to even."""
    q = xp.rint(x * (1 / s)) + z
    q = xp.where(q >= low, q, low)  # and what is no number
    return xp.where(q <= high, q, high)
