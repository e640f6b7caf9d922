"""DataLoader: a data set in batches, one epoch for each loop over it; samples become a batch by stacking.

The order is decided in the loop's own thread, before any work is given out, and batches are handed over in that
order: however many workers there are, the batches are the same. Workers are threads, since what is slow in
loading, reading files and NumPy, lets other threads run; they load ahead, a few batches and no more.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from concurrent.futures import Future
from itertools import islice
from typing import Any

import numpy as np
from tqdm import tqdm

from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.errors import DTypeError, ShapeError, StateError
from ..engine.base.threads import pool
from ..engine.core.calls import told
from ..engine.core.stateful import Stateful
from ..engine.tensor.tensor import Tensor
from .dataset import (
    BatchSampler,
    IterableDataset,
    RandomSampler,
    Samples,
    SequentialSampler,
    Source,
    Subset,
    TensorDataset,
    refuse_other_options,
)


def default_collate(samples: Sequence[Any]) -> Any:
    """A batch of samples of one kind.

    tensors, arrays    stacked along a new first axis, as a Tensor
    numbers            a Tensor of one axis
    texts, bytes       a list
    dictionaries       a dictionary of batches; tuples and lists: one batch for each place

    Raises ShapeError on arrays of different shapes, or samples with different places; DTypeError on another kind.
    """
    first = samples[0]
    if isinstance(first, str | bytes):
        return list(samples)
    if isinstance(first, Mapping):
        return {key: default_collate([s[key] for s in samples]) for key in first}
    if isinstance(first, tuple | list):
        return places(samples)
    if isinstance(first, Tensor | float | int) or hasattr(first, "__array__"):
        return stacked([Tensor(s).value for s in samples])
    raise DTypeError(
        "a batch is made of tensors, arrays, numbers and texts, in tuples and dictionaries, and a sample is "
        f"{first!r}: pass collate_fn, which makes a batch of a list of samples"
    )


def places(samples: Sequence[Any]) -> Any:
    """Tuples (lists) of one length, as a tuple (a list) of batches."""
    first = samples[0]
    for i, sample in enumerate(samples):
        if len(sample) != len(first):
            raise ShapeError(
                f"samples of a batch have one length, and number 0 has {len(first)}, number {i} {len(sample)}"
            )
    batches = [default_collate(place) for place in zip(*samples)]
    if isinstance(first, list):
        return batches
    return type(first)(*batches) if hasattr(first, "_fields") else tuple(batches)


def stacked(arrays: list[Any]) -> Tensor:
    """Arrays of one shape as a Tensor with a first axis for their number."""
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise ShapeError(
                f"the samples of a batch are stacked, and number 0 has shape {arrays[0].shape}, number {i} "
                f"{array.shape}: make them alike in the data set, or pass collate_fn, which may pad them"
            )
    xp = Tensor(arrays[0]).spec.device.xp
    return Tensor(xp.stack(arrays))


def batches(
    x: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(x, y) in pieces of `size` rows, the last perhaps smaller: each row once, shuffled if there is an rng."""
    if len(x) != len(y):
        raise ShapeError(f"batches needs one y for each x, and got {len(x)} rows of x with {len(y)} of y")
    if size < 1:
        raise ValueError(f"a batch has at least one row, and size is {size}")
    order = np.arange(len(x)) if rng is None else rng.permutation(len(x))
    for start in range(0, len(x), size):
        rows = order[start : start + size]
        yield x[rows], y[rows]


