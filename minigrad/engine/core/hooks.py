"""Hooks: functions that a gradient passes through where it arrives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar

Hook = Callable[[Any], Any]

TRACED = (
    "register_hook() is Python's, and a graph that is built, or a function that is traced, would run it once: register "
    "the hook outside, on a tensor that has a value; a rule for a gradient inside is written with custom_gradient"
)
_ticket = itertools.count().__next__


class Hooks:
    """The hooks of one tensor.

    arriving    shown the gradient, which they may replace; in the order they were registered
    retain      keeps the gradient that came out of them: retain_grad()
    sent        given what goes on to the operands, and what arrived; they return what goes on
    after       shown the leaf, once the gradient has been added to its `.grad`
    sending     passes what goes on through `sent`, if any node ever had one of these: engine/tensor/grad_fn.py
    early       has leaves wait for theirs in a backward pass, if any leaf ever had one of these: engine/tensor/early.py
    """

    __slots__ = ("after", "arriving", "retain", "sent")
    early: ClassVar[Any] = None
    sending: ClassVar[Any] = None

    def __init__(self) -> None:
        self.arriving: dict[int, Hook] = {}
        self.sent: dict[int, Callable[[Any, Any], Any]] = {}
        self.after: dict[int, Hook] = {}
        self.retain: Hook | None = None

    def __call__(self, gy: Any) -> Any:
        """The gradient that the node goes on with."""
        for hook in [*self.arriving.values()]:
            gy = hook(gy)
        if self.retain is not None:
            self.retain(gy)
        return gy


class Handle:
    """A registered hook, to be removed by remove(), or by leaving a `with` block."""

    def __init__(self, book: dict[int, Any], hook: Any):
        self.book, self.ticket = book, _ticket()
        book[self.ticket] = hook

    def remove(self) -> None:
        """Forget the hook; a second time does nothing."""
        self.book.pop(self.ticket, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()
