"""A method's second face: `mg.exp(x)` for `x.exp()`, where x may be a number, a list or an array as well."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ..operand import Operand
from ..tensor import Tensor


def operand(x: Any) -> Any:
    """x if ops apply to it already, else a tensor of it."""
    return x if isinstance(x, Operand) else Tensor(x)


def function(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method as a function of whatever can be made an operand."""

    @wraps(method)
    def called(input: Any, *others: Any, **options: Any) -> Any:
        return method(operand(input), *others, **options)

    called.__qualname__ = method.__name__
    return called
