"""Data sets, which return samples by number, and samplers, which determine the order of the numbers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import accumulate, islice
from math import floor, isclose
from typing import Any, Protocol

import numpy as np

from ..engine import random
from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.errors import ShapeError, StateError
from ..engine.core.stateful import Stateful
from ..engine.tensor.tensor import Tensor

Source = int | Tensor | random.Generator | None


class Sampler(Stateful):
    """Base class of samplers. A subclass defines `__iter__`, which yields sample numbers, and, if known, `__len__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no order: define __iter__")


class SequentialSampler(Sampler):
    """0, 1, 2, …"""

    def __init__(self, data_source: Sized):
        self.data_source = data_source

    def __len__(self) -> int:
        return len(self.data_source)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))


class RandomSampler(Sampler):
    """Every number once, in a new random order for each iteration. `epoch` counts the iterations, and may be set.

    generator    a seed or a key, so that the order depends only on the key and on `epoch`; or a Generator, which yields
                 a key for each iteration; None for the Generator that mg.manual_seed seeds
    """

    def __init__(self, data_source: Sized, generator: Source = None):
        self.data_source, self.epoch = data_source, 0
        self.generator = random.key(generator) if isinstance(generator, int) else generator
        self.key: Any = None
        self.again = False

    def __len__(self) -> int:
        return len(self.data_source)

    def __iter__(self) -> Iterator[int]:
        if not self.again:
            fixed = isinstance(self.generator, Tensor)
            self.key = random.fold_in(self.generator, self.epoch) if fixed else draw_key(self.generator)
            self.epoch += 1
        self.again = False
        return iter(shuffle_indices(len(self.data_source), self.key))

    def state_dict(self) -> dict[str, Any]:
        """The state to continue from: the epoch, the key of the latest order, and the state of a Generator."""
        own = self.generator.get_state() if isinstance(self.generator, random.Generator) else None
        key = None if self.key is None else self.key.tolist()
        return {"epoch": self.epoch, "key": key, "generator": own, "length": len(self), "seed": self.seed}

    @property
    def seed(self) -> list[int] | None:
        """The key that, with `epoch`, determines every order; None if a Generator yields the keys."""
        seed: list[int] | None = self.generator.tolist() if isinstance(self.generator, Tensor) else None
        return seed

    @refuse_by_name
    def load_state_dict(self, state_dict: Mapping[str, Any], under_way: bool = False) -> None:
        """Continue from a saved state. The next iteration has a new order, or, if `under_way`, the saved one again."""
        refuse_other_options(self, state_dict, ("epoch", "key", "generator"), length=len(self), seed=self.seed)
        key = None if state_dict["key"] is None else Tensor(np.array(state_dict["key"], np.uint32))
        if (state_dict["generator"] is None) == isinstance(self.generator, random.Generator):
            raise StateError("this state is of a sampler with another kind of generator: use the same kind here")
        if isinstance(self.generator, random.Generator):
            self.generator.set_state(state_dict["generator"])
        self.epoch, self.key, self.again = state_dict["epoch"], key, under_way and key is not None


class SubsetRandomSampler(RandomSampler):
    """The numbers in `indices`, each once, in a new random order for each iteration."""

    def __init__(self, indices: Sequence[int], generator: Source = None):
        super().__init__(indices, generator)
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        return map(self.indices.__getitem__, super().__iter__())


class WeightedRandomSampler(Sampler):
    """`num_samples` numbers, drawn with probabilities in proportion to the weights, with or without replacement."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Source = None):
        self.weights, self.num_samples, self.replacement = Tensor(weights, float), num_samples, replacement
        self.generator = generator

    def __len__(self) -> int:
        return self.num_samples

    def __iter__(self) -> Iterator[int]:
        numbers = random.choice(draw_key(self.generator), self.weights, self.num_samples, self.replacement)
        return iter(numbers.tolist())


class BatchSampler(Sampler):
    """Lists of batch_size numbers from another sampler. drop_last leaves out an incomplete last list."""

    def __init__(self, sampler: Iterable[Any], batch_size: int, drop_last: bool = False):
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __len__(self) -> int:
        """The number of batches. Raises TypeError if the sampler has no length."""
        if not isinstance(self.sampler, Sized):
            raise TypeError(f"these batches have no length, because their sampler has none: {self.sampler!r}")
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[list[Any]]:
        numbers = iter(self.sampler)
        while rows := list(islice(numbers, self.batch_size)):
            if len(rows) == self.batch_size or not self.drop_last:
                yield rows


def refuse_other_options(owner: object, state: Mapping[str, Any], names: Iterable[str], **options: Any) -> None:
    """Raises StateError unless the state has the keys `names`, a valid epoch, and the same values of `options`."""
    name, epoch = type(owner).__name__, state.get("epoch", 0)
    if absent := [each for each in names if each not in state]:
        raise StateError(f"this is not the state of a {name}: it has {', '.join(state)}, but lacks {', '.join(absent)}")
    if not isinstance(epoch, int) or epoch < 0:
        raise StateError(f"epoch in the state of a {name} must be a non-negative integer, got {epoch!r}")
    for option, x in options.items():
        if state.get(option, x) != x:
            raise StateError(f"this {name} has {option}={x!r}, but the state {state[option]!r}: use the saved value")


def shuffle_indices(n: int, key: Any) -> list[int]:
    """The numbers from 0 to n − 1 in a random order that the key determines."""
    order: list[int] = random.permutation(key, n).numpy().tolist()
    return order


def draw_key(source: Source) -> Any:
    """The key for a source: a key made from a seed, the source itself if it is a key, or the Generator's next key."""
    match source:
        case int():
            return random.key(source)
        case Tensor():
            return source
    return (random.default_generator if source is None else source).next_key()


class Samples(Protocol):
    """The protocol of a data set: len(data), and data[i] for i from 0."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Any: ...


class Dataset(Stateful):
    """Base class of data sets. A subclass defines `__len__` and `__getitem__`; + concatenates two data sets."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no sample {index}: define __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} has no number of samples: define __len__")

    def __add__(self, other: Samples) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Stateful):
    """Base class of streams of samples. A subclass defines `__iter__` in a fixed order. Samples have no numbers."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no samples: define __iter__")


class TensorDataset(Dataset):
    """Sample i is row i of each tensor. Indexing with an array returns the rows of a whole batch."""

    def __init__(self, *tensors: Any):
        self.tensors = tuple(t if isinstance(t, Tensor) else Tensor(t) for t in tensors)
        if not tensors or not all(t.ndim for t in self.tensors):
            raise ShapeError(f"TensorDataset needs tensors with rows, and got {[str(t.spec) for t in self.tensors]}")
        if len({t.shape[0] for t in self.tensors}) > 1:
            raise ShapeError(f"TensorDataset needs equally many rows, got {[str(t.spec) for t in self.tensors]}")

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(Tensor(t.value[index], device=t.spec.device) for t in self.tensors)

    def batch(self, rows: Sequence[int]) -> tuple[Tensor, ...]:
        """The samples with these numbers, stacked."""
        return tuple(Tensor(t.value[t.spec.device.array(rows, np.int64)]) for t in self.tensors)


class Subset(Dataset):
    """The samples of another data set whose numbers are in `indices`, in the order of `indices`."""

    def __init__(self, dataset: Samples, indices: Sequence[int]):
        self.dataset, self.indices = dataset, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[self.indices[index]]


class ConcatDataset(Dataset):
    """Concatenated data sets."""

    def __init__(self, datasets: Sequence[Samples]):
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset joins data sets, and got none")
        self.ends = list(accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.ends[-1]

    def __getitem__(self, index: Any) -> Any:
        if not -len(self) <= index < len(self):
            raise IndexError(f"sample {index} is out of range for a data set of {len(self)}")
        index %= len(self)
        part = bisect_right(self.ends, index)
        return self.datasets[part][index - self.ends[part] + len(self.datasets[part])]


def random_split(dataset: Samples, lengths: Sequence[float], generator: Source = None) -> list[Subset]:
    """Split the samples at random into disjoint subsets.

    lengths      the sizes of the subsets, or fractions that add up to 1; the first subsets get the samples left over
    generator    a seed, a key or a Generator, with the same result on every machine
    """
    n = len(dataset)
    sizes = parts(n, lengths) if isclose(sum(lengths), 1) and n != 1 else [int(size) for size in lengths]
    if sum(sizes) != n or min(sizes) < 0:
        raise ValueError(
            f"random_split needs lengths that add up to the {n} samples, or to 1, and {list(lengths)} add up to "
            f"{sum(lengths)}"
        )
    dealt = shuffle_indices(n, draw_key(generator))
    return [Subset(dataset, dealt[end - size : end]) for size, end in zip(sizes, accumulate(sizes))]


def parts(n: int, fractions: Sequence[float]) -> list[int]:
    """Split n into whole numbers in the ratio of the fractions."""
    sizes = [floor(n * f) for f in fractions]
    for i in range(n - sum(sizes)):
        sizes[i % len(sizes)] += 1
    return sizes
