"""DataLoader: a data set in batches, one epoch for each loop over it.

The order is decided in the loop's own thread, before any work is given out, and batches are handed over in that
order: however many workers there are, the batches are the same. Workers are threads, since what is slow in
loading, reading files and NumPy, lets other threads run; they load ahead, a few batches and no more.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import Any

from tqdm import tqdm

from .collate import default_collate
from .dataset import Samples, Subset, TensorDataset
from .sampler import RandomSampler, SequentialSampler, Source


class DataLoader:
    """Batches of a data set.

    shuffle        a new order each epoch, decided by `generator`: a seed, a key or a Generator, as in RandomSampler
    sampler        numbers of samples in the order wanted, instead of `shuffle`
    num_workers    threads that load ahead, `prefetch_factor` batches each; 0 loads when asked
    collate_fn     makes a batch of a list of samples
    drop_last      leave out a last batch that is not full
    progress       a bar on the standard output
    """

    def __init__(
        self,
        dataset: Samples,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
        generator: Source = None,
        prefetch_factor: int = 2,
        progress: bool = False,
    ):
        if not isinstance(dataset, Sized):
            raise TypeError(f"a DataLoader needs a data set with a length, and got {dataset!r}: give it __len__")
        for name, n, least in (
            ("batch_size", batch_size, 1),
            ("num_workers", num_workers, 0),
            ("prefetch_factor", prefetch_factor, 1),
        ):
            if not isinstance(n, int) or n < least:
                raise ValueError(f"a DataLoader needs {name} to be a whole number of at least {least}, and got {n!r}")
        if sampler is not None and shuffle:
            raise ValueError("a sampler says the order, and shuffle=True asks for another: pass one of them")
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.num_workers, self.prefetch_factor, self.progress = num_workers, prefetch_factor, progress
        self.collate_fn = collate_fn
        if sampler is None:
            sampler = RandomSampler(dataset, generator) if shuffle else SequentialSampler(dataset)
        self.sampler = sampler

    def __len__(self) -> int:
        """The number of batches. Raises TypeError if the sampler has no length."""
        if not isinstance(self.sampler, Sized):
            raise TypeError(f"this loader cannot be counted, because its sampler cannot: {self.sampler!r}")
        n = len(self.sampler)
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        batches = self.ahead(self.rows()) if self.num_workers else (self.load(rows) for rows in self.rows())
        if not self.progress:
            return batches
        total = len(self) if isinstance(self.sampler, Sized) else None
        return iter(tqdm(batches, total=total, file=sys.stdout))

    def rows(self) -> Iterator[list[Any]]:
        """The numbers of each batch's samples."""
        numbers = iter(self.sampler)
        while rows := list(islice(numbers, self.batch_size)):
            if len(rows) == self.batch_size or not self.drop_last:
                yield rows

    def load(self, rows: list[Any]) -> Any:
        """The batch of these samples."""
        return batch(self.dataset, rows, self.collate_fn)

    def ahead(self, todo: Iterator[list[Any]]) -> Iterator[Any]:
        """Batches loaded by threads, in order. Leaving early ends the threads, once each has finished its batch."""
        pool = ThreadPoolExecutor(self.num_workers, "DataLoader")
        coming: deque[Future[Any]] = deque()
        try:
            for rows in todo:
                coming.append(pool.submit(self.load, rows))
                if len(coming) > self.num_workers * self.prefetch_factor:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


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
        return default_collate(samples) if collate_fn is None else collate_fn(samples)
    except Exception as error:
        error.add_note(f"raised by the batch of samples {', '.join(map(str, rows))} of {type(dataset).__name__}")
        raise
