"""Losses that are no sound composition of other ops."""

from __future__ import annotations

from dataclasses import dataclass

from ..op import Elementwise

LEAST = -100.0  # ln of a probability counts as no less, so that one sure mistake leaves a mean finite
TINY = 3.7e-44  # e to the LEAST


@dataclass(frozen=True)
class BinaryCrossEntropy(Elementwise):
    """y = −t ln x − (1 − t) ln(1 − x), each ln no less than −100. Its slope in x counts x(1 − x) as 10⁻¹² at least."""

    inline = False

    def forward(self, xp, x, t):
        least = xp.finfo(x.dtype).smallest_subnormal  # its ln is finite, and so says nothing of a division by zero
        hit = xp.maximum(xp.log(xp.maximum(x, least)), x.dtype.type(LEAST))
        sure = xp.greater_equal(x, 1)
        miss = xp.where(sure, x.dtype.type(LEAST), xp.log1p(xp.where(sure, x.dtype.type(0), -x)))
        return -(t * hit + (1 - t) * miss)

    def partials(self, y, x, t):
        return (x - t) / (x * (1 - x)).maximum(1e-12), (1 - x).maximum(TINY).log() - x.maximum(TINY).log()

    def flops(self, y, x, t): return 8 * y.size
