"""A long formula on a large array, piece by piece, so that what it makes on the way stays in the cache."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..device import device_of


def blockwise(forward: Callable[..., Any]) -> Callable[..., Any]:
    """forward(op, xp, x, …), which works on each element by itself, on blocks of the size that its device likes."""

    @wraps(forward)
    def in_blocks(op, xp, x, *others):
        block = device_of(x).block
        if x.size <= block or hasattr(xp, "records"):  # a compiled program cuts by itself
            return forward(op, xp, x, *others)
        xs = xp.broadcast_arrays(x, *others)
        axes = sorted(range(xs[0].ndim), key=lambda a: -xs[-1].strides[a])  # as they lie in memory, and y's shall lie
        pieces = [x.transpose(axes).reshape(-1) for x in xs]
        y = xp.empty(pieces[0].size, forward(op, xp, *(piece[:1] for piece in pieces)).dtype)
        for start in range(0, y.size, block):
            y[start : start + block] = forward(op, xp, *(piece[start : start + block] for piece in pieces))
        return y.reshape([xs[0].shape[a] for a in axes]).transpose(sorted(axes, key=axes.__getitem__))

    return in_blocks
