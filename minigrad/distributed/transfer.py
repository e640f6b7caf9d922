"""One transfer, from the agreement of all members to its result; watchers are notified."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache

from ..engine.base.spec import Spec
from ..engine.core.calls import named_scope
from ..engine.core.modes import current
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
