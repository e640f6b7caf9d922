"""A long formula on a large array, piece by piece, so that what it makes on the way stays in the cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..device import device_of


def blockwise(forward: Callable[..., Any]) -> Callable[..., Any]:
    """forward(op, xp, x, …), which works on each element by itself, on blocks of the size that its device likes."""

    @wraps(forward)
    def in_blocks(op, xp, *xs):
        block = device_of(xs[0]).block
        if all(x.size <= block for x in xs):
            return forward(op, xp, *xs)
        xs = xp.broadcast_arrays(*xs)
        shape, pieces = xs[0].shape, [x.reshape(-1) for x in xs]
        first = forward(op, xp, *(piece[:block] for piece in pieces))
        y = xp.empty(pieces[0].size, first.dtype)
        y[:block] = first
        for start in range(block, y.size, block):
            y[start : start + block] = forward(op, xp, *(piece[start : start + block] for piece in pieces))
        return y.reshape(shape)

    return in_blocks
