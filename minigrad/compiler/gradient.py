"""The gradient of a graph is more graph: backpropagation run on symbols."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from operator import add
from typing import Any

from ..node import Node, depending_on, toposort
from ..ops import Row
from ..pullback import pullback
from ..spec import Specs
from ..symbol import Symbol


def gradients(seeds: Mapping[Node, Symbol], wrt: Collection[Node], stop: Collection[Node] = ()) -> dict[Node, Symbol]:
    """Node → Σ over the seeds of ⟨seed, ∂y/∂node⟩, for those of `wrt` that a gradient reaches.

    seeds    result → the gradient that arrives there from outside
    stop     nodes that are constants to it: no gradient passes through them
    """
    if not seeds:
        return {}
    passing = [node for node in toposort(*seeds) if node not in stop]
    between = depending_on(passing, wrt)
    order = [node for node in passing if node in between]
    grads = pullback(order, dict(seeds), partial(pull, between), wrt, add)
    return {node: grads[node] for node in wrt if node in grads}


def pull(between: Collection[Node], node: Node, gy: Any) -> tuple[Any, ...]:
    """What `node` sends to its inputs, as symbols: to those through which it reaches what is asked for."""
    if not node.inputs:
        return ()
    like = next(iter(g for g in gy.gys if g is not None)) if isinstance(gy, Row) else gy
    y, *xs = (like.at_node(n) for n in (node, *node.inputs))
    gxs = node.op.gradients(gy, y, *xs)
    return tuple(gx if x in between and can_carry(x) else None for x, gx in zip(node.inputs, gxs, strict=True))


def can_carry(x: Node) -> bool:
    """Whether a gradient can arrive at x: at a floating result, or at the row of several."""
    return isinstance(x.spec, Specs) or x.spec.is_float
