"""DataLoader: iterates over a data set in batches, one epoch for each loop; a batch stacks its samples.

The thread that runs the loop decides the order before it hands out work, and batches are returned in that order. So
the batches are the same for any number of workers. Workers are threads, because the slow parts of loading (file access
and NumPy) release the interpreter lock. The number of batches that workers load ahead is limited.
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
from ..engine.core.calls import named_scope
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
    """Make one batch from samples that are all of one kind.

    tensors, arrays    a Tensor, stacked along a new first axis
    numbers            a Tensor of one axis
    strings, bytes     a list
    dictionaries       a dictionary of batches; tuples and lists: one batch for each position

    Raises ShapeError on arrays of different shapes or samples of different lengths, DTypeError on other samples.
    """
    first = samples[0]
    if isinstance(first, str | bytes):
        return list(samples)
    if isinstance(first, Mapping):
        return {key: default_collate([s[key] for s in samples]) for key in first}
    if isinstance(first, tuple | list):
        return places(samples)
    if isinstance(first, Tensor | float | int) or hasattr(first, "__array__"):
        return stack_arrays([Tensor(s).value for s in samples])
    raise DTypeError(
        "a batch is made of tensors, arrays, numbers and strings, in tuples and dictionaries, and a sample is "
        f"{first!r}: pass a collate_fn, which makes a batch from a list of samples"
    )


def places(samples: Sequence[Any]) -> Any:
    """A batch for each position of the samples, which are tuples, or lists, of one length."""
    first = samples[0]
    for i, sample in enumerate(samples):
        if len(sample) != len(first):
            raise ShapeError(
                f"samples of a batch need one length, but number 0 has {len(first)}, and number {i} has {len(sample)}"
            )
    batches = [default_collate(place) for place in zip(*samples)]
    if isinstance(first, list):
        return batches
    return type(first)(*batches) if hasattr(first, "_fields") else tuple(batches)


def stack_arrays(arrays: list[Any]) -> Tensor:
    """Stack arrays of one shape along a new first axis."""
    for i, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise ShapeError(
                f"samples of a batch need one shape, but number 0 has {arrays[0].shape}, and number {i} has "
                f"{array.shape}: change them in the data set, or pass a collate_fn that pads them"
            )
    return Tensor(Tensor(arrays[0]).spec.device.xp.stack(arrays))


def batches(
    x: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Batches (x, y) of `size` rows, the last one maybe smaller. Each row appears once; an rng shuffles them."""
    if len(x) != len(y):
        raise ShapeError(f"batches needs one y for each x, and got {len(x)} rows of x with {len(y)} of y")
    if size < 1:
        raise ValueError(f"a batch needs at least one row, got size={size}")
    order = np.arange(len(x)) if rng is None else rng.permutation(len(x))
    for start in range(0, len(x), size):
        rows = order[start : start + size]
        yield x[rows], y[rows]


