"""What a run costs, read off the ops as they run: FLOPs, and the bytes that it keeps for backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from weakref import WeakKeyDictionary

from ..autograd.function_rule import keeper
from ..engine.core.node import Node
from ..engine.core.op import Op
from ..engine.core.versions import owner
from ..graph.compiler.passes.remat import flops, flops_of

Sizes = dict[int, int]  # id of a piece of memory → its bytes


class Counting:
    """A watcher that counts.

    ops        how many ran
    flops      of the ops forward, and of their derivatives where backward passed; None once an op did not say
    unsaid     that op
    pulled     what each pass of backward has of its own: passing() gives it
    leaves     the memory of parameters, which are kept anyway
    """

    pulled: Callable[[Any, Any, tuple[Any, ...]], None]

    def __init__(self) -> None:
        self.ops, self.flops = 0, cast(int | None, 0)
        self.unsaid: Any = None
        self.leaves: set[int] = set()
        self.records: WeakKeyDictionary[Node, Sizes] = WeakKeyDictionary()
        self.before_backward: int | None = None

    again = property(lambda self: self, doc="Who is told of what a checkpoint computes a second time.")

    @property
    def kept(self) -> int:
        """Bytes that records hold now; once backward has begun, those that it found."""
        if self.before_backward is not None:
            return self.before_backward
        sizes: Sizes = {}
        for node, at_first in self.records.items():
            sizes |= at_first if node.saved is None else sizes_of(node.saved)  # None: it is just being pulled
        return sum(size for memory, size in sizes.items() if memory not in self.leaves)

    def saw(self, op: Op, y: Any, xs: tuple[Any, ...]) -> None:
        self.ops += 1
        self.count(op, lambda: flops_of(op, y.spec, *(x.spec for x in xs)))
        self.leaves |= {id(owner(x.value)) for x in xs if x.tracked and x.is_leaf}
        if y.tracked and not y.is_leaf:
            node = keeper(y)
            self.records[node] = sizes_of(node.saved or ())

    def passing(self) -> Callable[[Any, Any, tuple[Any, ...]], None]:
        """What a pass of backward is to tell of each derivative."""
        added = additions()

        def pulled(node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
            self.before_backward = self.kept
            graph, more = rule_of(node, gy), added(node, gxs)
            self.count(node.op, lambda: more + (0 if graph is None else flops(graph)))

        return pulled

    def count(self, op: Op, cost: Any) -> None:
        """Add what op costs, if it says so."""
        try:
            self.flops = None if self.flops is None else self.flops + cost()
        except NotImplementedError:
            self.flops, self.unsaid = None, op


def rule_of(node: Any, gy: Any) -> Any:
    """What a derivative computes, as a graph; None where nobody says, and on tensors, whose ops are told."""
    rule = getattr(node.rule, "rule", node.rule)  # what is packed has a rule around its rule
    return None if hasattr(gy, "node") else getattr(rule, "graph", None)


def additions() -> Callable[[Node, tuple[Any, ...]], int]:
    """A function of each derivative of a pass in turn: how many additions add its gradients to those that were there.

    Those of tensors are ops, and counted as such. Gradients of several outputs (Arrivals) only lie beside each other.
    """
    arrived: set[Node] = set()

    def added(node: Node, gxs: tuple[Any, ...]) -> int:
        n = 0
        for x, gx in zip(node.inputs, gxs):
            if gx is not None:
                n += gx.size if x in arrived and hasattr(gx, "size") and not hasattr(gx, "spec") else 0
                arrived.add(x)
        return n

    return added


def sizes_of(saved: Any) -> Sizes:
    """The memory that a record keeps; what is packed is none."""
    arrays = [owner(array) for array in saved if hasattr(array, "nbytes")]
    return {id(array): array.nbytes for array in arrays}
