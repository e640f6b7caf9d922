"""Hooks of the derivatives of recorded ops: grad_fn.register_prehook and grad_fn.register_hook, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..base.errors import GraphError, NoGradientError, ShapeError
from ..base.spec import Spec
from ..core.backward import Pull
from ..core.hooks import TRACED, Handle, Hooks
from ..core.modes import current
from ..methods import Operand
from .grad import GradFn, replacing


def register_prehook(fn: GradFn, hook: Callable[[tuple[Any, ...]], Any]) -> Handle:
    """Call hook((gradient,)) before the derivative runs; a tuple that it returns goes on in its place.

    Returns a handle whose remove() takes the hook away.
    """

    def arrived(gy: Any) -> Any:
        new = hook((gy,))
        return new[0] if isinstance(new, tuple) and len(new) == 1 else new

    return Handle(hooks_of(fn).arriving, replacing(SimpleNamespace(made=fn.made, spec=fn.node.spec), arrived))


def register_hook(fn: GradFn, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> Handle:
    """Call hook(sent, (gradient,)) after the derivative has run; a tuple that it returns goes on in place of `sent`.

    sent    a gradient for each operand, None for one that wants none

    Returns a handle whose remove() takes the hook away. Raises NoGradientError at a leaf, which has no operands, and at
    an op of several results.
    """
    node = fn.node
    if not node.inputs or any(not isinstance(x.spec, Spec) for x in (node, *node.inputs)):
        raise NoGradientError(
            f"{fn.name()} sends no gradients to operands that a hook could be shown: hook a tensor, by "
            "x.register_hook(hook) or, of a leaf, x.register_post_accumulate_grad_hook(hook)"
        )
    specs = [x.spec for x in node.inputs]

    def tensor(g: Any, spec: Spec) -> Any:
        return g if g is None or isinstance(g, Operand) else fn.made(g.copy(), spec)

    def send(gxs: Any, gy: Any) -> Any:
        new = hook(tuple(map(tensor, gxs, specs)), (tensor(gy, node.spec),))
        if new is None:
            return gxs
        new = new if isinstance(new, tuple) else (new,)
        if [getattr(g, "spec", g) for g in new] != [None if g is None else s for g, s in zip(gxs, specs)]:
            raise ShapeError(f"a hook of {fn.name()} returns gradients like those it was given, and gave {new!r}")
        return tuple(g if g is None or isinstance(gy, Operand) else g.value for g in new)

    Hooks.sending = sending
    return Handle(hooks_of(fn).sent, send)


def sending(pull: Pull) -> Pull:
    """`pull`, whose gradients pass the hooks of their node."""

    def sent(node: Any, gy: Any) -> tuple[Any, ...]:
        gxs = pull(node, gy)
        for hook in () if node.hooks is None else [*node.hooks.sent.values()]:
            gxs = hook(gxs, gy)
        return gxs

    return sent


def hooks_of(fn: GradFn) -> Hooks:
    """The hooks of a node. Raises GraphError in a function that is being traced."""
    if current.mode.builder is not None:
        raise GraphError(TRACED)
    fn.node.hooks = fn.node.hooks or Hooks()
    return fn.node.hooks  # type: ignore[no-any-return]
