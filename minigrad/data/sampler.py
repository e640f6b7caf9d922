"""In which order samples are asked for.

A shuffled order is a function of a key, and the key of an epoch a function of the seed and of its number. So the
same seed gives the same orders on every machine, and epoch 7 can be had again without the six before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any

from .. import random
from ..tensor.tensor import Tensor

Source = int | Tensor | random.Generator | None


class Sampler:
    """A sampler to derive from: say `__iter__`, which gives numbers of samples, and `__len__` where it is known."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not say an order: write __iter__")


class SequentialSampler(Sampler):
    """0, 1, 2, …"""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))


class RandomSampler(Sampler):
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


class SubsetRandomSampler(Sampler):
    """The numbers in `indices`, each once, in a new order each time."""

    def __init__(self, indices: Sequence[int], generator: Source = None):
        self.indices, self.places = indices, RandomSampler(indices, generator)

    def __len__(self) -> int:
        return len(self.indices)

    def __iter__(self) -> Iterator[int]:
        return (self.indices[i] for i in self.places)


class WeightedRandomSampler(Sampler):
    """`num_samples` numbers, each drawn in proportion to its weight; without replacement, no number twice."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Source = None):
        self.weights, self.num_samples, self.replacement = Tensor(weights, float), num_samples, replacement
        self.generator = generator

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        numbers = random.choice(drawn(self.generator), self.weights, self.num_samples, self.replacement)
        return iter(numbers.tolist())


class BatchSampler(Sampler):
    """What another sampler gives, in lists of batch_size; with drop_last, without a last list that is not full."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool = False):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __len__(self) -> int:
        """The number of batches. Raises TypeError if the sampler has no length."""
        if not isinstance(self.sampler, Sized):
            raise TypeError(f"these batches cannot be counted, because their sampler cannot: {self.sampler!r}")
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[list[Any]]:
        numbers = iter(self.sampler)
        while rows := list(islice(numbers, self.batch_size)):
            if len(rows) == self.batch_size or not self.drop_last:
                yield rows


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
