"""The processes that were started together, groups of them, and collectives on tensors, under PyTorch's names.

Collectives work in place. Nothing is recorded for backward: see functional.py.

All members of a group make the same calls, in the same order, with tensors of one shape and dtype. They compare their
calls before anything moves (`agree`), so if calls differ, an error shows the line of each; nothing goes wrong silently.
Watchers of ops, such as CommDebugMode, are notified of each call.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from datetime import timedelta
from functools import lru_cache
from typing import Any, Self

import numpy as np

from ..engine.base.device import CPU, GPU, device_of
from ..engine.base.dtypes import kind
from ..engine.base.errors import DTypeError, GraphError, NoGradientError, ShapeError
from ..engine.base.spec import Spec
from ..engine.core import versions
from ..engine.core.calls import named_scope
from ..engine.core.modes import Watcher, current, watching
from ..engine.core.node import place
from ..engine.methods import Operand
from ..engine.tensor.tensor import Tensor
from .algorithms import ALL_REDUCE
from .group import DistributedError, ProcessGroup, ReduceOp, Work

STARTED = ("PMI_SIZE", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")  # set by mpiexec and similar starters
BACKENDS = ["mpi", "nccl", *ALL_REDUCE]
groups: dict[str, ProcessGroup] = {}  # by name; an op of a graph stores the name of its group


def init_process_group(backend: str | None = None, timeout: timedelta = timedelta(minutes=30)) -> None:
    """Join the processes started with this one; a program started alone is a group of one.

    backend    "mpi"; None for MPI if mpiexec or `minigrad run` started this process, else for a group of one;
               "nccl" for MPI, with NCCL for arrays on GPUs, one GPU for each process;
               "ring", "tree" or "halving" for sums by those algorithms (algorithms.py)
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
        from . import mpi  # it needs mpi4py, which is optional
    except ImportError as missing:
        advice = "python3 start.py add mpi, or pip install 'minigrad-course[mpi]' in the Python that runs them"
        raise DistributedError(f"many processes need MPI ({missing}): {advice}") from None
    everyone = mpi.world(timeout.total_seconds())
    if backend == "nccl":
        mpi.one_gpu_each(everyone)
        everyone = mpi.NcclGroup(everyone)
    groups["world"] = mpi.ReferenceGroup(everyone, backend) if backend in ALL_REDUCE else everyone


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


# -- collectives ------------------------------------------------------------------------------------


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Give every process the sum, mean, product, minimum or maximum of all their tensors, in place."""
    g = resolve_group(group)
    x = TransferBuffer(g, tensor, "all_reduce", writes=True)
    refuse_reduction(op, tensor.spec)
    begin, finish = lambda: g.all_reduce(x.array, op), lambda: x.give_back(op)
    return run_transfer(g, "all_reduce", tensor.spec, begin, finish, async_op, op.value)


def reduce(
    tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """As all_reduce, but only rank `dst` gets the result, in place; the others keep their tensors."""
    g = resolve_group(group)
    x = TransferBuffer(g, tensor, "reduce", writes=True)
    root = member(g, dst)
    refuse_reduction(op, tensor.spec)
    begin, finish = lambda: g.reduce(x.array, op, root), lambda: x.give_back(op) if g.rank == root else None
    return run_transfer(g, "reduce", tensor.spec, begin, finish, async_op, f"{op.value} to rank {dst}")


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Give every process the tensor of rank `src`, in place."""
    g = resolve_group(group)
    x = TransferBuffer(g, tensor, "broadcast", writes=True)
    root = member(g, src)
    begin, detail = lambda: g.broadcast(x.array, root), f"from rank {src}"
    return run_transfer(g, "broadcast", tensor.spec, begin, x.give_back, async_op, detail)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Concatenate the tensors of all processes in `output_tensor`."""
    g = resolve_group(group)
    x, y = TransferBuffer(g, input_tensor, "all_gather"), TransferBuffer(g, output_tensor, "all_gather", writes=True)
    check_sizes("all_gather", output_tensor, input_tensor, g.size)
    return run_transfer(
        g, "all_gather", output_tensor.spec, lambda: g.all_gather(y.array, x.array), y.give_back, async_op
    )


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Write the tensor of each process into its place in `tensor_list`."""
    g = resolve_group(group)
    x = TransferBuffer(g, tensor, "all_gather")
    ys = one_for_each("all_gather", tensor_list, tensor, g, writes=True)
    rows = device_of(x.array).xp.empty((g.size, *x.array.shape), x.array.dtype)
    whole = tensor.spec.with_shape(rows.shape)
    return run_transfer(g, "all_gather", whole, lambda: g.all_gather(rows, x.array), lambda: spread(rows, ys), async_op)