class DataLoader(Stateful):
    """Iterates over a data set in batches.

    shuffle        a new order each epoch, from `generator`: a seed, a key or a Generator, as in RandomSampler
    sampler        yields sample numbers in the desired order, instead of `shuffle`
    batch_sampler  yields lists of numbers, one for each batch; replaces batch_size, shuffle, sampler and drop_last
    num_workers    threads that load ahead, `prefetch_factor` batches each; 0 loads in the thread that runs the loop
    collate_fn     makes a batch from a list of samples
    drop_last      leave out an incomplete last batch
    progress       show a progress bar on the standard output
    pin_memory, persistent_workers, timeout, worker_init_fn    are accepted and ignored: they do not apply to threads

    An IterableDataset is read in its own order, by one thread.
    """

    def __init__(
        self, dataset: Samples | IterableDataset, batch_size: int = 1, shuffle: bool = False,
        sampler: Iterable[Any] | None = None, batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0, collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None,
        *, generator: Source = None, prefetch_factor: int = 2, persistent_workers: bool = False, progress: bool = False,
    ):  # fmt: skip
        refuse_numbers(batch_size=(batch_size, 1), num_workers=(num_workers, 0), prefetch_factor=(prefetch_factor, 1))
        refuse_two_orders(dataset, shuffle, sampler, batch_sampler, batch_size != 1 or drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.prefetch_factor, self.progress = num_workers, prefetch_factor, progress
        self.collate_fn = collate_fn
        if isinstance(dataset, IterableDataset):
            sampler = dataset  # the stream acts as a sampler that yields samples instead of numbers
        elif sampler is None:
            sampler = RandomSampler(dataset, generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler
        self.batch_sampler = BatchSampler(sampler, batch_size, drop_last) if batch_sampler is None else batch_sampler
        self.given: int | None = None  # the number of batches returned in the current epoch
        self.skipped = 0  # the number of batches at the start of the next epoch that an interrupted run has used

    def __len__(self) -> int:
        """The number of batches. Raises TypeError if the sampler has no length."""
        if not isinstance(self.batch_sampler, Sized):
            raise TypeError(f"this loader has no length, because its batch_sampler has none: {self.batch_sampler!r}")
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        skipped, self.skipped = self.skipped, 0
        every = islice(self.batch_sampler, skipped, None)
        loaded = self.ahead(every) if self.num_workers else (self.load(rows) for rows in every)
        batches = self.track_batches(loaded, skipped)
        if not self.progress:
            return batches
        counted = isinstance(self.sampler, Sized) and isinstance(self.batch_sampler, Sized)
        total = len(self) if counted else None
        return iter(tqdm(batches, total=total, file=sys.stdout, ncols=72))  # stdout of the notebook

    def load(self, rows: list[Any]) -> Any:
        """A batch of the samples whose numbers are `rows`. With an IterableDataset, `rows` are the samples."""
        if isinstance(self.dataset, IterableDataset):
            return collate_samples(rows, self.collate_fn)
        return batch(self.dataset, rows, self.collate_fn)

    def track_batches(self, batches: Iterator[Any], given: int) -> Iterator[Any]:
        """Yields the batches, and counts them in self.given, from `given` on. Watchers see each wait as a block."""
        self.given = given
        try:
            while True:
                with named_scope("block", "enumerate(DataLoader).__next__"):
                    batch_or_end = next(batches, self)
                if batch_or_end is self:
                    return
                self.given = given = given + 1
                yield batch_or_end
                del batch_or_end  # so that the caller can free the batch while the next is loaded
        finally:
            self.given = None

    # -- saving and loading -------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The state to continue from: the number of batches returned in the current epoch, and the sampler's state.

        Raises TypeError if the sampler has no state_dict.
        """
        sampler = self.stateful_sampler()
        own = None if sampler is None else sampler.state_dict()
        return {"given": self.given, "sampler": own, "batch_size": getattr(self.batch_sampler, "batch_size", None)}

    @refuse_by_name
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Continue from a saved state: the next loop finishes the epoch that was interrupted, or starts a new one."""
        size = getattr(self.batch_sampler, "batch_size", None)
        refuse_other_options(self, state_dict, ("given", "sampler"), batch_size=size)
        sampler, given = self.stateful_sampler(), state_dict["given"]
        if given is not None and (not isinstance(given, int) or given < 0):
            raise StateError(
                f"given, the number of batches returned so far, must be a non-negative integer, got {given!r}"
            )
        if (sampler is None) != (state_dict["sampler"] is None):
            raise StateError("this state is of a DataLoader with another kind of sampler: use the same kind here")
        if sampler is not None:
            sampler.load_state_dict(state_dict["sampler"], given is not None)
        self.skipped = given or 0

    def stateful_sampler(self) -> Any:
        """The sampler whose state determines the order; None for a SequentialSampler, which needs no state."""
        sampler: Any = getattr(self.batch_sampler, "sampler", self.batch_sampler)
        if type(sampler) is SequentialSampler:
            return None
        if not hasattr(sampler, "load_state_dict"):
            raise TypeError(
                f"the order of this DataLoader comes from {sampler!r}, which does not save its state: define its "
                "methods state_dict() and load_state_dict(state_dict, under_way), as in RandomSampler"
            )
        return sampler

    def ahead(self, todo: Iterator[list[Any]]) -> Iterator[Any]:
        """Batches loaded by threads, in order. Leaving the loop early stops each thread after its current batch."""
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
    """Raises ValueError unless each option, passed as (value, minimum), is a whole number and at least the minimum."""
    for name, (n, least) in counts.items():
        if not isinstance(n, int) or n < least:
            raise ValueError(f"a DataLoader needs {name} to be a whole number of at least {least}, and got {n!r}")


def refuse_two_orders(dataset: Any, shuffle: bool, sampler: Any, batch_sampler: Any, sized: bool) -> None:
    """Raises TypeError for a data set without a length, ValueError if the arguments specify two orders.

    sized    whether batch_size or drop_last was given
    """
    stream = isinstance(dataset, IterableDataset)
    if not (stream or isinstance(dataset, Sized)):
        raise TypeError(f"a DataLoader needs a data set with a length, and got {dataset!r}: give it __len__")
    if sampler is not None and shuffle:
        raise ValueError("a sampler determines the order, and so does shuffle=True: pass only one of them")
    if batch_sampler is not None and (shuffle or sampler is not None or sized):
        raise ValueError("a batch_sampler determines the batches: omit batch_size, shuffle, sampler and drop_last")
    if stream and (shuffle or sampler is not None or batch_sampler is not None):
        raise ValueError("an IterableDataset has its own order: omit shuffle and samplers")


def batch(dataset: Samples, rows: list[Any], collate_fn: Callable[[list[Any]], Any] | None) -> Any:
    """A batch of the samples whose numbers are `rows`. If a sample fails, the exception notes its number."""
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
        return collate_samples(samples, collate_fn)
    except Exception as error:
        error.add_note(f"raised by the batch of samples {', '.join(map(str, rows))} of {type(dataset).__name__}")
        raise


def collate_samples(samples: list[Any], collate_fn: Callable[[list[Any]], Any] | None) -> Any:
    """Make a batch by collate_fn, or by default_collate if it is None."""
    return default_collate(samples) if collate_fn is None else collate_fn(samples)
