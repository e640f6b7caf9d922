"""Backpropagation, whole: one loop, for arrays, tensors and symbols alike."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from . import modes
from .errors import FreedError
from .node import Node

Pull = Callable[[Node, Any], tuple[Any, ...]]


def pullback(order: list[Node], grads: dict[Node, Any], pull: Pull, keep: Collection[Node] = ()) -> dict[Node, Any]:
    """The gradients of the leaves, and of the nodes to `keep`, from those of some results.

    order    every node between, inputs before users
    grads    node → the gradient that arrives there from outside; used up
    pull     (node, gy) → the gradients it sends to its inputs, None where it sends nothing
    """
    sums: set[Node] = set()  # gradients made here by adding, which may be added to in place
    for node in reversed(order):
        if node not in grads or not node.inputs:
            continue
        gy = grads[node] if node in keep else grads.pop(node)
        for x, gx in zip(node.inputs, pull(node, gy), strict=True):
            if gx is None:
                continue
            if x not in grads:
                grads[x] = gx
            elif x in sums:
                grads[x] += gx
            else:
                grads[x] = grads[x] + gx
                sums.add(x)
    return grads


def compiled_pull(node: Node, gy: Any) -> tuple[Any, ...]:
    """What `node` sends to its inputs, by its compiled rule on the arrays it kept."""
    return node.rule.pull(gy, *node.saved)  # type: ignore[union-attr, misc]


def freeing_pull(node: Node, gy: Any) -> tuple[Any, ...]:
    """The same, after which what was kept is let go."""
    gxs = node.rule.pull(gy, *node.saved)  # type: ignore[union-attr, misc]
    if node.saved:
        node.saved = None
    return gxs


def refuse_freed(order: list[Node]) -> None:
    """Raises FreedError if any node's saved arrays are gone, before anything is changed."""
    for node in order:
        if node.saved is None:
            raise FreedError(
                f"backward reached {node} a second time, and the first backward freed what it had kept. "
                "Call the first one with retain_graph=True, or run the forward pass again"
            )


def watched(pull: Pull) -> Pull:
    """`pull`, telling the watchers of the current mode, if there are any."""
    watchers = modes.current.get().watchers
    if not watchers:
        return pull

    def telling(node: Node, gy: Any) -> tuple[Any, ...]:
        gxs = pull(node, gy)
        for watcher in watchers:
            watcher.pulled(node, gy, gxs)
        return gxs

    return telling
