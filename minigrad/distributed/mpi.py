"""Groups of processes connected by MPI: mpi4py, with any MPI that it finds.

Messages go as bytes from array to array; nothing is pickled. bfloat16, which MPI does not know, is summed in float32
and sent as 16-bit integers.

Other backends replace some transfers: "ring", "tree" and "halving" run algorithms.py on MPI's sends and receives, with
no other change to a program; "nccl" moves arrays from GPU to GPU by NVIDIA's NCCL.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Iterator
from functools import cache, lru_cache, partial
from itertools import repeat
from operator import call
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from mpi4py import MPI
from mpi4py.util.dtlib import to_numpy_dtype

from ..engine.base.device import CPU, GPU, device_of
from ..engine.base.dtypes import bfloat16, float32
from ..engine.base.errors import DTypeError
from ..engine.core.modes import current
from ..engine.core.node import place
from . import algorithms
from .group import DistributedError, ProcessGroup, ReduceOp
from .watch import LAUNCHED, TEXT, Board, fitting


def reduction(extremum: np.ufunc) -> MPI.Op:
    """NumPy's minimum or maximum as an MPI op. MPI's own result for NaN depends on the order of the ranks."""

    def combine(x: Any, y: Any, datatype: Any) -> None:
        a, b = (np.frombuffer(buffer, to_numpy_dtype(datatype)) for buffer in (x, y))
        extremum(a, b, out=b)

    return MPI.Op.Create(combine, commute=True)


REDUCE: dict[ReduceOp, tuple[MPI.Op, np.ufunc, str]] = {  # for MPI, for NumPy, and NCCL's name
    ReduceOp.SUM: (MPI.SUM, np.add, "NCCL_SUM"), ReduceOp.AVG: (MPI.SUM, np.add, "NCCL_SUM"),
    ReduceOp.PRODUCT: (MPI.PROD, np.multiply, "NCCL_PROD"),
    ReduceOp.MIN: (reduction(np.minimum), np.minimum, "NCCL_MIN"),
    ReduceOp.MAX: (reduction(np.maximum), np.maximum, "NCCL_MAX"),
}  # fmt: skip
MOVED: dict[Any, Any] = {bfloat16: np.uint16, np.dtype(bool): np.uint8}
SIGNED = 64  # bytes of a call's signature
BURST = 100  # tests in C before Python reads the clock: testing progresses the transfer
AWAKE = 0.01  # s of busy waiting before sleeping: falling asleep and waking take as long as moving 300 kB
given_up: list[Callable[[], bool]] = []  # transfers that raised, kept alive: MPI may still write to their memory
NCCL_TYPES = "int8 uint8 int32 uint32 int64 uint64 float16 float32 float64".split()  # noqa: SIM905  (NCCL has no int16)
under_way: list[Iterator[bool]] = []  # algorithms of all groups: waiting for one progresses all, as others may need it
give_way: Callable[[], None] = getattr(os, "sched_yield", partial(time.sleep, 0))


class MPIGroup(ProcessGroup):
    """Processes of an MPI communicator, with a second communicator for agreement."""

    def __init__(self, name: str, comm: Any, control: Any, ranks: tuple[int, ...], timeout: float, board: Board):
        super().__init__(name, comm.Get_rank(), ranks)
        self.comm, self.control, self.timeout, self.board = comm, control, timeout, board
        self.number = board.number()

    def agree(self, what: str, where: Callable[[], Any]) -> None:
        mine = call_signature(what)
        self.board.arrive(self.number, mine[:-4])
        if self.exchange_bytes(mine, lambda: f"{what} at {where()}") != mine * self.size:
            said = self.exchange_bytes(fitting(f"{what} at {where()}").ljust(TEXT), lambda: what)
            words = (bytes(said[i : i + TEXT]).decode(errors="replace").rstrip() for i in range(0, len(said), TEXT))
            raise DistributedError(
                "all processes of a group make the same calls in the same order, and these differ:\n    rank "
                + "\n    rank ".join(f"{rank}: {each}" for rank, each in zip(self.ranks, words))
            )

    def exchange_bytes(self, mine: bytes, what: Callable[[], str]) -> bytearray:
        """The texts of all members, concatenated. Each must be as long as `mine`."""
        all_say = bytearray(len(mine) * self.size)
        self.until(self.control.Iallgather(mine, all_say).Test, what, self.number)
        return all_say

    def until(self, is_done: Callable[[], bool], what: Callable[[], str], call: int | None = None) -> None:
        """call    number of the group, if the transfer ends when the last member makes this call; otherwise None"""
        began = time.monotonic()
        while not poll_burst(is_done):
            if time.monotonic() - began > AWAKE:
                needs = getattr(is_done, "needs", ()) if call is None else self.ranks
                try:
                    self.board.wait(lambda: poll_burst(is_done), what(), needs, call, self.timeout)
                except BaseException:
                    given_up.append(is_done)
                    raise
                return
            give_way()

    def all_reduce(self, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        wide = sum_view(x)
        return copy_when_done(self.comm.Iallreduce(MPI.IN_PLACE, wide, REDUCE[op][0]).Test, x, wide)

    def reduce(self, x: np.ndarray, op: ReduceOp, root: int) -> Callable[[], bool]:
        wide = sum_view(x)
        ends = (MPI.IN_PLACE, wide) if self.rank == root else (wide, None)
        return copy_when_done(self.comm.Ireduce(*ends, REDUCE[op][0], root).Test, x, wide)

    def broadcast(self, x: np.ndarray, root: int) -> Callable[[], bool]:
        return self.comm.Ibcast(wire_view(x), root).Test  # type: ignore[no-any-return]

    def all_gather(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        return self.comm.Iallgather(wire_view(x), wire_view(y)).Test  # type: ignore[no-any-return]

    def gather(self, y: np.ndarray | None, x: np.ndarray, root: int) -> Callable[[], bool]:
        return self.comm.Igather(wire_view(x), None if y is None else wire_view(y), root).Test  # type: ignore[no-any-return]

    def scatter(self, y: np.ndarray, x: np.ndarray | None, root: int) -> Callable[[], bool]:
        return self.comm.Iscatter(None if x is None else wire_view(x), wire_view(y), root).Test  # type: ignore[no-any-return]

    def reduce_scatter(self, y: np.ndarray, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        wide = sum_view(y)
        return copy_when_done(self.comm.Ireduce_scatter_block(sum_view(x), wide, REDUCE[op][0]).Test, y, wide)

    def all_to_all(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        return self.comm.Ialltoall(wire_view(x), wire_view(y)).Test  # type: ignore[no-any-return]

    def send(self, x: np.ndarray, to: int, tag: int) -> Callable[[], bool]:
        spec = x.dtype, x.shape
        header = self.control.Isend(call_signature(spec_text(*spec)) + origin_bytes(*spec, place()), to, tag)
        data = self.comm.Isend(wire_view(x), to, tag)

        def is_done() -> bool:
            return header.Test() and data.Test()  # type: ignore[no-any-return]

        vars(is_done)["needs"] = (self.ranks[to],)
        return is_done

    def recv(self, x: np.ndarray, source: int, tag: int) -> Callable[[], bool]:
        return Receipt(self, x, source, tag)

    def split(self, name: str, ranks: tuple[int, ...]) -> ProcessGroup | None:
        me = self.ranks[self.rank]
        comm = self.comm.Split(0, ranks.index(me)) if me in ranks else self.comm.Split(MPI.UNDEFINED)
        if comm == MPI.COMM_NULL:
            self.board.number()
            return None
        return MPIGroup(name, comm, comm.Dup(), ranks, self.timeout, self.board)


class Receipt:
    """A message that is being received, preceded by a header: its dtype, its shape, and the line that sends it.

    needs    the rank that sends it, in a tuple
    """

    def __init__(self, g: MPIGroup, x: np.ndarray, source: int, tag: int):
        self.place, self.needs, self.me, self.arriving = place(), (g.ranks[source],), g.ranks[g.rank], g.board.arriving
        self.said, self.wanted = bytearray(SIGNED + TEXT), spec_text(x.dtype, x.shape)
        self.header, self.data = g.control.Irecv(self.said, source, tag), g.comm.Irecv(wire_view(x), source, tag)
        self.arriving.add(self.is_arriving)

    def __call__(self) -> bool:
        done: bool = self.fits() and self.data.Test()
        if done:
            self.arriving.discard(self.is_arriving)
        return done

    def is_arriving(self) -> bool:
        return self.fits() and not self.data.Test()

    def fits(self) -> bool:
        """Whether the message's header has arrived. Raises DistributedError if its shape or dtype is wrong."""
        if not self.header.Test():
            return False
        if not self.said.startswith(call_signature(self.wanted)):
            self.arriving.discard(self.is_arriving)
            sent = self.said[SIGNED:].rstrip(b"\0").decode(errors="replace")
            raise DistributedError(
                f"rank {self.me} receives {self.wanted} at {self.place}, and rank {self.needs[0]} sends "
                f"{sent}: recv needs a tensor of the shape and dtype that are sent"
            )
        return True


