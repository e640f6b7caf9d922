"""Gradients returned as values, and gradients of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import modes
from ..errors import NoGradientError
from ..node import Node, depending_on, toposort
from ..pullback import compiled_pull, freeing_pull, pullback, refuse_freed, watched
from ..tensor import Tensor, arriving, made


def grad(
    output: Tensor,
    inputs: Tensor | Sequence[Tensor],
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> tuple[Tensor, ...]:
    """∂output/∂x for each x of inputs, leaving every `.grad` alone.

    gradient        what arrives at output from outside; 1 for a tensor of one element
    create_graph    run the rules on tensors, so that the gradients can be differentiated again

    Raises NoGradientError if the output depends on none of them, or not on one.
    """
    xs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wrt = [x.node for x in xs if x.node is not None and x.node.needs_grad]
    if len(wrt) < len(xs) or output.node is None:
        raise NoGradientError("grad() needs an output computed from inputs with requires_grad=True, outside no_grad()")
    order = toposort(output.node)
    between = depending_on(order, wrt)
    order = [node for node in order if node in between]
    refuse_freed(order)
    seed = arriving(output, gradient)
    if create_graph:
        grads = pullback(order, {output.node: made(seed, output.spec)}, tensor_pull, set(wrt))
    else:
        pull = compiled_pull if retain_graph else freeing_pull
        with modes.no_grad():
            grads = pullback(order, {output.node: seed}, watched(pull), set(wrt))
        grads = {node: made(g, node.spec) for node, g in grads.items()}
    missing = [i for i, node in enumerate(wrt) if node not in grads]
    if missing:
        raise NoGradientError(f"the output does not depend on inputs {missing}, so it has no gradient there")
    return tuple(grads[node] for node in wrt)


def tensor_pull(node: Node, gy: Tensor) -> tuple[Tensor | None, ...]:
    """What `node` sends to its inputs, by its op's own rule on tensors: an expression that is itself recorded."""
    return node.op.gradients(gy, *operands(node))


def operands(node: Node) -> list[Tensor]:
    """(y, x₁, x₂, …) as tensors that know their origin, as far as the rule reads them."""
    kept = dict(zip(node.rule.reads, node.saved or (), strict=True)) if node.rule else {}
    return [connected(kept.get(slot), n) for slot, n in enumerate((node, *node.inputs))]


def connected(value: Any, node: Node) -> Tensor:
    """A kept value, at its place in the graph. What the rule does not read may be anything, and is None."""
    x = made(value, node.spec)
    x.node = node
    return x
