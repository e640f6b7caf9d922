"""Is this op one NumPy ufunc? Then its plan calls that, and no Python stands between.

`forward` is run on operands that answer every ufunc by noting it down. Nobody declares which ops these
are: an op whose forward is `x * y` is found out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .op import Elementwise, Op


class Noted(NDArrayOperatorsMixin):
    """An operand, or the one ufunc that was applied to operands."""

    def __init__(self, ufunc: np.ufunc | None = None, inputs: tuple[Any, ...] = ()):
        self.ufunc, self.inputs = ufunc, inputs

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return NotImplemented if options or method != "__call__" else Noted(ufunc, inputs)


@lru_cache(maxsize=4096)
def ufunc_of(op: Op, arity: int) -> Callable[..., Any] | None:
    """The ufunc that op.forward calls on its operands, in order, and returns; None if it does anything else."""
    if not (isinstance(op, Elementwise) and op.inline):
        return None
    operands = tuple(Noted() for _ in range(arity))
    try:
        result = op.forward(np, *operands)
    except (TypeError, AttributeError):  # something that is no ufunc
        return None
    if isinstance(result, Noted) and len(result.inputs) == arity and all(map(is_same, result.inputs, operands)):
        return result.ufunc
    return None


def is_same(x: Any, y: Any) -> bool:
    """x is y: the operands answer == by a ufunc."""
    return x is y
