"""The operations of a group of processes on arrays, and their versions for a single process.

An array here is a contiguous NumPy array. ProcessGroup is the group of a program that runs as one process: its sums
have one term. mpi.py has the group of many processes.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from ..engine.base.errors import MinigradError


class DistributedError(MinigradError, RuntimeError):
    """Processes make different calls, or wait for a process that will not answer."""


class ReduceOp(Enum):
    """How to reduce the values of all processes to one. AVG is the sum divided by their number."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"


class Work:
    """A transfer in progress, as returned with `async_op=True`.

    is_done    tests for completion once, which also progresses the transfer
    finish     final work on completion: divide for a mean, copy back
    what       describes the transfer, in case it never completes
    """

    pending: ClassVar[set[Work]] = set()  # kept alive: MPI writes to their memory

    def __init__(
        self, is_done: Callable[[], bool], finish: Callable[[], None],
        until: Callable[..., None], what: Callable[[], str],
    ):  # fmt: skip
        self.is_done, self.finish, self.until, self.what = is_done, finish, until, what
        self.pending.add(self)

    def is_completed(self) -> bool:
        """Whether the result is ready. Testing progresses the transfer: on a laptop the CPU does the network's work."""
        if self in self.pending and self.is_done():
            self.pending.remove(self)
            self.finish()
        return self not in self.pending

    def wait(self) -> bool:
        """Return when the result is ready. Raises DistributedError if it never will be."""
        if self in self.pending:
            self.until(self.is_done, self.what)
            self.pending.remove(self)
            self.finish()
        return True


class ProcessGroup:
    """An ordered group of processes.

    name     the name by which ops find the group
    rank     the index of this process in the group
    ranks    the global ranks of its members
    on_gpu   calls that take GPU arrays directly

    Each method begins a transfer, and returns a function that tests whether it is done. `root`, `to` and `source` are
    indices in the group.
    """

    on_gpu: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, name: str, rank: int, ranks: tuple[int, ...]):
        self.name, self.rank, self.ranks = name, rank, ranks

    @property
    def size(self) -> int:
        return len(self.ranks)

    def agree(self, what: str, where: Callable[[], Any]) -> None:
        """Return when all members have called this. Raises DistributedError, with each calling line, if `what` differs.

        where    returns the calling line, for the error message: members may differ in it
        """

    def until(self, is_done: Callable[[], bool], what: Callable[[], str]) -> None:
        """Return when is_done() is true. Raises DistributedError if it never will be.

        what    describes the wait and its line; it is called only if the wait is long
        """

    def all_reduce(self, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        return already_done

    def reduce(self, x: np.ndarray, op: ReduceOp, root: int) -> Callable[[], bool]:
        """Afterwards, x is undefined on ranks other than the root."""
        return already_done

    def broadcast(self, x: np.ndarray, root: int) -> Callable[[], bool]:
        return already_done

    def all_gather(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        y.reshape(-1)[...] = x.reshape(-1)
        return already_done

    def gather(self, y: np.ndarray | None, x: np.ndarray, root: int) -> Callable[[], bool]:
        """y    in the root, an array with room for the parts of all members; None in the others"""
        return already_done if y is None else self.all_gather(y, x)

    def scatter(self, y: np.ndarray, x: np.ndarray | None, root: int) -> Callable[[], bool]:
        """x    in the root, the parts of all members; None in the others"""
        return already_done if x is None else self.all_gather(y, x)

    def reduce_scatter(self, y: np.ndarray, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        return ProcessGroup.all_gather(self, y, x)

    def all_to_all(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        return ProcessGroup.all_gather(self, y, x)

    def send(self, x: np.ndarray, to: int, tag: int) -> Callable[[], bool]:
        raise DistributedError(f"send to process {to}: this process is alone in its group: there is no receiver")

    def recv(self, x: np.ndarray, source: int, tag: int) -> Callable[[], bool]:
        raise DistributedError(f"recv from process {source}: this process is alone in its group: there is no sender")

    def split(self, name: str, ranks: tuple[int, ...]) -> ProcessGroup | None:
        """The group of these ranks, in this order; None in other processes. All members of this group must call it."""
        return ProcessGroup(name, 0, self.ranks)


def already_done(*_: Any) -> bool:
    return True
