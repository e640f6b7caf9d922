"""A length that is known only when the graph runs, as Python code has it: the None in `placeholder("f8", (None, 784))`.

It calculates, and has no value. It is no int, so that whatever needs a number asks for it, and is told that there is
none yet: `range(n)`, `np.zeros(n)`, `math.sqrt(n)`, `x * 2 if n > 3 else x`. What shapes are made of inside the engine
is in lengths.py; compositions and derivatives have a Dimension like everybody else, and decide by none.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, nan, prod
from numbers import Integral, Number
from typing import Any

import numpy as np

from .errors import GraphError
from .lengths import SIGNS, Operation, at, beside, bounds, calculated, clamped, is_unknown, length, written


@dataclass(frozen=True)
class Formula:
    """A float to be calculated from lengths: what an operation gives on two numbers, one of which has some in it."""

    operation: Operation
    a: Any
    b: Any

    def at(self, lengths: Mapping[str, int]) -> Any:
        """Its value, once lengths are known."""
        a, b = (o.at(lengths) if isinstance(o, Formula) else at(o, lengths) for o in (self.a, self.b))
        is_open = any(isinstance(o, Formula) or is_unknown(o) for o in (a, b))
        return Formula(self.operation, a, b) if is_open else self.operation(a, b)

    def __repr__(self) -> str:
        a, b = (f"({o})" if isinstance(o, Formula) else beside(o) for o in (self.a, self.b))
        return f"{a} {SIGNS.get(self.operation, '/')} {b}"


def both_ways(operation: Operation) -> tuple[Any, Any]:
    """An operator, and the same where the Dimension is on its right."""
    return lambda self, o: worked_out(operation, self, o), lambda self, o: worked_out(operation, o, self)


def compared(operation: Operation, sign: str) -> Any:
    return lambda self, o: decided(operation, sign, self, o)


def refused(what: str) -> Any:
    return lambda self, *args, **options: self.refuse(what.format(self))


def rounded(what: str) -> Any:
    """A whole number as it is; of a float nothing is known yet."""
    return lambda self, *_: self.refuse(what.format(self)) if isinstance(self.number, Formula) else self


class Dimension:
    """A length not known yet, or a number that was calculated from one.

    number    the stand-in, or the Formula of a float
    """

    __slots__ = ("number",)

    def __init__(self, number: Any):
        self.number = length(number)

    def __repr__(self) -> str:
        return repr(self.number) if isinstance(self.number, Formula) else written(self.number)

    __add__, __radd__ = both_ways(operator.add)
    __sub__, __rsub__ = both_ways(operator.sub)
    __mul__, __rmul__ = both_ways(operator.mul)
    __truediv__, __rtruediv__ = both_ways(operator.truediv)
    __floordiv__, __rfloordiv__ = both_ways(operator.floordiv)
    __mod__, __rmod__ = both_ways(operator.mod)
    __pow__, __rpow__ = both_ways(operator.pow)
    __and__, __rand__ = both_ways(operator.and_)
    __or__, __ror__ = both_ways(operator.or_)
    __xor__, __rxor__ = both_ways(operator.xor)
    __lshift__, __rlshift__ = both_ways(operator.lshift)
    __rshift__, __rrshift__ = both_ways(operator.rshift)

    def __divmod__(self, o: Any) -> Any:
        return self // o, self % o

    def __rdivmod__(self, o: Any) -> Any:
        return o // self, o % self

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return -self - 1

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    __round__, __trunc__, __floor__, __ceil__ = map(rounded, ("round({})", "trunc({})", "floor({})", "ceil({})"))

    __eq__, __ne__ = compared(operator.eq, "=="), compared(operator.ne, "!=")
    __lt__, __le__ = compared(operator.lt, "<"), compared(operator.le, "<=")
    __gt__, __ge__ = compared(operator.gt, ">"), compared(operator.ge, ">=")

    def __bool__(self) -> bool:
        return bool(self != 0)

    __int__, __float__, __complex__ = map(refused, ("int({})", "float({})", "complex({})"))
    __index__, __array__ = map(refused, ("a number of that size: {}", "an array of {}"))
    __hash__ = refused("its place in a set or a dictionary: hash({})")

    def __array_ufunc__(self, ufunc: Any, method: str, *xs: Any, **options: Any) -> Any:
        return self.refuse(f"np.{ufunc.__name__} of {self}")

    def refuse(self, what: str) -> Any:
        """Raises GraphError: that has no value before a run."""
        raise GraphError(
            f"the length {self} is known only when the graph runs, and so is {what}: say the length when the graph is "
            "built, or make a tensor of it, mg.tensor(n), and let the graph calculate. What +, -, *, /, //, % and ** "
            "make of lengths and Python's numbers can be followed"
        )


def worked_out(operation: Operation, a: Any, b: Any) -> Any:
    """What an operation gives on two numbers, one a Dimension: another, or a number where that is the same in each run.

    Raises GraphError beside a number that is not Python's own: what NumPy makes of it has a dtype.
    """
    n, m = unsaid(a), unsaid(b)
    if not all(isinstance(o, int | float | Formula) and not isinstance(o, np.generic) for o in (n, m)):
        unknown, other = (a, b) if isinstance(a, Dimension) else (b, a)
        return unknown.refuse(f"{a} {SIGNS[operation]} {b}") if isinstance(other, Number) else NotImplemented
    is_whole = isinstance(n, int) and isinstance(m, int)
    if operation is operator.pow and is_whole and not is_unknown(m) and 0 <= m <= MOST_POWER:
        return said(prod([n] * m))
    if operation is operator.pow and is_whole and bounds(m)[0] < 0:
        return said(Formula(operation, n, m)) if not is_unknown(m) else b.refuse(f"{a} ** {b}")
    if is_whole and operation is not operator.truediv:
        return said(calculated(operation, n, m))
    return said(Formula(operation, n, m)) if operation in OF_FLOATS else NotImplemented


def decided(operation: Operation, sign: str, a: Dimension, b: Any) -> Any:
    """What a comparison gives if it is the same in every run. Raises GraphError where it is not."""
    n, m = unsaid(a), unsaid(b)
    if not isinstance(m, Number | Formula):
        return NotImplemented
    low, high = -inf, inf
    if isinstance(n, int) and isinstance(m, Integral):
        low, high = bounds(calculated(operator.sub, n, m if isinstance(m, int) else int(m)))
    elif isinstance(n, int) and isinstance(m, float):
        low, high = (end - m for end in bounds(n))
    at_ends = operation(low, 0), operation(high, 0)
    if at_ends[0] != at_ends[1] or (operation in (operator.eq, operator.ne) and low < high and low <= 0 <= high):
        raise GraphError(
            f"whether {a} {sign} {b} is known only when the graph runs, and Python would decide now: say the length "
            "when the graph is built, or let the graph decide, with mg.cond or where on a tensor: mg.tensor(n)"
        )
    return at_ends[0]


def unsaid(n: Any) -> Any:
    """A number as the engine has it: the stand-in of a Dimension, and anything else as it is."""
    return n.number if isinstance(n, Dimension) else n


def said(n: Any) -> Any:
    """A number as Python code has it: a Dimension, if it is not known yet."""
    return Dimension(n) if is_unknown(n) or isinstance(n, Formula) else n


def needed(what: str, *ns: Any) -> None:
    """Raises GraphError where one of these lengths is unknown, and no graph can be built without it."""
    for n in map(unsaid, ns):
        if is_unknown(n):
            raise GraphError(
                f"{what} needs the length {written(n)} when the graph is built, and it is known only when the graph "
                "runs: say the length, or do this outside the graph"
            )


def divided(a: Any, n: Any) -> Any:
    """a / n, and no number where n is not above 0."""
    if isinstance(n, Dimension):
        return Dimension(Formula(divided, a, n.number))
    return a / n if n > 0 else nan


def at_least(n: Any, low: int) -> Any:
    """max(n, low), whatever n will be."""
    return said(clamped(unsaid(n), low))


OF_FLOATS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow)
MOST_POWER = 8
