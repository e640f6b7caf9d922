"""How the axes of a loop are cut: *leading* ones, which become one axis and are cut into blocks, and *trailing* ones,
which each block has whole.

Elements are taken in the order in which they lie in memory. An operand that broadcasts does so along all leading axes
(a bias: every block reads the same) or none (a mean per row: blocks read their part).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from .axes import laid_out
from .graph import Graph
from .lower import BLOCK
from .record import Recorder
from .steps import Shape, Value, contiguous, reshaped, shell


@dataclass(frozen=True)
class Cutting:
    """How the axes of a loop are cut.

    shape      that every node of the body broadcasts to
    order      of the axes, as they lie in memory
    leading    how many of them, from the first, are one axis
    """

    shape: Shape
    order: tuple[int, ...]
    leading: int

    @property
    def length(self) -> int:
        """Of the leading axis."""
        return prod(self.shape[a] for a in self.order[: self.leading])

    @property
    def trailing(self) -> Shape:
        return tuple(self.shape[a] for a in self.order[self.leading :])

    @property
    def rows(self) -> int:
        """Of the leading axis, in one block."""
        return max(1, min(self.length, BLOCK // max(1, prod(self.trailing))))

    @property
    def blocks(self) -> int:
        return -(-self.length // self.rows)

    def buffer(self, dtype: np.dtype) -> Value:
        """An array for a result of the whole loop."""
        return Value(shell(self.shape, dtype, contiguous(self.shape, dtype.itemsize, self.order)), "buffer")


def cutting_of(graph: Graph, xs: list[Value]) -> Cutting:
    """With as many leading axes as all operands let be one."""
    shape = np.broadcast_shapes(*(n.spec.shape for n in graph.nodes))
    order = tuple(laid_out(shape, [x for x in xs if x.shell.shape == shape]))
    for leading in range(len(shape), 1, -1):
        if all(can_lead(aligned(x.shell, shape, order), [shape[a] for a in order], leading) for x in xs):
            return Cutting(shape, order, leading)
    return Cutting(shape, order, 1)


def aligned(x: np.ndarray, shape: Shape, order: tuple[int, ...]) -> np.ndarray:
    """x with all axes of the loop, those it lacks having length 1, in that order."""
    return x.reshape((1,) * (len(shape) - x.ndim) + x.shape).transpose(order)


def can_lead(x: np.ndarray, shape: list[int], leading: int) -> bool:
    """Whether x's leading axes can be one, or are none."""
    if all(n == 1 for n in x.shape[:leading]):
        return True
    if list(x.shape[:leading]) != shape[:leading]:
        return False
    return reshaped(x, (prod(shape[:leading]), *x.shape[leading:])) is not None


def leading_first(recorder: Recorder, x: Value, cutting: Cutting) -> Value:
    """x (leading, *trailing), or (*trailing) if it is the same for all blocks."""
    order, leading, n = cutting.order, cutting.leading, len(cutting.shape)
    y = recorder.shadow(x)
    if order != tuple(sorted(order)) and y.ndim:
        lifted = (1,) * (n - y.ndim) + y.shape
        y = (y if lifted == y.shape else y.reshape(lifted)).transpose(*order)
    lifted = (1,) * (n - y.ndim) + y.shape
    trailing = lifted[leading:]
    target = trailing if all(n == 1 for n in lifted[:leading]) else (prod(lifted[:leading]), *trailing)
    while len(target) == len(trailing) and target[:1] == (1,):
        target = trailing = target[1:]
    return y.value if target == y.shape else y.reshape(target).value


def block_shell(x: Value, rows: int, is_cut: bool) -> np.ndarray:
    """One block of x."""
    shape = (rows, *x.shell.shape[1:]) if is_cut else x.shell.shape
    return shell(shape, x.shell.dtype, x.shell.strides)
