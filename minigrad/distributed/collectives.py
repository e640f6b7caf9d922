"""Collectives on tensors, in place, by PyTorch's names. Nothing here is recorded: functional.py has gradients.

All members of a group call the same, in the same order, with tensors of one shape and dtype; they say so to each other
before anything moves (`agree`), so that a mistake is told with the lines of all, and gives no wrong number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..base.device import CPU
from ..base.dtypes import kind
from ..base.errors import DTypeError, GraphError, NoGradientError, ShapeError
from ..core import versions
from ..core.calls import told
from ..core.modes import current
from ..core.node import place
from ..tensor.tensor import Tensor
from .group import DistributedError, ProcessGroup, ReduceOp, Work
from .world import found


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Give every process the sum, mean, product, minimum or maximum of all their tensors, in place."""
    g, x = found(group), Lent(tensor, "all_reduce", writes=True)
    refuse_mean(op, tensor)
    g.agree(said("all_reduce", tensor, op.value), f"at {place()}")
    return started(g, x, g.all_reduce(x.array, op), async_op, lambda: divide(x, op, g))


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None, async_op: bool = False) -> Work | None:
    """Give every process the tensor of rank `src`, in place."""
    g, x = found(group), Lent(tensor, "broadcast", writes=True)
    g.agree(said("broadcast", tensor, f"from rank {src}"), f"at {place()}")
    return started(g, x, g.broadcast(x.array, member(g, src)), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Write the tensors of all, one after the other, into `output_tensor`, which has room for them."""
    g = found(group)
    x, y = Lent(input_tensor, "all_gather"), Lent(output_tensor, "all_gather", writes=True)
    times("all_gather", output_tensor, input_tensor, g.size)
    g.agree(said("all_gather", input_tensor), f"at {place()}")
    return started(g, y, g.all_gather(y.array, x.array), async_op)


def all_gather(
    tensor_list: Sequence[Tensor], tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Write the tensor of each process into its place in `tensor_list`."""
    g, x = found(group), Lent(tensor, "all_gather")
    ys = [Lent(y, "all_gather", writes=True) for y in tensor_list]
    if [y.tensor.spec for y in ys] != [tensor.spec] * g.size:
        raise ShapeError(f"all_gather: {g.size} processes fill as many tensors as {tensor.spec}, and got {len(ys)}")
    g.agree(said("all_gather", tensor), f"at {place()}")
    rows = np.empty((g.size, *x.array.shape), x.array.dtype)

    def finish() -> None:
        for y, row in zip(ys, rows):
            y.array[...] = row
            y.give_back()

    return started(g, None, g.all_gather(rows, x.array), async_op, finish)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Give each process its part of the sum of all: `input` is cut along its first axis, a part for each."""
    g = found(group)
    x, y = Lent(input, "reduce_scatter"), Lent(output, "reduce_scatter", writes=True)
    refuse_mean(op, input)
    times("reduce_scatter", input, output, g.size)
    g.agree(said("reduce_scatter", input, op.value), f"at {place()}")
    return started(g, y, g.reduce_scatter(y.array, x.array, op), async_op, lambda: divide(y, op, g))


def all_to_all_single(
    output: Tensor, input: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Send part i of `input`, cut along its first axis, to process i; what comes is in the order of the senders."""
    g = found(group)
    x, y = Lent(input, "all_to_all"), Lent(output, "all_to_all", writes=True)
    if output.spec != input.spec or not input.shape or input.shape[0] % g.size:
        raise ShapeError(
            f"all_to_all of {g.size} processes: output like input, with a first axis that they divide among them; got "
            f"{output.spec} and {input.spec}"
        )
    g.agree(said("all_to_all", input), f"at {place()}")
    return started(g, y, g.all_to_all(y.array, x.array), async_op)


def barrier(group: ProcessGroup | None = None) -> None:
    """Return when every process has come here."""
    with told("collective", "barrier"):
        found(group).agree("barrier", f"at {place()}")


def send(tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> None:
    """Send the tensor to rank `dst`, which receives it; return when it may be changed."""
    isend(tensor, dst, group, tag).wait()


def recv(tensor: Tensor, src: int, group: ProcessGroup | None = None, tag: int = 0) -> int:
    """Fill the tensor with what rank `src` sends; its rank."""
    irecv(tensor, src, group, tag).wait()
    return src


def isend(tensor: Tensor, dst: int, group: ProcessGroup | None = None, tag: int = 0) -> Work:
    """Begin to send: the tensor is not to be changed until wait() returns."""
    g, x = found(group), Lent(tensor, "send")
    return Work(g.send(x.array, member(g, dst), tag), x.let_go, g.until, f"send to rank {dst} at {place()}")


def irecv(tensor: Tensor, src: int, group: ProcessGroup | None = None, tag: int = 0) -> Work:
    """Begin to receive: what comes is in the tensor when wait() returns."""
    g, x = found(group), Lent(tensor, "recv", writes=True)
    return Work(g.recv(x.array, member(g, src), tag), x.give_back, g.until, f"recv from rank {src} at {place()}")


# -- what they have in common ---------------------------------------------------------------------


class Lent:
    """The memory of a tensor while others write to it or read it: its own where that lies side by side on the CPU."""

    def __init__(self, tensor: Tensor, call: str, writes: bool = False):
        if current.mode.builder is not None or not isinstance(tensor, Tensor):
            raise GraphError(
                f"{call} edits memory as it runs, and got {type(tensor).__name__} while a graph is built: "
                f"mg.distributed.functional.{call} is an op, and part of the graph"
            )
        if writes and tensor.tracked and not tensor.is_leaf:
            raise NoGradientError(
                f"{call} is not recorded, and {tensor.spec} has a history that would be wrong after it: "
                f"mg.distributed.functional.{call} has a gradient, x.detach() has no history"
            )
        self.tensor, self.array = tensor, np.ascontiguousarray(CPU.array(tensor.value)).reshape(tensor.shape)

    def let_go(self) -> None:
        """What was only read."""

    def give_back(self) -> None:
        """What was written is in the tensor, and backward knows that it changed."""
        x = self.tensor
        if not np.may_share_memory(self.array, CPU.array(x.value)):
            x.value[...] = x.spec.device.array(self.array)
        versions.edit(x.value)


def started(
    g: ProcessGroup,
    y: Lent | None,
    is_done: Callable[[], bool],
    async_op: bool,
    last: Callable[[], None] = lambda: None,
) -> Work | None:
    """A transfer into y: awaited, or given to whoever asked for it."""

    def finish() -> None:
        last()
        if y is not None:
            y.give_back()

    work = Work(is_done, finish, g.until, f"a transfer begun at {place()}")
    if async_op:
        return work
    work.wait()
    return None


def said(call: str, x: Any, detail: str = "") -> str:
    """What a process says of its call."""
    return " ".join(filter(None, (call, detail, f"of {x.dtype} {x.shape}")))


def divide(x: Lent, op: ReduceOp, g: ProcessGroup) -> None:
    if op is ReduceOp.AVG:
        x.array /= x.array.dtype.type(g.size)


def refuse_mean(op: ReduceOp, x: Any) -> None:
    if op is ReduceOp.AVG and kind(x.dtype) != "f":
        raise DTypeError(f"the mean of {x.spec} is no integer: take the sum, or x.astype(float)")


def times(call: str, many: Tensor, one: Tensor, n: int) -> None:
    if many.spec.size != n * one.spec.size or many.dtype != one.dtype:
        raise ShapeError(
            f"{call}: of {n} processes, the whole has {n} times the elements of a part, in its dtype; got {many.spec} "
            f"for the whole and {one.spec} for a part"
        )


def member(g: ProcessGroup, rank: Any) -> int:
    """The place of a rank in the group. Raises DistributedError if it is not in it."""
    if rank not in g.ranks:
        raise DistributedError(f"rank {rank!r} is none of this group's, which are {list(g.ranks)}")
    return g.ranks.index(rank)
