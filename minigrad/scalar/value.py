"""Reverse-mode differentiation of scalars, on one page.

The rest of minigrad's engine does not use this module. It shows the whole idea without arrays, ops and graphs;
`tests/scalar/test_scalar.py` checks that it gives the same answers as Tensor.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TypeAlias

Pairs: TypeAlias = "tuple[tuple[Value, float], ...]"


class Value:
    """A number, the values it came from, and how much each of them moves it.

    data     the number
    parents  pairs (value, slope): the value it was made from, and ∂self/∂value there
    op       the symbol of the operation that made it; "" for a number given by hand
    grad     after some y.backward(): ∂y/∂self, summed over every backward() since it was last 0
    """

    __slots__ = ("data", "op", "grad", "pairs", "a", "slope_a", "b", "slope_b")

    def __init__(self, data: float, parents: Pairs = (), op: str = ""):
        self.data = data if type(data) is float else real(data)
        self.parents = parents
        self.op = op
        self.grad = 0.0

    def __add__(self, other: Value | float) -> Value:
        other = value(other)
        return Value(self.data + other.data, ((self, 1.0), (other, 1.0)), "+")

    def __sub__(self, other: Value | float) -> Value:
        other = value(other)
        return Value(self.data - other.data, ((self, 1.0), (other, -1.0)), "−")

    def __mul__(self, other: Value | float) -> Value:
        other = value(other)
        return Value(self.data * other.data, ((self, other.data), (other, self.data)), "×")

    def __truediv__(self, other: Value | float) -> Value:
        other = value(other)
        z = self.data / other.data
        return Value(z, ((self, 1.0 / other.data), (other, -z / other.data)), "÷")

    def __pow__(self, p: float) -> Value:
        """self to a fixed power p; for an exponent that is itself a Value, write (p * self.log()).exp()."""
        if isinstance(p, Value):
            raise TypeError("the exponent of ** is a plain number here; write (p * x.log()).exp() for a Value p")
        p = real(p)
        z = power(self.data, p)
        slope = p * power(self.data, p - 1) if p else 0.0
        return Value(z, ((self, slope),), f"^{p!r}".removesuffix(".0"))

    def exp(self) -> Value:
        y = math.exp(self.data)
        return Value(y, ((self, y),), "exp")

    def log(self) -> Value:
        return Value(math.log(self.data), ((self, 1.0 / self.data),), "log")

    def tanh(self) -> Value:
        y = math.tanh(self.data)
        return Value(y, ((self, 1.0 - y * y),), "tanh")

    def relu(self) -> Value:
        off = self.data <= 0  # False for NaN
        return Value(0.0 if off else self.data, ((self, float(not off)),), "relu")

    def __neg__(self) -> Value: return Value(-self.data, ((self, -1.0),), "neg")
    def __radd__(self, other: float) -> Value: return value(other) + self
    def __rsub__(self, other: float) -> Value: return value(other) - self
    def __rmul__(self, other: float) -> Value: return value(other) * self
    def __rtruediv__(self, other: float) -> Value: return value(other) / self
    def __repr__(self) -> str: return f"Value({self.data:g}, grad={self.grad:g})"

    def backward(self) -> None:
        """Add ∂self/∂v to v.grad, for every v that self depends on: the chain rule, backwards."""
        order = history(self)
        before = [v.grad for v in order]
        for v in order:
            v.grad = 0.0
        self.grad = 1.0
        for v in reversed(order):
            for parent, slope in v.parents:
                parent.grad += v.grad * slope
        for v, earlier in zip(order, before):
            v.grad += earlier

    @property
    def parents(self) -> Pairs:
        return ((self.a, self.slope_a), (self.b, self.slope_b)) if self.pairs is None else self.pairs

    @parents.setter
    def parents(self, pairs: Pairs) -> None:
        # Two pairs are three tuples, and Python's garbage collector walks every living one again and again while a
        # graph grows. Two parents are therefore stored without tuples: a step of training then takes 0.4 of the time.
        self.pairs: Pairs | None = None if len(pairs) == 2 else pairs
        if len(pairs) == 2:
            (self.a, self.slope_a), (self.b, self.slope_b) = pairs


class Constant(Value):
    """A number written in an expression, such as the 2 of 2 * x: a leaf without a variable name."""

    __slots__ = ()


def value(x: Value | float) -> Value:
    """x itself if it is a Value, else a new Constant of the number x."""
    return x if isinstance(x, Value) else Constant(x)


def power(x: float, p: float) -> float:
    """x to the power p; infinity on overflow and on division by 0, as for the slope of a square root at 0.

    Raises ValueError if the result is not a real number.
    """
    if x < 0 and p % 1:
        raise ValueError(f"{x:g} to the power {p:g} is no real number")
    try:
        return x**p  # type: ignore[no-any-return]
    except (OverflowError, ZeroDivisionError):
        return math.copysign(math.inf, x if p % 2 == 1 else 1.0)


def real(x: float) -> float:
    """x as a float. Raises TypeError if x is not a number."""
    if isinstance(x, Real):
        return float(x)
    if isinstance(x, Value):
        raise TypeError(f"a plain number is wanted here, and {x!r} is a Value already; its number is x.data")
    raise TypeError(f"a Value works with Values and plain numbers, and got {x!r} of type {type(x).__name__}")


def history(y: Value) -> list[Value]:
    """y and all values it depends on, parents before children, each once: a topological order.

    Iterative, so that a chain of 100,000 values does not hit Python's recursion limit.
    Raises ValueError if a value depends on itself: a cycle has no such order.
    """
    placed: list[Value] = []
    opened: set[Value] = set()  # met, its parents not yet placed
    closed: set[Value] = set()  # placed
    stack = [y]
    while stack:
        v = stack[-1]
        if v not in opened:
            opened.add(v)
            for parent, _ in reversed(v.parents):  # the last parent pushed is the first popped
                if parent not in opened:
                    stack.append(parent)
                elif parent not in closed:
                    raise ValueError(f"{parent!r} came from itself: a computation graph has no cycle")
        else:
            stack.pop()
            if v not in closed:
                closed.add(v)
                placed.append(v)
    return placed
