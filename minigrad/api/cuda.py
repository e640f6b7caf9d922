"""PyTorch's queries about GPUs: `mg.cuda.is_available()`."""

from __future__ import annotations

from ..engine.base.hardware import gpu_status
from ..engine.random import manual_seed as manual_seed
from ..engine.random import manual_seed as manual_seed_all

__all__ = ["device_count", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """Whether a GPU can be used here; mg.gpu_status() gives the reason if not."""
    return gpu_status()[0]


def device_count() -> int:
    """The number of GPUs in use: 1 if there is any, else 0."""
    return int(is_available())
