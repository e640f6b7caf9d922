"""if, and, or, not, comparisons, assert: decided by Python if the condition has a value, else by the graph.

If the graph decides, both branches are traced from the same state, and their final states are merged, variable by
variable. A number in one branch takes the dtype of the tensor in the other; if the first branch has the number, both
branches are traced again.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...engine.base.errors import ConversionError, MinigradError, NoValueError, ShapeError
from ...engine.base.pytree import leaves, outline, unflatten_like
from ...engine.base.spec import Spec
from ...engine.ops.effect import PyFunc
from ..control import cond
from .side_effects import ContainerChange, TrackedContainers, note_assignments, refuse_changes
from .state import (
    NUMBERS,
    NotReturned,
    Number,
    Retrace,
    Undefined,
    as_number,
    describe,
    filling,
    identical,
    is_number,
    is_part,
    lift_value,
    same,
    symbolic,
    user_line,
)

BOOL = np.dtype(bool)


class Merge:
    """Traces two branches, and merges the states they end in.

    like      (variable, leaf index) → spec of the tensor whose dtype a number must take
    filled    variable without a value → a value like the one it gets in the other branch
    first     for each variable, a list of (leaf, its symbol or None) at the end of the first branch
    """

    def __init__(self, names: Sequence[str], kind: str):
        self.names, self.kind, self.place = [*names], kind, user_line()
        self.like: dict[tuple[str, int], Spec] = {}
        self.filled: dict[str, Any] = {}

    def merge_branches(self, test: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> list[Any]:
        """Build the cond. Returns the values of the variables after it."""
        while True:
            self.first: list[list[tuple[Any, Any]]] = []
            self.trees: list[tuple[Any, Any]] = []
            sides = "branches" if self.kind == "`if`" else "sides"
            try:
                with explain_early_errors(f"both {sides} of this {self.kind} are", self.place):
                    results = iter(cond(test, lambda: self.true(then()), lambda: self.false(otherwise())))
            except Retrace:
                continue
            return [self.after(name, *pair, results) for name, pair in zip(self.names, self.trees)]

    def true(self, values: Sequence[Any]) -> list[Any]:
        values = self.unread(values)
        for name, value in zip(self.names, values):
            if name in self.filled and isinstance(value, Undefined):
                value = filling(self.filled[name])
            self.trees.append((value, None))
            symbols = (self.fit_symbol(x, self.like.get((name, i))) for i, x in enumerate(leaves(value)))
            self.first.append([*zip(leaves(value), symbols)])
        return self.symbols(self.first)

    def symbols(self, variables: Sequence[Sequence[tuple[Any, Any]]]) -> list[Any]:
        return [symbol for its in variables for _, symbol in its if symbol is not None]

    def unread(self, values: Sequence[Any]) -> Sequence[Any]:
        """The values at the end of a branch. After a branch that ends with a jump, undefined variables are not read."""
        if not any(name.endswith("?") and value is True for name, value in zip(self.names, values)):
            return values
        return [NotReturned(x.name) if isinstance(x, Undefined) else x for x in values]

    def fit_symbol(self, x: Any, spec: Spec | None) -> Any:
        """The symbol of x, cast to the dtype of the spec if there is one; None if x cannot be in the graph."""
        symbol = lift_value(x, spec) if is_part(x) else None
        return symbol if spec is None or symbol is None else symbol.astype(spec.dtype)

    def false(self, values: Sequence[Any]) -> list[Any]:
        results: list[Any] = []
        values = self.unread(values)
        for k, (name, y) in enumerate(zip(self.names, values)):
            x = self.trees[k][0]
            if isinstance(x, NotReturned) and not isinstance(y, Undefined):
                self.filled[name] = y
                raise Retrace
            if isinstance(y, NotReturned) and not isinstance(x, Undefined):
                y = filling(x)
            self.trees[k] = x, y
            if isinstance(y, Undefined):
                results += map(filling, self.symbols(self.first[k : k + 1]))
            elif not isinstance(x, Undefined):
                results += self.beside(name, k, y)
        return results

    def beside(self, name: str, k: int, y: Any) -> list[Any]:
        """The leaves of a variable after the second branch, matched to its leaves after the first branch."""
        x = self.trees[k][0]
        if outline(x) != outline(y):
            raise self.mismatch_error(name, f"{describe(x)} after one branch and {describe(y)} after the other")
        results = []
        for i, (first, its) in enumerate(zip(self.first[k], leaves(y))):
            value, symbol = first
            if symbol is not None and is_part(its):
                results.append(self.second(name, i, *first, its))
            elif not same(value, its):
                raise self.mismatch_error(
                    name, f"{describe(value)} after one branch and {describe(its)} after the other"
                )
        return results

    def second(self, name: str, i: int, value: Any, symbol: Any, y: Any) -> Any:
        if isinstance(y, NUMBERS):
            its = lift_value(y, symbol.spec) if not isinstance(y, bool) or symbol.dtype == BOOL else lift_value(y)
        else:
            its = lift_value(y)
            if is_number(y) and y.dtype != BOOL and np.can_cast(y.dtype, symbol.dtype, "same_kind"):
                its = its.astype(symbol.dtype)
        if its.dtype == symbol.dtype:
            return its
        if is_number(value) and (name, i) not in self.like and np.can_cast(symbol.dtype, its.dtype, "same_kind"):
            self.like[name, i] = its.spec
            raise Retrace
        raise self.mismatch_error(name, f"{symbol.dtype} after one branch and {its.dtype} after the other")

    def mismatch_error(self, name: str, what: str) -> ConversionError:
        way = "Give it the same structure and dtype in both, by x.to(dtype) for instance"
        if "None" in what:
            way = "Let every way through the function return a tensor" if name == "return" else "Give a tensor in both"
        if "a list of" in what:
            way = "Append in both branches, or in none: append(y if c else z)"
        name = {"return": "what is returned", "the value": "the value"}.get(name, f"`{name}`")
        return ConversionError(
            f"{self.place}: after this {self.kind} over tensors {name} is {what}; the graph, which decides when it "
            f"runs, needs one kind of value. {way}"
        )

    def after(self, name: str, x: Any, y: Any, results: Iterator[Any]) -> Any:
        """The value of a variable after the branches."""
        gone = [isinstance(x, Undefined), isinstance(y, Undefined)]
        found = [] if gone[0] else [next(results) if is_part(leaf) else leaf for leaf in leaves(x)]
        if x is y or all(gone):
            return x
        if any(gone):
            why = (
                f"only the {'else' if gone[0] else 'if'} branch of the {self.kind} over tensors at {self.place} gives "
                "it a value: give it one in both branches, or before them"
            )
            if "." in name:
                raise ConversionError(f"{self.place}: `{name}` is assigned, and {why}")
            return Undefined(name, why)
        kept = [
            a if same(a, b) else as_number(leaf) if is_number(a) and is_number(b) else leaf
            for a, b, leaf in zip(leaves(x), leaves(y), found)
        ]
        return unflatten_like(x, iter(kept))


@contextmanager
def explain_early_errors(what: str, at: str) -> Iterator[None]:
    """A block that traces user code: an error raised in it gets a note that says why the code ran."""
    try:
        yield
    except Retrace:
        raise
    except Exception as error:
        if not isinstance(error, MinigradError):
            error.add_note(
                f"{at}: {what} written down before any value is known, so what is raised there is raised at once. "
                "To stop a run that has a bad value, write `assert`"
            )
        error.__dict__.setdefault("early", (what, at))
        raise


def handled(error: BaseException | None = None) -> None:
    """Called at the start of a user's `except`. Raises ConversionError if only tracing can raise this error."""
    error = sys.exception() if error is None else error
    if isinstance(error, Retrace | ConversionError):
        raise error
    for each in getattr(error, "exceptions", (error,)):
        if isinstance(each, NoValueError):
            raise ConversionError(
                f"{user_line()}: this `except` catches {type(each).__name__}, which Python would not raise outside "
                f"a graph, where every tensor has a value: {each}"
            ) from each
        if (early := getattr(each, "early", None)) is not None:
            what, at = early
            raise ConversionError(
                f"{user_line()}: this `except` catches {type(each).__name__} from {at}, where {what} written down "
                "before any value is known: it is raised even if no run would reach that line. Without `try`: check "
                "by `if`, or use where(…); to stop a run that has a bad value, write `assert`"
            ) from each


