"""The group "nccl": one GPU for each process; arrays go from GPU to GPU by NVIDIA's NCCL, called through CuPy.

Processes find each other, and agree, by MPI. CPU arrays go by MPI too. Messages, gather, scatter and all_to_all of GPU
arrays, and the ops of functional.py, go by MPI through the host's memory.

https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/colls.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.base.device import CPU, GPU, device_of
from ..engine.base.errors import DTypeError
from .group import DistributedError, ProcessGroup, ReduceOp
from .mpi import MPIGroup

REDUCE = {
    ReduceOp.SUM: "NCCL_SUM", ReduceOp.AVG: "NCCL_SUM", ReduceOp.PRODUCT: "NCCL_PROD",
    ReduceOp.MIN: "NCCL_MIN", ReduceOp.MAX: "NCCL_MAX",
}  # fmt: skip
TYPES = "int8 uint8 int32 uint32 int64 uint64 float16 float32 float64".split()  # noqa: SIM905  (NCCL has no int16)


class NcclGroup(MPIGroup):
    """A group whose members have one GPU each."""

    on_gpu = frozenset({"all_reduce", "reduce", "broadcast", "all_gather", "reduce_scatter"})

    def __init__(self, group: MPIGroup):
        vars(self).update(vars(group))
        cuda = self.cuda = GPU.xp.cuda
        if not cuda.nccl.available:
            raise DistributedError("CuPy finds no NCCL: pip install nvidia-nccl-cu13, or use the backend 'mpi'")
        known = self.comm.bcast(cuda.nccl.get_unique_id() if self.rank == 0 else None, 0)
        self.nccl = cuda.nccl.NcclCommunicator(self.size, known, self.rank)

    def start_call(self, call: str, x: Any, y: Any, count: int, *rest: int) -> Callable[[], bool] | None:
        """Start an NCCL call from x to y on this thread's stream; later work on the stream waits for that call.

        None if x is on the CPU: the call is MPI's.
        """
        if device_of(x) is CPU:
            return None
        cuda, name = self.cuda, "uint8" if x.dtype == bool else x.dtype.name
        if name not in TYPES:
            raise DTypeError(f"{call}: NCCL takes {', '.join(TYPES)}, and got {name}: use the backend 'mpi'")
        stream, event = cuda.get_current_stream(), cuda.Event(disable_timing=True)
        dtype = getattr(cuda.nccl, f"NCCL_{name.upper()}")
        getattr(self.nccl, call)(x.data.ptr, y.data.ptr, count, dtype, *rest, stream.ptr)
        event.record(stream)
        return lambda: bool(event.done)

    def reduction(self, op: ReduceOp) -> int:
        """NCCL's constant for this reduction."""
        return int(getattr(self.cuda.nccl, REDUCE[op]))

    def all_reduce(self, x: Any, op: ReduceOp) -> Callable[[], bool]:
        return self.start_call("allReduce", x, x, x.size, self.reduction(op)) or super().all_reduce(x, op)

    def reduce(self, x: Any, op: ReduceOp, root: int) -> Callable[[], bool]:
        return self.start_call("reduce", x, x, x.size, self.reduction(op), root) or super().reduce(x, op, root)

    def broadcast(self, x: Any, root: int) -> Callable[[], bool]:
        return self.start_call("broadcast", x, x, x.size, root) or super().broadcast(x, root)

    def all_gather(self, y: Any, x: Any) -> Callable[[], bool]:
        return self.start_call("allGather", x, y, x.size) or super().all_gather(y, x)

    def reduce_scatter(self, y: Any, x: Any, op: ReduceOp) -> Callable[[], bool]:
        return self.start_call("reduceScatter", x, y, y.size, self.reduction(op)) or super().reduce_scatter(y, x, op)

    def split(self, name: str, ranks: tuple[int, ...]) -> ProcessGroup | None:
        group = super().split(name, ranks)
        return NcclGroup(group) if isinstance(group, MPIGroup) else group


def one_gpu_each(group: MPIGroup) -> None:
    """Select the GPU whose number is this process's rank among the processes of its machine."""
    from mpi4py import MPI

    here, cupy = group.comm.Split_type(MPI.COMM_TYPE_SHARED), GPU.xp
    n = cupy.cuda.runtime.getDeviceCount()
    if here.Get_size() > n:
        raise DistributedError(f"NCCL needs a GPU for each process, and {here.Get_size()} share {n}: use 'mpi'")
    cupy.cuda.Device(here.Get_rank()).use()
