"""PyTorch's module paths: `mg.utils.checkpoint`, `mg.utils.data.DataLoader`, `mg.utils.tensorboard.SummaryWriter`."""

from . import checkpoint as checkpoint
from . import data as data
from . import tensorboard as tensorboard