@lru_cache(maxsize=1024)
def spec_text(dtype: Any, shape: tuple[int, ...]) -> str:
    return f"{dtype} {shape}"


@lru_cache(maxsize=1024)
def origin_bytes(dtype: Any, shape: tuple[int, ...], where: Any) -> bytes:
    return fitting(f"{spec_text(dtype, shape)} at {where}")


def poll_burst(is_done: Callable[[], bool]) -> bool:
    """Whether the transfer is done, after up to BURST tests in C. Testing progresses the transfer."""
    return any(map(call, repeat(is_done, BURST)))


@lru_cache(maxsize=1024)
def call_signature(what: str) -> bytes:
    """The beginning of a text, and a checksum of the whole."""
    words = what.encode()
    return words[: SIGNED - 4].ljust(SIGNED - 4) + crc32(words).to_bytes(4, "big")


def wire_view(x: np.ndarray) -> np.ndarray:
    """A view of the same memory in a dtype that MPI takes: to move bytes, their meaning does not matter.

    For booleans, maximum, minimum and product of the bytes are also right.
    """
    return x.view(MOVED[x.dtype]) if x.dtype in MOVED else x


def sum_view(x: np.ndarray) -> np.ndarray:
    """As wire_view, for values that MPI reduces: bfloat16 as a copy in float32."""
    return x.astype(float32) if x.dtype == bfloat16 else wire_view(x)


