"""One transfer, from the agreement of all members to its result; watchers, such as CommDebugMode, are notified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache
from typing import Any, Self

from ..engine.base.spec import Spec
from ..engine.core.calls import named_scope
from ..engine.core.modes import Watcher, current, watching
from ..engine.core.node import place
from .group import ProcessGroup, Work


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
