"""A length that is known only when the graph runs, as the engine has it: a number that no axis ever has.

Ops work their shapes out with lengths, and note some down in their fields; so each length that is not known is some
number, far from all the others. Sums and products of such numbers are just that, and stand for the same sums and
products of the lengths. What was calculated is read back as q · stand-in + r with a small r, or by what it was made
of, and replaced by what it is in a run (compiler/passes/specialise.py). What is no sum and no product, as half a
length, or the length of x[:9], is a length of its own, with a rule that tells it from the others.

Only `infer` may decide by these numbers: it is asked again in each run. Whoever else decides asks a Dimension.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count, pairwise
from math import gcd, inf, prod
from threading import RLock
from typing import Any

from .errors import GraphError

FAR = 1 << 45  # no axis is so long: of bytes, it would be 32 TB
APART = 1 << 21  # between two stand-ins
PLACES = 16_777_213  # that a stand-in may have: a prime, and 5 does not divide p − 1, so that no two fifth powers meet
NEAR = 1 << 20  # the largest r
LONG = re.compile(rf"(?<![\w.])\d{{{len(str(FAR - NEAR))},}}(?![\w.])")  # whole numbers that may be stand-ins
SMALL_PRIMES = prod(p for p in range(2, 1000) if all(p % q for q in range(2, p)))
SIGNS = {
    operator.add: "+", operator.sub: "−", operator.mul: "·", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
Operation = Callable[[Any, Any], Any]
Rule = Callable[[Mapping[str, int]], int]
Bounds = tuple[float, float]

_stand_ins: dict[str, int] = {}
_names: dict[int, str] = {}
_rules: dict[str, Rule] = {}
_bounds: dict[str, Bounds] = {}
_made: dict[int, tuple[Operation, int, int]] = {}
_clamps: dict[str, tuple[int, float, float]] = {}
_fresh = count(1)
_naming = RLock()


def both_ways(operation: Operation) -> tuple[Any, Any]:
    """An operator of lengths, and the same where the length is on its right."""
    return lambda self, o: calculated(operation, self, o), lambda self, o: calculated(operation, o, self)


class StandIn(int):
    """The number that stands for a length, or for what was calculated from one. It writes itself as its formula."""

    def __repr__(self) -> str:
        return written(self)

    __str__ = __repr__
    __hash__ = int.__hash__

    __add__, __radd__ = both_ways(operator.add)
    __sub__, __rsub__ = both_ways(operator.sub)
    __mul__, __rmul__ = both_ways(operator.mul)
    __floordiv__, __rfloordiv__ = both_ways(operator.floordiv)
    __mod__, __rmod__ = both_ways(operator.mod)

    def __neg__(self) -> int:
        return length(-int.__int__(self))

    def __float__(self) -> float:
        raise GraphError(f"the length {self} is known only when the graph runs, and a float of it is needed now")

    __truediv__ = __rtruediv__ = lambda self, o: float(self)


def named(name: str, rule: Rule | None = None, bounds: Bounds = (0, inf)) -> int:
    """The length of that name, the same wherever it is said. A rule tells it from other lengths, once known."""
    with _naming:
        if name not in _stand_ins:
            n = FAR + APART * pow(len(_stand_ins) + 1, 5, PLACES)
            while gcd(n, SMALL_PRIMES) > 1:  # so that no small number divides it
                n += 1
            _bounds[name], _stand_ins[name], _names[n] = bounds, n, name
            _rules.update({} if rule is None else {name: rule})
    return StandIn(_stand_ins[name])


def fresh() -> int:
    """A length of its own, which no other is said to equal."""
    return named(f"?{next(_fresh)}")


# -- calculating --------------------------------------------------------------------------------------


def calculated(operation: Operation, n: Any, m: Any) -> Any:
    """What an operation on two whole numbers gives. Of what is no sum or product, a length of its own is made."""
    if not isinstance(n, int) or not isinstance(m, int):
        return NotImplemented
    if operation in (operator.add, operator.sub, operator.mul):
        return remembered(operation, plain(n), plain(m))
    if operation in (operator.floordiv, operator.mod) and m and not is_unknown(m) and is_whole(n, m):
        return length(operation(plain(n), m))
    return of_its_own(operation, n, m)


def remembered(operation: Operation, n: int, m: int) -> int:
    """A sum or a product, and what it was made of if that is not seen. Raises GraphError where it equals another."""
    result: int = operation(n, m)
    try:
        follows = at(result, TRIAL) == operation(at(n, TRIAL), at(m, TRIAL))
    except GraphError:
        _made[result], follows = (operation, n, m), True
    if follows:
        return length(result)
    if not is_unknown(result):  # of two lengths nearly as far away as each other
        return of_its_own(operation, n, m)
    raise GraphError(f"{formula(operation, n, m)} cannot be told from {written(result)}: say a length")


class Trial(dict[str, int]):
    """Some length for every name, to try on whether two formulas are one."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> int:
        return _stand_ins[name] ** 2 % 9973 + 2