def gather(
    tensor: Tensor, gather_list: Sequence[Tensor] | None = None,
    dst: int = 0, group: ProcessGroup | None = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Write the tensor of each process into its place in the `gather_list` of rank `dst`; others pass no list."""
    g = resolve_group(group)
    x = TransferBuffer(g, tensor, "gather")
    root, whole = member(g, dst), tensor.spec.with_shape((g.size, *tensor.shape))
    ys = one_for_each("gather", at_root("gather_list", gather_list, g, dst), tensor, g, writes=True)
    rows = np.empty(whole.shape, x.array.dtype) if ys else None
    return run_transfer(
        g, "gather", whole, lambda: g.gather(rows, x.array, root), lambda: spread(rows, ys), async_op, f"to rank {dst}"
    )


def scatter(
    tensor: Tensor, scatter_list: Sequence[Tensor] | None = None,
    src: int = 0, group: ProcessGroup | None = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Give each process its tensor of the `scatter_list` of rank `src`; others pass no list."""
    g = resolve_group(group)
    y = TransferBuffer(g, tensor, "scatter", writes=True)
    root, whole = member(g, src), tensor.spec.with_shape((g.size, *tensor.shape))
    xs = one_for_each("scatter", at_root("scatter_list", scatter_list, g, src), tensor, g, writes=False)
    rows = np.stack([x.array for x in xs]) if xs else None
    return run_transfer(
        g, "scatter", whole, lambda: g.scatter(y.array, rows, root), y.give_back, async_op, f"from rank {src}"
    )


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Give each process its part of the sum of all inputs, which are cut along their first axis."""
    g = resolve_group(group)
    x, y = TransferBuffer(g, input, "reduce_scatter"), TransferBuffer(g, output, "reduce_scatter", writes=True)
    refuse_reduction(op, input.spec)
    check_sizes("reduce_scatter", input, output, g.size)
    begin, finish = lambda: g.reduce_scatter(y.array, x.array, op), lambda: y.give_back(op)
    return run_transfer(g, "reduce_scatter", input.spec, begin, finish, async_op, op.value)


def all_to_all_single(
    output: Tensor, input: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Send part i of `input`, cut along its first axis, to process i; `output` holds the parts in sender order."""
    g = resolve_group(group)
    x, y = TransferBuffer(g, input, "all_to_all"), TransferBuffer(g, output, "all_to_all", writes=True)
    if output.spec != input.spec or not input.shape or input.shape[0] % g.size:
        raise ShapeError(
            f"all_to_all of {g.size} processes needs an output like the input, and a first axis that they divide; got "
            f"{output.spec} and {input.spec}"
        )
    return run_transfer(g, "all_to_all", input.spec, lambda: g.all_to_all(y.array, x.array), y.give_back, async_op)


def barrier(group: ProcessGroup | None = None) -> None:
    """Return when every process has called this."""
    with named_scope("collective", "barrier"):
        resolve_group(group).agree("barrier", place)


def send(tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> None:
    """Send the tensor to rank `dst`, which must receive it; return when the tensor may be changed."""
    with named_scope("collective", "send"):
        isend(tensor, dst, group, tag).wait()


def recv(tensor: Tensor, src: int, group: ProcessGroup | None = None, tag: int = 0) -> int:
    """Fill the tensor with the one that rank `src` sends; returns `src`."""
    with named_scope("collective", "recv"):
        irecv(tensor, src, group, tag).wait()
    return src


def isend(tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> Work:
    """Begin to send. The tensor must not be changed until wait() returns."""
    return begin_message("send", tensor, "to", dst, group, tag)


def irecv(tensor: Tensor, src: int, group: ProcessGroup | None = None, tag: int = 0) -> Work:
    """Begin to receive. The data is in the tensor when wait() returns."""
    return begin_message("recv", tensor, "from", src, group, tag)


# -- one transfer, from the agreement of all members to its result ---------------------------------


def run_transfer(
    g: ProcessGroup, call: str, x: Spec, begin: Callable[[], Callable[[], bool]],
    finish: Callable[[], None], async_op: bool = False, detail: str = "",
) -> Work | None:  # fmt: skip
    """Run a transfer that all members begin, and wait for it; with async_op return it as Work instead.

    x         the larger of input and output, whose bytes are counted, as in nccl-tests
    detail    must be the same in all members, like the call and the shape and dtype of x
    """
    with named_scope("collective", call) if current.mode.watchers else nullcontext():
        agree_on_call(g, call, x, detail)
        if not async_op:
            g.until(begin(), lambda: f"{call} at {place()}")
            finish()
            return None
        span, where = named_scope("transfer", call).__enter__(), place()

        def end() -> None:
            finish()
            span.__exit__()

        return Work(begin(), end, g.until, lambda: f"{call} begun at {where}")


def agree_on_call(g: ProcessGroup, call: str, x: Spec, detail: str = "") -> None:
    """Return when all members make the same call. The call is counted, whether or not they agree."""
    count_call(call, x)
    g.agree(describe_call(call, detail, x), place)


def count_call(call: str, x: Spec) -> None:
    """Notify the watchers that count calls."""
    for watcher in current.mode.watchers:
        if hasattr(watcher, "on_transfer"):
            watcher.on_transfer(call, x.nbytes)


@lru_cache(maxsize=1024)
def describe_call(call: str, detail: str, x: Spec) -> str:
    """The description of a call, which all members must share."""
    return " ".join(filter(None, (call, detail, f"of {x.dtype} {x.shape}")))


# -- tensors and ranks of a call ------------------------------------------------------------------


def begin_message(call: str, tensor: Tensor, way: str, rank: int, group: ProcessGroup | None, tag: int) -> Work:
    """Begin to send to another rank, or to receive from it; `way` is "to" or "from"."""
    g, where = resolve_group(group), place()
    x = TransferBuffer(g, tensor, call, writes=call == "recv")
    if (peer := member(g, rank)) == g.rank:
        raise DistributedError(f"{call}: rank {rank} is this process, which cannot wait for itself")
    count_call(call, tensor.spec)
    return Work(
        getattr(g, call)(x.array, peer, tag), x.give_back, g.until, lambda: f"{call} {way} rank {rank} at {where}"
    )


class TransferBuffer:
    """The array that a transfer reads or writes for a tensor: the tensor's own memory if contiguous, else a copy.

    A tensor on a GPU goes through the host's memory, unless the group takes GPU arrays.
    """

    def __init__(self, g: ProcessGroup, tensor: Tensor, call: str, writes: bool = False):
        if not isinstance(tensor, Operand):
            raise TypeError(f"{call} takes tensors, and got {type(tensor).__name__}: mg.tensor(x) makes one")
        if current.mode.builder is not None or not isinstance(tensor, Tensor):
            raise GraphError(
                f"{call} edits memory as it runs, and got {type(tensor).__name__} while a graph is built: "
                f"use mg.distributed.functional.{call}, which is an op of the graph"
            )
        if writes and tensor.tracked and not tensor.is_leaf:
            raise NoGradientError(
                f"{call} is not recorded, and {tensor.spec} has a history that would be wrong after it: "
                f"mg.distributed.functional.{call} has a gradient, x.detach() has no history"
            )
        stays = tensor.spec.device is GPU and call in g.on_gpu
        self.g, self.tensor, array = g, tensor, tensor.value if stays else CPU.array(tensor.value)
        if writes and tensor.spec.device is CPU and not array.flags.writeable:
            raise ValueError(f"{call} writes to {tensor.spec}, whose memory is read-only: take a copy, x.clone()")
        self.array, self.writes = array if array.flags.c_contiguous else array.copy(order="C"), writes
        if writes:
            versions.edit(tensor.value)  # the transfer writes from now on: a use before wait() fails in backward

    def give_back(self, op: ReduceOp = ReduceOp.SUM) -> None:
        """Divide a sum for a mean, copy the result into the tensor if necessary, and mark it as edited for backward.

        Does nothing after a transfer that only read the tensor.
        """
        if not self.writes:
            return
        x = self.tensor
        if op is ReduceOp.AVG:
            self.array /= self.array.dtype.type(self.g.size)
        if self.array is not x.value:
            x.value[...] = x.spec.device.array(self.array)
        versions.edit(x.value)


def at_root(name: str, tensors: Sequence[Tensor] | None, g: ProcessGroup, rank: int) -> Sequence[Tensor] | None:
    """The list `tensors`. Raises DistributedError unless this rank, and no other rank, passes one."""
    if (tensors is not None) != (g.rank == member(g, rank)):
        here = g.ranks[g.rank]
        passed = f"rank {here} passed {'none' if tensors is None else 'one'}"
        raise DistributedError(f"only rank {rank} passes a {name}; {passed}")
    return tensors


def one_for_each(
    call: str, tensors: Sequence[Tensor] | None, one: Tensor, g: ProcessGroup, writes: bool
) -> list[TransferBuffer]:
    """The buffers of a list with a tensor for each process, all like `one`; [] without a list."""
    if tensors is not None and [x.spec for x in tensors] != [one.spec] * g.size:
        raise ShapeError(f"{call} of {g.size} processes needs {g.size} tensors, each {one.spec}, and got {[*tensors]}")
    return [TransferBuffer(g, x, call, writes) for x in tensors or ()]


def spread(rows: np.ndarray | None, ys: Sequence[TransferBuffer]) -> None:
    """Copy each process's row into the tensor for that process."""
    for y, row in zip(ys, () if rows is None else rows):
        y.array[...] = row
        y.give_back()


def refuse_reduction(op: Any, x: Spec) -> None:
    """Raise TypeError if op is no ReduceOp, DTypeError if the result's dtype would differ from x's."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"op= must be one of mg.distributed.ReduceOp, as ReduceOp.SUM, and got {op!r}")
    if op is ReduceOp.AVG and kind(x.dtype) != "f":
        raise DTypeError(f"the mean of {x} is no integer: use the sum, or x.astype(float)")
    if op is ReduceOp.SUM and kind(x.dtype) == "b":
        raise DTypeError(f"the sum of {x} is no boolean: use ReduceOp.MAX for “any”, or x.astype(int)")


def check_sizes(call: str, many: Tensor, one: Tensor, n: int) -> None:
    if many.spec.size != n * one.spec.size or many.dtype != one.dtype or many.device != one.device:
        raise ShapeError(
            f"{call} of {n} processes: the whole must have {n} times a part's elements, its dtype and its device; "
            f"got {many.spec} for the whole and {one.spec} for a part"
        )


def member(g: ProcessGroup, rank: Any) -> int:
    """The index of a rank in the group. Raises DistributedError if it is not a member."""
    if rank not in g.ranks:
        raise DistributedError(f"rank {rank!r} is not in this group, whose ranks are {list(g.ranks)}")
    return g.ranks.index(rank)


class CommDebugMode(Watcher):
    """A block that counts the collectives, sends and receives that this process begins.

    comm_counts    call → number of calls: all_reduce, all_gather, …, whether in place or as an op
    comm_bytes     call → total bytes, of the larger of each call's input and output
    messages       (receiver's index in the group, bytes) of each message that a reference algorithm sent, in order;
                   MPI and NCCL do not report their messages
    """

    holds = False

    def __init__(self) -> None:
        self.comm_counts: Counter[str] = Counter()
        self.comm_bytes: Counter[str] = Counter()
        self.messages: list[tuple[int, int]] = []

    def get_comm_counts(self) -> dict[str, int]:
        """Call → number of calls."""
        return dict(self.comm_counts)

    def get_total_counts(self) -> int:
        """Number of all calls."""
        return self.comm_counts.total()

    def __enter__(self) -> Self:
        self.__init__()  # type: ignore[misc]
        self.block = watching(self)
        self.block.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self.block.__exit__(*raised)

    def on_transfer(self, call: str, nbytes: int) -> None:
        self.comm_counts[call] += 1
        self.comm_bytes[call] += nbytes

    def on_send(self, to: int, nbytes: int) -> None:
        self.messages.append((to, nbytes))
