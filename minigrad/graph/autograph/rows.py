"""What a loop of the graph goes over: the rows of a symbolic tensor, range() of one, and what is made of these."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

from ...dimension import Dimension
from ...errors import ConversionError
from .state import here, lifted, symbolic


@dataclass(frozen=True)
class Rows:
    """Things that are numbered from 0. Python, in a comprehension or list(), goes through them one after another.

    length    how many: a number, or a symbol
    row       number → the thing
    """

    length: Any
    row: Callable[[Any], Any]

    @property
    def most(self) -> int | None:
        """How many at most, if that is known."""
        return None if symbolic(self.length) or isinstance(self.length, Dimension) else max(0, int(self.length))

    def __iter__(self) -> Iterator[Any]:
        return iter(unrolled(self))


def rows(x: Any) -> Any:
    """x as Rows, if the graph is to go over it; other things as they are."""
    if not symbolic(x):
        return x
    if not x.shape:
        raise TypeError(f"{here()}: a loop over a tensor goes over its first axis, and {x.spec} has none")
    return Rows(x.shape[0], lambda i: x[i])


def range_(*args: Any) -> Any:
    """range(start, stop, step), of which some may be symbols, or lengths not known yet."""
    if not any(symbolic(n) or isinstance(n, Dimension) for n in args):
        return range(*args)
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    length = stop - start if len(args) < 3 else -((start - stop) // step)  # rounded up
    return Rows(length, lambda i: start + i * step)


def enumerate_(xs: Any, start: Any = 0) -> Any:
    """enumerate(xs, start)"""
    its = rows(xs)
    return Rows(its.length, lambda i: (i + start, its.row(i))) if isinstance(its, Rows) else enumerate(its, start)


def zip_(*xs: Any, strict: bool = False) -> Any:
    """zip(*xs). Beside a Python list a tensor is gone through as a list of its rows."""
    its = [rows(x) for x in xs]
    if all(isinstance(x, Rows) for x in its) and its:
        lengths = [x.length for x in its]
        return Rows(reduce(shorter, lengths), lambda i: tuple(x.row(i) for x in its))
    return zip(*map(unrolled, its), strict=strict)


def shorter(n: Any, m: Any) -> Any:
    if any(symbolic(o) or isinstance(o, Dimension) for o in (n, m)):
        return n if n is m else lifted(n).minimum(lifted(m))
    return min(n, m)


def unrolled(x: Any) -> Any:
    """Rows, one after the other. Raises ConversionError where their number is not known."""
    if not isinstance(x, Rows):
        return x
    if x.most is None:
        raise ConversionError(
            f"{here()}: how many rows there are is known only when the graph runs, and Python, in a comprehension or "
            "beside a list, needs them one after another: make the list a tensor, or write a `for`"
        )
    return [x.row(i) for i in range(x.most)]


def reversed_(xs: Any) -> Any:
    """reversed(xs)"""
    its = rows(xs)
    return Rows(its.length, lambda i: its.row(its.length - 1 - i)) if isinstance(its, Rows) else reversed(its)


def len_(x: Any) -> Any:
    """len(x), which may be a length not known yet."""
    if isinstance(x, Rows):
        return x.length
    return x.shape[0] if symbolic(x) and x.shape else len(x)
