"""Arithmetic with lengths that are known only when the graph runs: the None in `placeholder("f8", (None, 784))`.

    Length      an integer polynomial of unknown lengths. It takes the place of an int in shapes and in fields of ops.
                Equal polynomials are equal. `<` gives the answer for all runs if there is one, else for large lengths.
                Only `infer`, which each run calls again, may branch on a Length: graph/compiler/passes/specialise.py
    Formula     a result that is no polynomial: the float 1 / n; or, inside a Length, n // 2 or the length of x[:9]
    Dimension   a Length or Formula as user code sees it, in `x.shape`. Whatever needs its value raises LengthError:
                `range(n)`, `np.zeros(n)`, `math.sqrt(n)`, `x * 2 if n > 3 else x`

Composite functions and derivatives see a Dimension, as user code does, so they cannot branch on a length.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from math import inf, isfinite, nan, prod
from numbers import Integral, Number
from typing import Any

import numpy as np

from .errors import LengthError, ShapeError

SIGNS = {
    operator.add: "+", operator.sub: "−", operator.mul: "·", operator.truediv: "/", operator.floordiv: "//",
    operator.mod: "%", operator.pow: "**", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
OF_FLOATS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow)
MOST_POWER = 8
Operation = Callable[..., Any]
Bounds = tuple[float, float]
Product = tuple[Any, ...]  # the factors: names and Formulas, sorted by their text; () stands for 1

_fresh = count(1)


def operator_pair(operation: Operation) -> tuple[Any, Any]:
    """Make an operator method, such as __add__, and its reflected version, __radd__."""
    return lambda self, o: calculate_length(operation, self, o), lambda self, o: calculate_length(operation, o, self)


def refusal_method(what: str) -> Any:
    return lambda self, *args, **options: self.refuse(what.format(self))


class Unknown:
    """A number computed from unknown lengths: it supports arithmetic, but has no value yet."""

    __slots__ = ()

    __add__, __radd__ = operator_pair(operator.add)
    __sub__, __rsub__ = operator_pair(operator.sub)
    __mul__, __rmul__ = operator_pair(operator.mul)
    __truediv__, __rtruediv__ = operator_pair(operator.truediv)
    __floordiv__, __rfloordiv__ = operator_pair(operator.floordiv)
    __mod__, __rmod__ = operator_pair(operator.mod)
    __pow__, __rpow__ = operator_pair(operator.pow)
    __and__, __rand__ = operator_pair(operator.and_)
    __or__, __ror__ = operator_pair(operator.or_)
    __xor__, __rxor__ = operator_pair(operator.xor)
    __lshift__, __rlshift__ = operator_pair(operator.lshift)
    __rshift__, __rrshift__ = operator_pair(operator.rshift)

    def __neg__(self) -> Any:
        return self * -1

    def __pos__(self) -> Any:
        return self

    __int__, __float__, __complex__ = map(refusal_method, ("int({})", "float({})", "complex({})"))
    __index__, __array__ = map(refusal_method, ("a number of that size: {}", "an array of {}"))

    def __array_ufunc__(self, ufunc: Any, method: str, *xs: Any, **options: Any) -> Any:
        return self.refuse(f"np.{ufunc.__name__} of {self}")

    def refuse(self, what: str) -> Any:
        """Raises LengthError, since `what` has no value before a run."""
        raise LengthError(
            f"the length {self} is known only when the graph runs, and so is {what}: give the length when the graph is "
            "built, or make a tensor of it, mg.tensor(n), and compute in the graph. Before a run, only +, -, *, /, //, "
            "% and ** of lengths and Python numbers are possible"
        )


# -- inside the engine --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, repr=False)
class Formula(Unknown):
    """The result of an operation on numbers, some of them unknown. Each run evaluates the operation.

    text        the expression. It takes part in comparisons, since 0.0 == −0.0 and 1 == 1.0 although results differ
    low, high   bounds of the value
    """

    operation: Operation
    numbers: tuple[Any, ...]
    text: str
    low: float = -inf
    high: float = inf

    def __repr__(self) -> str:
        return self.text


def order_comparison(operation: Operation) -> Any:
    def compare_lengths(self: Length, o: Any) -> Any:
        if not isinstance(o, int | float | Length):
            return NotImplemented
        low, high = (operation(end, 0) for end in difference_bounds(self, o))
        return low if low == high else operation((self if isinstance(o, float) else self - o).terms[0][1], 0)

    return compare_lengths


@dataclass(frozen=True, slots=True, repr=False)
class Length(Unknown):
    """An unknown integer: Σ coefficient · product of names and formulas.

    terms    (product, coefficient), highest degree first, no coefficient 0: so equal polynomials have equal terms
    """

    terms: tuple[tuple[Product, int], ...]

    __lt__, __le__, __gt__, __ge__ = map(order_comparison, (operator.lt, operator.le, operator.gt, operator.ge))

    def __repr__(self) -> str:
        match self.terms:
            case (((factor,), 1),):
                return str(factor)
        text = ""
        for product, factor in self.terms:
            size = [] if product and abs(factor) == 1 else [str(abs(factor))]
            sign = " − " if factor < 0 else " + "
            text += (sign if text else sign.strip(" +")) + "·".join([*map(format_factor, product), *size])
        return text


def named_length(name: str) -> Length:
    """The unknown length with this name; equal names give equal lengths."""
    return Length((((name,), 1),))


def fresh_length() -> Length:
    """A new anonymous length, different from every other."""
    return named_length(f"?{next(_fresh)}")


def formula(text: str, operation: Operation, *numbers: Any, low: float = 0, high: float = inf) -> Length:
    """The result of an operation as a Length, with bounds low and high."""
    return Length((((Formula(operation, numbers, text, low, high),), 1),))


def format_factor(n: Any) -> str:
    """A number as text inside a longer formula, in parentheses if needed."""
    match n:
        case Length((((factor,), 1),)):
            return format_factor(factor)
        case Length():
            return f"({n})"
        case Formula() if n.operation in SIGNS:
            return f"({n})"
    return str(n)


def polynomial(terms: Mapping[Product, int]) -> int | Length:
    """The sum of these terms: an int if no unknown length is left in it."""
    left = sorted((t for t in terms.items() if t[1]), key=lambda term: (-len(term[0]), [*map(str, term[0])]))
    return Length(tuple(left)) if left and left[0][0] else sum(n for _, n in left)


def terms_of(n: int | Length) -> dict[Product, int]:
    return dict(n.terms) if isinstance(n, Length) else {(): n}


def total(n: Any, m: Any, sign: int) -> int | Length:
    """n ± m"""
    terms = terms_of(n)
    for product, factor in terms_of(m).items():
        terms[product] = terms.get(product, 0) + sign * factor
    return polynomial(terms)


def multiply_lengths(n: Any, m: Any) -> int | Length:
    """n · m"""
    terms: dict[Product, int] = {}
    for left, a in terms_of(n).items():
        for right, b in terms_of(m).items():
            product = tuple(sorted(left + right, key=str))
            terms[product] = terms.get(product, 0) + a * b
    return polynomial(terms)


def quotient(n: Any, m: Any) -> Any:
    """The polynomial q with n = q · m, by long division; None if m does not divide n."""
    if isinstance(n, int) and isinstance(m, int):
        return None if n % m else n // m
    (divisor, b), *_ = terms_of(m).items()
    q: Any = 0
    while n != 0:
        (product, a), *_ = terms_of(n).items()
        rest = [*product]
        for factor in divisor:
            if factor not in rest:
                return None
            rest.remove(factor)
        if b == 0 or a % b:
            return None
        part = polynomial({tuple(rest): a // b})
        q, n = q + part, n - part * m
    return q


def evaluate_operation(operation: Operation, n: Any, m: Any) -> Any:
    """Apply an operation to numbers, Lengths and Formulas. A result that is no polynomial becomes a Formula."""
    is_whole = isinstance(n, int | Length) and isinstance(m, int | Length)
    if not is_whole or operation is operator.truediv or (operation is operator.pow and isinstance(m, int) and m < 0):
        text = f"{format_factor(n)} {SIGNS[operation]} {format_factor(m)}"
        return Formula(operation, (n, m), text) if operation in OF_FLOATS else NotImplemented
    match operation:
        case operator.add | operator.sub:
            return total(n, m, 1 if operation is operator.add else -1)
        case operator.mul:
            return multiply_lengths(n, m)
        case operator.pow if isinstance(m, int) and m <= MOST_POWER:
            return prod([n] * m)
        case operator.pow if bounds(m)[0] < 0:
            return m.refuse(f"{n} ** {m}")
        case operator.floordiv | operator.mod if isinstance(m, int) and m:
            constant = terms_of(n).get((), 0)
            if (q := quotient(n - constant, m)) is not None:  # exact for all lengths
                return constant % m if operation is operator.mod else q + constant // m
    low = 0 if min(bounds(n)[0], bounds(m)[0]) >= 0 else -inf
    return formula(f"{format_factor(n)} {SIGNS[operation]} {format_factor(m)}", operation, n, m, low=low)


def substitute_lengths(n: Any, lengths: Mapping[str, int]) -> Any:
    """Substitute the given values for the lengths in n. Lengths without a value stay."""
    match n:
        case (str() | Length() | Formula()) if str(n) in lengths:
            return lengths[str(n)]
        case str():
            return named_length(n)
        case Length():
            return sum(prod((substitute_lengths(x, lengths) for x in xs), start=size) for xs, size in n.terms)
        case Formula():
            return n.operation(*(substitute_lengths(m, lengths) for m in n.numbers))
    return n


def bounds(n: Any) -> Bounds:
    """A lower and an upper bound of an integer; they need not be tight."""
    if not isinstance(n, Length):
        return n, n
    low: float = 0
    high: float = 0
    for product, size in n.terms:
        ends: list[float] = [size]
        for factor in product:
            span = (factor.low, factor.high) if isinstance(factor, Formula) else (0, inf)
            ends = [a * b if a and b else 0 for a in ends for b in span]
        low, high = low + min(ends), high + max(ends)
    return low, high


def difference_bounds(n: Any, m: Any) -> Bounds:
    """The bounds of n − m."""
    low, high = bounds(n) if isinstance(m, float) else bounds(n - m)
    return (low, high) if not isinstance(m, float) else (low - m, high - m) if isfinite(m) else (-m, -m)


def out_of_order(*ns: Any) -> bool:
    """Whether some number is smaller than the one before it in every run."""
    return any(bounds(m - n)[1] < 0 for n, m in pairwise(ns))


def clamped(n: Any, low: float = 0, high: float = inf) -> Any:
    """n clamped to low … high: a new length with a formula if the result depends on the run."""
    least, most = bounds(n)
    if low <= least and most <= high:
        return n
    if most <= low or least >= high:
        return int(low if most <= low else high)
    match n.terms:
        case (((Formula() as inner,), 1), *rest) if inner.operation is clamped and all(not p for p, _ in rest):
            before, inner_low, inner_high = inner.numbers
            added = sum(size for _, size in rest)
            return clamped(before + added, max(low, inner_low + added), min(high, inner_high + added))
    text = f"max({n}, {low})" if low > least else str(n)
    text = f"min({text}, {high})" if high < most else text
    low, high = max(low, least), min(high, most)
    return formula(text, clamped, n, low, high, low=low, high=high)


# -- checking and parsing lengths ---------------------------------------------------------------------


def is_unknown(n: Any) -> bool:
    """Whether n is an unknown length, or was computed from one."""
    return isinstance(n, Length)


def fits(shape: Sequence[Any], wanted: Sequence[Any]) -> bool:
    """Whether a shape matches the wanted one; an unknown length matches any."""
    return len(shape) == len(wanted) and all(isinstance(m, Length) or n == m for n, m in zip(shape, wanted))


def lengths_of(shape: Any, axis_names: Callable[[int], str | None]) -> tuple[Any, ...]:
    """Parse a user's shape: integers, None for an unknown length, a string for a named unknown length.

    axis_names    axis → the name to use for None there, or None for a new anonymous length
    """
    lengths: list[Any] = []
    for axis, n in enumerate(map(unwrap_dimension, shape)):
        if n is None:
            name = axis_names(axis)
            lengths.append(named_length(name) if name else fresh_length())
        elif isinstance(n, str) and n.isidentifier():
            lengths.append(named_length(n))
        elif is_unknown(n) or (isinstance(n, int | np.integer) and n >= 0):
            lengths.append(n if is_unknown(n) else int(n))
        else:
            raise ShapeError(
                f"a length is an integer, None if only a run knows it, or a name, as in ('rows', 3), and got {n!r}"
            )
    return tuple(lengths)


def require_known(what: str, *ns: Any) -> None:
    """Raises LengthError if one of these lengths is unknown, since the graph cannot be built without its value."""
    for n in map(unwrap_dimension, ns):
        if is_unknown(n):
            raise LengthError(
                f"{what} needs the length {n} when the graph is built, and it is known only when the graph "
                "runs: give the length, or do this outside the graph"
            )


# -- as user code sees them ---------------------------------------------------------------------------


def decidable_comparison(operation: Operation, sign: str) -> Any:
    """A comparison method. It raises LengthError unless the answer is the same in every run."""

    def compare_or_raise(self: Dimension, o: Any) -> Any:
        n, m = self.number, unwrap_dimension(o)
        if not isinstance(m, Number | Unknown):
            return NotImplemented
        low, high = -inf, inf
        if isinstance(n, Length) and isinstance(m, Integral | float | Length):
            low, high = difference_bounds(n, int(m) if isinstance(m, Integral) else m)
        at_ends = operation(low, 0), operation(high, 0)
        is_within = operation in (operator.eq, operator.ne) and low < high and low <= 0 <= high
        if at_ends[0] != at_ends[1] or is_within:
            raise LengthError(
                f"whether {self} {sign} {o} is known only when the graph runs, and Python would decide now: give the "
                "length when the graph is built, or decide inside the graph, with mg.cond or where on a tensor: "
                "mg.tensor(n)"
            )
        return at_ends[0]

    return compare_or_raise


def rounding(what: str) -> Any:
    """A rounding method, such as __round__: returns an integer unchanged, and raises LengthError for a float."""
    return lambda self, *_: self if isinstance(self.number, Length) else self.refuse(what.format(self))


class Dimension(Unknown):
    """An unknown length, or a number computed from one, as user code sees it: Python cannot branch on its value."""

    __slots__ = ("number",)

    def __init__(self, number: Any):
        self.number = number

    def __repr__(self) -> str:
        return str(self.number)

    def __divmod__(self, o: Any) -> Any:
        return self // o, self % o

    def __rdivmod__(self, o: Any) -> Any:
        return o // self, o % self

    def __invert__(self) -> Any:
        return -self - 1

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    __round__, __trunc__, __floor__, __ceil__ = map(rounding, ("round({})", "trunc({})", "floor({})", "ceil({})"))

    __eq__, __ne__ = decidable_comparison(operator.eq, "=="), decidable_comparison(operator.ne, "!=")
    __lt__, __le__ = decidable_comparison(operator.lt, "<"), decidable_comparison(operator.le, "<=")
    __gt__, __ge__ = decidable_comparison(operator.gt, ">"), decidable_comparison(operator.ge, ">=")
    __hash__ = refusal_method("its place in a set or a dictionary: hash({})")

    def __bool__(self) -> bool:
        return bool(self != 0)


def calculate_length(operation: Operation, a: Any, b: Any) -> Any:
    """The result of an operation on two numbers, one of them unknown; a Dimension if an operand is a Dimension.

    Raises LengthError if the known number is a NumPy scalar, since the result would need a dtype.
    """
    n, m, known = unwrap_dimension(a), unwrap_dimension(b), b if isinstance(a, Unknown) else a
    if isinstance(known, np.generic) or not isinstance(known, int | float | Unknown):
        unknown = a if known is b else b
        return unknown.refuse(f"{a} {SIGNS[operation]} {b}") if isinstance(known, Number) else NotImplemented
    y = evaluate_operation(operation, n, m)
    return wrap_dimension(y) if isinstance(a, Dimension) or isinstance(b, Dimension) else y


def unwrap_dimension(n: Any) -> Any:
    """The Length or Formula inside a Dimension; anything else is returned unchanged."""
    return n.number if isinstance(n, Dimension) else n


def wrap_dimension(n: Any) -> Any:
    """A number as user code sees it: wrapped in a Dimension if it is unknown."""
    return Dimension(n) if isinstance(n, Length | Formula) else n


def divided(a: Any, n: Any) -> Any:
    """a / n; NaN if n is not positive."""
    if isinstance(n, Unknown):
        return wrap_dimension(Formula(divided, (a, b := unwrap_dimension(n)), f"{a!r} / {format_factor(b)}"))
    return a / n if n > 0 else nan


def at_least(n: Any, low: int) -> Any:
    """max(n, low); n may be unknown."""
    return wrap_dimension(clamped(unwrap_dimension(n), low))
