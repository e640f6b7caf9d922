"""Post-accumulate hooks: a leaf with such a hook gets its `.grad` during backward, all other leaves at the end.

A leaf with a hook is inserted into the order of the pass before the oldest op that uses it. Backward goes from the
youngest op to the oldest, so the leaf's gradient is complete when backward reaches the leaf.
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
    """Register `call` to run once, when the running backward pass has reached all leaves that have hooks.

    Returns whether `call` is new in this pass. Raises NoGradientError in backward(inputs=…): its hooks run afterwards.
    """
    calls = _calls.get(None)
    if calls is None:
        raise NoGradientError(
            "a hook that waits for the end of backward, as DistributedDataParallel's does, must run during the pass, "
            "but backward(inputs=…) runs hooks afterwards: call backward() without inputs"
        )
    is_new = call not in calls
    calls[call] = None
    return is_new


def schedule_leaves(order: Sequence[Record], grads: Grads, pull: Pull) -> tuple[Sequence[Any], Pull]:
    """The order with the leaves that have hooks, and a pull for them. Its first node, reached last, ends the pass."""
    nodes = [*with_leaves(order)]
    if len(nodes) == len(order):
        return order, pull
    end, calls = Node(nodes[-1].op, (), nodes[-1].spec), dict[Callable[[], None], None]()
    grads[end], before = calls, _calls.set(calls)

    def pull_or_accumulate(node: Node, gy: Any) -> tuple[Any, ...]:
        if node is end:
            _calls.reset(before)
            for call in calls:
                call()
        elif not node.inputs and (x := node.tensor()) is not None and x.tracked:  # type: ignore[attr-defined]
            accumulate(x, gy, {id(gy)})  # makes a copy, as other nodes may get the same array
        return pull(node, gy) if node.inputs else ()

    return [end, *nodes], pull_or_accumulate


def with_leaves(order: Sequence[Record]) -> Iterator[Any]:
    """The records, with each leaf that has `after` hooks inserted before the oldest record that uses it."""
    seen = set()
    for node in order:
        for x in node.inputs:
            if not x.inputs and x.hooks is not None and x.hooks.after and x not in seen:
                seen.add(x)
                yield x
        yield node