def truth(x: Any, kind: str) -> Any:
    """x as a condition: one bool. Raises ShapeError if it has several elements."""
    if x.size != 1:
        raise ShapeError(
            f"{user_line()}: the condition of this {kind} is one bool, and got {x.spec}: say x.any() or x.all(), or "
            "take where(condition, a, b) for a choice element by element"
        )
    x = x.reshape(()) if x.shape else x
    return x if x.dtype == BOOL else x != 0


SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "is": identical, "is not": lambda x, y: not_(identical(x, y)),
    "in": lambda x, xs: contains(xs, x), "not in": lambda x, xs: not_(contains(xs, x)),
}  # fmt: skip


def contains(xs: Any, x: Any) -> Any:
    """x in xs. For symbols, whether one of the xs equals x."""
    if symbolic(xs):
        return (xs == x).any()
    if isinstance(xs, dict | set | frozenset | range) and isinstance(x, Number):
        xs = [y for y in xs if is_number(y)]
    if isinstance(xs, list | tuple) and any(map(symbolic, (x, *xs))):
        return or_(False, *(partial(operator.eq, y, x) for y in xs))
    return x in xs


def subject(x: Any) -> Any:
    """The subject of a `match`. Raises ConversionError if it holds a symbolic number, which patterns cannot match."""
    if any(isinstance(leaf, Number) for leaf in leaves(x)):
        raise ConversionError(
            f"{user_line()}: this `match` tests a number that is known only when the graph runs: write `if` and =="
        )
    return x


