"""while and for: run by Python while the condition has a value, and traced into the graph as soon as it has none.

So `while True:` with a `break` on a tensor runs its first turn in Python, and the rest in the graph. A loop over a
Python list is unrolled; a loop over the rows of a symbolic tensor, or over range() of a symbol, becomes a loop of the
graph. Its body is traced once, and each turn passes its variables to the next, so their structure, shapes and dtypes
must be the same before and after each turn. If a number becomes a tensor in the body, or an undefined variable gets a
value, the loop is traced again with a start value of that kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import zip_longest
from typing import Any

import numpy as np

from ...api.functions.creation import arange
from ...engine.base.dimension import Dimension
from ...engine.base.dtypes import kind
from ...engine.base.errors import ConversionError
from ...engine.base.pytree import leaves, outline, paths, replace_leaves, unflatten_like
from ...engine.base.spec import Spec
from ...engine.core.modes import current
from ...engine.core.node import place
from ...tracing.tracer import Tracer
from ..control import while_loop
from ..subgraph import Subgraph
from .branches import BOOL, explain_early_errors, if_, ignore, nothing, truth
from .side_effects import ContainerChange, TrackedContainers, note_assignments, refuse_changes
from .state import (
    NUMBERS,
    NotReturned,
    Retrace,
    Undefined,
    as_number,
    describe,
    dtype_of,
    filling,
    is_number,
    is_part,
    lift_value,
    same,
    symbolic,
    user_line,
)

UNROLLED = 256  # a loop in which a list grows is unrolled up to this many rows


@dataclass(frozen=True)
class Rows:
    """A sequence for a loop of the graph. Python can iterate over it too, in a comprehension or list().

    length    the number of items: a number, or a symbol
    row       index → item
    """

    length: Any
    row: Callable[[Any], Any]

    @property
    def most(self) -> int | None:
        """The number of items, or None if it is not known."""
        return None if symbolic(self.length) or isinstance(self.length, Dimension) else max(0, int(self.length))

    def __iter__(self) -> Iterator[Any]:
        return iter(unroll(self))


def rows(x: Any) -> Any:
    """x as Rows if it is symbolic; anything else unchanged."""
    if not symbolic(x):
        return x
    if not x.shape:
        raise TypeError(f"{user_line()}: a loop over a tensor goes over its first axis, and {x.spec} has none")
    return Rows(x.shape[0], lambda i: x[i])


def range_(*args: Any) -> Any:
    """range(start, stop, step), where arguments may be symbols or unknown lengths."""
    if not any(symbolic(n) or isinstance(n, Dimension) for n in args):
        return range(*args)
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1) if len(args) == 2 else args
    length = stop - start if len(args) < 3 else -((start - stop) // step)  # rounded up
    return Rows(length, lambda i: as_number(start + i * step))


class Steps(Rows):
    """mg.arange() up to a symbol: a `for` can iterate over it, but it is not a tensor."""

    def refuse(self, *_: Any) -> Any:
        raise ConversionError(
            f"{user_line()}: the length of this mg.arange() is known only when the graph runs, so it is no tensor, and "
            "only a `for` can go over it. For a tensor take a length that is known, mg.arange(10), and choose by "
            "where(…)"
        )

    __getattr__ = __getitem__ = __neg__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = refuse
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = __matmul__ = __lt__ = __le__ = __gt__ = __ge__ = refuse


def arange_(start: Any = None, end: Any = None, step: Any = 1, *, dtype: Any = None, **options: Any) -> Any:
    """mg.arange(start, end, step), where arguments may be symbols."""
    if not any(map(symbolic, (start, end, step))):
        return arange(start, end, step, dtype=dtype, **options)
    start, end = (0, start) if end is None else (0 if start is None else start, end)
    length = -((start - end) // step)
    kind = np.result_type(*map(dtype_of, (start, end, step))) if dtype is None else dtype

    def row(i: Any) -> Any:
        y = lift_value(start + i * step).astype(kind)
        return Tracer(y.node, y.builder)  # a tensor, although it is computed from numbers

    return Steps(length.astype(np.int64), row)


def enumerate_(xs: Any, start: Any = 0) -> Any:
    """enumerate(xs, start)"""
    its = rows(xs)
    return Rows(its.length, lambda i: (i + start, its.row(i))) if isinstance(its, Rows) else enumerate(its, start)


def zip_(*xs: Any, strict: bool = False) -> Any:
    """zip(*xs). Together with a Python list, a tensor becomes a list of its rows."""
    its = [rows(x) for x in xs]
    if any(isinstance(x, Rows) and x.most is None for x in its):
        its = [Rows(len(x), partial(number_of, x)) if isinstance(x, range) else x for x in its]
    if all(isinstance(x, Rows) for x in its) and its:
        lengths = [x.length for x in its]
        return Rows(reduce(shorter, lengths), lambda i: tuple(x.row(i) for x in its))
    return zip(*map(unroll, its), strict=strict)


def number_of(xs: range, i: Any) -> Any:
    return xs.start + i * xs.step


def shorter(n: Any, m: Any) -> Any:
    if any(symbolic(o) or isinstance(o, Dimension) for o in (n, m)):
        return n if n is m else lift_value(n).minimum(lift_value(m))
    return min(n, m)


def unroll(x: Any) -> Any:
    """Rows as a list. Raises ConversionError if the number of rows is not known."""
    if not isinstance(x, Rows):
        return x
    if x.most is None:
        raise ConversionError(
            f"{user_line()}: the number of rows is known only when the graph runs, but Python needs it now, for a "
            "comprehension or to pair the rows with a list: make the list a tensor, or write a `for`"
        )
    return [x.row(i) for i in range(x.most)]


def reversed_(xs: Any) -> Any:
    """reversed(xs)"""
    its = rows(xs)
    return Rows(its.length, lambda i: its.row(its.length - 1 - i)) if isinstance(its, Rows) else reversed(its)


def len_(x: Any) -> Any:
    """len(x), which may be an unknown length."""
    if isinstance(x, Rows):
        return x.length
    return x.shape[0] if symbolic(x) and x.shape else len(x)


class TracedLoop:
    """Traces a loop into the graph.

    start     variable → a start value that replaces its own: a tensor instead of a number, or a dummy value
    edited    indices of the carried values that the body edits in place
    sure      whether every run has at least one turn
    """

    def __init__(self, kind: str, block: Any, get: Any, set_: Any, names: Sequence[str], sure: bool = False):
        self.kind, self.block, self.get, self.set_, self.names = kind, block, get, set_, names
        self.owner, self.place, self.line, self.sure = (get, set_), user_line(), place(), sure
        self.start: dict[str, Any] = {"the turn": 0}
        self.edited: set[int] = set()
        self.followed = TrackedContainers()

    def read(self) -> list[Any]:
        """The state: the variables, then the contents of lists and dictionaries."""
        return [*self.get(), *self.followed.values()]

    def write(self, state: Sequence[Any]) -> None:
        own = len(state) - len(self.followed.all)
        self.set_(state[:own])
        self.followed.write(state[own:])

    def run(self, test: Callable[[], Any], turn: Callable[[], None]) -> None:
        """Trace the loop into the graph, and write its results into the state."""
        self.before = self.read()
        unlike: Unlike | None = None
        while True:
            try:
                if unlike is not None:
                    name, y = unlike.name, unlike.y
                    x = self.before[self.names.index(name)]
                    self.start[name] = filling(y) if isinstance(x, Undefined) else self.typed_start(name, x, turn)
                self.write_loop(test, turn)
                own = self.names[: len(self.names) - len(self.followed.all)]
                return note_assignments(own, self.owner[1], self.kind, self.line)
            except Unlike as its:
                unlike = its
            except ContainerChange as its:
                self.followed.add(its.container)
                self.names = (*self.names, its.path)
                self.before.append(its.container.copy())
            except ConversionError:
                self.write(self.before)
                raise

    def typed_start(self, name: str, x: Any, turn: Callable[[], None]) -> Any:
        """The start value of a variable: `total = 0.0` becomes a float32, if the body adds a float32 to it.

        The dtype is found by tracing one turn into a graph that is then discarded.
        """
        with Subgraph(current.mode.builder).building():
            self.write(self.before)
            self.turn(turn)
            y = self.read()[self.names.index(name)]
        if outline(x) != outline(y):
            return x
        return unflatten_like(x, iter([number(a, b) for a, b in zip(leaves(x), leaves(y))]))

    def turn(self, turn: Callable[[], None]) -> None:
        with (
            refuse_changes(self.block, "a loop", self.place, *self.owner, self.followed),
            explain_early_errors("the body of this loop is", self.place),
        ):
            turn()

    def write_loop(self, test: Callable[[], Any], turn: Callable[[], None]) -> None:
        start = [self.start.get(name, x) for name, x in zip(self.names, self.before)]

        parts = [leaf for x in start for leaf in leaves(x) if is_part(leaf)]
        numbers = still = self.numbers(start)

        def as_numbers(symbols: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(as_number(x) if its else x for x, its in zip(symbols, numbers))

        def going(*symbols: Any) -> Any:
            self.write(self.state(start, as_numbers(symbols)))
            with explain_early_errors("the condition of this loop is", self.place):
                return test()

        def body(*symbols: Any) -> list[Any]:
            nonlocal still
            symbols = as_numbers(symbols)
            nodes = [symbol.node for symbol in symbols]
            current.mode.builder.stands |= {id(symbol): part for symbol, part in zip(symbols, parts)}
            self.write(self.state(start, symbols))
            self.turn(turn)
            results = self.next_values(start, symbols)
            self.edited = {
                i for i, (x, node, y) in enumerate(zip(symbols, nodes, results)) if y is x and y.node is not node
            }
            still = [is_number(x) and is_number(y) for x, y in zip(symbols, results)]
            self.refuse_asked_type([x for x, its in zip(symbols, still) if not its])
            self.refuse_aliased_edit([parts[i] for i in self.edited], parts)
            self.check_dtypes({x.dtype for x in (*symbols, *(c.what for c in current.mode.builder.captured.values()))})
            return results

        body.names = [  # type: ignore[attr-defined]
            path for name, x in zip(self.names, start) for path, leaf in zip(paths(x, name), leaves(x)) if is_part(leaf)
        ]
        carried = while_loop(going, body, [lift_value(x) for x in parts])
        settled = [self.settle_edit(i, x, y) for i, (x, y) in enumerate(zip(parts, carried))]
        results = [as_number(y) if its else y for y, its in zip(settled, still)]
        self.write([self.value_after(name, x) for name, x in zip(self.names, self.state(start, results))])

    def numbers(self, start: Sequence[Any]) -> list[bool]:
        """For each carried value, whether it was a Python number before the loop."""
        pairs = [(began, x) for began, x in zip(start, self.before) if not isinstance(began, Undefined)]
        flat = [(leaf, its) for began, x in pairs for leaf, its in zip_longest(leaves(began), leaves(x))]
        return [is_number(its) for leaf, its in flat if is_part(leaf)]

    def settle_edit(self, i: int, x: Any, y: Any) -> Any:
        """A carried value after the loop. If the body edits it in place, as `x += 1` does, it is x with a new value."""
        if i not in self.edited:
            return y
        current.mode.builder.take(x, y)
        return x

    def check_dtypes(self, dtypes: set[Any]) -> None:
        """Raises Unlike if a variable starts as a number, but the body has a tensor of its kind with another dtype."""
        for name, x in zip(self.names, self.before):
            kinds = {np.dtype(type(leaf)) for leaf in leaves(x) if isinstance(leaf, int | float)} - {BOOL}
            if name not in self.start and any(kind(d) == kind(k) and d != k for d in dtypes for k in kinds):
                raise Unlike(name, x)

    def refuse_asked_type(self, tensors: Sequence[Any]) -> None:
        """Raises ConversionError if the body asks for the type of a variable that is a number only at first."""
        if any(getattr(x, "typed", False) for x in tensors):
            raise ConversionError(
                f"{self.place}: this {self.kind} over tensors asks by `is`, type() or isinstance() for the kind of a "
                "variable that is a Python number in the first turn and a tensor in the next: begin with a tensor"
            )

    def refuse_aliased_edit(self, edited: Sequence[Any], parts: Sequence[Any]) -> None:
        """Raises ConversionError if the body edits a tensor in place that it also reads under another name."""
        others = current.mode.builder.captured
        for x in edited:
            if id(x) in others or sum(x is part for part in parts) > 1:
                raise ConversionError(
                    f"{self.place}: this {self.kind} over tensors edits {describe(x)} in place, as x += 1 does, and "
                    "also reads it under another name. Write x = x + 1, or let the two be different tensors: "
                    "y = x.clone()"
                )

    def state(self, start: Sequence[Any], symbols: Sequence[Any]) -> list[Any]:
        """The values of the variables, with their carried leaves replaced by these symbols."""
        places = iter(symbols)
        return [replace_leaves(x, is_part, places) for x in start]

    def value_after(self, name: str, x: Any) -> Any:
        """The value of a variable after the loop."""
        if not isinstance(x, Undefined):
            return x
        why = (
            f"only the body of the {self.kind} over tensors at {self.place}, which may never run, gives it a value: "
            "give it one before the loop"
        )
        if "." in name:
            raise ConversionError(f"{self.place}: `{name}` is assigned, and {why}")
        return type(x)(x.name, why)

    # -- the state after a turn must match the state before ---------------------------------------------

    def next_values(self, start: Sequence[Any], symbols: Sequence[Any]) -> list[Any]:
        """The carried values for the next turn. Raises ConversionError if they do not match those before the turn."""
        places = iter(symbols)
        return [y for name, x, its in zip(self.names, start, self.read()) for y in self.variable(name, x, its, places)]

    def variable(self, name: str, x: Any, y: Any, places: Iterator[Any]) -> list[Any]:
        """The carried values of a variable that was x before the turn and is y after it."""
        if isinstance(x, Undefined):
            is_filled = isinstance(x, NotReturned) or (self.sure and all(map(is_part, leaves(y))))
            if is_filled and not isinstance(y, Undefined):
                raise Unlike(name, y)
            return []
        if isinstance(y, Undefined):
            raise ConversionError(f"{self.place}: `{name}` goes on to the next turn, and {y.why or 'is deleted'}")
        if outline(x) != outline(y):
            raise self.structure_error(name, x, y)
        results = []
        for i, (began, its) in enumerate(zip(leaves(x), leaves(y))):
            if is_part(began) and is_part(its):
                results.append(self.part(name, i, next(places), its))
            elif not same(began, its):
                raise self.structure_error(name, began, its)
        return results

    def part(self, name: str, i: int, symbol: Any, y: Any) -> Any:
        """The carried value of one leaf: `symbol` before the turn, y after it."""
        its = lift_value(y, symbol.spec) if isinstance(y, NUMBERS) else lift_value(y)
        its = as_number(its) if is_number(y) else its
        if tuple(its.shape) != tuple(symbol.shape):
            way = "Begin with the shape that it keeps, mg.zeros(…), or take mg.while_loop with shape_invariants"
            raise self.mismatch_error(
                name, f"has shape {symbol.shape} before a turn and {its.shape} after it", way, uneven=True
            )
        if its.dtype == symbol.dtype:
            return its
        first = self.before[self.names.index(name)]
        if name not in self.start and is_number(leaves(first)[i]):
            raise Unlike(name, y)
        way = f"Begin with dtype {its.dtype}, or end the turn with .to({symbol.dtype})"
        raise self.mismatch_error(name, f"is {symbol.dtype} before a turn and {its.dtype} after it", way)

    def structure_error(self, name: str, x: Any, y: Any) -> ConversionError:
        way = "Begin with a tensor of the shape and dtype that it will have"
        if isinstance(y, list | tuple | dict):
            way = (
                f"A list may grow in a `for` over at most {UNROLLED} rows, if their number is known: it is unrolled. "
                "Else keep what the loop collects in a tensor: out = mg.zeros(10) and out[i] = y, or mg.lax.scan"
            )
        return self.mismatch_error(name, f"is {describe(x)} before a turn and {describe(y)} after it", way, uneven=True)

    def mismatch_error(self, name: str, what: str, way: str, uneven: bool = False) -> ConversionError:
        """The error to raise. `uneven`: the structure or shape changes, which an unrolled loop could handle."""
        name = "what is returned" if name == "return" else f"`{name}`"
        error = ConversionError(
            f"{self.place}: in this {self.kind} over tensors {name} {what}; its body is written down once, for every "
            f"turn, so what goes on to the next turn stays of one kind. {way}"
        )
        error.__dict__["uneven"] = uneven
        return error


class Unlike(Retrace):
    """Raised when a variable must start as a value like y."""

    def __init__(self, name: str, y: Any):
        self.name, self.y = name, y


def number(x: Any, y: Any) -> Any:
    """x as a tensor of y's dtype, if x is a number and y can be in the graph; else x unchanged."""
    if not (is_number(x) and is_part(y)):
        return x
    return lift_value(x, Spec((), dtype_of(y))).astype(dtype_of(y))


