"""Data sets, the batches to train on, and data small enough to travel with the course."""

from .dataset import ConcatDataset as ConcatDataset
from .dataset import Dataset as Dataset
from .dataset import IterableDataset as IterableDataset
from .dataset import Subset as Subset
from .dataset import TensorDataset as TensorDataset
from .dataset import random_split as random_split
from .datasets import Names as Names
from .datasets import Split as Split
from .datasets import digits as digits
from .datasets import moons as moons
from .datasets import names as names
from .datasets import text as text
from .loader import DataLoader as DataLoader
from .loader import batches as batches
from .loader import default_collate as default_collate
from .sampler import BatchSampler as BatchSampler
from .sampler import RandomSampler as RandomSampler
from .sampler import Sampler as Sampler
from .sampler import SequentialSampler as SequentialSampler
from .sampler import SubsetRandomSampler as SubsetRandomSampler
from .sampler import WeightedRandomSampler as WeightedRandomSampler
