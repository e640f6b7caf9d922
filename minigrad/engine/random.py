"""Random numbers with explicit keys, and the key sequence behind `mg.rand` and similar functions.

    key = mg.random.key(0)
    k1, k2 = mg.random.split(key)
    mg.random.normal(k1, (2, 3))              # the same numbers whenever, and wherever, it runs

A key is a tensor, uint32[2]. Using it does not change it: the same key gives the same numbers again. So either
draw from a key once, or split it. The names are those of `jax.random`.

PyTorch's functions take no key. They use the next key of a sequence that `mg.manual_seed` starts: mg.rand,
mg.randn, … in api/functions/random.py, and dropout.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import ops
from .base.device import Device
from .base.device import device as device_called
from .core.modes import current
from .core.random_bits import Sequence, default_sequence, words
from .core.stateful import Stateful
from .methods import lengths
from .tensor.lift import operand
from .tensor.tensor import Tensor

Shape = int | tuple[int, ...] | list[int]

# -- keys ---------------------------------------------------------------------------------------


def key(seed: int, device: Device | str | None = None) -> Tensor:
    """The key of a seed: its 64 bits as two words."""
    return Tensor(np.array(words(seed), np.uint32), device=device)


def split(key: Any, num: int = 2) -> Any:
    """`num` new keys, uint32[num, 2]. Their streams are independent of each other and of `key`'s own."""
    return operand(key).apply(ops.SplitKey(num))


def fold_in(key: Any, n: Any) -> Any:
    """A new key derived from a key and an integer, such as a step or layer; for a tensor n, one key per element."""
    key = operand(key)
    return key.apply(ops.FoldIn(), Tensor(np.array(n), device=key.spec.device) if isinstance(n, int) else n)


# -- draws --------------------------------------------------------------------------------------


def bits(key: Any, shape: Shape = (), dtype: Any = np.uint32) -> Any:
    """Random integers, uniform over all values of an unsigned integer dtype."""
    return operand(key).apply(ops.RandomBits(lengths((shape,)), np.dtype(dtype)))


def uniform(key: Any, shape: Shape = (), dtype: Any = np.float64, minval: float = 0.0, maxval: float = 1.0) -> Any:
    """Random numbers, uniform in [minval, maxval)."""
    u = operand(key).apply(ops.RandomUniform(lengths((shape,)), np.dtype(dtype)))
    return u if (minval, maxval) == (0, 1) else u * (maxval - minval) + minval


def normal(key: Any, shape: Shape = (), dtype: Any = np.float64) -> Any:
    """Random numbers from N(0, 1)."""
    return operand(key).apply(ops.RandomNormal(lengths((shape,)), np.dtype(dtype)))


def truncated_normal(key: Any, lower: float, upper: float, shape: Shape = (), dtype: Any = np.float64) -> Any:
    """Random numbers from N(0, 1), truncated to lower … upper."""
    return operand(key).apply(ops.RandomTruncatedNormal(lengths((shape,)), np.dtype(dtype), float(lower), float(upper)))


def bernoulli(key: Any, p: Any = 0.5, shape: Shape | None = None) -> Any:
    """Random booleans, True with probability p. p is a number, or a tensor that broadcasts to the shape."""
    key = operand(key)
    if isinstance(p, int | float):
        shape = () if shape is None else lengths((shape,))
        return key.apply(ops.RandomBernoulli(shape, np.dtype(bool), float(p)))
    p = operand(p)
    return uniform(key, p.shape if shape is None else shape, p.dtype) < p


def randint(key: Any, shape: Shape, minval: int, maxval: int, dtype: Any = np.int64) -> Any:
    """Random integers, uniform over minval, …, maxval − 1: each of s values has a probability within 2⁻⁶⁴ of 1/s."""
    return operand(key).apply(ops.RandomIntegers(lengths((shape,)), np.dtype(dtype), int(minval), int(maxval)))


def permutation(key: Any, x: Any) -> Any:
    """0, …, x − 1 in random order; for a tensor x, its rows in random order."""
    if isinstance(x, int):
        return operand(key).apply(ops.RandomPermutation(x))
    x = operand(x)
    return x[permutation(key, len(x))]


def choice(key: Any, weights: Any, num: int = 1, replacement: bool = False) -> Any:
    """`num` indices along the last axis, each drawn with probability proportional to its weight."""
    return operand(key).apply(ops.RandomChoice(num, replacement), operand(weights))


# -- the sequence behind functions without a key ------------------------------------------------------


class Generator(Stateful):
    """A sequence of keys that starts at a seed, or a wrapper of an existing Sequence: engine/core/random_bits.py."""

    BATCH = Sequence.BATCH
    unnoted = frozenset({"keys"})

    def __init__(self, seed: int = 0, sequence: Sequence | None = None):
        self.sequence = self.keys = Sequence(seed) if sequence is None else sequence
        self.initial_seed()  # raises in a trace: a run of the graph would not make a new generator

    def manual_seed(self, seed: int) -> Generator:
        """Restart the sequence at this seed."""
        self.sequence.set_state((seed, 0))
        return self

    def initial_seed(self) -> int:
        """The seed at which the sequence started."""
        return self.sequence.state[0]

    def get_state(self) -> tuple[int, int]:
        """(seed, number of keys returned so far). Passing it to `set_state` repeats the numbers that follow."""
        return self.sequence.state

    def set_state(self, new_state: tuple[int, int]) -> None:
        """Continue from a state that get_state() returned."""
        self.sequence.set_state(new_state)

    def next_key(self, device: Device | str | None = None) -> Tensor:
        """The next key of the sequence. In a graph, each run takes the next key."""
        if (builder := current.mode.builder) is not None:
            key = builder.apply(ops.NextKey(self.keys), (0,))
            return key if device is None else key.apply(ops.Move(device_called(device)))  # type: ignore[no-any-return]
        return Tensor(self.keys.next_words(), device=device)


# The default sequence, behind mg.rand, mg.randn, … and dropout. Its methods are also functions of `mg`.
default_generator = Generator(sequence=default_sequence)
manual_seed, initial_seed = default_generator.manual_seed, default_generator.initial_seed
get_rng_state, set_rng_state = default_generator.get_state, default_generator.set_state
next_key = default_generator.next_key


@contextmanager
def fork_rng() -> Iterator[None]:
    """A block that restores the state of the default sequence at its end."""
    state = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(state)
