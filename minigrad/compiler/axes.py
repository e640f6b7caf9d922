"""The order of axes in memory, as NumPy chooses it for a result. In that order a sum is added up, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .steps import Shape, Value, shell


def laid_out(shape: Shape, like: Sequence[Value]) -> tuple[int, ...]:
    """The axes of a result in the order in which they lie in memory, outermost first, as NumPy chooses it.

    One axis goes inside another where the operands have it so; where they contradict each other, the usual order wins.
    """
    n = len(shape)
    if all(x.shell.flags.c_contiguous for x in like):
        return tuple(range(n))
    strides = [aligned_strides(x.shell, n) for x in like]
    order = [n - 1] * (n > 0)  # innermost first
    for a in reversed(range(n - 1)):
        place = len(order)
        for i in reversed(range(len(order))):
            pairs = [(abs(s[a]), abs(s[order[i]])) for s in strides if s[a] and s[order[i]]]
            if pairs and any(inner <= outer for outer, inner in pairs):
                break
            if pairs:
                place = i
        order.insert(place, a)
    return tuple(reversed(order))


def aligned_strides(x: np.ndarray, n: int) -> list[int]:
    """The strides along n axes, counted from the right; 0 where x does not step, since it broadcasts."""
    return [0] * (n - x.ndim) + [stride if length != 1 else 0 for stride, length in zip(x.strides, x.shape)]


def copied_order(x: np.ndarray) -> tuple[int, ...]:
    """The axes of a copy in the order in which they lie in memory."""
    return tuple(sorted(range(x.ndim), key=lambda a: -abs(x.strides[a])))


def reduced_order(x: np.ndarray, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...] | None:
    """The axes of a reduction of x, in the order in which x's own lie in memory."""
    if x.flags.c_contiguous:
        return None
    left = [a for a in range(x.ndim) if keepdims or a not in axes]
    return tuple(left.index(a) for a in laid_out(x.shape, (Value(x, "argument"),)) if a in left)


def turned(x: np.ndarray, letters: str, wanted: str) -> Value:
    """x as the axes of an einsum's result see it."""
    strides = tuple(x.strides[letters.index(c)] if c in letters else 0 for c in wanted)
    shape = tuple(x.shape[letters.index(c)] if c in letters else 1 for c in wanted)
    return Value(shell(shape, x.dtype, strides), "argument")