TRIAL = Trial()


def of_its_own(operation: Operation, n: int, m: int) -> int:
    """What an operation gives, as a length that is worked out in the run."""
    rule: Rule = lambda lengths: operation(at(n, lengths), at(m, lengths))  # noqa: E731
    return named(formula(operation, n, m), rule, between(operation, bounds(n), bounds(m)))


def out_of_order(*ns: int) -> bool:
    """Whether these numbers do not grow from one to the next, whatever lengths a run brings."""
    return any(bounds(length(m - n))[1] < 0 for n, m in pairwise(ns))


def clamped(n: int, low: float = 0, high: float = inf) -> int:
    """n, or what is nearest to it from low to high: a length of its own where that depends on the run."""
    least, most = bounds(n)
    if low <= least and most <= high:
        return n
    if most <= low or least >= high:
        return int(low if most <= low else high)
    q, stand_in, r = parts(n) if n not in _made else (0, 0, 0)
    if q == 1 and (name := _names[stand_in]) in _clamps:
        n, inner, outer = _clamps[name]
        n, low, high = n + r, max(low, inner + r), min(high, outer + r)
    name = f"max({written(n)}, {low})" if low > bounds(n)[0] else written(n)
    name = name if high == inf else f"min({name}, {high})"
    clamp = named(name, lambda lengths: int(max(low, min(high, at(n, lengths)))), (low, high))
    _clamps[name] = n, low, high
    return clamp


def is_whole(n: int, divisor: int) -> bool:
    """Whether every coefficient of n can be divided, but for the constant, and so whatever the lengths are."""
    if not is_unknown(n) or plain(n) in _made:
        return not is_unknown(n)
    q, _, _ = parts(n)
    return is_whole(q, divisor) and (parts(q)[2] if is_unknown(q) else q) % divisor == 0


def bounds(n: int) -> Bounds:
    """The least and the most that a number can be."""
    if not is_unknown(n):
        return n, n
    if (made := _made.get(plain(n))) is not None:
        return between(made[0], bounds(made[1]), bounds(made[2]))
    q, stand_in, r = parts(n)
    low, high = between(operator.mul, bounds(q), _bounds[_names[stand_in]])
    return low + r, high + r


def between(operation: Operation, n: Bounds, m: Bounds) -> Bounds:
    """The bounds of what an operation gives, as far as they are easily told."""
    if operation is operator.add:
        return n[0] + m[0], n[1] + m[1]
    if operation is operator.sub:
        return n[0] - m[1], n[1] - m[0]
    if operation is operator.mul:
        ends = [a * b if a and b else 0 for a in n for b in m]
        return min(ends), max(ends)
    return (0 if min(n[0], m[0]) >= 0 else -inf), inf