def copy_when_done(arrived: Callable[[], bool], x: np.ndarray, result: np.ndarray) -> Callable[[], bool]:
    """A test like `arrived` that, on completion, also copies `result` into x, unless it is a view of x."""
    if np.may_share_memory(x, result):
        return arrived

    def is_done() -> bool:
        if not arrived():
            return False
        x[...] = result
        return True

    return is_done


def world(timeout: float) -> MPIGroup:
    """The group of all processes. They agree first, because making a communicator blocks, and cannot be polled."""
    everyone, ranks = MPI.COMM_WORLD, tuple(range(MPI.COMM_WORLD.size))
    start = shared_board() if LAUNCHED in os.environ else open_board(Board.create_file(everyone.size), last=True)
    MPIGroup("start", everyone, everyone, ranks, timeout, start).agree("init_process_group", place)
    return MPIGroup("world", everyone.Dup(), everyone.Dup(), ranks, timeout, shared_board())


@cache
def shared_board() -> Board:
    """The launcher's board, or a board for each machine, on which ranks of other machines always seem to compute."""
    if LAUNCHED in os.environ:
        board = open_board(os.environ[LAUNCHED])
    else:
        here = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
        path = here.bcast(Board.create_file(MPI.COMM_WORLD.size) if here.rank == 0 else "")
        board = open_board(path)
        here.Barrier()
        if here.rank == 0:
            Path(path).unlink()
    atexit.register(board.end, "its program is over")
    return board


def open_board(path: str, last: bool = False) -> Board:
    board = Board(path, MPI.COMM_WORLD.size, MPI.COMM_WORLD.rank)
    if last:
        Path(path).unlink()
    return board


# -- other backends -----------------------------------------------------------------------------------


def move_on() -> None:
    """Progress all running algorithms."""
    under_way[:] = [steps for steps in under_way if not next(steps, True)]


