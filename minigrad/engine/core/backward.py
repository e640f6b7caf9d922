"""Backpropagation: one loop that works on arrays, tensors and symbols alike."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import add, attrgetter, iadd
from typing import Any

from ..base.errors import EditedError, FreedError
from . import modes
from .hooks import Hooks
from .node import Node, Record
from .versions import any_edit_since, edited_since

Grads = dict[Node, Any]
Pull = Callable[[Any, Any], tuple[Any, ...]]


def pullback(order: Sequence[Node], grads: Grads, pull: Pull, keep: Collection[Node] = (), plus: Any = iadd) -> Grads:
    """The gradients of the leaves, and of the nodes in `keep`, given the gradients of some results.

    order    every op between results and leaves, inputs before users
    grads    node → the gradient that arrives there from outside; emptied by the loop
    pull     (node, gy) → the gradients of the node's inputs; None for an input that gets no gradient
    plus     adds a gradient to a sum that this loop made, so `plus` may work in place
    """
    sums: set[Node] = set()
    for node in reversed(order):
        gy = grads.pop(node, None)
        if gy is None:
            continue
        if node.hooks is not None:
            gy = node.hooks(gy)
        if keep and node in keep:
            grads[node] = gy
        for x, gx in zip(node.inputs, pull(node, gy)):
            if gx is not None and x in grads:
                grads[x] = plus(grads[x], gx) if x in sums else grads[x] + gx
                sums.add(x)
            elif gx is not None:
                grads[x] = gx
    return grads


def run_backward(order: list[Record], grads: Grads, retain: bool, create_graph: bool, keep: Any) -> Grads:
    """Run `pullback` over recorded ops: on arrays; with create_graph on tensors, so that the gradients have a graph.

    keep    the nodes whose gradients are requested; None to accumulate the gradients in the leaves
    Raises FreedError or EditedError, before changing anything, if an array that a rule reads is freed or edited.
    """
    refuse_freed(order)
    refuse_edited(order)
    pull, nodes = pull_by_rule(create_graph, retain), order
    if modes.current.mode.watchers:
        pull = watch_pullbacks(pull)
    if Hooks.sending is not None:
        pull = Hooks.sending(pull)
    if keep is None and Hooks.early is not None:
        nodes, pull = Hooks.early(order, grads, pull)
    with modes.in_mode(recording=create_graph, autocast=None):
        return pullback(nodes, grads, pull, keep or (), add if create_graph else iadd)


def pull_by_rule(create_graph: bool, retain: bool) -> Pull:
    """The gradients of a node's inputs, by its rule on the saved arrays, which are freed unless `retain` keeps them.

    With create_graph the rule runs on tensors, so the gradients are recorded. Their graph keeps the arrays it reads.
    """

    def pull(node: Record, gy: Any) -> tuple[Any, ...]:
        saved = node.saved
        if saved and not retain:
            node.saved = None
        return node.rule.trace(node, gy, *saved) if create_graph else node.rule.pull(gy, *saved)

    return pull


def watch_pullbacks(pull: Pull) -> Pull:
    """Extend `pull` to notify each watcher: by the function that its `passing()` returns, or by its `on_backward`."""
    watchers = modes.current.mode.watchers
    callbacks = [watcher.passing() if hasattr(watcher, "passing") else watcher.on_backward for watcher in watchers]

    def telling(node: Node, gy: Any) -> tuple[Any, ...]:
        gxs = pull(node, gy)
        for on_backward in callbacks:
            on_backward(node, gy, gxs)
        return gxs

    return telling


def refuse_freed(order: list[Record]) -> None:
    """Raises FreedError if the saved arrays of any node are freed."""
    if None in map(attrgetter("saved"), order):
        node = next(node for node in order if node.saved is None)
        raise FreedError(
            f"backward reached {node} a second time, and the first backward freed what it had saved. "
            "Call the first one with retain_graph=True, or run the forward pass again"
        )


def refuse_edited(order: list[Record]) -> None:
    """Raises EditedError if an array that a rule will read was edited in place after it was saved."""
    if not order or not any_edit_since(order[0].born):
        return
    for node in order:
        for slot, array in zip(node.rule.reads, node.saved or ()):
            if array is not None and edited_since(array, node.born):
                kept = "what it saved" if slot is None else f"its operand {slot - 1}" if slot else "its result"
                raise EditedError(
                    f"backward of {node} reads {kept}, which was edited in place after {node.op} had saved it. Edit a "
                    "copy, as in x.clone().add_(1), or write x = x + 1, which makes a new tensor"
                )
