"""The learner's own variable names, found in the calling code.

A value does not know its name, but the code that called draw does. We search the variables of that code, in the order
of first assignment, for the objects that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from inspect import getclosurevars
from types import CodeType, FrameType
from typing import Any, Protocol, TypeVar, runtime_checkable

T = TypeVar("T", bound=Hashable)


@runtime_checkable
class HasParameters(Protocol):
    """A module, recognised by its methods: importing Module here would import NumPy."""

    def named_parameters(self) -> Iterable[tuple[str, object]]: ...


LONGEST_LIST = 1000  # a longer list is data, not parameters: its items get no names


def names_in(namespace: Mapping[str, object], drawn: Callable[[object], T | None]) -> dict[T, str]:
    """The first name in `namespace` of each thing that can be drawn.

    An item of a list or tuple is named x[3], and a parameter of a module is named model.0.weight.

    drawn   maps an object to the thing to draw; None for an object that cannot be drawn
    """
    names: dict[T, str] = {}
    for name, held in list(namespace.items()):
        if name.startswith("_") or name in ("In", "Out"):  # IPython's history of cells
            continue
        for candidate, item in candidates(name, held):
            thing = drawn(item)
            if thing is not None:
                names.setdefault(thing, candidate)
    return names


def candidates(name: str, held: object) -> Iterable[tuple[str, object]]:
    """The objects reachable through a variable, each with its name."""
    if isinstance(held, list | tuple):
        return [(f"{name}[{i}]", item) for i, item in enumerate(held)] if len(held) <= LONGEST_LIST else []
    if isinstance(held, HasParameters) and not isinstance(held, type):
        return [(f"{name}.{path}", parameter) for path, parameter in held.named_parameters()]
    return [(name, held)]


def variables_of(f: Any) -> dict[str, Any]:
    """The global and enclosing variables that a function reads, also in functions inside it."""
    codes, found = [f.__code__], dict(getclosurevars(f).nonlocals)
    for code in codes:
        codes += [x for x in code.co_consts if isinstance(x, CodeType)]
        found = {name: f.__globals__[name] for name in code.co_names if name in f.__globals__} | found
    return found


def variables(frame: FrameType | None) -> dict[str, object]:
    """The variables visible in `frame`: its locals, then its module's globals."""
    return {} if frame is None else {**frame.f_locals, **frame.f_globals, **frame.f_locals}