class ReferenceGroup(MPIGroup):
    """A group that runs its reductions itself: MPI only carries messages between two processes.

    Collectives that its algorithm lacks come from ring and tree; all_to_all, gather and scatter are MPI's.
    """

    def __init__(self, group: MPIGroup, algorithm: str):
        vars(self).update(vars(group))
        self.algorithm, self.posted = algorithm, group.comm.Dup()  # a communicator apart from the user's
        self.begun = 0
        halves = algorithm == "halving" and self.size & (self.size - 1) == 0
        self.scattering = algorithms.halving_reduce_scatter if halves else algorithms.ring_reduce_scatter
        self.gathering = algorithms.doubling_all_gather if halves else algorithms.ring_all_gather

    def all_reduce(self, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        return self.run(algorithms.ALL_REDUCE[self.algorithm](self.rank, self.size, x.size), x, op)

    def reduce(self, x: np.ndarray, op: ReduceOp, root: int) -> Callable[[], bool]:
        held = x if self.rank == root else x.copy()
        return self.run(algorithms.tree_reduce(self.rank, self.size, x.size, root), held, op)

    def broadcast(self, x: np.ndarray, root: int) -> Callable[[], bool]:
        return self.run(algorithms.tree_broadcast(self.rank, self.size, x.size, root), x)

    def all_gather(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        y.reshape(-1)[algorithms.parts(y.size, self.size, self.rank)] = x.reshape(-1)
        return self.run(self.gathering(self.rank, self.size, y.size), y)

    def reduce_scatter(self, y: np.ndarray, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        held = x.reshape(-1).copy()
        mine = held[algorithms.parts(x.size, self.size, self.rank)]
        return copy_when_done(self.run(self.scattering(self.rank, self.size, x.size), held, op), y.reshape(-1), mine)

    def until(self, is_done: Callable[[], bool], what: Callable[[], str], *more: Any) -> None:
        def moved_and_done() -> bool:
            move_on()
            return is_done()

        vars(moved_and_done)["needs"] = getattr(is_done, "needs", ())  # the rank at a message's other end
        super().until(moved_and_done, what, *more)

    def run(self, rounds: algorithms.Rounds, x: np.ndarray, op: ReduceOp = ReduceOp.SUM) -> Callable[[], bool]:
        """Start this rank's rounds; each begins when the previous round has ended. Returns a test for completion."""
        self.begun += 1  # the transfer's tag: the same in all members, as all begin transfers in one order
        steps = self.steps(rounds, x.reshape(-1), REDUCE[op][1], self.begun % 2**15)
        under_way.append(steps)
        move_on()

        def is_done() -> bool:
            move_on()
            return steps not in under_way

        return is_done

    def steps(self, rounds: algorithms.Rounds, x: np.ndarray, add: Callable[..., Any], tag: int) -> Iterator[bool]:
        """A generator that runs the rounds; yields False while a message is pending."""
        heard = [watcher.on_send for watcher in current.mode.watchers if hasattr(watcher, "on_send")]
        for said in rounds:
            arrived = [(m, np.empty_like(x[m.part])) for m in said if isinstance(m, algorithms.Recv)]
            under_way = [self.posted.Irecv(wire_view(came), m.source, tag) for m, came in arrived]
            for m in said:
                if isinstance(m, algorithms.Send):
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


class NcclGroup(MPIGroup):
    """A group whose members have one GPU each. Arrays on it go by NCCL, called through CuPy.

    Processes find each other, and agree, by MPI. CPU arrays go by MPI too. Messages, gather, scatter and all_to_all of
    GPU arrays, and the ops of functional.py, go by MPI through the host's memory.

    https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/colls.html
    """

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
        if name not in NCCL_TYPES:
            raise DTypeError(f"{call}: NCCL takes {', '.join(NCCL_TYPES)}, and got {name}: use the backend 'mpi'")
        stream, event = cuda.get_current_stream(), cuda.Event(disable_timing=True)
        dtype = getattr(cuda.nccl, f"NCCL_{name.upper()}")
        getattr(self.nccl, call)(x.data.ptr, y.data.ptr, count, dtype, *rest, stream.ptr)
        event.record(stream)
        return lambda: bool(event.done)

    def reduction(self, op: ReduceOp) -> int:
        """NCCL's constant for this reduction."""
        return int(getattr(self.cuda.nccl, REDUCE[op][2]))

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
    here, cupy = group.comm.Split_type(MPI.COMM_TYPE_SHARED), GPU.xp
    n = cupy.cuda.runtime.getDeviceCount()
    if here.Get_size() > n:
        raise DistributedError(f"NCCL needs a GPU for each process, and {here.Get_size()} share {n}: use 'mpi'")
    cupy.cuda.Device(here.Get_rank()).use()
