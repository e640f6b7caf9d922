"""A function that brings its own gradient, in TensorFlow's words.

    @custom_gradient
    def log1pexp(x):
        e = x.exp()
        return (1 + e).log(), lambda gy: gy * (1 - 1 / (1 + e))

What f computes is recorded as ever, so that the gradient, which closes over some of it, as over e here, can be
differentiated again. What f gives is let go of that record, and gets one with f's own rule: a Function (function.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..operand import Operand
from ..tensor import Tensor
from .function import Function


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """f(*xs), where f returns its value, one tensor or a tuple, and the map from their gradients to those of xs."""

    def forward(ctx: Any, rule: Callable[..., Any], values: tuple[Any, ...], several: bool, *xs: Any) -> Any:
        ctx.rule = rule
        return values if several else values[0]

    def backward(ctx: Any, *gys: Any) -> tuple[Any, ...]:
        gxs = ctx.rule(*gys)
        return None, None, None, *(gxs if isinstance(gxs, tuple | list) else (gxs,))

    written: Any = type(f.__name__, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})

    @wraps(f)
    def called(*xs: Any, **options: Any) -> Any:
        operands = [x if isinstance(x, Operand) else Tensor(x) for x in xs]
        value, rule = f(*operands, **options)
        several = isinstance(value, tuple | list)
        values = tuple(y.detach() for y in (value if several else (value,)))
        return written.apply(rule, values, several, *operands)

    return called
