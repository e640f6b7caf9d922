"""The cost of a run, counted as its ops run: FLOPs, and bytes saved for backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from weakref import WeakKeyDictionary

from ..autograd.function_rule import keeper
from ..engine.core.node import Node
from ..engine.core.op import Op
from ..engine.core.versions import owner
from ..graph.compiler.passes.remat import flops, flops_of

Sizes = dict[int, int]  # id of the array that owns the memory → its bytes


class Counting:
    """A watcher that counts ops, FLOPs and saved bytes.

    ops          number of ops that ran
    flops        FLOPs of all ops, and of their derivatives if backward ran; None once an op has no cost formula
    unsaid       the op without a cost formula, if any
    on_backward  the callback of one backward pass; passing() makes it
    leaves       ids of the parameters' arrays, which are alive anyway
    """

    on_backward: Callable[[Any, Any, tuple[Any, ...]], None]

    def __init__(self) -> None:
        self.ops, self.flops = 0, cast(int | None, 0)
        self.unsaid: Any = None
        self.leaves: set[int] = set()
        self.records: WeakKeyDictionary[Node, Sizes] = WeakKeyDictionary()
        self.before_backward: int | None = None

    again = property(lambda self: self, doc="The watcher of what a checkpoint recomputes.")

    @property
    def bytes_saved(self) -> int:
        """Bytes that records hold now; once backward has begun, the bytes that they held at its start."""
        if self.before_backward is not None:
            return self.before_backward
        sizes: Sizes = {}
        for node, at_first in self.records.items():
            sizes |= at_first if node.saved is None else sizes_of(node.saved)  # None while backward is at this node
        return sum(size for memory, size in sizes.items() if memory not in self.leaves)

    def on_forward(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        self.ops += 1
        self.count(op, lambda: flops_of(op, y.spec, *(x.spec for x in xs)))
        self.leaves |= {id(owner(x.value)) for x in xs if x.tracked and x.is_leaf}
        if y.tracked and not y.is_leaf:
            node = keeper(y)
            self.records[node] = sizes_of(node.saved or ())

    def passing(self) -> Callable[[Any, Any, tuple[Any, ...]], None]:
        """Make the callback that one backward pass calls for each derivative."""
        added = additions()

        def on_pullback(node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
            self.before_backward = self.bytes_saved
            graph, more = rule_of(node, gy), added(node, gxs)
            self.count(node.op, lambda: more + (0 if graph is None else flops(graph)))

        return on_pullback

    def count(self, op: Op, cost: Any) -> None:
        """Add the op's cost. If it has no cost formula, set `flops` to None and note the op in `unsaid`."""
        try:
            self.flops = None if self.flops is None else self.flops + cost()
        except NotImplementedError:
            self.flops, self.unsaid = None, op


def rule_of(node: Any, gy: Any) -> Any:
    """The graph of a derivative; None if it has no graph, or if it runs on tensors: then each of its ops is watched."""
    rule = getattr(node.rule, "rule", node.rule)  # a packed record wraps its rule in another
    return None if hasattr(gy, "node") else getattr(rule, "graph", None)


def additions() -> Callable[[Node, tuple[Any, ...]], int]:
    """Make a function that counts, for each derivative of a pass in turn, the additions that accumulate its gradients.

    Additions of tensors are ops, and counted as such. Gradients of several outputs (Arrivals) are not counted.
    """
    arrived: set[Node] = set()

    def count_additions(node: Node, gxs: tuple[Any, ...]) -> int:
        n = 0
        for x, gx in zip(node.inputs, gxs):
            if gx is not None:
                n += gx.size if x in arrived and hasattr(gx, "size") and not hasattr(gx, "spec") else 0
                arrived.add(x)
        return n

    return count_additions


def sizes_of(saved: Any) -> Sizes:
    """Id → bytes of each array that a record keeps; packed values are left out."""
    arrays = [owner(array) for array in saved if hasattr(array, "nbytes")]
    return {id(array): array.nbytes for array in arrays}
