"""The memory budget of all requests together: their bodies, then their arrays, then their answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .model import Refusal

UNCOUNTED = 1 << 16  # bytes per request that do not count, so that short requests pass when the budget is full


class Budget:
    """most    bytes that all requests together may hold"""

    def __init__(self, most: int):
        self.most = self.left = most

    @contextmanager
    def share(self) -> Iterator[BudgetShare]:
        """One request's share, released at the end of the block."""
        share = BudgetShare(self)
        try:
            yield share
        finally:
            share.hold(0)


class BudgetShare:
    """The part of the budget that one request holds."""

    def __init__(self, budget: Budget):
        self.budget, self.held = budget, 0

    def hold(self, count: int) -> None:
        """Set the bytes held. Raises Refusal if they exceed the budget, unless no other request holds anything."""
        more = max(count - UNCOUNTED, 0) - self.held
        if 0 < more > self.budget.left and self.budget.left + self.held < self.budget.most:
            raise Refusal(f"other requests fill the budget of {self.budget.most} bytes: try again later", 503)
        self.budget.left -= more
        self.held += more