class DataLoader(Stateful):
    """Batches of a data set.

    shuffle        a new order each epoch, decided by `generator`: a seed, a key or a Generator, as in RandomSampler
    sampler        numbers of samples in the order wanted, instead of `shuffle`
    batch_sampler  lists of them, a batch each, instead of batch_size, shuffle, sampler and drop_last
    num_workers    threads that load ahead, `prefetch_factor` batches each; 0 loads when asked
    collate_fn     makes a batch of a list of samples
    drop_last      leave out a last batch that is not full
    progress       a bar on the standard output
    pin_memory, persistent_workers, timeout, worker_init_fn    are heard, and mean nothing to threads

    An IterableDataset is read in its own order, by one thread.
    """

    def __init__(
        self,
        dataset: Samples | IterableDataset,
        batch_size: int = 1,
        shuffle: bool = False,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        *,
        generator: Source = None,
        prefetch_factor: int = 2,
        persistent_workers: bool = False,
        progress: bool = False,
    ):
        refuse_numbers(batch_size=(batch_size, 1), num_workers=(num_workers, 0), prefetch_factor=(prefetch_factor, 1))
        refuse_two_orders(dataset, shuffle, sampler, batch_sampler, batch_size != 1 or drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.prefetch_factor, self.progress = num_workers, prefetch_factor, progress
        self.collate_fn = collate_fn
        if isinstance(dataset, IterableDataset):
            sampler = dataset  # what it gives are the samples themselves
        elif sampler is None:
            sampler = RandomSampler(dataset, generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        self.batch_sampler = BatchSampler(sampler, batch_size, drop_last) if batch_sampler is None else batch_sampler
        self.given: int | None = None  # batches of the epoch under way
        self.skipped = 0  # batches that the next epoch leaves out, because they were given before

    def __len__(self) -> int:
        """The number of batches. Raises TypeError if the sampler has no length."""
        if not isinstance(self.batch_sampler, Sized):
            raise TypeError(f"this loader cannot be counted, because its batch_sampler cannot: {self.batch_sampler!r}")
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        skipped, self.skipped = self.skipped, 0
        every = islice(self.batch_sampler, skipped, None)
        batches = self.waited(self.ahead(every) if self.num_workers else (self.load(rows) for rows in every), skipped)
        if not self.progress:
            return batches
        counted = isinstance(self.sampler, Sized) and isinstance(self.batch_sampler, Sized)
        total = len(self) if counted else None
        return iter(tqdm(batches, total=total, file=sys.stdout, ncols=72))  # of a notebook, whatever started it

    def load(self, rows: list[Any]) -> Any:
        """The batch of the samples of these numbers, or of these samples themselves."""
        if isinstance(self.dataset, IterableDataset):
            return collated(rows, self.collate_fn)
        return batch(self.dataset, rows, self.collate_fn)

    def waited(self, batches: Iterator[Any], given: int) -> Iterator[Any]:
        """The batches, counted from those given before; the wait for each is a block that watchers are told of."""
        self.given = given
        try:
            while True:
                with told("block", "enumerate(DataLoader).__next__"):
                    batch_or_end = next(batches, self)
                if batch_or_end is self:
                    return
                self.given = given = given + 1
                yield batch_or_end
                del batch_or_end  # it is the caller's alone while the next one is loaded
        finally:
            self.given = None

    # -- what a checkpoint keeps --------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the run that gave this would go on: how many batches of the epoch under way were given, and its order.

        Raises TypeError where the order is not of a sampler that says its state.
        """
        sampler = self.ordered()
        own = None if sampler is None else sampler.state_dict()
        return {"given": self.given, "sampler": own, "batch_size": getattr(self.batch_sampler, "batch_size", None)}

    @refuse_by_name
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from another's state: the next loop goes on in the epoch that was under way, or begins a new one."""
        size = getattr(self.batch_sampler, "batch_size", None)
        refuse_other_options(self, state_dict, ("given", "sampler"), batch_size=size)
        sampler, given = self.ordered(), state_dict["given"]
        if given is not None and (not isinstance(given, int) or given < 0):
            raise StateError(
                f"given, the number of batches returned so far, must be a non-negative integer, got {given!r}"
            )
        if (sampler is None) != (state_dict["sampler"] is None):
            raise StateError("this state is of a DataLoader with another kind of sampler: give this one the same")
        if sampler is not None:
            sampler.load_state_dict(state_dict["sampler"], given is not None)
        self.skipped = given or 0

    def ordered(self) -> Any:
        """The sampler whose state tells the order; None where there is but one order."""
        sampler: Any = getattr(self.batch_sampler, "sampler", self.batch_sampler)
        if type(sampler) is SequentialSampler:
            return None
        if not hasattr(sampler, "load_state_dict"):
            raise TypeError(
                f"the order of this DataLoader is that of {sampler!r}, which does not say its state: write its methods "
                "state_dict() and load_state_dict(state_dict, under_way), as RandomSampler has them"
            )
        return sampler

    def ahead(self, todo: Iterator[list[Any]]) -> Iterator[Any]:
        """Batches loaded by threads, in order. Leaving early ends the threads, once each has finished its batch."""
        threads = pool(self.num_workers, "DataLoader")
        coming: deque[Future[Any]] = deque()
        try:
            for rows in todo:
                coming.append(threads.submit(self.load, rows))
                if len(coming) > self.num_workers * self.prefetch_factor:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
        finally:
            threads.shutdown(cancel_futures=True)


def refuse_numbers(**counts: tuple[Any, int]) -> None:
    """Raises ValueError unless each number is whole, and at least what stands beside it."""
    for name, (n, least) in counts.items():
        if not isinstance(n, int) or n < least:
            raise ValueError(f"a DataLoader needs {name} to be a whole number of at least {least}, and got {n!r}")


def refuse_two_orders(dataset: Any, shuffle: bool, sampler: Any, batch_sampler: Any, sized: bool) -> None:
    """Raises TypeError where the data set has no order at all, ValueError where two are asked for.

    sized    whether the size of a batch was said, or that the last must have it
    """
    stream = isinstance(dataset, IterableDataset)
    if not (stream or isinstance(dataset, Sized)):
        raise TypeError(f"a DataLoader needs a data set with a length, and got {dataset!r}: give it __len__")
    if sampler is not None and shuffle:
        raise ValueError("a sampler says the order, and shuffle=True asks for another: pass one of them")
    if batch_sampler is not None and (shuffle or sampler is not None or sized):
        raise ValueError("a batch_sampler says the batches: batch_size, shuffle, sampler and drop_last are left out")
    if stream and (shuffle or sampler is not None or batch_sampler is not None):
        raise ValueError("an IterableDataset has its own order: shuffle and samplers are left out")


def batch(dataset: Samples, rows: list[Any], collate_fn: Callable[[list[Any]], Any] | None) -> Any:
    """The samples of these numbers, as one. What a sample raises goes on, with a note of its number."""
    if collate_fn is None and type(dataset) is TensorDataset:
        return dataset.batch(rows)
    if type(dataset) is Subset:
        return batch(dataset.dataset, [dataset.indices[i] for i in rows], collate_fn)
    samples = []
    for i in rows:
        try:
            samples.append(dataset[i])
        except Exception as error:
            error.add_note(f"raised by sample {i} of {type(dataset).__name__}")
            raise
    try:
        return collated(samples, collate_fn)
    except Exception as error:
        error.add_note(f"raised by the batch of samples {', '.join(map(str, rows))} of {type(dataset).__name__}")
        raise


def collated(samples: list[Any], collate_fn: Callable[[list[Any]], Any] | None) -> Any:
    """Samples as one batch."""
    return default_collate(samples) if collate_fn is None else collate_fn(samples)
