"""How many threads a matrix product may take.

BLAS, which multiplies matrices for NumPy, wakes all its threads for every product of more than about 64 × 64 × 64, and
has them spin until the last is done. Where products are small that costs more than it gives; where other work wants the
processors, a network of small layers becomes slower by tens of times. So a program whose products are all small runs
with one BLAS thread, and gives the others back at its end.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from .steps import Step

ALONE = 1 << 18  # multiplications: up to there OpenBLAS takes one thread by itself
SMALL = 1 << 24  # up to there, less than a millisecond, several threads are not worth their waking


class OneThread:
    """`with one_thread:` a block in which BLAS takes one thread. Blocks may overlap: the last one out restores."""

    def __init__(self) -> None:
        self.lock, self.inside, self.before = Lock(), 0, 1

    def __enter__(self) -> None:
        control = controls()
        if control is not None:
            with self.lock:
                self.inside += 1
                if self.inside == 1:
                    self.before = control[0]()
                    control[1](1)

    def __exit__(self, *_: Any) -> None:
        control = controls()
        if control is not None:
            with self.lock:
                self.inside -= 1
                if self.inside == 0:
                    control[1](self.before)


one_thread = OneThread()


def wants_one(steps: Iterable[Step]) -> bool:
    """Whether the products among the steps are small, and some of them not so small that it makes no difference."""
    sizes = [s.operands[-1].shell.size * s.operands[0].shell.shape[-1] for s in steps if is_product(s)]
    return ALONE < max(sizes, default=0) <= SMALL


def is_product(step: Step) -> bool:
    return ("dot" in step.scope or "matmul" in step.scope) and step.operands[0].shell.ndim > 1


@cache
def controls() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """How to ask for the number of threads, and how to set it; None where NumPy's BLAS is not its own OpenBLAS."""
    package = Path(np.__file__).parent
    for path in (*package.parent.glob("numpy.libs/*openblas*"), *package.glob(".dylibs/*openblas*")):
        library = ctypes.CDLL(str(path))  # the one that NumPy has loaded
        for before, after in (("scipy_", "64_"), ("", "64_"), ("scipy_", ""), ("", "")):
            get = getattr(library, f"{before}openblas_get_num_threads{after}", None)
            set_to = getattr(library, f"{before}openblas_set_num_threads{after}", None)
            if get is not None and set_to is not None:
                set_to.restype = None
                return get, set_to
    return None
