"""Floats that Python made of a length not known yet: they do not say so, and are told by their digits."""

from __future__ import annotations

from collections.abc import Mapping
from math import log, log2, log10

from .dimension import FAR, NEAR, Dimension, Quotient, at, can_be_read, stand_ins

_read: dict[int, None] = {}
_made: dict[float, int] = {}


def share_at(x: float, lengths: Mapping[str, int]) -> float:
    """The number x, once lengths are known: it may be one divided by a length, by somebody who did not know."""
    if x == 0 or abs(x) > 1 / (FAR - NEAR) or x != x:
        return x
    n = round(1 / x)
    return 1 / at(n, lengths) if 1 / n == x and can_be_read(n) else x


def plain(x: float) -> float | Quotient:
    """A float as what it is: 2.0 / n is a Quotient. Raises GraphError where Python mixed it with a length, as 0.1 * n.

    A float cannot be asked before. It is taken for a mixture if, to the last bit, it is one of a length and a number of
    few digits, and has many itself.
    """
    if (stand_in := made_by_math(x)) is not None:
        return Dimension(stand_in).refuse("its logarithm")  # type: ignore[no-any-return]
    if not (1e-30 < abs(x) <= 1e-9 or 1e9 <= abs(x) < 1e30) or len(repr(x)) < 13:
        return x
    for stand_in in stand_ins():
        share, factor, rest = few(x * stand_in), few(x / stand_in), x - round(x / stand_in) * stand_in
        if share / stand_in == x:
            return Quotient(share, Dimension(stand_in))
        if factor * stand_in == x or (abs(x) > 1e9 and abs(x / stand_in) < 100 and abs(rest) < NEAR):
            return Dimension(stand_in).refuse(f"{x}, made of it and a number")  # type: ignore[no-any-return]
    return x


def made_by_math(x: float) -> int | None:
    """The stand-in that x is the logarithm of, or one divided by it: `math.log` reads a whole number without asking."""
    for stand_in in stand_ins(len(_read)):
        _read[stand_in] = None
        for y in (f(stand_in) for f in (log, log2, log10)):
            _made[y] = _made[1 / y] = stand_in
    return _made.get(x)


def few(x: float) -> float:
    """x to six digits."""
    return float(f"{x:.6g}")
