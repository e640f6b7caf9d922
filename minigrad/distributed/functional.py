"""Collectives as ops: they return new tensors, have gradients, and are nodes of a graph.

The loss of many processes is the sum of their losses. So the gradient of a collective moves gradients back to where the
elements came from, and adds up the gradients of copies: all_gather and reduce_scatter are each other's gradients, the
gradient of broadcast is a sum at its source, all_reduce and all_to_all are their own gradients.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine.base.device import CPU
from ..engine.base.errors import NoGradientError, ShapeError
from ..engine.base.spec import Spec
from ..engine.core.node import place
from ..engine.ops.effect import Effect
from .collectives import agree_on_call, groups, member, refuse_reduction, resolve_group
from .group import ProcessGroup, ReduceOp


@dataclass(frozen=True)
class Collective(Effect):
    """An op that all members of a group compute together; a graph stores the group's name."""

    group: str

    repeats = False  # find_failing_op() does not run it again: the other members would not take part

    call = property(lambda self: re.sub("(?<=[a-z])(?=[A-Z])", "_", self.kind).lower(), doc="all_reduce for AllReduce")

    @property
    def members(self) -> ProcessGroup:
        return resolve_group(groups.get(self.group))

    def run(self, begin: Any, y: np.ndarray, x: np.ndarray, detail: str = "") -> np.ndarray:
        g, whole = self.members, max(x, y, key=np.size)
        agree_on_call(g, self.call, Spec(whole.shape, whole.dtype), detail)
        g.until(begin(y, x), lambda: f"{self.call} at {place()}")
        return y

    def cut_length(self, x: Spec) -> int:
        """The length of a member's part of x, which is cut along the first axis."""
        p = self.members.size
        if not x.shape or x.shape[0] % p:
            raise ShapeError(f"{self.call} cuts the first axis into {p} equal parts, and got {x}")
        return x.shape[0] // p

    def jvp(self, dxs: Any, y: Any, x: Any) -> Any:
        return dxs[0].apply(self)


@dataclass(frozen=True)
class AllReduce(Collective):
    """y = Σ x over all processes, or their mean, product, minimum, maximum"""

    op: ReduceOp

    def infer(self, x: Spec) -> Spec:
        refuse_reduction(self.op, x)
        return x

    def forward(self, xp: Any, x: Any) -> Any:
        y = np.array(CPU.array(x), order="C")
        self.run(lambda y, x: self.members.all_reduce(y, self.op), y, y, self.op.value)
        return xp.asarray(y if self.op is not ReduceOp.AVG else y / y.dtype.type(self.members.size))

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        return (gy.apply(self.linear()),)

    def jvp(self, dxs: Any, y: Any, x: Any) -> Any:
        return dxs[0].apply(self.linear())

    def linear(self) -> AllReduce:
        if self.op not in (ReduceOp.SUM, ReduceOp.AVG):
            raise NoGradientError(f"all_reduce has a gradient only for sum and mean, and this is {self.op.value}")
        return self


class AllGather(Collective):
    """y = the x of all processes, one after the other along the first axis"""

    def infer(self, x: Spec) -> Spec:
        if not x.shape:
            raise ShapeError(f"all_gather concatenates along the first axis, and {x} has none: use x.reshape(1)")
        return x.with_shape((x.shape[0] * self.members.size, *x.shape[1:]))

    def forward(self, xp: Any, x: Any) -> Any:
        x = np.ascontiguousarray(CPU.array(x))
        y = np.empty((len(x) * self.members.size, *x.shape[1:]), x.dtype)
        return xp.asarray(self.run(self.members.all_gather, y, x))

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        return (gy.apply(ReduceScatter(self.group)),)


class ReduceScatter(Collective):
    """y = this process's part of Σ x, cut along the first axis"""

    def infer(self, x: Spec) -> Spec:
        return x.with_shape((self.cut_length(x), *x.shape[1:]))

    def forward(self, xp: Any, x: Any) -> Any:
        x = np.ascontiguousarray(CPU.array(x))
        y = np.empty((len(x) // self.members.size, *x.shape[1:]), x.dtype)
        return xp.asarray(self.run(lambda y, x: self.members.reduce_scatter(y, x, ReduceOp.SUM), y, x))

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        return (gy.apply(AllGather(self.group)),)


@dataclass(frozen=True)
class Broadcast(Collective):
    """y = the x of one process, `root`, an index in the group"""

    root: int

    def infer(self, x: Spec) -> Spec:
        return x

    def forward(self, xp: Any, x: Any) -> Any:
        y = np.array(CPU.array(x), order="C")
        return xp.asarray(self.run(lambda y, x: self.members.broadcast(y, self.root), y, y, f"from place {self.root}"))

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        total = gy.apply(AllReduce(self.group, ReduceOp.SUM))
        return (total if self.members.rank == self.root else total * 0,)


class AllToAll(Collective):
    """y = part i of every x in process i; each x is cut along the first axis"""

    def infer(self, x: Spec) -> Spec:
        self.cut_length(x)
        return x

    def forward(self, xp: Any, x: Any) -> Any:
        x = np.ascontiguousarray(CPU.array(x))
        return xp.asarray(self.run(self.members.all_to_all, np.empty_like(x), x))

    def vjp(self, gy: Any, y: Any, x: Any) -> tuple[Any]:
        return (gy.apply(self),)


def all_reduce(x: Any, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None) -> Any:
    """The sum, mean, product, minimum or maximum of the x of all processes, in every process."""
    return x.apply(AllReduce(resolve_group(group).name, op))


def all_gather(x: Any, group: ProcessGroup | None = None) -> Any:
    """The x of all processes, one after the other along the first axis."""
    return x.apply(AllGather(resolve_group(group).name))


def reduce_scatter(x: Any, group: ProcessGroup | None = None) -> Any:
    """This process's part of the sum of all x, cut along the first axis."""
    return x.apply(ReduceScatter(resolve_group(group).name))


def broadcast(x: Any, src: int, group: ProcessGroup | None = None) -> Any:
    """The x of rank `src`; the others' x only give shape and dtype, and get the gradient 0."""
    return x.apply(Broadcast(resolve_group(group).name, member(resolve_group(group), src)))


def all_to_all(x: Any, group: ProcessGroup | None = None) -> Any:
    """In process i, part i of every x, in the order of the senders. Each x is cut along its first axis."""
    return x.apply(AllToAll(resolve_group(group).name))
