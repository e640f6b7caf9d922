"""What the machine offers: a GPU or none, and a C library that can be told to keep its memory."""

from __future__ import annotations

import importlib
import sys
from functools import cache

import numpy as np

from .errors import DeviceError


def keep_freed_memory() -> None:
    """Have the C library keep what is freed for the next array, where it would give it back to the system.

    The GNU one gives back every array of some size, and the next step fetches as much again, page by page: a third
    of a transformer's time, half of a CNN's. One free of a block of nearly 32 MB, which nobody touched and so costs
    nothing, raises its thresholds: mallopt(3), M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    """
    if sys.platform == "linux":
        np.empty((1 << 25) - (1 << 16), np.uint8)


@cache
def gpu_status() -> tuple[bool, str]:
    """Whether a GPU can be used here, and its name; or what is missing, and how to get it."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return False, "CuPy is not installed: python -m pip install cupy-cuda13x, or cupy-cuda12x for an older driver"
    if not cupy.is_available():
        return False, "CuPy is installed, and finds no GPU, or no driver for it"
    try:
        float(cupy.ones(1).sum())  # only a kernel shows whether the compiler and its headers are there
    except Exception as reason:
        return False, f"there is a GPU, and its kernels do not compile: {reason}"
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return True, properties["name"].decode()


def require_gpu() -> None:
    """Raises DeviceError where no GPU can be used."""
    works, reason = gpu_status()
    if not works:
        raise DeviceError(f"no gpu here: {reason}. Use device='cpu', or 'simulated' to see what a GPU would do")
