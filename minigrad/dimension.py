"""A length that is known only when the graph runs: the None in `placeholder("float64", (None, 784))`.

While the graph is built the length has to be some number, since ops work out their shapes with it. So it is a
number that no axis ever has, far from all the others: 784 of them are still recognised as 784 of them. Whatever
becomes of it on the way, in shapes or in the parameters of an op, is read back as q · stand-in + r with a small r,
and replaced by what it is in a run: see compiler/specialise.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import gcd, prod
from threading import Lock
from typing import Any

from .errors import GraphError

FAR = 1 << 45  # no axis is so long: of bytes, it would be 32 TB
APART = 2_654_435_761  # between two stand-ins; 2³² divided by the golden ratio, and prime
NEAR = 1 << 20  # the largest r
LONG = re.compile(rf"(?<![\w.])\d{{{len(str(FAR - NEAR))},}}(?![\w.])")  # whole numbers that may be stand-ins
SMALL_PRIMES = prod(p for p in range(2, 1000) if all(p % q for q in range(2, p)))

_stand_ins: dict[str, int] = {}
_names: dict[int, str] = {}
_fresh = count(1)
_naming = Lock()


class Dimension(int):
    """A length not known yet, or what was calculated from one. It calculates, and has no value."""

    @classmethod
    def named(cls, name: str) -> Dimension:
        """The length of that name: the same wherever the name is said."""
        with _naming:
            if name not in _stand_ins:
                n = FAR + APART * len(_stand_ins)
                while gcd(n, SMALL_PRIMES) > 1:  # so that no small number divides it
                    n += 1
                _stand_ins[name], _names[n] = n, name
        return cls(_stand_ins[name])

    @classmethod
    def fresh(cls) -> Dimension:
        """A length of its own, which no other is said to equal."""
        return cls.named(f"?{next(_fresh)}")

    def __float__(self) -> float:
        raise GraphError(
            f"the length {self} is known only when the graph runs: use it as a whole number, in a shape, or say it "
            "when the graph is built, as in placeholder(dtype, (32, 784))"
        )

    def __repr__(self) -> str:
        return written(int(self))

    __str__ = __repr__
    __hash__ = int.__hash__

    def __add__(self, o: Any) -> Any: return calculated(int.__add__, self, o)
    def __radd__(self, o: Any) -> Any: return calculated(int.__radd__, self, o)
    def __sub__(self, o: Any) -> Any: return calculated(int.__sub__, self, o)
    def __rsub__(self, o: Any) -> Any: return calculated(int.__rsub__, self, o)
    def __mul__(self, o: Any) -> Any: return calculated(int.__mul__, self, o)
    def __rmul__(self, o: Any) -> Any: return calculated(int.__rmul__, self, o)
    def __floordiv__(self, o: Any) -> Any: return calculated(int.__floordiv__, self, whole(self, o))
    def __rfloordiv__(self, o: Any) -> Any: return calculated(int.__rfloordiv__, self, o)
    def __mod__(self, o: Any) -> Any: return calculated(int.__mod__, self, whole(self, o))
    def __truediv__(self, o: Any) -> Any: return self // o
    def __rtruediv__(self, o: Any) -> Any: return Quotient(o, self) if isinstance(o, int | float) else NotImplemented
    def __neg__(self) -> int: return length(-int(self))
    def __pos__(self) -> int: return self


@dataclass(frozen=True)
class Quotient:
    """A number divided by a length that is not known yet, as a mean or a variance needs it."""

    numerator: float
    divisor: Dimension

    def __mul__(self, o: Any) -> Any: return Quotient(self.numerator * o, self.divisor)
    def __truediv__(self, o: Any) -> Any: return Quotient(self.numerator / o, self.divisor)
    def __neg__(self) -> Quotient: return Quotient(-self.numerator, self.divisor)
    def __float__(self) -> float: return float(self.divisor)
    def __repr__(self) -> str: return f"{self.numerator} / {self.divisor}"

    __rmul__ = __mul__


def calculated(operation: Callable[[int, int], int], a: int, b: Any) -> Any:
    """What an operation on whole numbers gives."""
    result = operation(int(a), b)
    return result if result is NotImplemented else length(result)


def whole(n: Dimension, divisor: Any) -> Any:
    """The divisor, if it divides whatever n may be. Raises GraphError otherwise."""
    if isinstance(divisor, int) and divisor and int(n) % divisor:
        raise GraphError(f"whether {divisor} divides the length {n} is known only when the graph runs: say the length")
    return divisor


def length(n: int) -> int:
    """A length as it is said in a shape: a Dimension, if it stands for one."""
    return Dimension(n) if abs(n) >= FAR - NEAR else n


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
        said.append(Dimension.named(name) if name else Dimension.fresh() if n is None else length(n))
    return tuple(said)


def at(n: int, lengths: Mapping[str, int]) -> int:
    """The number n, once lengths are known: those that are still unknown stay.

    Raises GraphError where n was calculated from an unknown length in a way that cannot be followed.
    """
    if not is_unknown(n):
        return n
    q, stand_in, r = parts(n)
    name = _names[stand_in]
    return length(at(q, lengths) * lengths.get(name, stand_in) + r)


def share_at(x: float, lengths: Mapping[str, int]) -> float:
    """The number x, once lengths are known: it may be one divided by a length, by somebody who did not know."""
    if x == 0 or abs(x) > 1 / (FAR - NEAR) or x != x:
        return x
    n = round(1 / x)
    return 1 / at(n, lengths) if 1 / n == x and can_be_read(n) else x


def parts(n: int) -> tuple[int, int, int]:
    """(q, stand-in, r) with n = q · stand-in + r and a small r."""
    n = int(n)
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
        return is_unknown(n) and bool(parts(n))
    except GraphError:
        return False


def with_names(text: str) -> str:
    """A text in which numbers that stand for lengths are replaced by what they stand for."""
    return LONG.sub(lambda number: written(n) if can_be_read(n := int(number[0])) else number[0], text)


def written(n: int) -> str:
    """n as a formula of the names: `batch`, `batch·784`, `batch − 1`."""
    if not is_unknown(n):
        return str(n)
    try:
        q, stand_in, r = parts(n)
    except GraphError:
        return "?"
    product = _names[stand_in] if q == 1 else f"{_names[stand_in]}·{written(q)}"
    return product + (f" + {r}" if r > 0 else f" − {-r}" if r < 0 else "")
