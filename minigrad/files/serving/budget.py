"""Memory that all requests together may hold: their bodies, then their arrays, then their answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .model import Refusal

UNCOUNTED = 1 << 16  # bytes of each request, so that short ones are answered while long ones fill the budget


class Budget:
    """most    bytes"""

    def __init__(self, most: int):
        self.most = self.left = most

    @contextmanager
    def share(self) -> Iterator[Share]:
        """What one request holds, until the end of the block."""
        share = Share(self)
        try:
            yield share
        finally:
            share.hold(0)


class Share:
    """A part of the budget."""

    def __init__(self, budget: Budget):
        self.budget, self.held = budget, 0

    def hold(self, count: int) -> None:
        """So many bytes, in place of those held before. Raises Refusal where others hold too much; one alone may."""
        more = max(count - UNCOUNTED, 0) - self.held
        if 0 < more > self.budget.left and self.budget.left + self.held < self.budget.most:
            raise Refusal(f"the requests that are here hold {self.budget.most} bytes: try again later", 503)
        self.budget.left -= more
        self.held += more
