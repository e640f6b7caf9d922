"""custom_vjp and custom_jvp, as in JAX: functions with hand-written derivatives, eager, traced or transformed.

    @mg.custom_vjp                          @mg.custom_jvp
    def f(x): return x.sin()                def f(x): return x.sin()

    f.defvjp(                               @f.defjvp
        lambda x: (f(x), x.cos()),          def jvp(primals, tangents):
        lambda cos, gy: (gy * cos,),            (x,), (dx,) = primals, tangents
    )                                           return f(x), dx * x.cos()

A backward pass transposes a custom_jvp: dx ↦ J dx is linear, so the gradient of ⟨J dx, gy⟩ with respect to dx is Jᵀ gy.
Only tensors among the arguments have gradients.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

import numpy as np

from ..autograd.function import Function, custom_gradient
from ..autograd.gradient import fresh, gradients, record_gradients, zeros_like
from ..engine.base.errors import NoGradientError, ShapeError
from ..engine.base.pytree import leaves, leaves_beside, replace_leaves, unflatten_like
from ..engine.core.modes import current
from ..engine.methods import Operand
from ..engine.tensor.lift import operand

Box = list[Any]


def is_tensor(x: Any) -> bool:
    """Whether an argument can have a gradient: a tensor, or an array."""
    return isinstance(x, Operand | np.ndarray)


class RuleScope(threading.local):
    """A block in which a function with a custom rule ignores the rule. `on`: whether it is open in this thread."""

    on = False

    def __enter__(self) -> None:
        self.on = True

    def __exit__(self, *raised: object) -> None:
        self.on = False


class custom_vjp:
    """A function whose backward pass is the one set by defvjp.

    nondiff_argnums    indices of the arguments without a gradient; bwd receives them first, unchanged
    """

    __name__: str

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = ()):
        update_wrapper(self, fun)
        self.fun, self.apart = fun, tuple(nondiff_argnums)
        self.rule: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self.inside = RuleScope()
        self.whole = custom_gradient(self.forward)

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Set fwd(*args) → (result, residuals), and bwd(residuals, gy) → a tuple of one gradient per argument."""
        self.rule = fwd, bwd

    def __call__(self, *args: Any) -> Any:
        if self.inside.on:
            return self.fun(*args)
        if self.rule is None:
            raise NoGradientError(
                f"{self.__name__} is a custom_vjp without a rule: call {self.__name__}.defvjp(fwd, bwd)"
            )
        box: Box = []
        ys = self.whole(*filter(is_tensor, leaves(args)), args=args, box=box)
        return unflatten_like(box[0], iter(ys if isinstance(ys, tuple) else (ys,)))

    def forward(self, *tensors: Any, args: Any, box: Box) -> Any:
        """fwd's result, and the function from the gradient of that result to the gradients of the tensors."""
        assert self.rule is not None  # __call__ has checked
        fwd, bwd = self.rule
        with self.inside:
            y, residuals = fwd(*replace_leaves(args, is_tensor, tensors))
        box.append(y)
        apart = [x for i, x in enumerate(args) if i in self.apart]
        rest = tuple(x for i, x in enumerate(args) if i not in self.apart)

        def pull(*gys: Any) -> list[Any]:
            said = bwd(*apart, residuals, unflatten_like(y, iter(gys)))
            if not isinstance(said, tuple) or len(said) != len(rest):
                raise NoGradientError(
                    f"bwd of {self.__name__} must return a tuple of {len(rest)} gradients, one for each argument; it "
                    f"returned {said!r}"
                )
            told = iter(said)
            whole = [None if i in self.apart else next(told) for i in range(len(args))]
            each = [[None] * len(leaves(x)) if g is None else leaves_beside(x, g) for x, g in zip(args, whole)]
            found = [g for gs in each for g in gs]
            gxs = [(x, g) for x, g in zip(leaves(args), found) if is_tensor(x)]
            for x, g in gxs:
                if g is not None and np.shape(g) != np.shape(x):
                    raise ShapeError(
                        f"bwd of {self.__name__} returned a gradient of shape {np.shape(g)} for an argument of shape "
                        f"{np.shape(x)}: the shapes must be equal, even if the argument was broadcast"
                    )
            return [g for _, g in gxs]

        return tuple(leaves(y)), pull


class custom_jvp:
    """A function whose derivative, in forward and reverse mode, is the one set by defjvp."""

    __name__: str

    def __init__(self, fun: Callable[..., Any]):
        update_wrapper(self, fun)
        self.fun, self.inside = fun, RuleScope()
        self.rule: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Set jvp(primals, tangents) → (result, tangent of the result), which is linear in the tangents."""
        self.rule = jvp
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Set one map per argument: (its tangent, result, *arguments) → a term of the result's tangent, None for 0."""

        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise NoGradientError(
                    f"{self.__name__}.defjvps needs one map for each argument, or None if the result does not depend "
                    f"on it; got {len(jvps)} for {len(primals)} arguments"
                )
            y = self(*primals)
            shares = [jvp(dx, y, *primals) for jvp, dx in zip(jvps, tangents) if jvp is not None]
            return y, sum(shares[1:], shares[0]) if shares else zeros_like(y)

        self.rule = rule

    def __call__(self, *args: Any) -> Any:
        if self.inside.on and current.mode.builder is not None:
            return self.fun(*args)
        if self.rule is None:
            raise NoGradientError(f"{self.__name__} is a custom_jvp without a rule: call {self.__name__}.defjvp(jvp)")
        box: Box = []
        tensors = [operand(x) for x in leaves(args) if is_tensor(x)]
        ys = JvpFunction.apply(self, args, box, *tensors)
        return unflatten_like(box[0], iter(ys if isinstance(ys, tuple) else (ys,)))


class JvpFunction(Function):
    """The Function that runs a custom_jvp."""

    @staticmethod
    def forward(ctx: Any, f: custom_jvp, args: Any, box: Box, *tensors: Any) -> Any:
        ctx.f, ctx.args = f, args
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)
        box.append(f.fun(*replace_leaves(args, is_tensor, tensors)))
        ys = leaves(box[0])
        return tuple(ys) if len(ys) > 1 else ys[0]

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        dys = apply_jvp(ctx, ctx.saved_tensors, tangents[3:])
        return tuple(dys) if len(dys) > 1 else dys[0]

    @staticmethod
    def backward(ctx: Any, *gys: Any) -> Any:
        xs = ctx.saved_tensors
        with record_gradients():
            dxs = [fresh(zeros_like(x)) if x.spec.is_float else None for x in xs]
            dys = apply_jvp(ctx, xs, dxs)
            pairs = [(dy, gy) for dy, gy in zip(dys, gys) if dy.tracked]
            nodes = [None if dx is None else dx.node for dx in dxs]
            gxs = gradients([dy for dy, _ in pairs], nodes, [gy for _, gy in pairs], create_graph=True)
        return None, None, None, *gxs


def apply_jvp(ctx: Any, xs: Sequence[Any], dxs: Sequence[Any]) -> list[Any]:
    """The tangents of the results. An argument that is not a tensor has the tangent None."""
    given = iter(dxs)
    tangents = unflatten_like(ctx.args, (next(given) if is_tensor(x) else None for x in leaves(ctx.args)))
    with ctx.f.inside:
        _, dy = ctx.f.rule(replace_leaves(ctx.args, is_tensor, xs), tangents)
    return leaves(dy)
