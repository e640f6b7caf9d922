"""GradFn: one recorded op under the names PyTorch gives its derivative."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from .errors import NoGradientError
from .node import Node


@dataclass(frozen=True)
class GradFn:
    """The derivative of one recorded op; what it is equal to is decided by the node it looks at."""

    node: Node

    def name(self) -> str:
        """MulBackward for a Mul; AccumulateGrad where the gradient stays, at a leaf."""
        return f"{self.node.op.kind}Backward" if self.node.inputs else "AccumulateGrad"

    @property
    def next_functions(self) -> tuple[tuple[GradFn | None, int], ...]:
        """Where the gradient goes on to, a pair for each operand: its GradFn, or None if it wants none, and 0."""
        return tuple((GradFn(x) if x.needs_grad else None, 0) for x in self.node.inputs)

    def register_hook(self, hook: object) -> NoReturn:
        raise NoGradientError(
            f"{self.name()} takes no hooks, and tensors do: y.register_hook(hook) of its result is shown the gradient "
            "that arrives here, x.register_hook(hook) of its operands what goes on"
        )

    register_prehook = register_hook

    def __repr__(self) -> str:
        return f"<{self.name()}>"
