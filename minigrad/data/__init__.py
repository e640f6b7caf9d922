"""Data sets, the batches to train on, and data small enough to travel with the course."""

from .dataset import (
    BatchSampler, ConcatDataset, Dataset, IterableDataset, random_split, RandomSampler, Sampler, SequentialSampler,
    Subset, SubsetRandomSampler, TensorDataset, WeightedRandomSampler,
)
from .datasets import digits, moons, Names, names, Split, text
from .loader import batches, DataLoader, default_collate
