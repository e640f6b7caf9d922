"""Who takes part: the processes that were started together, and groups of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta

from ..engine.core.node import place
from .algorithms import ALL_REDUCE
from .group import DistributedError, ProcessGroup

STARTED = ("PMI_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")  # set by mpiexec and its kin
BACKENDS = ["mpi", "nccl", *ALL_REDUCE]
groups: dict[str, ProcessGroup] = {}  # by name; an op of a graph says the name of its group


def init_process_group(backend: str | None = None, timeout: timedelta = timedelta(minutes=30)) -> None:
    """Join the processes that were started with this one; alone, a program is a group of one.

    backend    "mpi", or None for MPI where mpiexec or `minigrad run` started this process, and nothing elsewhere;
               "nccl" for MPI with what is on GPUs, one for each process, carried by NCCL (nccl.py);
               "ring", "tree" or "halving" for sums by those algorithms (reference.py)
    timeout    how long a call waits for the others

    Raises DistributedError if it was called before, or MPI is asked for and not installed.
    """
    if is_initialized():
        raise DistributedError("init_process_group was called before; destroy_process_group() ends that")
    if backend not in (None, *BACKENDS):
        raise DistributedError(
            f"init_process_group: the backend is one of {BACKENDS}, or None to choose, and got {backend!r}"
        )
    if backend is None and not any(name in os.environ for name in STARTED):
        groups["world"] = ProcessGroup("world", 0, (0,))
        return
    try:
        from . import mpi, nccl, reference  # an extra
    except ImportError as missing:
        raise DistributedError(
            f"many processes need MPI ({missing}): pip install 'minigrad-course[mpi]', in the Python that runs them"
        ) from None
    seconds = timeout.total_seconds()
    everyone = mpi.world(seconds)
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
    """The place of this process in the group, of all if None; −1 in a group that it is not in."""
    return group.rank if isinstance(group, ProcessGroup) else found(group).rank


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes the group has, or all together."""
    return found(group).size


def new_group(ranks: Sequence[int] | None = None) -> ProcessGroup:
    """The group of these ranks. All processes must call it; in one that is not in it get_rank(group) is −1."""
    everyone = found(None)
    members = everyone.ranks if ranks is None else tuple(ranks)
    if not members or len({*members}) != len(members) or not {*members} <= {*everyone.ranks}:
        raise DistributedError(f"a group is of different ranks from 0 to {everyone.size - 1}, and got {list(members)}")
    everyone.agree(f"new_group of {list(members)}", place)
    name = f"group{len(groups)}"
    groups[name] = everyone.split(name, members) or ProcessGroup(name, -1, members)
    return groups[name]


def found(group: ProcessGroup | None) -> ProcessGroup:
    """The group, or all. Raises DistributedError before init_process_group(), and in who is not in the group."""
    if isinstance(group, ProcessGroup):
        if group.rank < 0:
            raise DistributedError(
                f"this process is none of the group's, which are {list(group.ranks)}: call where get_rank(group) >= 0"
            )
        return group
    if group is not None:
        raise DistributedError(f"group= is what new_group() gives, or None for all processes, and got {group!r}")
    if not is_initialized():
        raise DistributedError("there are no processes to talk to yet: call mg.distributed.init_process_group() first")
    return groups["world"]
