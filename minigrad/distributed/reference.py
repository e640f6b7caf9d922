"""The groups "ring", "tree" and "halving": collectives by algorithms.py, on MPI's sends and receives.

They are backends, like PyTorch's "gloo" and "nccl": `init_process_group("ring")`, with no other change to a program.
Collectives that an algorithm lacks come from ring and tree; all_to_all, gather and scatter are MPI's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..engine.core.modes import current
from .algorithms import (
    ALL_REDUCE,
    Recv,
    Rounds,
    Send,
    doubling_all_gather,
    halving_reduce_scatter,
    parts,
    ring_all_gather,
    ring_reduce_scatter,
    tree_broadcast,
    tree_reduce,
)
from .group import ProcessGroup, ReduceOp
from .mpi import MPIGroup, copy_when_done, wire_view

REDUCE: dict[ReduceOp, Callable[..., Any]] = {
    ReduceOp.SUM: np.add, ReduceOp.AVG: np.add, ReduceOp.PRODUCT: np.multiply,
    ReduceOp.MIN: np.minimum, ReduceOp.MAX: np.maximum,
}  # fmt: skip
under_way: list[Iterator[bool]] = []  # algorithms of all groups: waiting for one progresses all, as others may need it


def move_on() -> None:
    """Progress all running algorithms."""
    under_way[:] = [steps for steps in under_way if not next(steps, True)]


class ReferenceGroup(MPIGroup):
    """A group that runs its reductions itself: MPI only carries messages between two processes."""

    def __init__(self, group: MPIGroup, algorithm: str):
        vars(self).update(vars(group))
        self.algorithm, self.posted = algorithm, group.comm.Dup()  # a communicator apart from the user's
        self.begun = 0
        halves = algorithm == "halving" and self.size & (self.size - 1) == 0
        self.scattering = halving_reduce_scatter if halves else ring_reduce_scatter
        self.gathering = doubling_all_gather if halves else ring_all_gather

    def all_reduce(self, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        return self.run(ALL_REDUCE[self.algorithm](self.rank, self.size, x.size), x, op)

    def reduce(self, x: np.ndarray, op: ReduceOp, root: int) -> Callable[[], bool]:
        held = x if self.rank == root else x.copy()
        return self.run(tree_reduce(self.rank, self.size, x.size, root), held, op)

    def broadcast(self, x: np.ndarray, root: int) -> Callable[[], bool]:
        return self.run(tree_broadcast(self.rank, self.size, x.size, root), x)

    def all_gather(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        y.reshape(-1)[parts(y.size, self.size, self.rank)] = x.reshape(-1)
        return self.run(self.gathering(self.rank, self.size, y.size), y)

    def reduce_scatter(self, y: np.ndarray, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        held = x.reshape(-1).copy()
        mine = held[parts(x.size, self.size, self.rank)]
        return copy_when_done(self.run(self.scattering(self.rank, self.size, x.size), held, op), y.reshape(-1), mine)

    def until(self, is_done: Callable[[], bool], what: Callable[[], str], *more: Any) -> None:
        def moved_and_done() -> bool:
            move_on()
            return is_done()

        vars(moved_and_done)["needs"] = getattr(is_done, "needs", ())  # the rank at a message's other end
        super().until(moved_and_done, what, *more)

    def run(self, rounds: Rounds, x: np.ndarray, op: ReduceOp = ReduceOp.SUM) -> Callable[[], bool]:
        """Start this rank's rounds; each begins when the previous round has ended. Returns a test for completion."""
        self.begun += 1  # the transfer's tag: the same in all members, as all begin transfers in one order
        steps = self.steps(rounds, x.reshape(-1), REDUCE[op], self.begun % 2**15)
        under_way.append(steps)
        move_on()

        def is_done() -> bool:
            move_on()
            return steps not in under_way

        return is_done

    def steps(self, rounds: Rounds, x: np.ndarray, add: Callable[..., Any], tag: int) -> Iterator[bool]:
        """A generator that runs the rounds; yields False while a message is pending."""
        heard = [watcher.on_send for watcher in current.mode.watchers if hasattr(watcher, "on_send")]
        for said in rounds:
            arrived = [(m, np.empty_like(x[m.part])) for m in said if isinstance(m, Recv)]
            under_way = [self.posted.Irecv(wire_view(came), m.source, tag) for m, came in arrived]
            for m in said:
                if isinstance(m, Send):
                    under_way.append(self.posted.Isend(wire_view(x[m.part]), m.to, tag))
                    for tell in heard:
                        tell(m.to, x[m.part].nbytes)
            for request in under_way:
                while not request.Test():
                    yield False
            for m, came in arrived:
                x[m.part] = add(x[m.part], came) if m.add else came

    def split(self, name: str, ranks: tuple[int, ...]) -> ProcessGroup | None:
        group = super().split(name, ranks)
        return ReferenceGroup(group, self.algorithm) if isinstance(group, MPIGroup) else group
