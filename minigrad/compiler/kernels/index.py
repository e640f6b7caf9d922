"""Where an element lies: the index, in an operand's memory, of what element i of a loop reads."""

from __future__ import annotations

from math import prod


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides, in elements, of an array whose last axis is dense."""
    return tuple(prod(shape[a + 1 :]) for a in range(len(shape)))


def place(loop: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...], suffix: str) -> str:
    """The index, in an operand that broadcasts to the loop's shape, of what element i of the loop reads.

    Axes that lie one after the other in memory are counted as one.
    """
    missing = len(loop) - len(shape)
    runs: list[list[int]] = []  # innermost first: length, stride, how many elements of the loop one step is
    for axis in reversed(range(len(loop))):
        broadcast = axis < missing or shape[axis - missing] == 1
        stride = 0 if broadcast else strides[axis - missing]
        if loop[axis] == 1:
            continue
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1][0] *= loop[axis]
        else:
            runs.append([loop[axis], stride, prod(loop[axis + 1 :])])
    terms = []
    for length, stride, inner in runs:
        if stride:
            step = f"i / {inner}{suffix}" if inner > 1 else "i"
            step = f"{step} % {length}{suffix}" if inner * length < prod(loop) else step
            terms.append(step if stride == 1 else f"{f'({step})' if ' ' in step else step} * {stride}{suffix}")
    return " + ".join(reversed(terms)).replace("+ -", "- ") or "0"


def reach(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The largest index, either way, that is ever read."""
    return sum((n - 1) * abs(s) for n, s in zip(shape, strides) if n)
