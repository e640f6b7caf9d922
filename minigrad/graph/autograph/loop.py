"""A loop in the graph: its body is written down once, and what it leaves in its variables goes on to the next turn.

So the state has the same structure, shapes and dtypes after each turn as before it. Where a number turns out to become
a tensor, or something without a value to get one, the loop begins with something of that kind, and is written anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from ...errors import ConversionError
from ...modes import current
from ...node import place
from ...spec import Spec
from ...tree import leaves, outline, paths, planted
from ..control import while_loop
from ..inner import Inner
from .fork import BOOL, Again, noted
from .leftovers import assigned
from .numbers import NUMBERS, as_number, is_number
from .state import NotReturned, Undefined, dtype_of, filling, here, is_part, lifted, same, told, unchanged


class Loop:
    """A loop in the graph.

    start     variable → what it begins with instead of what it is: a number in the dtype that it will have, a filling
    edited    which of the things carried the body edits in place
    """

    def __init__(self, kind: str, block: Any, get: Any, set_: Any, names: Sequence[str]):
        self.kind, self.block, self.get, self.set_, self.names = kind, block, get, set_, names
        self.owner, self.place, self.line = set_, here(), place()
        self.start: dict[str, Any] = {"the turn": 0}
        self.edited: set[int] = set()

    def run(self, test: Callable[[], Any], turn: Callable[[], None]) -> None:
        """Write the loop into the graph, and its results into the state."""
        self.before = list(self.get())
        while True:
            try:
                self.written(test, turn)
                return assigned(self.names, self.owner, self.kind, self.line)
            except Unlike as unlike:
                name, y = unlike.name, unlike.y
                x = self.before[self.names.index(name)]
                self.start[name] = filling(y) if isinstance(x, Undefined) else self.typed(name, x, turn)

    def typed(self, name: str, x: Any, turn: Callable[[], None]) -> Any:
        """What a variable begins with: `total = 0.0`, to which a float32 is added, is a float32.

        Which dtype that is, is found by one turn, written into a graph that is thrown away.
        """
        with Inner(current.mode.staging).building():
            self.set_(self.before)
            self.turn(turn)
            y = self.get()[self.names.index(name)]
        if outline(x) != outline(y):
            return x
        return planted(x, iter([number(a, b) for a, b in zip(leaves(x), leaves(y))]))

    def turn(self, turn: Callable[[], None]) -> None:
        with unchanged(self.block, "a loop", self.place, self.owner), noted("the body of this loop is", self.place):
            turn()

    def written(self, test: Callable[[], Any], turn: Callable[[], None]) -> None:
        start = [self.start.get(name, x) for name, x in zip(self.names, self.before)]

        parts = [leaf for x in start for leaf in leaves(x) if is_part(leaf)]
        numbers = still = self.numbers(start)

        def as_numbers(symbols: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(as_number(x) if its else x for x, its in zip(symbols, numbers))

        def going(*symbols: Any) -> Any:
            self.set_(self.state(start, as_numbers(symbols)))
            with noted("the condition of this loop is", self.place):
                return test()

        def body(*symbols: Any) -> list[Any]:
            nonlocal still
            symbols = as_numbers(symbols)
            nodes = [symbol.node for symbol in symbols]
            current.mode.staging.stands |= {id(symbol): part for symbol, part in zip(symbols, parts)}
            self.set_(self.state(start, symbols))
            self.turn(turn)
            results = self.carried(start, symbols)
            self.edited = {
                i for i, (x, node, y) in enumerate(zip(symbols, nodes, results)) if y is x and y.node is not node
            }
            still = [is_number(x) and is_number(y) for x, y in zip(symbols, results)]
            self.alone([parts[i] for i in self.edited], parts)
            self.weighed({x.dtype for x in (*symbols, *(c.what for c in current.mode.staging.captured.values()))})
            return results

        body.names = [  # type: ignore[attr-defined]
            path for name, x in zip(self.names, start) for path, leaf in zip(paths(x, name), leaves(x)) if is_part(leaf)
        ]
        carried = while_loop(going, body, [lifted(x) for x in parts])
        settled = [self.settled(i, x, y) for i, (x, y) in enumerate(zip(parts, carried))]
        results = [as_number(y) if its else y for y, its in zip(settled, still)]
        self.set_([self.left(name, x) for name, x in zip(self.names, self.state(start, results))])

    def numbers(self, start: Sequence[Any]) -> list[bool]:
        """Of each thing that is carried, whether it was a Python number before the loop."""
        pairs = [(began, x) for began, x in zip(start, self.before) if not isinstance(began, Undefined)]
        flat = [(leaf, its) for began, x in pairs for leaf, its in zip_longest(leaves(began), leaves(x))]
        return [is_number(its) for leaf, its in flat if is_part(leaf)]

    def settled(self, i: int, x: Any, y: Any) -> Any:
        """What is carried in one place, after the loop: what was edited in place, `x += 1`, is the same tensor."""
        if i not in self.edited:
            return y
        current.mode.staging.take(x, y)
        return x

    def weighed(self, dtypes: set[Any]) -> None:
        """Raises Unlike for a variable that began with a number, if the body has tensors of other such dtypes."""
        for name, x in zip(self.names, self.before):
            kinds = {np.dtype(type(leaf)) for leaf in leaves(x) if isinstance(leaf, int | float)} - {BOOL}
            if name not in self.start and any(d.kind == kind.kind and d != kind for d in dtypes for kind in kinds):
                raise Unlike(name, x)

    def alone(self, edited: Sequence[Any], parts: Sequence[Any]) -> None:
        """Raises ConversionError where the body edits a tensor in place that it knows under another name too."""
        others = current.mode.staging.captured
        for x in edited:
            if id(x) in others or sum(x is part for part in parts) > 1:
                raise ConversionError(
                    f"{self.place}: this {self.kind} over tensors edits {told(x)} in place, as x += 1 does, and reads "
                    "it under another name besides. Write x = x + 1, or let the two be different tensors: y = x.clone()"
                )

    def state(self, start: Sequence[Any], symbols: Sequence[Any]) -> list[Any]:
        """The values of the variables, with these symbols in the places of what the graph carries."""
        places = iter(symbols)
        return [planted(x, iter([next(places) if is_part(leaf) else leaf for leaf in leaves(x)])) for x in start]

    def left(self, name: str, x: Any) -> Any:
        """What a variable holds after the loop."""
        if not isinstance(x, Undefined):
            return x
        why = (
            f"only the body of the {self.kind} over tensors at {self.place}, which may never run, gives it a value: "
            "give it one before the loop"
        )
        if "." in name:
            raise ConversionError(f"{self.place}: `{name}` is assigned, and {why}")
        return type(x)(x.name, why)

    # -- the state after a turn, as it was before -------------------------------------------------------

    def carried(self, start: Sequence[Any], symbols: Sequence[Any]) -> list[Any]:
        """What the body left in the variables, for the next turn. Raises ConversionError where that does not fit."""
        places = iter(symbols)
        return [y for name, x, its in zip(self.names, start, self.get()) for y in self.variable(name, x, its, places)]

    def variable(self, name: str, x: Any, y: Any, places: Iterator[Any]) -> list[Any]:
        """What the body left in a variable that began as x."""
        if isinstance(x, Undefined):
            if isinstance(x, NotReturned) and not isinstance(y, Undefined):
                raise Unlike(name, y)
            return []
        if isinstance(y, Undefined):
            raise ConversionError(f"{self.place}: `{name}` goes on to the next turn, and {y.why or 'is deleted'}")
        if outline(x) != outline(y):
            raise self.changed(name, x, y)
        results = []
        for i, (began, its) in enumerate(zip(leaves(x), leaves(y))):
            if is_part(began) and is_part(its):
                results.append(self.part(name, i, next(places), its))
            elif not same(began, its):
                raise self.changed(name, began, its)
        return results

    def part(self, name: str, i: int, symbol: Any, y: Any) -> Any:
        """What the body left in one place, for the graph."""
        its = lifted(y, symbol.spec) if isinstance(y, NUMBERS) else lifted(y)
        its = as_number(its) if is_number(y) else its
        if tuple(its.shape) != tuple(symbol.shape):
            way = "Begin with the shape that it keeps, mg.zeros(…), or take mg.while_loop with shape_invariants"
            raise self.refused(name, f"has shape {symbol.shape} before a turn and {its.shape} after it", way)
        if its.dtype == symbol.dtype:
            return its
        first = self.before[self.names.index(name)]
        if name not in self.start and is_number(leaves(first)[i]):
            raise Unlike(name, y)
        way = f"Begin with dtype {its.dtype}, or end the turn with .to({symbol.dtype})"
        raise self.refused(name, f"is {symbol.dtype} before a turn and {its.dtype} after it", way)

    def changed(self, name: str, x: Any, y: Any) -> ConversionError:
        way = "Begin with a tensor of the shape and dtype that it will have"
        if isinstance(y, list | tuple | dict):
            way = "Keep what a loop collects in a tensor, as mg.lax.scan does, or loop over range(5), which is unrolled"
        return self.refused(name, f"is {told(x)} before a turn and {told(y)} after it", way)

    def refused(self, name: str, what: str, way: str) -> ConversionError:
        name = "what is returned" if name == "return" else f"`{name}`"
        return ConversionError(
            f"{self.place}: in this {self.kind} over tensors {name} {what}; its body is written down once, for every "
            f"turn, so what goes on to the next turn stays of one kind. {way}"
        )


class Unlike(Again):
    """A variable that has to begin as something like y."""

    def __init__(self, name: str, y: Any):
        self.name, self.y = name, y


def number(x: Any, y: Any) -> Any:
    """A number in the graph, in the dtype of y; anything else as it is."""
    if not (is_number(x) and is_part(y)):
        return x
    return lifted(x, Spec((), dtype_of(y))).astype(dtype_of(y))
