"""A function that brings its own gradient, in TensorFlow's words.

    @custom_gradient
    def log1pexp(x):
        e = x.exp()
        return (1 + e).log(), lambda gy: gy * (1 - 1 / (1 + e))

It is a Function (function.py) made on the spot.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..tensor import Tensor
from .function import Function


def custom_gradient(f: Callable[..., Any]) -> Callable[..., Any]:
    """f(*xs), where f returns its value, one tensor or a tuple, and the function from their gradients to those of xs."""

    def forward(ctx: Any, options: dict[str, Any], *xs: Any) -> Any:
        value, ctx.rule = f(*xs, **options)
        return tuple(value) if isinstance(value, list) else value

    def backward(ctx: Any, *gys: Any) -> tuple[Any, ...]:
        gxs = ctx.rule(*gys)
        return None, *(gxs if isinstance(gxs, tuple | list) else (gxs,))

    written: Any = type(f.__name__, (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})

    @wraps(f)
    def called(*xs: Any, **options: Any) -> Any:
        return written.apply(options, *(x if isinstance(x, Tensor) else Tensor(x) for x in xs))

    return called
