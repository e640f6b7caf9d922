"""Batches: a data set in small pieces, in a new order each time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import ShapeError


def batches(
    x: np.ndarray, y: np.ndarray, size: int, rng: np.random.Generator | None = None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(x, y) in pieces of `size` rows, the last perhaps smaller: each row once, shuffled if there is an rng."""
    if len(x) != len(y):
        raise ShapeError(f"batches needs one y for each x, and got {len(x)} rows of x with {len(y)} of y")
    if size < 1:
        raise ValueError(f"a batch has at least one row, and size is {size}")
    order = np.arange(len(x)) if rng is None else rng.permutation(len(x))
    for start in range(0, len(x), size):
        rows = order[start : start + size]
        yield x[rows], y[rows]
