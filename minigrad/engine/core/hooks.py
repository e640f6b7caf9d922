"""Hooks: user functions that see, and may replace, a gradient when it arrives at a tensor."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar

Hook = Callable[[Any], Any]

TRACED = (
    "register_hook() takes a Python function, and a graph or a traced function would run it only once: register the "
    "hook outside, on a tensor that has a value; for a gradient rule inside the graph, use custom_gradient"
)
_ticket = itertools.count().__next__


class Hooks:
    """The hooks of one tensor.

    arriving    called with the gradient, in the order of registration; each may return another gradient
    retain      stores the gradient that the arriving hooks return: retain_grad()
    sent        called with the operands' gradients and the arriving gradient; returns the operands' gradients to use
    after       called with the leaf, once the gradient has been added to its `.grad`
    sending     runs the `sent` hooks; None until a node has such a hook: engine/tensor/grad_fn.py
    early       runs the `after` hooks during backward; None until a leaf has such a hook: engine/tensor/early.py
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
        """Run the arriving hooks; returns the gradient to propagate."""
        for hook in [*self.arriving.values()]:
            gy = hook(gy)
        if self.retain is not None:
            self.retain(gy)
        return gy


class Handle:
    """A registered hook. remove(), or leaving a `with` block, unregisters it."""

    def __init__(self, book: dict[int, Any], hook: Any):
        self.book, self.ticket = book, _ticket()
        book[self.ticket] = hook

    def remove(self) -> None:
        """Unregister the hook. A second call does nothing."""
        self.book.pop(self.ticket, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *raised: object) -> None:
        self.remove()
