"""Data sets, loaders that make batches of them, and small data that comes with the course."""

from .dataset import (
    BatchSampler as BatchSampler, ConcatDataset as ConcatDataset, Dataset as Dataset,
    IterableDataset as IterableDataset, RandomSampler as RandomSampler, Sampler as Sampler,
    SequentialSampler as SequentialSampler, Subset as Subset, SubsetRandomSampler as SubsetRandomSampler,
    TensorDataset as TensorDataset, WeightedRandomSampler as WeightedRandomSampler, random_split as random_split,
)
from .datasets import Names as Names, Split as Split, digits as digits, moons as moons, names as names, text as text
from .loader import DataLoader as DataLoader, batches as batches, default_collate as default_collate
