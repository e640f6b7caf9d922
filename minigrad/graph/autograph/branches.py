"""if, and, or, not, comparisons, assert: decided by Python if the condition has a value, by the graph if it has none.

Where the graph decides, both branches are written down: see fork.py.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import ConversionError
from ...ops.effect import PyFunc
from ...spec import Spec
from .fork import BOOL, Fork, noted, truth
from .leftovers import assigned
from .state import here, lifted, symbolic, unchanged

SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "is": operator.is_, "is not": operator.is_not,
    "in": lambda x, xs: x in xs, "not in": lambda x, xs: x not in xs,
}  # fmt: skip


def nothing() -> tuple[()]:
    """No state."""
    return ()


def ignored(state: Sequence[Any]) -> None:
    """No state to write."""


def if_(
    test: Any,
    then: Callable[[], None],
    otherwise: Callable[[], None] | None = None,
    get: Callable[[], Sequence[Any]] = nothing,
    set_: Callable[[Any], None] = ignored,
    names: Sequence[str] = (),
) -> None:
    """if test: then() else: otherwise()

    names    of the state; values beyond them are dead afterwards, and only put back before the second branch
    """
    if not symbolic(test):
        if test:
            then()
        elif otherwise is not None:
            otherwise()
        return

    before, at = get(), here()

    def leaving(block: Callable[[], None] | None) -> Callable[[], Sequence[Any]]:
        def run() -> Sequence[Any]:
            set_(before)
            if block is not None:
                with unchanged(block, "a branch", at, set_), noted("both branches of this `if` are", at):
                    block()
            return get()[: len(names)]

        return run

    after = Fork(names, "`if`").chosen(truth(test, "`if`"), leaving(then), leaving(otherwise))
    set_((*after, *before[len(names) :]))
    assigned(names, set_, "`if`")


# -- expressions ---------------------------------------------------------------------------------------


def if_expression(test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """then() if test else otherwise()"""
    if not symbolic(test):
        return then() if test else otherwise()
    fork = Fork(["the value"], "`if` expression")

    def noting(side: Callable[[], Any]) -> list[Any]:
        with noted("both sides of this `if` expression are", fork.place):
            return [side()]

    return fork.chosen(truth(test, "`if` expression"), lambda: noting(then), lambda: noting(otherwise))[0]


def and_(first: Any, *rest: Callable[[], Any]) -> Any:
    """first and rest[0]() and …, of which nothing is evaluated that need not be."""
    if not rest or not (symbolic(first) or first):
        return first
    if not symbolic(first):
        return and_(rest[0](), *rest[1:])
    return either(first, "`and`", lambda: and_(rest[0](), *rest[1:]), lambda: first)


def or_(first: Any, *rest: Callable[[], Any]) -> Any:
    """first or rest[0]() or …, of which nothing is evaluated that need not be."""
    if not rest or (not symbolic(first) and first):
        return first
    if not symbolic(first):
        return or_(rest[0](), *rest[1:])
    return either(first, "`or`", lambda: first, lambda: or_(rest[0](), *rest[1:]))


def either(first: Any, kind: str, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """then() if first else otherwise(), one of which is first: as bools, unless first is a number."""
    as_it_is = first.dtype != BOOL

    def told_true(value: Any) -> list[Any]:
        return [value if as_it_is or isinstance(value, bool) else truth(lifted(value), kind)]

    fork = Fork(["the value"], kind)

    def noting(side: Callable[[], Any]) -> list[Any]:
        with noted(f"both sides of this {kind} are", fork.place):
            return told_true(side())

    return fork.chosen(truth(first, kind), lambda: noting(then), lambda: noting(otherwise))[0]


def filter_(test: Any) -> Any:
    """The condition of a comprehension. Raises ConversionError for a symbolic one: how many things would be left?"""
    if symbolic(test):
        raise ConversionError(
            f"{here()}: the `if` of a comprehension chooses how many things there are, and of {test.spec} only a run "
            "of the graph can tell. Keep all of them, and choose the value: [v if v > 0 else 0 for v in x], or "
            "where(x > 0, x, 0).sum(); or write a `for` with an `if` in it"
        )
    return test


def not_(x: Any) -> Any:
    """not x"""
    return ~truth(x, "`not`") if symbolic(x) else not x


def compare(left: Any, sign: str, right: Callable[[], Any], *more: Any) -> Any:
    """left < right() < …: each evaluated once, and only as far as is needed."""
    x = right()
    holds = SIGNS[sign](left, x)
    return and_(holds, lambda: compare(x, *more)) if more else holds


# -- assert --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """What an `assert` does when the graph runs."""

    message: str

    def __call__(self, holds: Any) -> Any:
        if not holds:
            raise AssertionError(self.message)
        return holds


def assert_(test: Any, says: Callable[[], Any] | None = None) -> None:
    """assert test, says(): of a symbolic tensor, when the graph runs."""
    if not symbolic(test):
        if not test:
            raise AssertionError(*(() if says is None else (says(),)))
        return
    message = f"{here()}" if says is None else f"{says()} ({here()})"
    truth(test, "`assert`").apply(PyFunc(Check(message), (Spec((), BOOL),)))
