"""The two ends of a backward pass: the gradients that the user passes in, and the gradients that leaves accumulate."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from threading import RLock
from typing import Any
from weakref import ref

from .. import ops
from ..base.errors import NoGradientError, ShapeError
from ..core import versions
from ..core.backward import Grads, run_backward
from ..core.hooks import Hook
from ..core.modes import has_backward_watcher
from ..core.node import Node, Record, Source, depending_on, history
from ..methods import Operand

_accumulating = RLock()  # the backward passes of two threads may reach the same leaf
SMALL_BYTES = 256  # a node keeps the array of a leaf up to this size, to draw its numbers even after the tensor is gone


# -- the two ends of a backward pass ---------------------------------------------------------------


def backward(
    outputs: Sequence[Any], gradients: Sequence[Any],
    retain_graph: bool | None = None, create_graph: bool = False, inputs: Any = None,
) -> None:  # fmt: skip
    """Run one backward pass from several outputs. It adds to the `.grad` of the leaves, or of `inputs` if given."""
    for y in outputs:
        if not y.tracked:
            raise NoGradientError(
                f"backward() from {y.spec}: it depends on no tensor with requires_grad=True. "
                "Make one of its leaves with requires_grad=True, and compute it outside no_grad()"
            )
    create_graph = create_graph or has_backward_watcher()
    seeds = seed_gradients(outputs, gradients, create_graph)
    order = history(*seeds)
    retain = create_graph if retain_graph is None else retain_graph
    named = None if inputs is None else named_inputs(inputs)
    order = order if named is None else towards(order, named)
    grads = run_backward(order, dict(seeds), retain, create_graph, named)
    receivers: Grads = {node: node.tensor() for node in grads if isinstance(node, Source)} if named is None else named
    taken = {*map(id, seeds.values())}
    for node, g in received_gradients(receivers, grads, order).items():
        x = receivers[node]
        if x is not None and x.tracked and not (named and x.retains_grad):  # retain_grad() has set it already
            accumulate(x, g, taken)


def named_inputs(inputs: Any) -> dict[Node, Any]:
    """Node → tensor, for backward(inputs=…). Raises NoGradientError for a tensor that no gradient can reach."""
    xs: list[Any] = [inputs] if isinstance(inputs, Operand) else list(inputs)
    for i, x in enumerate(xs):
        if not x.tracked:
            raise NoGradientError(f"backward(inputs=…): input {i}, {x.spec}, does not require a gradient")
    if not xs:
        raise NoGradientError("backward(inputs=…) got no tensors: omit inputs, and all leaves receive a gradient")
    return {x.node: x for x in xs}


def towards(order: list[Record], wrt: Any) -> list[Record]:
    """The ops through which a gradient reaches a node of `wrt`."""
    between = depending_on(order, wrt)
    return [node for node in order if not between.isdisjoint(node.inputs)]


def received_gradients(wrt: Iterable[Node], grads: Grads, order: list[Record]) -> Grads:
    """Node → the gradient that arrived there, after the node's hooks. Backward has run those of nodes in `order`."""
    reached = {node: grads[node] for node in wrt if node in grads}
    hooked = [*filter(attrgetter("hooks"), reached)]
    passed = set(order) if hooked else ()
    return reached | {node: node.hooks(grads[node]) for node in hooked if node not in passed}


def seed_gradients(outputs: Sequence[Any], gradients: Sequence[Any], create_graph: bool) -> Grads:
    """Output node → the gradient that the user passes in there: an array, or a tensor for create_graph."""
    seeds: Grads = {}
    for y, gradient in zip(outputs, gradients, strict=True):
        seed = y.seed_gradient(gradient) if create_graph else y.seed_gradient(gradient).value
        seeds[y.node] = seeds[y.node] + seed if y.node in seeds else seed
    return seeds


def accumulate(x: Any, g: Any, taken: set[int]) -> None:
    """Add g to x.grad. The array of x.grad is never shared with another tensor.

    taken    ids of arrays in use elsewhere, which must be copied: a rule may return the very array it was given
    """
    with _accumulating:
        before = x.grad
        if isinstance(g, Operand):
            x._grad = g if before is None else before + g
        elif before is not None:
            before.value += g
            versions.edit(before.value)
        else:
            own = g.base is None and id(g) not in taken
            taken.add(id(g))
            x._grad = x.wrap_array(g if own else g.copy(), x.spec)
    for hook in () if x.node.hooks is None else [*x.node.hooks.after.values()]:
        hook(x)


def keeping(x: Any) -> Hook:
    """A hook that stores the gradient in x.grad."""
    held = ref(x)

    def retain(gy: Any) -> None:
        if (y := held()) is not None:
            accumulate(y, gy, {id(gy)})

    return retain


def replacing(x: Any, hook: Hook) -> Hook:
    """Wrap `hook`, which takes and returns tensors, for gradients that may be arrays."""
    made, spec = x.wrap_array, x.spec

    def replace(gy: Any) -> Any:
        is_tensor = isinstance(gy, Operand)  # a Tensor, or a Symbol in a graph
        new = hook(gy if is_tensor else made(gy.copy(), spec))  # a copy, since the hook may keep it
        if new is None:
            return gy
        if not isinstance(new, Operand) or new.spec != spec:
            raise ShapeError(f"a hook on {spec} must return a gradient of that spec, or None; it returned {new!r}")
        return new if is_tensor else new.value  # type: ignore[attr-defined]

    return replace


def leaf(x: Any, needs_grad: bool) -> Source:
    """The node of a tensor that is not the result of a recorded op."""
    return Source(ops.Leaf(), x.spec, needs_grad, ref(x), (x.value,) if x.spec.nbytes <= SMALL_BYTES else ())


def origin(x: Any) -> Node:
    """x's node, created on first use."""
    if x.node is None:
        x.node = leaf(x, False)
    return x.node  # type: ignore[no-any-return]
