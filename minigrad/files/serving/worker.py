"""Parse and write long JSON in another process.

`json` holds the GIL while it works, so even in a thread it would block the event loop.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import BrokenWorkerProcess, CapacityLimiter, to_process

from .model import Refusal

T = TypeVar("T")
LONG = 1 << 16  # bytes


class ParserProcess:
    """One process, so that only one long text at a time takes memory. It starts when needed, and ends with the loop."""

    def __init__(self) -> None:
        self.turns = CapacityLimiter(1)

    async def run(self, length: int, function: Callable[..., T], *arguments: Any) -> T:
        """Run the function; short texts run in this process. Cancelling kills the worker; the next call restarts it."""
        if length <= LONG:
            return function(*arguments)
        try:
            return await to_process.run_sync(
                run_ignoring_signals, function, *arguments, cancellable=True, limiter=self.turns
            )
        except BrokenWorkerProcess:
            raise Refusal(f"the process that reads and writes long JSON failed at {length} bytes", 500) from None


def run_ignoring_signals(function: Callable[..., T], *arguments: Any) -> T:
    """Ignore Ctrl-C and SIGTERM, which reach all processes of a terminal or service: the server ends the worker."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return function(*arguments)
