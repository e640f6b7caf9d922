"""Parse the arguments of methods: axes, lengths, flags and alternative spellings; and apply autocast's casts.

Our parameters are named `axis`, as in the array API. PyTorch's `dim` is accepted too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import wraps
from numbers import Number
from typing import Any, TypeVar

import numpy as np

from ..base.dimension import Dimension, is_unknown, unwrap_dimension
from ..base.dtypes import kind, result_type
from ..base.errors import AxisError, DTypeError, ShapeError
from ..base.spec import Spec
from ..core.modes import current, in_mode
from ..core.op import Op

F = TypeVar("F", bound=Callable[..., Any])


def axis_of(spec: Spec, axis: Any) -> int:
    """An axis of a spec, counted from the left. Raises AxisError if there is no such axis."""
    n = whole(axis)
    if not -spec.ndim <= n < spec.ndim:
        has = f"axes 0 to {spec.ndim - 1}" if spec.ndim else "no axes"
        raise AxisError(f"{spec} has {has}, and got axis {n}")
    return n % spec.ndim


def whole(n: Any) -> int:
    """n as an int: an axis or a length. Raises DTypeError on True and False, which Python counts as 1 and 0."""
    if isinstance(n, bool):
        raise DTypeError(f"an axis or a length is a number, and got {n}: pass a flag by name, as in keepdims={n}")
    return operator.index(n)


def length(n: Any) -> Any:
    """As whole(), but for a length, which may be unknown."""
    n = unwrap_dimension(n)
    return n if is_unknown(n) else whole(n)


def flag(given: Any) -> bool:
    """The flag as a bool. Raises DTypeError unless it is True or False: in sum(0, 1), the user meant 1 as an axis."""
    if isinstance(given, bool | np.bool_):
        return bool(given)
    raise DTypeError(f"a flag is True or False, and got {given!r}: pass several axes as a tuple, as in sum((0, 1))")


def integers(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Integers passed one by one, or as one sequence: both `f(2, 3)` and `f((2, 3))` give `(2, 3)`."""
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = tuple(given[0])
    return tuple([n if type(n) is int else length(n) for n in given])


def lengths(given: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape, passed as one sequence or as separate lengths. Raises ShapeError on a negative length."""
    shape = integers(given)
    if min(shape, default=0) < 0:
        raise ShapeError(f"a shape has lengths of 0 or more, and this is {shape}")
    return shape


SYNONYMS = {
    "dim": "axis", "dims": "axes", "keepdim": "keepdims", "dim0": "axis0",
    "dim1": "axis1", "dim2": "axis2", "start_dim": "start_axis", "end_dim": "end_axis",
}  # fmt: skip


def accept_synonyms(**synonyms: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function to accept other names for its parameters. `synonyms` maps each to the function's own name."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def call_with_synonyms(*given: Any, **options: Any) -> Any:
            if not options:
                return method(*given)
            ours = {synonyms.get(word, word): value for word, value in options.items()}
            if len(ours) < len(options):
                raise TypeError(f"{method.__name__} takes one of two spellings, and got both: {', '.join(options)}")
            return method(*given, **ours)

        return call_with_synonyms

    return decorate


accept_dim = accept_synonyms(**SYNONYMS)


def autocast_to(to: str) -> Callable[[F], F]:
    """Decorate a function of several ops: autocast casts the function's operands to `to`, and not the ops inside."""

    def decorate(f: F) -> F:
        @wraps(f)
        def cast(*given: Any, **options: Any) -> Any:
            casts = current.mode.autocast
            if casts is None:
                return f(*given, **options)
            with in_mode(autocast=None):
                return f(*(casts.cast(x, to) for x in given), **{n: casts.cast(x, to) for n, x in options.items()})

        return cast  # type: ignore[return-value]

    return decorate


# -- operators of two operands --------------------------------------------------------------------------------


def compare(x: Any, op: Op, o: Any) -> Any:
    """Compare elementwise by op. If o holds no numbers, NotImplemented: Python then returns False for == (!=: True)."""
    if isinstance(o, Number | Dimension) or hasattr(o, "lift") or hasattr(o, "__array__"):
        return x.apply(op, o)
    try:
        return x.apply(op, x.lift(o)) if isinstance(o, list | tuple | range) else NotImplemented
    except DTypeError:  # a list that contains None or text
        return NotImplemented


def shift_left(x: Any, o: Any) -> Any:
    """x · 2ⁿ in the bits of x; 0 if n is negative, or at least the number of bits."""
    x, factor, fits = shift(x, o, left=True)
    return x * (factor if fits is True else factor * fits)


def shift_right(x: Any, o: Any) -> Any:
    """⌊x / 2ⁿ⌋. If n is negative, or at least the number of bits of x, −1 for negative x and 0 otherwise."""
    x, factor, fits = shift(x, o, left=False)
    return x // factor if fits is True else (x // factor).where(fits, -(x < 0).astype(x.dtype))


def shift(x: Any, o: Any, left: bool) -> tuple[Any, Any, Any]:
    """x, 2ⁿ in x's dtype, and whether n is the index of a bit of x. For a right shift the sign bit does not count."""
    n = int(o) if isinstance(o, int) and not (o is True and x.dtype == bool) else x.lift(o)
    dtype = result_type(x.dtype, n if isinstance(n, int) else n.dtype)
    if kind(dtype) not in "iu":
        raise DTypeError(f"a shift moves the bits of integers, got {x.spec} and {o!r}: use .long(), or x * 2**n")
    bits = dtype.itemsize * 8 - (not left and kind(dtype) == "i")
    if isinstance(n, int):
        fits = 0 <= n < bits
        return x.astype(dtype), np.left_shift(dtype.type(1), dtype.type(n if fits else 0)), fits
    return x.astype(dtype), 2 ** n.astype(dtype).where(fits := (n >= 0) & (n < bits), 0), fits