def while_(
    test: Callable[[], Any], body: Callable[[], None], get: Callable[[], Sequence[Any]] = nothing,
    set_: Callable[[Any], None] = ignore, names: Sequence[str] = (), assigns: bool = False,
) -> None:  # fmt: skip
    """while test(): body()

    assigns    whether the test assigns variables, as in `while (y := f(x)) > 0:`
    """
    while not symbolic(going := test()):
        if not going:
            return
        body()

    def turn() -> None:
        if assigns:
            test()
        body()

    TracedLoop("`while`", body, get, set_, names).run(lambda: truth(lift_value(test()), "`while`"), turn)
    if assigns:
        test()


def for_(
    over: Any, body: Callable[[Any], None], get: Callable[[], Sequence[Any]] = nothing,
    set_: Callable[[Any], None] = ignore, names: Sequence[str] = (), test: Callable[[], Any] | None = None,
) -> None:  # fmt: skip
    """for item in over: body(item)

    test    returns whether the loop continues after a turn, because no break or return was reached
    """
    items = rows(over)
    if isinstance(items, Rows):
        if items.most == 0:
            return
        try:
            run_counted(items, TracedLoop("`for`", body, get, set_, names, items.most is not None), body, test)
        except ConversionError as error:
            if not getattr(error, "uneven", False) or items.most is None or items.most > UNROLLED:
                raise
        else:
            return
    going: Any = True
    for item in unroll(items):
        if symbolic(going):
            if_(going, partial(body, item), None, get, set_, names)
        else:
            body(item)
        going = True if test is None else test()
        if not symbolic(going) and not going:
            return


def run_counted(items: Rows, loop: TracedLoop, body: Callable[[Any], None], test: Callable[[], Any] | None) -> None:
    """Trace a loop over rows as a while loop with a counter."""
    at: Any = 0
    get, set_ = loop.get, loop.set_

    def get_all() -> Sequence[Any]:
        return (at, *get())

    def set_all(state: Sequence[Any]) -> None:
        nonlocal at
        at = state[0]
        set_(state[1:])

    def turn() -> None:
        nonlocal at
        body(items.row(as_number(lift_value(at))))
        at = at + 1

    def going() -> Any:
        more = lift_value(at) < items.length
        on = True if test is None else test()
        return more if on is True else more & lift_value(on)

    loop.get, loop.set_, loop.names = get_all, set_all, ("the turn", *loop.names)
    loop.run(going, turn)