def at(n: int, lengths: Mapping[str, int]) -> int:
    """The number n, once lengths are known: those that are still unknown stay.

    Raises GraphError where n was calculated from an unknown length in a way that cannot be followed.
    """
    if not is_unknown(n):
        return n
    if (made := _made.get(plain(n))) is not None:
        operation, a, b = made
        return length(operation(at(a, lengths), at(b, lengths)))
    q, stand_in, r = parts(n)
    name = _names[stand_in]
    rule: Rule = _rules.get(name, lambda _: StandIn(stand_in))
    return length(at(q, lengths) * (lengths[name] if name in lengths else rule(lengths)) + r)


def parts(n: int) -> tuple[int, int, int]:
    """(q, stand-in, r) with n = q · stand-in + r and a small r."""
    n = plain(n)
    if n in _names:
        return 1, n, 0
    for stand_in in reversed([*_names]):  # a copy: another thread may name one meanwhile
        q = (n + (stand_in >> 1)) // stand_in
        r = n - q * stand_in
        if q and abs(r) < NEAR and (abs(q) < NEAR or can_be_read(q)):
            return q, stand_in, r
    raise GraphError(
        f"a length was calculated from one that is known only when the graph runs, in a way that cannot be followed "
        f"({n}): only sums and products can. Say the length when the graph is built"
    )


def can_be_read(n: int) -> bool:
    """Whether n is made of stand-ins by sums and products."""
    try:
        return is_unknown(n) and (n in _made or bool(parts(n)))
    except GraphError:
        return False


# -- lengths among numbers ----------------------------------------------------------------------------


def plain(n: int) -> int:
    """A stand-in as the number it is."""
    return int.__pos__(n)


def length(n: int) -> int:
    """A length as it is said in a shape: a stand-in, if it is one."""
    return StandIn(n) if is_unknown(n) else n


def is_unknown(n: Any) -> bool:
    """Whether a number stands for a length that is not known yet, or was calculated from one."""
    return isinstance(n, int) and abs(n) >= FAR - NEAR


def fits(shape: Sequence[int], wanted: Sequence[int]) -> bool:
    """Whether a shape is the wanted one, of which some lengths may be unknown."""
    return len(shape) == len(wanted) and all(n == m or is_unknown(m) for n, m in zip(shape, wanted))


def lengths_of(shape: Any, axis_names: Callable[[int], str | None]) -> tuple[int, ...]:
    """A shape as one says it: whole numbers, None for a length not known yet, a string for one that has a name.

    axis_names    what None means on an axis: the name of a length, or None for one of its own
    """
    said: list[int] = []
    for axis, n in enumerate(shape):
        name = axis_names(axis) if n is None else n if isinstance(n, str) else None
        said.append(named(name) if name else fresh() if n is None else length(n))
    return tuple(said)


# -- in words -----------------------------------------------------------------------------------------


def with_names(text: str) -> str:
    """A text in which numbers that stand for lengths are replaced by what they stand for."""
    return LONG.sub(lambda number: written(n) if can_be_read(n := int(number[0])) else number[0], text)


def written(n: Any) -> str:
    """n as a formula of the names: `batch`, `batch·784`, `batch − 1`."""
    if not is_unknown(n):
        return str(n)
    if (made := _made.get(plain(n))) is not None:
        return formula(*made)
    try:
        q, stand_in, r = parts(n)
    except GraphError:
        return "?"
    product = _names[stand_in] if q == 1 else f"{beside(_names[stand_in])}·{beside(q)}"
    return product + (f" + {r}" if r > 0 else f" − {-r}" if r < 0 else "")


def formula(operation: Operation, n: int, m: int) -> str:
    return f"{beside(n)} {SIGNS[operation]} {beside(m)}"


def beside(n: Any) -> str:
    """The same as part of a longer formula."""
    text = n if isinstance(n, str) else written(n)
    return f"({text})" if " " in text and not text.endswith((")", "]")) else text
