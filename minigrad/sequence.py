"""The sequence of keys behind random numbers that are drawn without one: mg.rand, dropout, x.normal_()."""

from __future__ import annotations

from threading import Lock

import numpy as np

from . import philox


class Sequence:
    """Keys, as two words each: the n-th is a function of the seed and n, and is given out once.

    One lock guards the count, so no two threads get one key. Which of them gets which is not decided:
    threads that must be reproducible split a key and take one each. The sequence is of the process, not of
    a context: in a notebook each cell may run in a context of its own, and a seed set in one must hold in the next.
    """

    BATCH = 64  # making one key costs as much as making sixty-four

    def __init__(self, seed: int = 0):
        self.lock = Lock()
        self.set_state((seed, 0))

    def set_state(self, state: tuple[int, int]) -> None:
        """Go on at (seed, how many keys were given out)."""
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
                self.batch = philox.subkeys(np, np.array(words(seed), np.uint32), numbers, philox.SEQUENCE)
            found: np.ndarray = self.batch[n % self.BATCH]
            self.state = seed, n + 1
        return found

    def __repr__(self) -> str:
        return f"<Sequence of seed {self.state[0]}>"

    state: tuple[int, int]
    batch: np.ndarray | None


def words(seed: int) -> tuple[int, int]:
    """A seed's lower and upper 32 bits. Raises ValueError where it has more than 64."""
    if not -(2**63) <= seed < 2**64:
        raise ValueError(f"a seed has 64 bits, and this one is {seed}")
    return seed & philox.WORD, seed >> 32 & philox.WORD


default_sequence = Sequence()
