"""A long formula on a large array, piece by piece, so that what it makes on the way stays in the cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..device import device_of


def blockwise(forward: Callable[..., Any]) -> Callable[..., Any]:
    """forward(op, xp, x), which works on each element by itself, on blocks of x of the size that its device likes."""

    @wraps(forward)
    def in_blocks(op, xp, x):
        block = device_of(x).block
        if x.size <= block:
            return forward(op, xp, x)
        pieces = x.reshape(-1)
        first = forward(op, xp, pieces[:block])
        y = xp.empty(x.size, first.dtype)
        y[:block] = first
        for start in range(block, x.size, block):
            y[start : start + block] = forward(op, xp, pieces[start : start + block])
        return y.reshape(x.shape)

    return in_blocks
