"""PyTorch's addresses: `mg.utils.checkpoint.checkpoint`, `mg.utils.data.DataLoader`."""

from . import checkpoint as checkpoint
from . import data as data
