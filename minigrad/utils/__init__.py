"""PyTorch's address for checkpoint: `mg.utils.checkpoint.checkpoint`."""

from . import checkpoint as checkpoint
