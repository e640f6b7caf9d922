"""Hardware queries: whether there is a usable GPU. Also a setting that makes the C library keep freed memory."""

from __future__ import annotations

import importlib
import sys
from functools import cache

import numpy as np

from .errors import DeviceError


def keep_freed_memory() -> None:
    """Keep freed memory in the process for the next array, instead of returning it to the system.

    glibc returns every large array to the system, and the next step has to fetch the memory again, page by page. That
    costs a third of a transformer's time, half of a CNN's. Freeing one untouched block of nearly 32 MB costs almost
    nothing and raises glibc's thresholds: mallopt(3), M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
    """
    if sys.platform == "linux":
        np.empty((1 << 25) - (1 << 16), np.uint8)


@cache
def gpu_status() -> tuple[bool, str]:
    """(True, the GPU's name) if a GPU can be used here; otherwise (False, what is missing and how to install it)."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError:
        return False, "CuPy is not installed: python -m pip install cupy-cuda13x, or cupy-cuda12x for an older driver"
    if not cupy.is_available():
        return False, "CuPy is installed, but finds no GPU, or no driver for it"
    try:
        float(cupy.ones(1).sum())  # only running a kernel shows whether the compiler and its headers work
    except Exception as reason:
        return False, f"there is a GPU, but its kernels do not compile: {reason}"
    return True, cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


def require_gpu() -> None:
    """Raises DeviceError if no GPU can be used."""
    works, reason = gpu_status()
    if not works:
        raise DeviceError(f"no gpu here: {reason}. Use device='cpu', or 'simulated' to see what a GPU would do")
