"""Gradients that are added to `.grad` while backward goes on: those of leaves that have hooks for that moment.

Other leaves get theirs at the end. A leaf that somebody waits for is put into the order of the pass, before the oldest
op that uses it: when the pass comes there, nothing more will be added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from ..base.errors import NoGradientError
from ..core.backward import Grads, Pull
from ..core.node import Node, Record
from .grad import accumulate

_calls: ContextVar[dict[Callable[[], None], None]] = ContextVar("calls")


def at_end(call: Callable[[], None]) -> bool:
    """Call this, once, when the backward pass that runs just now has reached all that hooks wait for.

    Gives whether it is new in this pass. Raises NoGradientError in backward(inputs=…), which tells hooks afterwards.
    """
    calls = _calls.get(None)
    if calls is None:
        raise NoGradientError(
            "a hook that waits for the end of backward, as DistributedDataParallel's does, is told of all gradients on "
            "the way, and backward(inputs=…) tells it afterwards: call backward() without it"
        )
    is_new = call not in calls
    calls[call] = None
    return is_new


def early(order: Sequence[Record], grads: Grads, pull: Pull) -> tuple[Sequence[Any], Pull]:
    """The order with those leaves in it, and the rule that adds their gradients; the first, so the last, is the end."""
    nodes = [*with_leaves(order)]
    if len(nodes) == len(order):
        return order, pull
    end, calls = Node(nodes[-1].op, (), nodes[-1].spec), dict[Callable[[], None], None]()
    grads[end], before = calls, _calls.set(calls)

    def pulled(node: Node, gy: Any) -> tuple[Any, ...]:
        if node is end:
            _calls.reset(before)
            for call in calls:
                call()
        elif not node.inputs and (x := node.tensor()) is not None and x.tracked:  # type: ignore[attr-defined]
            accumulate(x, gy, {id(gy)})  # as a copy: the same array may be on its way elsewhere
        return pull(node, gy) if node.inputs else ()

    return [end, *nodes], pulled


def with_leaves(order: Sequence[Record]) -> Iterator[Any]:
    """The records, and before the oldest that uses it each leaf that has hooks `after`."""
    seen = set()
    for node in order:
        for x in node.inputs:
            if not x.inputs and x.hooks is not None and x.hooks.after and x not in seen:
                seen.add(x)
                yield x
        yield node
