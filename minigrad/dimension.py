"""A length that is known only when the graph runs: the None in `placeholder("float64", (None, 784))`.

While the graph is built the length has to be some number, since ops work out their shapes with it. So it is a
number that no axis ever has, far from all the others: 784 of them are still recognised as 784 of them. Whatever
becomes of it on the way, in shapes or in the parameters of an op, is read back as q · stand-in + r with a small r,
and replaced by what it is in a run: see compiler/specialise.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from math import gcd, inf, prod
from operator import eq, ge, gt, le, lt, ne
from threading import Lock
from typing import Any

from .asker import asked_by_user
from .errors import GraphError
from .quotient import Quotient as Quotient

FAR = 1 << 45  # no axis is so long: of bytes, it would be 32 TB
APART = 2_654_435_761  # between two stand-ins; 2³² divided by the golden ratio, and prime
NEAR = 1 << 20  # the largest r
LONG = re.compile(rf"(?<![\w.])\d{{{len(str(FAR - NEAR))},}}(?![\w.])")  # whole numbers that may be stand-ins
MOST_POWER = 8  # of a length, as in n ** 2
SMALL_PRIMES = prod(p for p in range(2, 1000) if all(p % q for q in range(2, p)))
Rule = Callable[[Mapping[str, int]], int]

_stand_ins: dict[str, int] = {}
_names: dict[int, str] = {}
_rules: dict[str, Rule] = {}
_fresh = count(1)
_naming = Lock()


class Dimension(int):
    """A length not known yet, or what was calculated from one. It calculates, and has no value."""

    @classmethod
    def named(cls, name: str, rule: Rule | None = None) -> Dimension:
        """The length of that name, the same wherever it is said. A rule tells it from other lengths, once known."""
        with _naming:
            _rules.update({} if rule is None else {name: rule})
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

    def __repr__(self) -> str: return written(int.__int__(self))
    __str__ = __repr__
    __hash__ = int.__hash__

    # -- what can be followed: sums, products, and what divides whatever the length may be

    def __add__(self, o: Any) -> Any: return calculated(int.__add__, self, o, "+")
    def __radd__(self, o: Any) -> Any: return calculated(int.__radd__, self, o, "+")
    def __sub__(self, o: Any) -> Any: return calculated(int.__sub__, self, o, "-")
    def __rsub__(self, o: Any) -> Any: return calculated(int.__rsub__, self, o, "-")
    def __mul__(self, o: Any) -> Any: return calculated(int.__mul__, self, o, "*")
    def __rmul__(self, o: Any) -> Any: return calculated(int.__rmul__, self, o, "*")
    def __floordiv__(self, o: Any) -> Any: return calculated(int.__floordiv__, self, whole(self, o), "//")
    def __rfloordiv__(self, o: Any) -> Any: return self.refuse(f"{o} // {self}")
    def __mod__(self, o: Any) -> Any: return calculated(int.__mod__, self, whole(self, o), "%")
    def __rmod__(self, o: Any) -> Any: return self.refuse(f"{o} % {self}")
    def __divmod__(self, o: Any) -> Any: return self // o, self % o
    def __rdivmod__(self, o: Any) -> Any: return self.refuse(f"divmod({o}, {self})")
    def __truediv__(self, o: Any) -> Any: return self // o
    def __rtruediv__(self, o: Any) -> Any: return Quotient(o, self) if isinstance(o, int | float) else NotImplemented
    def __lshift__(self, o: Any) -> Any: return self * (1 << o)
    def __rshift__(self, o: Any) -> Any: return self // (1 << o)
    def __neg__(self) -> int: return length(-int.__int__(self))
    def __invert__(self) -> int: return -self - 1
    def __pos__(self) -> int: return self
    def __round__(self, digits: Any = None) -> int: return self
    def __trunc__(self) -> int: return self
    def __floor__(self) -> int: return self
    def __ceil__(self) -> int: return self

    def __pow__(self, o: Any, modulus: Any = None) -> Any:
        if type(o) is not int or not 0 <= o <= MOST_POWER or modulus is not None:
            return self.refuse(f"{self} ** {o}")
        return length(int.__pow__(self, o))

    def __abs__(self) -> int:
        low, high = bounds(self)
        return self if low >= 0 else -self if high <= 0 else self.refuse(f"abs({self})")

    # -- what cannot

    def __rpow__(self, o: Any, modulus: Any = None) -> Any: return self.refuse(f"{o} ** {self}")
    def __rlshift__(self, o: Any) -> Any: return self.refuse(f"{o} << {self}")
    def __rrshift__(self, o: Any) -> Any: return self.refuse(f"{o} >> {self}")
    def __and__(self, o: Any) -> Any: return self.refuse(f"{self} & {o}")
    def __or__(self, o: Any) -> Any: return self.refuse(f"{self} | {o}")
    def __xor__(self, o: Any) -> Any: return self.refuse(f"{self} ^ {o}")

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __float__(self) -> float: return self.refuse(f"float({self})")  # type: ignore[no-any-return]
    def __int__(self) -> int: return self.refuse(f"int({self})") if asked_by_user() else int.__pos__(self)

    def bit_length(self) -> int:
        return self.refuse(f"({self}).bit_length()")  # type: ignore[no-any-return]

    def __array_ufunc__(self, ufunc: Any, method: str, *xs: Any, **options: Any) -> Any:
        return self.refuse(f"np.{ufunc.__name__} of {self}")

    def refuse(self, what: str) -> Any:
        """Raises GraphError: that has no value before a run."""
        raise GraphError(
            f"the length {self} is known only when the graph runs, and so is {what}: say the length when the graph is "
            "built, or make a tensor of it, mg.tensor(n), and let the graph calculate. Here n + 1, 2 * n, n * m, "
            "n ** 2 and 1 / n can be followed"
        )

    # -- comparisons: the engine's own go by the stand-in, which differs from every other length

    def __eq__(self, o: Any) -> Any: return compared(eq, "==", self, o)
    def __ne__(self, o: Any) -> Any: return compared(ne, "!=", self, o)
    def __lt__(self, o: Any) -> Any: return compared(lt, "<", self, o)
    def __le__(self, o: Any) -> Any: return compared(le, "<=", self, o)
    def __gt__(self, o: Any) -> Any: return compared(gt, ">", self, o)
    def __ge__(self, o: Any) -> Any: return compared(ge, ">=", self, o)

    def __bool__(self) -> bool:
        return bool(compared(ne, "!=", self, 0))


def calculated(operation: Callable[[int, int], int], n: Dimension, o: Any, sign: str) -> Any:
    """What an operation on whole numbers gives. Raises GraphError beside a float, which a length is none of."""
    if isinstance(o, float):
        n.refuse(f"{n} {sign} {o}")
    result = operation(int.__pos__(n), o)
    if is_unknown(o) and not can_be_followed(operation, n, o, result):
        n.refuse(f"{n} {sign} {written(o)}")
    return result if result is NotImplemented else length(result)


def can_be_followed(operation: Callable[[int, int], int], n: int, m: int, result: int) -> bool:
    """Whether what came of two unknown lengths is read back as that: of n − m nobody can tell what it was made of."""
    lengths = {name: stand_in**2 % 9973 + 2 for stand_in, name in [*_names.items()]}
    try:
        return bool(operation(at(n, lengths), at(m, lengths)) == at(result, lengths))
    except GraphError:
        return False


def compared(operation: Callable[[Any, Any], bool], sign: str, n: Dimension, o: Any) -> Any:
    """What a comparison gives: the user, who may act by it, has an answer only if it is the same in every run.

    Raises GraphError where it is not. The engine is told how the stand-in compares.
    """
    if not isinstance(o, int | float):
        return NotImplemented
    mine: int = int.__pos__(n)
    its: Any = int.__pos__(o) if isinstance(o, int) else o
    if not asked_by_user(3) or its != its or its in (inf, -inf):
        return operation(mine, its)
    if not is_unknown(its):
        low, high = (end - its for end in bounds(mine))
    else:
        low, high = bounds(mine - its) if can_be_followed(int.__sub__, mine, its, mine - its) else (-inf, inf)
    at_ends = operation(low, 0), operation(high, 0)
    if at_ends[0] != at_ends[1] or (operation in (eq, ne) and low < high and low <= 0 <= high):
        raise GraphError(
            f"whether {n} {sign} {o} is known only when the graph runs, and Python would decide now: say the length "
            "when the graph is built, or let the graph decide, with mg.cond or where on a tensor: mg.tensor(n)"
        )
    return at_ends[0]


def bounds(n: int) -> tuple[float, float]:
    """The least and the most that a number can be, lengths being 0 or more."""
    try:
        *coefficients, r = polynomial(n)
    except GraphError:
        return -inf, inf
    return -inf if any(c < 0 for c in coefficients) else r, inf if any(c > 0 for c in coefficients) else r


def polynomial(n: int) -> list[int]:
    """The coefficients of a number made of unknown lengths by sums and products, the constant last."""
    if not is_unknown(n):
        return [n]
    q, _, r = parts(n)
    return [*polynomial(q), r]


def whole(n: Dimension, divisor: Any) -> Any:
    """The divisor, if it divides whatever n may be. Raises GraphError otherwise."""
    if isinstance(divisor, float):
        n.refuse(f"{n} / {divisor}")
    terms = [int.__pos__(n)] if is_unknown(divisor) else polynomial(n)  # the stand-in is odd, and n need not be
    if isinstance(divisor, int) and divisor and any(term % int.__pos__(divisor) for term in terms):
        raise GraphError(
            f"whether {written(divisor)} divides the length {n} is known only when the graph runs: say the length"
        )
    return divisor


def length(n: int) -> int:
    """A length as it is said in a shape: a Dimension, if it stands for one."""
    return Dimension(n) if is_unknown(n) else n


def is_unknown(n: Any) -> bool:
    """Whether a number stands for a length that is not known yet, or was calculated from one."""
    return isinstance(n, Dimension) or (isinstance(n, int) and abs(n) >= FAR - NEAR)


def needed(what: str, *ns: Any) -> None:
    """Raises GraphError where one of these lengths is unknown, and no graph can be built without it."""
    for n in ns:
        if is_unknown(n):
            raise GraphError(
                f"{what} needs the length {written(n)} when the graph is built, and it is known only when the graph "
                "runs: say the length, or do this outside the graph"
            )


def stand_ins(first: int = 0) -> list[int]:
    """The numbers that stand for lengths, as many as there are by now, from the first that is asked for."""
    return [*_names][first:] if len(_names) > first else []


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
    rule: Rule = _rules.get(name := _names[stand_in], lambda _: stand_in)
    return length(at(q, lengths) * (lengths[name] if name in lengths else rule(lengths)) + r)


def parts(n: int) -> tuple[int, int, int]:
    """(q, stand-in, r) with n = q · stand-in + r and a small r."""
    n = int.__pos__(n)
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
