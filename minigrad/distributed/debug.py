"""Counts the messages of a block of code: PyTorch's torch.distributed.tensor.debug.CommDebugMode."""

from __future__ import annotations

from collections import Counter
from typing import Any, Self

from ..engine.core.modes import watching


class CommDebugMode:
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

    def on_forward(self, op: Any, y: Any, xs: Any) -> None:
        """Does nothing: ops are not counted."""

    def on_backward(self, node: Any, gy: Any, gxs: Any) -> None:
        """Does nothing: derivatives are not counted."""
