"""The processes that were started together, groups of them, and the operations of a group on arrays.

An array here is a contiguous NumPy array. ProcessGroup is the group of a program that runs as one process: its sums
have one term. mpi.py has the group of many processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import Enum
from typing import Any, ClassVar

import numpy as np

from ..engine.base.errors import MinigradError
from ..engine.core.node import place
from .algorithms import ALL_REDUCE

STARTED = ("PMI_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")  # set by mpiexec and similar starters
BACKENDS = ["mpi", "nccl", *ALL_REDUCE]


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

    size = property(lambda self: len(self.ranks), doc="The number of its members.")

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


# -- the processes, and groups of them --------------------------------------------------------------

groups: dict[str, ProcessGroup] = {}  # by name; an op of a graph stores the name of its group


def init_process_group(backend: str | None = None, timeout: timedelta = timedelta(minutes=30)) -> None:
    """Join the processes started with this one; a program started alone is a group of one.

    backend    "mpi"; None for MPI if mpiexec or `minigrad run` started this process, else for a group of one;
               "nccl" for MPI, with NCCL for arrays on GPUs, one GPU for each process (nccl.py);
               "ring", "tree" or "halving" for sums by those algorithms (reference.py)
    timeout    how long a call waits for other processes

    Raises DistributedError if it was called before, or MPI is needed and not installed.
    """
    if is_initialized():
        raise DistributedError("init_process_group was already called: call destroy_process_group() first")
    if backend not in (None, *BACKENDS):
        raise DistributedError(f"init_process_group: backend must be one of {BACKENDS}, or None, and got {backend!r}")
    if backend is None and not any(name in os.environ for name in STARTED):
        groups["world"] = ProcessGroup("world", 0, (0,))
        return
    try:
        from . import mpi, nccl, reference  # they need mpi4py, which is optional
    except ImportError as missing:
        advice = "python3 start.py add mpi, or pip install 'minigrad-course[mpi]' in the Python that runs them"
        raise DistributedError(f"many processes need MPI ({missing}): {advice}") from None
    everyone = mpi.world(timeout.total_seconds())
    if backend == "nccl":
        nccl.one_gpu_each(everyone)
        everyone = nccl.NcclGroup(everyone)
    groups["world"] = reference.ReferenceGroup(everyone, backend) if backend in ALL_REDUCE else everyone


def destroy_process_group() -> None:
    """Leave all groups; init_process_group() may be called again."""
    groups.clear()


def is_initialized() -> bool:
    """Whether this process has called init_process_group()."""
    return "world" in groups


def get_rank(group: ProcessGroup | None = None) -> int:
    """The index of this process in the group, or among all if None; −1 if it is not a member."""
    return group.rank if isinstance(group, ProcessGroup) else resolve_group(group).rank


def get_world_size(group: ProcessGroup | None = None) -> int:
    """The number of processes in the group, or of all processes if None."""
    return resolve_group(group).size


def new_group(ranks: Sequence[int] | None = None) -> ProcessGroup:
    """Make a group of these ranks. All processes must call it; for those outside, get_rank(group) is −1."""
    everyone = resolve_group(None)
    members = everyone.ranks if ranks is None else tuple(ranks)
    if not members or len({*members}) != len(members) or not {*members} <= {*everyone.ranks}:
        raise DistributedError(f"a group needs distinct ranks from 0 to {everyone.size - 1}, and got {list(members)}")
    everyone.agree(f"new_group of {list(members)}", place)
    name = f"group{len(groups)}"
    groups[name] = everyone.split(name, members) or ProcessGroup(name, -1, members)
    return groups[name]


def resolve_group(group: ProcessGroup | None) -> ProcessGroup:
    """The group; for None, that of all processes. Raises DistributedError in non-members, and before initialisation."""
    if isinstance(group, ProcessGroup):
        if group.rank < 0:
            advice = "call only if get_rank(group) >= 0"
            raise DistributedError(f"this process is not in the group of ranks {list(group.ranks)}: {advice}")
        return group
    if group is not None:
        raise DistributedError(f"group= must be what new_group() returns, or None for all processes, and got {group!r}")
    if not is_initialized():
        raise DistributedError("no process group yet: call mg.distributed.init_process_group() first")
    return groups["world"]
