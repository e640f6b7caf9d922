"""What generated code calls, as `ag.NAME`: each looks at the values it gets, and lets Python or the graph decide.

Those of branches.py and loops.py, and Python's own functions that ask a tensor for its value, and here need not.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from .branches import and_ as and_
from .branches import assert_ as assert_
from .branches import compare as compare
from .branches import filter_ as filter_
from .branches import handled as handled
from .branches import if_ as if_
from .branches import if_expression as if_expression
from .branches import not_ as not_
from .branches import or_ as or_
from .branches import truth
from .loops import enumerate_, len_, range_, reversed_, zip_
from .loops import for_ as for_
from .loops import while_ as while_
from .state import NotReturned as NotReturned
from .state import Undefined as Undefined
from .state import defined as defined
from .state import lifted, symbolic


def int_(x: Any = 0, *base: Any) -> Any:
    """int(x), towards zero"""
    return x.astype(np.int64) if symbolic(x) else int(x, *base)


def float_(x: Any = 0.0) -> Any:
    """float(x); a floating tensor keeps its dtype, as a number beside it would."""
    if not symbolic(x):
        return float(x)
    return x if x.spec.is_float else x.astype(np.float64)


def bool_(x: Any = False) -> Any:
    """bool(x)"""
    return truth(x, "`bool()`") if symbolic(x) else bool(x)


def min_(*xs: Any, **options: Any) -> Any:
    """min(x, y, …) or min(xs)"""
    return extreme(builtins.min, "minimum", xs, options)


def max_(*xs: Any, **options: Any) -> Any:
    """max(x, y, …) or max(xs)"""
    return extreme(builtins.max, "maximum", xs, options)


def extreme(python: Callable[..., Any], method: str, xs: Any, options: dict[str, Any]) -> Any:
    among = list(xs[0]) if len(xs) == 1 else xs
    if options or not any(map(symbolic, among)):
        return python(among, **options)
    return reduce(lambda x, y: getattr(x, method)(y), map(lifted, among))


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
    bool: bool_, min: min_, max: max_, any: any_, all: all_,
}  # fmt: skip
