"""Gradients while a graph is built: more nodes of it, and the `.grad` that a leaf has at this point of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import Any

from .compiler.gradient import gradients
from .differentiable import origin
from .errors import NoGradientError, ShapeError
from .modes import current
from .node import Node, Staged
from .ops import StopGradient
from .tensor import Tensor
from .traced import Traced


class Pulled:
    """The part of a Stage that is about gradients.

    grads       id of a leaf → (the leaf, its .grad at this point)
    """

    outer: Any
    captured: dict[int, Any]
    grads: dict[int, tuple[Any, Any]]
    lift: Any
    building: Any

    def gradients(
        self, ys: Sequence[Any], xs: Sequence[Any], grad_ys: Sequence[Any] | None = None, stop: Sequence[Any] = ()
    ) -> list[Any]:
        """Σ ⟨grad_y, ∂y/∂x⟩ for each x, as nodes of this graph; None where no y depends on x.

        stop    what is taken as constant
        """
        with self.building():
            seeds, places = self.seeds(ys, grad_ys), [self.reads(x) for x in xs]
            stopped = {node for x in stop for node in self.reads(x)}
            found = gradients(seeds, {node for nodes in places for node in nodes}, stopped)
            return [total([found[node] for node in nodes if node in found]) for nodes in places]

    def reads(self, x: Any) -> list[Node]:
        """The node that is x, before the edits that nobody recorded; of a tensor's own node, that which reads it."""
        node = self.lift(x).node
        if not isinstance(node, Staged):
            return [c.symbol.node for c in self.captured.values() if c.what.node is node]
        while isinstance(node.op, StopGradient) and len(node.inputs) > 1:
            node = node.inputs[1]
        return [node]

    def seeds(self, ys: Sequence[Any], grad_ys: Sequence[Any] | None) -> dict[Node, Any]:
        """Node of a y → the gradient that arrives there from outside; of a y that is named twice, their sum."""
        seeds: dict[Node, Any] = {}
        for y, gy in zip(map(self.lift, ys), [None] * len(ys) if grad_ys is None else grad_ys, strict=True):
            seed = self.arriving(y, gy)
            seeds[y.node] = seeds[y.node] + seed if y.node in seeds else seed
        return seeds

    def arriving(self, y: Traced, gy: Any) -> Traced:
        """The gradient that arrives at y from outside: ones, unless said."""
        if not y.spec.is_float:
            raise NoGradientError(f"gradients() start from floating numbers, and {y} is {y.spec}")
        g = self.lift(1.0, y.spec).astype(y.dtype) if gy is None else self.lift(gy, y.spec)
        if gy is not None and g.shape != y.shape:
            raise ShapeError(f"grad_ys needs the shape of {y.spec}, and got {g.spec}")
        seed: Traced = g.broadcast_to(y.shape)
        return seed

    def backward(self, y: Traced, gradient: Any) -> None:
        """Add the gradients of y to `.grad` of the captured leaves that require one."""
        stage = current.mode.staging
        if stage is not None and stage is not self:  # y is from outside the branch, or the body, that asks
            stage.backward(stage.lift(y), gradient)
            return
        if gradient is None and y.spec.size != 1:
            raise NoGradientError(f"backward() starts from one number, and {y} is {y.spec}: sum it, or pass gradient=…")
        self.pulling()
        leaves = self.leaves()
        found = self.gradients([y], leaves, None if gradient is None else [gradient])
        if self.outer is None and all(g is None for g in found):
            raise NoGradientError(
                f"backward() adds to the .grad of tensors from outside the graph that require a gradient, and {y} "
                "depends on none: make them with requires_grad=True; or take mg.gradients(loss, [w]), for any node w"
            )
        for x, g in zip(leaves, found):
            if g is not None:
                before = x.grad if stage is None else self.grad_to_add(x)
                if isinstance(before, Tensor) and before is getattr(x, "_grad", None):
                    raise NoGradientError(
                        f"backward() in a graph adds to the .grad of {x.spec}, which was there before the graph: "
                        "begin with zero_grad() inside the traced function, or take autograd.grad(loss, parameters)"
                    )
                hooks = origin(x).hooks
                g = g if hooks is None else hooks(g)
                x.grad = g if before is None else before + g
                for hook in () if hooks is None else [*hooks.after.values()]:
                    hook(x)

    def pulling(self) -> None:
        """Told of a backward(). Raises NoGradientError where its gradients have nowhere to go."""
        if self.outer is not None:
            self.outer.pulling()

    def grad_of(self, x: Any, before: Any) -> Any:
        """x.grad at this point of the graph, which was `before` when it was begun."""
        if id(x) in self.grads:
            return self.grads[id(x)][1]
        return before if self.outer is None else self.outer.grad_of(x, before)

    def grad_to_add(self, x: Any) -> Any:
        """The same, for who adds to it: where there is none yet, a loop may have begun with zeros."""
        if id(x) in self.grads or self.outer is None:
            return self.grad_of(x, getattr(x, "_grad", None))
        return self.outer.grad_to_add(x)

    def leaves(self) -> list[Any]:
        """The captured leaves that require a gradient."""
        return [c.what for c in self.captured.values() if isinstance(c.what, Tensor) and c.what.requires_grad]


def total(gs: Sequence[Any]) -> Any:
    """Their sum; None of none."""
    return reduce(add, gs) if gs else None
