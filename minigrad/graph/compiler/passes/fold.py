"""Constant folding: compute values that depend on no input once, when the graph is compiled.

Only small results are stored, so that the compiled graph is never larger than the original. Ops that have an effect or
can raise an error, and values whose length is still unknown, are not folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ....engine.base.device import CPU
from ....engine.base.dimension import Unknown
from ....engine.core.graph import Graph
from ....engine.core.interpret import value
from ....engine.core.node import Node
from ....engine.core.op import Elementwise, Linear, Op
from ....engine.ops import const
from ....engine.ops.reduce import Reduction

LARGEST = 1 << 12  # most bytes of a stored constant
WORK = 1 << 16  # most elements of a result or an operand, which may be a broadcast


@dataclass(frozen=True)
class Folded(Op):
    """A small constant array, stored as the bytes of its elements.

    value    the array, read-only
    """

    data: bytes
    dtype: np.dtype
    shape: tuple[int, ...]

    @cached_property
    def value(self) -> np.ndarray:
        return np.frombuffer(self.data, self.dtype).reshape(self.shape)

    def __repr__(self) -> str:
        return f"Folded({np.array2string(self.value, threshold=6)})"


def fold(graph: Graph) -> Graph:
    """Replace nodes whose operands are all constants by constants, if these are small. Views stay: they are free."""
    known: dict[Node, Any] = {}

    def fold_node(node: Node, inputs: tuple[Node, ...]) -> Node:
        new = node if inputs == node.inputs else node.again(inputs)
        if not (set(inputs) <= known.keys() and (can_be_folded(new) if inputs else can_be_read(new))):
            return new
        with np.errstate(all="ignore"):
            known[new] = array = value(new, *(known[x] for x in inputs))
        if new.op.is_view or not inputs or array.nbytes > LARGEST or not array.flags.c_contiguous:
            return new
        held = node.naming(Node(leaf(array), (), new.spec))  # rename now: the next lookup uses this node
        known[held] = array
        return held

    return graph.rebuild(fold_node)


def can_be_read(leaf: Node) -> bool:
    """Whether a leaf's value is known when the graph is compiled."""
    number = getattr(leaf.op, "value", None)
    return number is not None and leaf.spec.device is CPU and not isinstance(number, Unknown)


def can_be_folded(node: Node) -> bool:
    """Whether the node can be computed at compile time: it is cheap, deterministic, and cannot raise an error."""
    pure = isinstance(node.op, Elementwise | Linear | Reduction) and not node.op.effect
    return pure and node.spec.device is CPU and max(s.size for s in (node.spec, *(x.spec for x in node.inputs))) <= WORK


def leaf(array: np.ndarray) -> Op:
    """The constant op for an array: a Python number if the array has no axes."""
    if array.ndim:
        return Folded(array.tobytes(), array.dtype, array.shape)
    return const(array.item())
