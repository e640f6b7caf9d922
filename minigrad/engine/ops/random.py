"""Random ops: numbers that are a function of their key.

A key is an operand, uint32[2]. Equal keys give equal numbers, so repeating a forward pass gives the same
numbers; other numbers need another key. The bits come from engine/core/random_bits.py, the same on every device.
Numbers computed from the bits by + − × ÷ and √ are the same too; log, sin and cos may differ in the last place
between the libraries of different machines.

No gradient passes to a key, since keys are integers.
"""

from __future__ import annotations

import math
from math import prod

import numpy as np

from ..base.dtypes import finfo, kind, wide
from ..base.errors import DTypeError, ShapeError
from ..base.spec import Spec, common_device
from ..core import random_bits
from ..core.op import Op
from ..core.random_bits import Sequence
from .effect import Effect
from .special import quantile


class Random(Op):
    """The base class of random ops: a shape, a dtype, and a key to draw from."""

    shape: tuple[int, ...]
    dtype: np.dtype

    kinds = "f"

    def infer(self, key):
        a_key(self, key)
        if kind(self.dtype) not in self.kinds:
            raise DTypeError(f"{self} draws numbers of kind {'/'.join(self.kinds)}, and got dtype {self.dtype}")
        return Spec(self.shape, self.dtype, key.device)

    def vjp(self, gy, y, key): return None,
    def jvp(self, dxs, y, key): return y * 0
    def flops(self, y, key): return 0  # no arithmetic on real numbers, by convention


def a_key(op: object, key: Spec) -> None:
    """Raises ShapeError or DTypeError if `key` is not the spec of a key."""
    if key.dtype != np.uint32 or key.shape != (2,):
        raise (ShapeError if key.dtype == np.uint32 else DTypeError)(
            f"{op} draws from a key, u32[2], and got {key}: make one with mg.random.key(seed), or split another"
        )


