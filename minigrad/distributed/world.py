"""The processes that were started together, and groups of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta

from ..engine.core.node import place
from .algorithms import ALL_REDUCE
from .group import DistributedError, ProcessGroup

STARTED = ("PMI_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")  # set by mpiexec and similar starters
BACKENDS = ["mpi", "nccl", *ALL_REDUCE]
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