def nothing() -> tuple[()]:
    """The default getter: no state."""
    return ()


def ignore(state: Sequence[Any]) -> None:
    """The default setter: no state to write."""


def if_(
    test: Any, then: Callable[[], None], otherwise: Callable[[], None] | None = None,
    get: Callable[[], Sequence[Any]] = nothing, set_: Callable[[Any], None] = ignore, names: Sequence[str] = (),
) -> None:  # fmt: skip
    """if test: then() else: otherwise()

    names    of the first values of get(), the state. The rest are unused after the `if`; each branch resets them first
    """
    if not symbolic(test):
        if (block := then if test else otherwise) is not None:
            block()
        return

    before, at, own = get(), user_line(), len(names)
    merge, followed = Merge(names, "`if`"), TrackedContainers()

    def leaving(block: Callable[[], None] | None) -> Callable[[], Sequence[Any]]:
        def run() -> Sequence[Any]:
            set_(before)
            followed.reset()
            try:
                with refuse_changes(block, "a branch", at, get, set_, followed):
                    if block is not None:
                        block()
            except ContainerChange as its:
                followed.add(its.container)
                merge.names.append(its.path)
                raise
            return [*get()[:own], *followed.values()]

        return run

    after = merge.merge_branches(truth(test, "`if`"), leaving(then), leaving(otherwise))
    set_((*after[:own], *before[own:]))
    followed.write(after[own:])
    note_assignments(names, set_, "`if`")


# -- expressions ---------------------------------------------------------------------------------------


def if_expression(
    test: Any, then: Callable[[], Any], otherwise: Callable[[], Any], kind: str = "`if` expression"
) -> Any:
    """then() if test else otherwise()"""
    if not symbolic(test):
        return then() if test else otherwise()
    merge = Merge(["the value"], kind)

    def noting(side: Callable[[], Any]) -> list[Any]:
        with refuse_changes(side, f"one side of an {kind}", merge.place, nothing, ignore, None):
            return [side()]

    return merge.merge_branches(truth(test, kind), lambda: noting(then), lambda: noting(otherwise))[0]


def and_(first: Any, *rest: Callable[[], Any]) -> Any:
    """first and rest[0]() and …, with short-circuit evaluation."""
    if not rest or not (symbolic(first) or first):
        return first
    if not symbolic(first):
        return and_(rest[0](), *rest[1:])
    return either(first, "`and`", lambda: and_(rest[0](), *rest[1:]), lambda: first)


def or_(first: Any, *rest: Callable[[], Any]) -> Any:
    """first or rest[0]() or …, with short-circuit evaluation."""
    if not rest or (not symbolic(first) and first):
        return first
    if not symbolic(first):
        return or_(rest[0](), *rest[1:])
    return either(first, "`or`", lambda: first, lambda: or_(rest[0](), *rest[1:]))


def either(first: Any, kind: str, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """then() if first else otherwise(). One of these returns `first`. If `first` is a bool, so is the result."""
    as_it_is = first.dtype != BOOL

    def as_truth(value: Any) -> list[Any]:
        return [value if as_it_is or isinstance(value, bool) else truth(lift_value(value), kind)]

    merge = Merge(["the value"], kind)

    return merge.merge_branches(truth(first, kind), lambda: as_truth(then()), lambda: as_truth(otherwise()))[0]


def filter_(test: Any) -> Any:
    """The condition of a comprehension. Raises ConversionError if it is symbolic, as the length would be unknown."""
    if symbolic(test):
        raise ConversionError(
            f"{user_line()}: the `if` of a comprehension decides how many items there are, and {test.spec} is known "
            "only when the graph runs. Keep all items, and choose the value: [v if v > 0 else 0 for v in x], or "
            "where(x > 0, x, 0).sum(); or write a `for` with an `if` in it"
        )
    return test


def not_(x: Any) -> Any:
    """not x"""
    return ~truth(x, "`not`") if symbolic(x) else not x


def compare(left: Any, sign: str, right: Callable[[], Any], *more: Any) -> Any:
    """left < right() < …: each operand is evaluated at most once, with short-circuit evaluation."""
    x = right()
    holds = SIGNS[sign](left, x)
    return and_(holds, lambda: compare(x, *more)) if more else holds


# -- assert --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Check:
    """The function that an `assert` calls when the graph runs."""

    message: str

    def __call__(self, holds: Any) -> Any:
        if not holds:
            raise AssertionError(self.message)
        return holds


def assert_(test: Any, says: Callable[[], Any] | None = None) -> None:
    """assert test, says(). A symbolic test is checked when the graph runs."""
    if not symbolic(test):
        if not test:
            raise AssertionError(*(() if says is None else (says(),)))
        return
    message = f"{user_line()}" if says is None else f"{says()} ({user_line()})"
    truth(test, "`assert`").apply(PyFunc(Check(message), (Spec((), BOOL),)))