class RandomBits(Random):
    """y uniform over all values of an unsigned integer dtype."""

    kinds = "u"

    def forward(self, xp, key):
        words = xp.empty(-(-prod(self.shape) * self.dtype.itemsize // 4), xp.uint32)
        for part, bits in random_bits.draws(xp, key, words.size):
            words[part] = bits
        return words.view(self.dtype)[: prod(self.shape)].reshape(self.shape)


class RandomUniform(Random):
    """y uniform in [0, 1): k / 2ᵐ, where m is the number of significant bits of the dtype."""

    def forward(self, xp, key):
        y = xp.empty(prod(self.shape), self.dtype)
        digits = finfo(self.dtype).nmant + 1
        width = 2 if digits > 32 else 1
        for part, bits in random_bits.draws(xp, key, y.size, width):
            xp.right_shift(bits, 32 * width - digits, out=bits)
            y[part] = bits.view(xp.int32 if width == 1 else xp.int64)  # faster to convert than unsigned integers
            y[part] *= 2.0**-digits
        return y.reshape(self.shape)


class RandomNormal(Random):
    """y from N(0, 1): √(−2 ln u) cos 2πv and √(−2 ln u) sin 2πv, for u in (0, 1] and v uniform.

    Box and Muller 1958, "A note on the generation of random normal deviates".
    No deviate exceeds 6.7 in single precision, where u is one of 2³² values, or 8.6 in double, where u is one of 2⁵³.
    """

    def forward(self, xp, key):
        n = prod(self.shape)
        dtype = wide(self.dtype)
        width, signed, digits = (1, np.int32, 32) if dtype.itemsize == 4 else (2, np.int64, 53)
        y = xp.empty(n + n % 2, dtype)
        for part, bits in random_bits.draws(xp, key, y.size, width):
            u = (bits[0::2] >> (32 * width - digits)).astype(dtype)
            u += 1
            u *= 2.0**-digits
            xp.log(u, out=u)
            u *= -2
            xp.sqrt(u, out=u)
            v = bits.view(signed)[1::2].astype(dtype)
            v *= 2 * math.pi * 2.0 ** (-32 * width)  # from −π to π
            xp.multiply(u, xp.cos(v), out=y[part][0::2])
            xp.multiply(u, xp.sin(v), out=y[part][1::2])
        return y[:n].reshape(self.shape).astype(self.dtype, copy=False)


class RandomTruncatedNormal(Random):
    """y from N(0, 1) truncated to low … high: Φ⁻¹ of a uniform number between Φ(low) and Φ(high)."""

    low: float
    high: float

    def infer(self, key):
        if not self.low < self.high:
            raise ValueError(f"{self} needs low < high")
        return super().infer(key)

    def forward(self, xp, key):
        # For bounds above 0, use their mirror image: floats are denser near Φ = 0 than near 1.
        mirrored = self.low > 0
        low, high = (-self.high, -self.low) if mirrored else (self.low, self.high)
        start, end = (math.erfc(-bound / math.sqrt(2)) / 2 for bound in (low, high))
        p = start + (end - start) * RandomUniform(self.shape, np.dtype("f8")).forward(xp, key)
        y = xp.minimum(xp.maximum(quantile(xp, p), low), high)
        return (-y if mirrored else y).astype(self.dtype, copy=False)


class RandomBernoulli(Random):
    """y true with probability p, to within 2⁻³³."""

    p: float

    kinds = "b"

    def infer(self, key):
        if not 0 <= self.p <= 1:
            raise ValueError(f"{self} needs a probability from 0 to 1")
        return super().infer(key)

    def forward(self, xp, key):
        below = round(self.p * 2**32)
        if below == 2**32:
            return xp.ones(self.shape, bool)
        y = xp.empty(prod(self.shape), bool)
        for part, bits in random_bits.draws(xp, key, y.size):
            xp.less(bits, below, out=y[part])
        return y.reshape(self.shape)


class RandomIntegers(Random):
    """y uniform over low, …, high − 1: a 64-bit number modulo high − low, plus low.

    With s = high − low values, each has a probability within 2⁻⁶⁴ of 1/s.
    """

    low: int
    high: int

    kinds = "iu"

    def infer(self, key):
        if not self.low < self.high:
            raise ValueError(f"{self} needs low < high: there is no integer to draw")
        limits = np.iinfo(self.dtype)
        if self.low < limits.min or self.high - 1 > limits.max:
            raise DTypeError(f"{self} draws {self.low} to {self.high - 1}, which do not all fit into {self.dtype}")
        return super().infer(key)

    def forward(self, xp, key):
        y, span = xp.empty(prod(self.shape), xp.uint64), self.high - self.low
        low = xp.uint64(self.low % 2**64)  # modulo 2⁶⁴, so that negative numbers come out right
        for part, bits in random_bits.draws(xp, key, y.size, 2):
            if span < 2**64:
                bits -= bits // xp.uint64(span) * xp.uint64(span)  # faster than a remainder
            xp.add(bits, low, out=y[part])
        return y.astype(self.dtype).reshape(self.shape)


class RandomPermutation(Op):
    """y = 0, …, n − 1 in random order: the order that sorts n random 64-bit numbers.

    The probability that two of these numbers are equal is n² / 2⁶⁵.
    """

    n: int

    def infer(self, key):
        a_key(self, key)
        return Spec((self.n,), np.dtype(np.intp), key.device)

    def forward(self, xp, key): return xp.argsort(RandomBits((self.n,), np.dtype("u8")).forward(xp, key))
    def flops(self, y, key): return 0


class NextKey(Effect):
    """y = the next key of a sequence: a new one at each run of the graph"""

    sequence: Sequence

    def infer(self, *waits): return Spec((2,), np.dtype(np.uint32))
    def forward(self, xp, *waits): return xp.asarray(self.sequence.next_words())
    def vjp(self, gy, y, *waits): return tuple(None for _ in waits)


class SplitKey(Op):
    """y = `count` new keys, uint32[count, 2], whose streams are independent of the key's own."""

    count: int

    def infer(self, key):
        a_key(self, key)
        return Spec((self.count, 2), key.dtype, key.device)

    def forward(self, xp, key):
        return random_bits.subkeys(xp, key, xp.arange(self.count, dtype=xp.uint64), random_bits.SPLIT)
    def flops(self, y, key): return 0


class FoldIn(Op):
    """y = a new key derived from a key and an integer n: one key per step, or per layer, without storing a list."""

    def infer(self, key, n):
        a_key(self, key)
        if n.dtype.kind not in "iu":
            raise DTypeError(f"{self} takes an integer, and got {n}")
        return Spec((*n.shape, 2), key.dtype, common_device(self, key, n))

    def forward(self, xp, key, n):
        numbers = n.reshape(-1).astype(xp.int64 if n.dtype.kind == "i" else xp.uint64).view(xp.uint64)
        return random_bits.subkeys(xp, key, numbers, random_bits.FOLD).reshape(*n.shape, 2)

    def flops(self, y, key, n): return 0


class RandomChoice(Op):
    """y = `count` indices along the last axis of w, each drawn with a probability in proportion to w ≥ 0.

    Exponential races: index i gets an exponential arrival time of rate wᵢ, and is the first with probability
    wᵢ / Σ w. Without replacement, the first `count` of one race are drawn; with replacement, `count` races' winners.
    """

    count: int
    replacement: bool

    def infer(self, key, w):
        a_key(self, key)
        if not w.is_float or not w.ndim:
            raise DTypeError(f"{self} needs floating weights with an axis to choose along, and got {w}")
        if not w.shape[-1] or (self.count > w.shape[-1] and not self.replacement):
            raise ShapeError(f"{self} cannot draw {self.count} of {w.shape[-1]} without replacement")
        return Spec((*w.shape[:-1], self.count), np.dtype(np.intp), common_device(self, key, w))

    def forward(self, xp, key, w):
        races = (*w.shape[:-1], self.count, w.shape[-1]) if self.replacement else w.shape
        u = RandomUniform(races, np.dtype("f8")).forward(xp, key)
        with np.errstate(divide="ignore"):  # an index of weight 0 never arrives
            arrival = -xp.log(1 - u) / (w[..., None, :] if self.replacement else w)
        return xp.argmin(arrival, axis=-1) if self.replacement else xp.argsort(arrival, axis=-1)[..., : self.count]

    def vjp(self, gy, y, key, w): return None, None
    def flops(self, y, key, w): return 0
