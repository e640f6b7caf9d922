"""Gradients returned as values, and gradients of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import NoGradientError
from ..node import Node, depending_on, toposort
from ..ops import Const
from ..pullback import compiled_pull, freeing_pull, pullback, refuse_freed, watched
from ..tensor import Tensor, arriving, made


def grad(
    output: Tensor,
    inputs: Tensor | Sequence[Tensor],
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Any, ...]:
    """∂output/∂x for each x of inputs, leaving every `.grad` alone.

    gradient        what arrives at output from outside; 1 for a tensor of one element
    retain_graph    keep what backward reads; by default only for create_graph
    create_graph    run the rules on tensors, so that the gradients can be differentiated again
    allow_unused    give None for an input that the output does not depend on

    Raises NoGradientError if the output depends on none of them, or on too few.
    """
    xs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wrt = [x.node for x in xs if x.node is not None and x.node.needs_grad]
    if len(wrt) < len(xs) or output.node is None:
        raise NoGradientError("grad() needs an output computed from inputs with requires_grad=True, outside no_grad()")
    order = toposort(output.node)
    between = depending_on(order, wrt)
    order = [node for node in order if not between.isdisjoint(node.inputs)]
    refuse_freed(order)
    grads = {output.node: arriving_tensor(output, gradient)}
    if create_graph:
        grads = pullback(order, grads, tensor_pull, set(wrt))
    else:
        pull = compiled_pull if retain_graph else freeing_pull
        arrays = pullback(order, {node: g.value for node, g in grads.items()}, watched(pull), set(wrt))
        grads = {node: made(g, node.spec) for node, g in arrays.items()}
    unused = [i for i, node in enumerate(wrt) if node not in grads]
    if unused and not allow_unused:
        raise NoGradientError(
            f"the output does not depend on inputs {unused}, so it has no gradient there: allow_unused=True gives None"
        )
    return tuple(grads.get(node) for node in wrt)


def arriving_tensor(output: Tensor, gradient: Any) -> Tensor:
    """The gradient that arrives from outside, with its own origin if it is a tensor that has one."""
    seed = arriving(output, gradient)
    return gradient if isinstance(gradient, Tensor) and gradient.spec == output.spec else made(seed, output.spec)


def tensor_pull(node: Node, gy: Tensor) -> tuple[Tensor | None, ...]:
    """What `node` sends to its inputs, by its rule run on tensors: an expression that is itself recorded."""
    assert node.rule is not None
    graph, slots = node.rule.graph, (node, *node.inputs)
    kept = [connected(array, slots[slot]) for slot, array in zip(node.rule.reads, node.saved or (), strict=True)]
    values: dict[Node, Tensor] = dict(zip(graph.inputs, (gy, *kept), strict=True))
    for step in graph.nodes:
        if isinstance(step.op, Const):
            values[step] = connected(step.spec.device.array(step.op.value, step.spec.dtype), step)
        elif step.inputs:
            x, *others = (values[n] for n in step.inputs)
            values[step] = x.apply(step.op, *others)
    return tuple(None if y is None else values[y] for y in graph.outputs)


def connected(value: Any, node: Node) -> Tensor:
    """A value at its place in the graph."""
    x = made(value, node.spec)
    x.node = node
    return x
