"""Long texts of JSON, in another process: `json` keeps Python's lock while it parses or writes.

In a thread it would stop the event loop all the same.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

from .model import Refusal

T = TypeVar("T")
LONG = 1 << 16  # bytes


class Worker:
    """One process, so that one long text at a time takes memory. Begun for the first of them; ends with the loop."""

    def __init__(self) -> None:
        self.turns = CapacityLimiter(1)

    async def run(self, length: int, function: Callable[..., T], *arguments: Any) -> T:
        """The function's result; of a short text here. Who is cancelled ends the process; the next begins another."""
        if length <= LONG:
            return function(*arguments)
        try:
            return await to_process.run_sync(
                run_ignoring_signals, function, *arguments, cancellable=True, limiter=self.turns
            )
        except BrokenWorkerProcess:
            raise Refusal(f"the process that reads and writes long JSON failed at {length} bytes", 500) from None


def run_ignoring_signals(function: Callable[..., T], *arguments: Any) -> T:
    """Ctrl-C reaches the processes of a terminal, and SIGTERM those of a service: the server ends this one."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return function(*arguments)
