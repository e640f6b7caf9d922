"""Control flow with JAX's names and order of arguments. The functions do what those of mg.graph do.

    lax.cond(pred, true_fun, false_fun, *operands)
    lax.switch(index, branches, *operands)
    lax.while_loop(cond_fun, body_fun, init_val)
    lax.fori_loop(lower, upper, body_fun, init_val)
    lax.scan(f, init, xs, length, reverse)
    lax.map(f, xs)
    lax.select(pred, on_true, on_false), lax.stop_gradient(x)

On tensors that have values they run in Python; in a traced function they are ops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..api.functions.indexing import where
from ..engine.base.pytree import leaves, unflatten_like
from . import control
from .control import fori_loop as fori_loop
from .control import scan as scan


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """true_fun(*operands) if pred else false_fun(*operands)"""
    return control.cond(pred, true_fun, false_fun, operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """branches[index](*operands), the index clamped to the first and the last branch."""

    def among(first: int, last: int) -> Any:
        middle = (first + last + 1) // 2
        if first == last:
            return branches[first](*operands)
        return control.cond(index < middle, lambda: among(first, middle - 1), lambda: among(middle, last))

    return among(0, len(branches) - 1)


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init_val: Any) -> Any:
    """Repeat x = body_fun(x) while cond_fun(x), starting from x = init_val, of any structure. Returns the last x."""
    return control.while_loop(cond_fun, lambda x: (body_fun(x),), (init_val,))[0]


def map(f: Callable[[Any], Any], xs: Any) -> Any:
    """f(x[t]) for each t along the first axis of xs, run one after the other and stacked."""
    return scan(lambda _, x: (None, f(x)), None, xs)[1]


def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """on_true where pred holds, and on_false elsewhere; both are computed."""
    return where(pred, on_true, on_false)


def stop_gradient(x: Any) -> Any:
    """The same values, through which no gradient passes. x may have any structure."""
    return unflatten_like(x, (leaf.detach() for leaf in leaves(x)))
