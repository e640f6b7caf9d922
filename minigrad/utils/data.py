"""`mg.data` under PyTorch's module path: `from minigrad.utils.data import DataLoader`."""

from ..data import BatchSampler as BatchSampler
from ..data import ConcatDataset as ConcatDataset
from ..data import DataLoader as DataLoader
from ..data import Dataset as Dataset
from ..data import IterableDataset as IterableDataset
from ..data import RandomSampler as RandomSampler
from ..data import Sampler as Sampler
from ..data import SequentialSampler as SequentialSampler
from ..data import Subset as Subset
from ..data import SubsetRandomSampler as SubsetRandomSampler
from ..data import TensorDataset as TensorDataset
from ..data import WeightedRandomSampler as WeightedRandomSampler
from ..data import default_collate as default_collate
from ..data import random_split as random_split
