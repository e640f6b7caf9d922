"""Philox4x32-10: random bits as a pure function of a key and a counter.

    Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.3

A generator with a state must be called in a fixed order. Philox acts as a table too long to store: entry
`counter` of table `key` is computed on demand, so it is the same on every device, in any order, and when a
forward pass runs again. An entry is four words. Ten rounds of

    c₀, c₁, c₂, c₃  ←  hi(M₁ c₂) ^ c₁ ^ k₀,  lo(M₁ c₂),  hi(M₀ c₀) ^ c₃ ^ k₁,  lo(M₀ c₀)

scramble the counter. hi and lo are the halves of a 64-bit product, and a constant is added to the key in each
round. Rounds are bijections: with one key, no two counters give the same entry. The paper's generator
passes TestU01's BigCrush.

The code uses uint64 arithmetic on `xp`, so NumPy and CuPy give the same bits. It works in place and on one
block at a time, so that on a CPU the data stay in the cache.

Random functions without a key (mg.rand, dropout, x.normal_()) take the next key of a `Sequence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from ..base.device import device_of

ROUNDS = 10
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
GROWTH = 0x9E3779B9, 0xBB67AE85  # of the key's two words, per round
WORD = 0xFFFFFFFF

# The counter's last word states what the bits are for, so that no two uses share bits.
DRAW, SPLIT, FOLD, SEQUENCE = range(4)


def scramble(xp: Any, counter: tuple[Any, Any, Any, Any], keys: Any) -> None:
    """Scramble n counters in place, in ten rounds. Each of their four words is a uint64[n] whose low 32 bits are used.

    The words have one axis and the constants are 0-d arrays, so NumPy needs no iterator, which halves the time.
    """
    c0, c1, c2, c3 = counter
    p0, p1 = xp.empty_like(c0), xp.empty_like(c0)
    m0, m1, half, word = constants(xp)
    for r in range(ROUNDS):
        xp.multiply(c0, m0, out=p0)
        xp.multiply(c2, m1, out=p1)
        xp.right_shift(p1, half, out=c0)
        xp.bitwise_xor(c0, c1, out=c0)
        xp.bitwise_xor(c0, keys[r, 0, ...], out=c0)
        xp.right_shift(p0, half, out=c2)
        xp.bitwise_xor(c2, c3, out=c2)
        xp.bitwise_xor(c2, keys[r, 1, ...], out=c2)
        xp.bitwise_and(p1, word, out=c1)
        xp.bitwise_and(p0, word, out=c3)


@cache
def constants(xp: Any) -> tuple[Any, ...]:
    """The two multipliers, 32, and a word whose bits are all 1."""
    return tuple(xp.asarray(n, dtype=xp.uint64) for n in (*MULTIPLIERS, 32, WORD))


def round_keys(xp: Any, key: Any) -> Any:
    """The round keys of a key uint32[2]: uint64[10, 2]."""
    return growth(xp) + key.astype(xp.uint64) & WORD


@cache
def growth(xp: Any) -> Any:
    """The total added to the key before each round."""
    return xp.arange(ROUNDS, dtype=xp.uint64)[:, None] * xp.asarray(GROWTH, dtype=xp.uint64)


def draws(xp: Any, key: Any, n: int, width: int = 1) -> Iterator[tuple[slice, Any]]:
    """n random integers of 32 · width bits, in pieces: (slice of the result, its values as uint32 or uint64).

    The array of a piece is overwritten by the next piece.
    """
    keys = round_keys(xp, key)
    counters = -(-n * width // 4)
    step = max(1, min(device_of(key).block, counters))
    counter = xp.empty((4, step), xp.uint64)
    words = xp.empty((step, 4), xp.uint32)
    for start in range(0, counters, step):
        m = min(step, counters - start)
        c0, c1, c2, c3 = (counter[i, :m] for i in range(4))
        c0[...] = xp.arange(start & WORD, (start & WORD) + m)  # pieces of 2ᵏ counters: none crosses a multiple of 2³²
        c1[...], c2[...], c3[...] = start >> 32, 0, DRAW
        scramble(xp, (c0, c1, c2, c3), keys)
        words[:m] = counter[:, :m].T
        entries = words[:m].reshape(-1).view(xp.uint32 if width == 1 else xp.uint64)
        first = start * 4 // width
        yield slice(first, min(first + len(entries), n)), entries[: n - first]


def subkeys(xp: Any, key: Any, numbers: Any, purpose: int) -> Any:
    """One key for each uint64 in `numbers`, together uint32[n, 2]. A key is the first half of that number's entry.

    Half an entry has 64 bits, so two of n keys are equal with probability n² / 2⁶⁵.
    """
    c0, c1 = numbers & WORD, numbers >> 32
    c2, c3 = xp.zeros_like(c0), xp.full_like(c0, purpose)
    scramble(xp, (c0, c1, c2, c3), round_keys(xp, key))
    return xp.stack([c0, c1], axis=1).astype(xp.uint32)


class Sequence:
    """A sequence of keys, two words each. The n-th key is a function of the seed and n, and is returned once.

    A lock guards the count, so no two threads get the same key. Which thread gets which key is not determined:
    threads that must be reproducible split a key and use one part each. The sequence belongs to the process, not to
    a context: in a notebook each cell may run in its own context, and a seed set in one cell must hold in the next.
    """

    BATCH = 64  # keys are made in batches: making 64 takes as long as making 1

    def __init__(self, seed: int = 0):
        self.lock = Lock()
        self.set_state((seed, 0))

    def set_state(self, state: tuple[int, int]) -> None:
        """Continue at (seed, number of keys returned so far)."""
        words(state[0])
        with self.lock:
            self.state = state
            self.batch = None

    def next_words(self) -> np.ndarray:
        """The next key."""
        with self.lock:
            seed, n = self.state
            if self.batch is None or n % self.BATCH == 0:
                start = n - n % self.BATCH
                numbers = np.arange(start, start + self.BATCH, dtype=np.uint64)
                self.batch = subkeys(np, np.array(words(seed), np.uint32), numbers, SEQUENCE)
            found: np.ndarray = self.batch[n % self.BATCH]
            self.state = seed, n + 1
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Sequence, (), self.state  # the copy has its own lock: locks cannot be copied

    __setstate__ = set_state

    def __repr__(self) -> str:
        return f"<Sequence of seed {self.state[0]}>"

    state: tuple[int, int]
    batch: np.ndarray | None


def words(seed: int) -> tuple[int, int]:
    """A seed's lower and upper 32 bits. Raises ValueError if the seed has more than 64 bits."""
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"a seed has at most 64 bits, and got {seed}")
    return seed & WORD, seed >> 32 & WORD


default_sequence = Sequence()
