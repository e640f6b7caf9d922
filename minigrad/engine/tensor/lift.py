"""Convert arguments to operands, and methods to functions of such arguments: `mg.exp([1, 2])` from `x.exp()`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from ..base.errors import ShapeError
from ..base.pytree import leaves
from ..methods import Operand
from .tensor import Tensor


def operand(x: Any, beside: Any = None) -> Any:
    """x if it is an operand, else a tensor made from x. A number gets the dtype it has next to the operand `beside`.

    Raises TypeError for a list of tensors: a new tensor of their numbers would lose their history.
    """
    if isinstance(x, Operand):
        return x
    if isinstance(x, list | tuple) and any(isinstance(leaf, Operand) for leaf in leaves(x)):
        raise TypeError("expected a tensor, and got a list of tensors: mg.stack(…) makes one of them")
    return Tensor(x) if beside is None else beside.lift(x)


def operands(xs: Any, name: str) -> list[Any]:
    """The elements of xs as operands of one kind, Tensor or Symbol. Raises ShapeError if xs is empty."""
    xs = list(xs)
    if not xs:
        raise ShapeError(f"{name} needs at least one tensor, and got none")
    kind = next((x for x in xs if isinstance(x, Operand)), None)
    kind = Tensor(xs[0]) if kind is None else kind
    return [kind.lift(x) for x in xs]


def function(method: Callable[..., Any], name: str = "") -> Callable[..., Any]:
    """Make the method a function of anything that can become an operand. `name` is its name, if not the method's.

    A number gets the dtype it has next to the first tensor: for x in float32, `mg.pow(2, x)` is float32, as 2 ** x is.
    """

    @wraps(method)
    def call_method(input: Any, *others: Any, **options: Any) -> Any:
        beside = None if isinstance(input, Operand) else next((o for o in others if isinstance(o, Operand)), None)
        return method(operand(input, beside), *others, **options)

    call_method.__qualname__ = name or method.__name__
    call_method.__module__ = sys._getframe(1).f_globals["__name__"]  # the module in which pickle finds it
    return call_method
