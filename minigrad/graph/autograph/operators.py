"""Operators that generated code calls as `ag.NAME`: each looks at its arguments, and lets Python or the graph decide.

This module replaces Python builtins that would need the value of a tensor. The other operators are in branches.py,
loops.py and state.py.
"""

from __future__ import annotations

import builtins
import contextlib
import operator
from collections.abc import Callable
from functools import partial, reduce
from typing import Any

import numpy as np

from ...api.functions.creation import arange
from ...tracing.builder import Tracer
from .branches import handled, if_expression, truth
from .loops import arange_, enumerate_, len_, range_, reversed_, zip_
from .state import Number, as_number, symbolic, type_of


def int_(x: Any = 0, *base: Any) -> Any:
    """int(x), which rounds towards zero"""
    return as_number(x.astype(np.int64)) if symbolic(x) else int(x, *base)


def float_(x: Any = 0.0) -> Any:
    """float(x), through which no gradient passes."""
    return as_number(x.detach().astype(np.float64)) if symbolic(x) else float(x)


def bool_(x: Any = False) -> Any:
    """bool(x)"""
    return as_number(truth(x, "`bool()`")) if symbolic(x) else bool(x)


def type_(x: Any, *body: Any, **options: Any) -> Any:
    """type(x)"""
    return type(x, *body, **options) if body else type_of(x)


def isinstance_(x: Any, kinds: Any) -> bool:
    """isinstance(x, kinds)"""
    is_one = not isinstance(x, Number) and isinstance(x, kinds)
    return is_one or (isinstance(x, Tracer) and issubclass(type_of(x), kinds))


def hasattr_(x: Any, name: str) -> bool:
    """hasattr(x, name)"""
    return hasattr(type_of(x) if isinstance(x, Tracer) else x, name)


def class_of(x: Any) -> Any:
    """x.__class__"""
    return type_of(x) if isinstance(x, Tracer) else x.__class__


def getattr_(x: Any, name: str, *default: Any) -> Any:
    """getattr(x, name, default)"""
    if name == "__class__":
        return class_of(x)
    return getattr(type_of(x) if isinstance(x, Tracer) and not hasattr_(x, name) else x, name, *default)


def attrgetter_(*paths: str) -> Callable[[Any], Any]:
    """operator.attrgetter(path, …)"""

    def get(x: Any) -> Any:
        found = tuple([reduce(getattr_, path.split("."), x) for path in paths])
        return found if len(paths) > 1 else found[0]

    return get


class Suppress(contextlib.suppress):
    """contextlib.suppress, but only for errors that would also be raised without tracing."""

    def __exit__(self, *raised: Any) -> bool:
        if caught := bool(super().__exit__(*raised)):
            handled(raised[1])
        return caught


def extreme(python: Any, beats: Callable[[Any, Any], Any], *xs: Any, key: Any = None, **default: Any) -> Any:
    """The smallest or largest of xs, chosen as in Python: keep the best so far, unless the next element beats it."""
    among = list(xs[0]) if len(xs) == 1 else xs
    if not among or (key is None and not any(map(symbolic, among))):
        return python(among, key=key, **default)

    def better(best: Any, x: Any) -> Any:
        return if_expression(beats(x[0], best[0]), lambda: x, lambda: best, f"`{python.__name__}`")

    return reduce(better, [(x,) if key is None else (key(x), x) for x in among])[-1]


def any_(xs: Any) -> Any:
    """any(xs)"""
    found: Any = False
    for x in xs:
        if not symbolic(x):
            if x:
                return True
        else:
            found = truth(x, "`any()`") | found
    return found


def all_(xs: Any) -> Any:
    """all(xs)"""
    found: Any = True
    for x in xs:
        if not symbolic(x):
            if not x:
                return False
        else:
            found = truth(x, "`all()`") & found
    return found


REPLACED: dict[Any, Callable[..., Any]] = {
    range: range_, enumerate: enumerate_, zip: zip_, reversed: reversed_, len: len_, int: int_, float: float_,
    bool: bool_, any: any_, all: all_, arange: arange_,
    type: type_, isinstance: isinstance_, hasattr: hasattr_, getattr: getattr_, contextlib.suppress: Suppress,
    min: partial(extreme, builtins.min, operator.lt), max: partial(extreme, builtins.max, operator.gt),
    operator.attrgetter: attrgetter_, object.__getattribute__: getattr_,
}  # fmt: skip
