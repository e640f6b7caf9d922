"""Hardware queries: whether there is a usable GPU. Also a setting that makes the C library keep freed memory."""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import sys
from functools import cache

import numpy as np


def keep_freed_memory() -> None:
    """Keep freed memory in the process for the next array, instead of returning it to the system.

    glibc returns every large array to the system. Fetching it again, page by page, takes a third of a transformer's
    step. Freeing one untouched block of nearly 32 MB raises M_MMAP_THRESHOLD and M_TRIM_THRESHOLD: see mallopt(3).
    """
    if sys.platform == "linux":
        np.empty((1 << 25) - (1 << 16), np.uint8)


@cache
def keep_large_arrays() -> None:
    """Keep freed arrays of more than 32 MB too: from now on, glibc takes no memory by mmap.

    It still returns the end of the heap if a sixteenth of all memory is free there, and a full garbage collection
    returns all free pages. mallopt(3): -1 is M_TRIM_THRESHOLD, -4 is M_MMAP_MAX.
    """
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), "mallopt"):
        libc.mallopt(-1, min(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 16, (1 << 31) - 1))
        libc.mallopt(-4, 0)
        gc.callbacks.append(lambda phase, info: phase == "stop" and info["generation"] == 2 and libc.malloc_trim(0))


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
