"""One transfer, from what all agree on to its result: whoever watches is told of it, and counts it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import lru_cache

from ..engine.base.spec import Spec
from ..engine.core.calls import told
from ..engine.core.modes import current
from ..engine.core.node import place
from .group import ProcessGroup, Work


def transferred(
    g: ProcessGroup,
    call: str,
    x: Spec,
    begin: Callable[[], Callable[[], bool]],
    finish: Callable[[], None],
    async_op: bool = False,
    detail: str = "",
) -> Work | None:
    """A transfer that all members begin; awaited, or given to whoever asked for it.

    x         of the larger side, in which all is that moves: nccl-tests counts so too
    detail    what all must say alike besides the call, and the shape and dtype of x
    """
    with told("collective", call) if current.mode.watchers else nullcontext():
        agreed(g, call, x, detail)
        if not async_op:
            g.until(begin(), lambda: f"{call} at {place()}")
            finish()
            return None
        span, where = told("transfer", call).__enter__(), place()

        def end() -> None:
            finish()
            span.__exit__()

        return Work(begin(), end, g.until, lambda: f"{call} begun at {where}")


def agreed(g: ProcessGroup, call: str, x: Spec, detail: str = "") -> None:
    """Return when all members say the same. It counts as a call of this process, whether or not they do."""
    counted(call, x)
    g.agree(said(call, detail, x), place)


def counted(call: str, x: Spec) -> None:
    """Tell of a call those who count."""
    for watcher in current.mode.watchers:
        if hasattr(watcher, "transferred"):
            watcher.transferred(call, x.nbytes)


@lru_cache(maxsize=1024)
def said(call: str, detail: str, x: Spec) -> str:
    """What a process says of its call."""
    return " ".join(filter(None, (call, detail, f"of {x.dtype} {x.shape}")))
