"""grad_fn: the user's view of the derivative of a recorded op, with hooks as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import GraphError, NoGradientError, ShapeError
from ..base.spec import Spec
from ..core.backward import Pull
from ..core.hooks import TRACED, Handle, Hooks
from ..core.modes import current
from ..methods import Operand
from .grad import replacing


@dataclass(frozen=True)
class GradFn:
    """The derivative of one recorded op. All GradFns of the same node are equal.

    made    wraps an array and its spec in the tensor that is passed to hooks
    """

    node: Any
    wrap_array: Callable[[Any, Any], Any] = field(compare=False, repr=False)

    spec = property(lambda self: self.node.spec, doc="The spec of the gradient that arrives here.")

    def name(self) -> str:
        """MulBackward for a Mul; AccumulateGrad for a leaf, which stores the gradient."""
        return f"{self.node.op.kind}Backward" if self.node.inputs else "AccumulateGrad"

    @property
    def next_functions(self) -> tuple[tuple[GradFn | None, int], ...]:
        """A pair for each operand: its GradFn (None if the operand needs no gradient), and 0."""
        return tuple((GradFn(x, self.wrap_array) if x.needs_grad else None, 0) for x in self.node.inputs)

    def register_prehook(self, hook: Callable[[tuple[Any, ...]], Any]) -> Handle:
        """Call hook((gradient,)) before the derivative runs. A tuple that it returns replaces the gradient.

        Returns a handle whose remove() takes the hook away.
        """

        def replace(gy: Any) -> Any:
            new = hook((gy,))
            return new[0] if isinstance(new, tuple) and len(new) == 1 else new

        return Handle(hooks_of(self.node).arriving, replacing(self, replace))

    def register_hook(self, hook: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> Handle:
        """Call hook(sent, (gradient,)) after the derivative has run. A tuple that it returns replaces `sent`.

        sent    a gradient for each operand, None for an operand that needs none

        Returns a handle whose remove() takes the hook away. Raises NoGradientError at a leaf, which has no operands,
        and at an op of several results.
        """
        node = self.node
        if not node.inputs or any(not isinstance(x.spec, Spec) for x in (node, *node.inputs)):
            raise NoGradientError(
                f"{self.name()} belongs to a leaf or an op with several results, so it has no gradients to pass to a "
                "hook: use x.register_hook(hook) or, on a leaf, x.register_post_accumulate_grad_hook(hook)"
            )
        specs = [x.spec for x in node.inputs]

        def tensor(g: Any, spec: Spec) -> Any:
            return g if g is None or isinstance(g, Operand) else self.wrap_array(g.copy(), spec)

        def send(gxs: Any, gy: Any) -> Any:
            new = hook(tuple(map(tensor, gxs, specs)), (tensor(gy, node.spec),))
            if new is None:
                return gxs
            new = new if isinstance(new, tuple) else (new,)
            if [getattr(g, "spec", g) for g in new] != [None if g is None else s for g, s in zip(gxs, specs)]:
                raise ShapeError(f"a hook of {self.name()} must return gradients like those it got; returned {new!r}")
            return tuple(g if g is None or isinstance(gy, Operand) else g.value for g in new)

        Hooks.sending = sending
        return Handle(hooks_of(node).sent, send)

    def __repr__(self) -> str:
        return f"<{self.name()}>"


def sending(pull: Pull) -> Pull:
    """Extend `pull` to run the node's `sent` hooks afterwards; each may replace the operands' gradients."""

    def pull_and_call_hooks(node: Any, gy: Any) -> tuple[Any, ...]:
        gxs = pull(node, gy)
        for hook in () if node.hooks is None else [*node.hooks.sent.values()]:
            gxs = hook(gxs, gy)
        return gxs

    return pull_and_call_hooks


def hooks_of(node: Any) -> Hooks:
    """The hooks of a node. Raises GraphError while a function is traced."""
    if current.mode.builder is not None:
        raise GraphError(TRACED)
    node.hooks = node.hooks or Hooks()
    return node.hooks  # type: ignore[no-any-return]
