"""The group of processes that MPI connects: mpi4py, and whatever MPI it finds.

Messages of bytes go from array to array; nothing is pickled. bfloat16, which MPI does not know, is summed in float32
and moved as 16 bits.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import repeat
from operator import call
from typing import Any
from zlib import crc32

import numpy as np
from mpi4py import MPI

from ..base.dtypes import bfloat16, float32
from .group import DistributedError, ProcessGroup, ReduceOp

REDUCE = {
    ReduceOp.SUM: MPI.SUM,
    ReduceOp.AVG: MPI.SUM,
    ReduceOp.PRODUCT: MPI.PROD,
    ReduceOp.MIN: MPI.MIN,
    ReduceOp.MAX: MPI.MAX,
}
MOVED: dict[Any, Any] = {bfloat16: np.uint16, np.dtype(bool): np.uint8}
SIGNED, TEXT = 64, 512  # bytes of what a process says of its call; and of where it is, if others said something else
BURST = 100  # times that it is asked in C before Python looks at the clock: asking moves the transfer on
AWAKE = 0.01  # s: to fall asleep and to wake up takes as long as to move 300 kB; who waits longer leaves the core
give_way: Callable[[], None] = getattr(os, "sched_yield", partial(time.sleep, 0))


class MPIGroup(ProcessGroup):
    """Processes behind an MPI communicator, with a second one on which they agree."""

    def __init__(self, name: str, comm: Any, ranks: tuple[int, ...], timeout: float):
        super().__init__(name, comm.Get_rank(), ranks)
        self.comm, self.control, self.timeout = comm, comm.Dup(), timeout

    def agree(self, what: str, where: Callable[[], Any]) -> None:
        mine = signed(what)
        if self.told(mine, lambda: f"{what} at {where()}") != mine * self.size:
            said = self.told(f"{what} at {where()}".encode("ascii", "replace")[:TEXT].ljust(TEXT), lambda: what)
            words = (bytes(said[i : i + TEXT]).decode().rstrip() for i in range(0, len(said), TEXT))
            raise DistributedError(
                "all processes of a group make the same calls in the same order, and these differ:\n    rank "
                + "\n    rank ".join(f"{rank}: {each}" for rank, each in zip(self.ranks, words))
            )

    def told(self, mine: bytes, what: Callable[[], str]) -> bytearray:
        """What all members say, one after the other, in as many bytes each."""
        all_say = bytearray(len(mine) * self.size)
        self.until(self.control.Iallgather(mine, all_say).Test, what)
        return all_say

    def until(self, is_done: Callable[[], bool], what: Callable[[], str]) -> None:
        began = time.monotonic()
        while not any(map(call, repeat(is_done, BURST))):
            waited = time.monotonic() - began
            if waited > self.timeout:
                raise DistributedError(f"rank {self.ranks[self.rank]} waited {self.timeout:g} s in {what()}")
            if waited < AWAKE:
                give_way()
            else:
                time.sleep(min(waited / 100, 1e-3))

    def all_reduce(self, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        wide = x.astype(float32) if x.dtype == bfloat16 else moved(x)
        request = self.comm.Iallreduce(MPI.IN_PLACE, wide, REDUCE[op])
        return copied(request.Test, x, wide) if x.dtype == bfloat16 else request.Test

    def broadcast(self, x: np.ndarray, root: int) -> Callable[[], bool]:
        return self.comm.Ibcast(moved(x), root).Test  # type: ignore[no-any-return]

    def all_gather(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        return self.comm.Iallgather(moved(x), moved(y)).Test  # type: ignore[no-any-return]

    def reduce_scatter(self, y: np.ndarray, x: np.ndarray, op: ReduceOp) -> Callable[[], bool]:
        if x.dtype != bfloat16:
            return self.comm.Ireduce_scatter_block(moved(x), moved(y), REDUCE[op]).Test  # type: ignore[no-any-return]
        wide = np.empty(y.shape, float32)
        return copied(self.comm.Ireduce_scatter_block(x.astype(float32), wide, REDUCE[op]).Test, y, wide)

    def all_to_all(self, y: np.ndarray, x: np.ndarray) -> Callable[[], bool]:
        return self.comm.Ialltoall(moved(x), moved(y)).Test  # type: ignore[no-any-return]

    def send(self, x: np.ndarray, to: int, tag: int) -> Callable[[], bool]:
        return self.comm.Isend(moved(x), to, tag).Test  # type: ignore[no-any-return]

    def recv(self, x: np.ndarray, source: int, tag: int) -> Callable[[], bool]:
        return self.comm.Irecv(moved(x), source, tag).Test  # type: ignore[no-any-return]

    def split(self, name: str, ranks: tuple[int, ...]) -> ProcessGroup | None:
        me = self.ranks[self.rank]
        comm = self.comm.Split(0, ranks.index(me)) if me in ranks else self.comm.Split(MPI.UNDEFINED)
        return None if comm == MPI.COMM_NULL else MPIGroup(name, comm, ranks, self.timeout)


@lru_cache(maxsize=1024)
def signed(what: str) -> bytes:
    """The beginning of a text, and a sum of all of it."""
    words = what.encode()
    return words[: SIGNED - 4].ljust(SIGNED - 4) + crc32(words).to_bytes(4, "big")


def moved(x: np.ndarray) -> np.ndarray:
    """The same memory in a dtype that MPI takes: who only moves bytes need not know what they mean.

    The greatest of booleans is also that of bytes, and so for the smallest and the product.
    """
    return x.view(MOVED[x.dtype]) if x.dtype in MOVED else x


def copied(arrived: Callable[[], bool], x: np.ndarray, wide: np.ndarray) -> Callable[[], bool]:
    """The same question; with the answer that it is done, x is what arrived in `wide`."""

    def is_done() -> bool:
        if not arrived():
            return False
        x[...] = wide
        return True

    return is_done


def world(timeout: float) -> MPIGroup:
    comm = MPI.COMM_WORLD.Dup()
    return MPIGroup("world", comm, tuple(range(comm.Get_size())), timeout)
