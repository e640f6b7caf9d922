"""In which order samples are asked for.

A shuffled order is a function of a key, and the key of an epoch a function of the seed and of its number. So the
same seed gives the same orders on every machine, and epoch 7 can be had again without the six before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Any

from .. import random
from ..tensor import Tensor

Source = int | Tensor | random.Generator | None


class SequentialSampler:
    """0, 1, 2, …"""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))


class RandomSampler:
    """Every number once, in a new order each time: `epoch` counts the times, and may be set.

    generator    a seed or a key, and then the order depends on it and on `epoch` alone; or a Generator, which gives
                 one key each time; None for the one that mg.manual_seed seeds
    """

    def __init__(self, data_source: Sized, generator: Source = None):
        self.data_source, self.epoch = data_source, 0
        self.generator = random.key(generator) if isinstance(generator, int) else generator

    def __len__(self) -> int:
        return len(self.data_source)

    def __iter__(self) -> Iterator[int]:
        fixed = isinstance(self.generator, Tensor)
        key = random.fold_in(self.generator, self.epoch) if fixed else drawn(self.generator)
        self.epoch += 1
        return iter(shuffled(len(self.data_source), key))


def shuffled(n: int, key: Any) -> list[int]:
    """The numbers from 0 to n − 1 in the order of a key."""
    order: list[int] = random.permutation(key, n).numpy().tolist()
    return order


def drawn(source: Source) -> Any:
    """A key: of a seed, the key itself, or the next of a sequence."""
    match source:
        case int():
            return random.key(source)
        case Tensor():
            return source
    return (random.default_generator if source is None else source).next_key()
