"""What a group of processes can do with arrays, and what one process does alone.

An array here is a NumPy array whose elements lie side by side. `alone` is the group of a program that nobody started in
parallel: its sums have one term. mpi.py has the group of many.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from ..engine.base.errors import MinigradError


class DistributedError(MinigradError, RuntimeError):
    """Processes that do not do the same, or one that does nothing any more."""


class ReduceOp(Enum):
    """How the values of all processes become one. AVG is the sum, divided by their number."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"


class Work:
    """A transfer that is under way, as `async_op=True` gives it.

    is_done    asks once, and moves the transfer on
    finish     what is left to do when it is done: a mean is divided, a copy put back
    what       says what it is, where it never will be
    """

    pending: ClassVar[set[Work]] = set()  # MPI writes to their memory, whether or not somebody else holds them

    def __init__(
        self,
        is_done: Callable[[], bool],
        finish: Callable[[], None],
        until: Callable[..., None],
        what: Callable[[], str],
    ):
        self.is_done, self.finish, self.until, self.what = is_done, finish, until, what
        self.pending.add(self)

    def is_completed(self) -> bool:
        """Whether the result is there. Asking moves the transfer on: a network card of a laptop is its processor."""
        if self in self.pending and self.is_done():
            self.pending.remove(self)
            self.finish()
        return self not in self.pending

    def wait(self) -> bool:
        """Return when the result is there. Raises DistributedError if it never will be."""
        if self in self.pending:
            self.until(self.is_done, self.what)
            self.pending.remove(self)
            self.finish()
        return True


class ProcessGroup:
    """Some of the processes, in an order.

    name     by which ops find it
    rank     the place of this process in it
    ranks    the places of its members among all
    on_gpu   calls that take arrays of a GPU as they are

    Each method begins a transfer, and returns how to ask whether it is done. `root`, `to` and `source` are places in
    the group.
    """

    on_gpu: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, name: str, rank: int, ranks: tuple[int, ...]):
        self.name, self.rank, self.ranks = name, rank, ranks

    @property
    def size(self) -> int:
        return len(self.ranks)

    def agree(self, what: str, where: Callable[[], Any]) -> None:
        """Return when all members have said `what`. Raises DistributedError where one said something else, with lines.

        where    gives the line that says it, for people: members may differ in it
        """

    def until(self, is_done: Callable[[], bool], what: Callable[[], str]) -> None:
        """Return when it is done. Raises DistributedError if it never will be.

        what    says what is waited for, and where: asked only if it is long in coming
        """

    def all_reduce(self, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        return done

    def reduce(self, x: np.ndarray, op: ReduceOp, root: int) -> Callable[[], bool]:
        """Of what x holds elsewhere than in the root, nothing is promised."""
        return done

    def broadcast(self, x: np.ndarray, root: int) -> Callable[[], bool]:
        return done

    def all_gather(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        y.reshape(-1)[...] = x.reshape(-1)
        return done

    def gather(self, y: np.ndarray | None, x: np.ndarray, root: int) -> Callable[[], bool]:
        """y    in the root, room for all"""
        return done if y is None else self.all_gather(y, x)

    def scatter(self, y: np.ndarray, x: np.ndarray | None, root: int) -> Callable[[], bool]:
        """x    in the root, a part for each"""
        return done if x is None else self.all_gather(y, x)

    def reduce_scatter(self, y: np.ndarray, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        y.reshape(-1)[...] = x.reshape(-1)
        return done

    def all_to_all(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        y.reshape(-1)[...] = x.reshape(-1)
        return done

    def send(self, x: np.ndarray, to: int, tag: int) -> Callable[[], bool]:
        raise DistributedError(f"send to process {to}: this process is alone in its group, and nobody would receive")

    def recv(self, x: np.ndarray, source: int, tag: int) -> Callable[[], bool]:
        raise DistributedError(f"recv from process {source}: this process is alone in its group, and nobody sends")

    def split(self, name: str, ranks: tuple[int, ...]) -> ProcessGroup | None:
        """The group of these members, in this order; None in a process that is not one of them. All must call."""
        return ProcessGroup(name, 0, self.ranks)


def done(*_: Any) -> bool:
    return True
