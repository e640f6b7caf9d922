"""The learner's own variable names, found by looking where they keep them.

A value does not know its name; the code that asked for the drawing does. We look through the variables of that code, in
the order in which they were first assigned, for the very objects that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from types import FrameType
from typing import Protocol, TypeVar, runtime_checkable

T = TypeVar("T", bound=Hashable)


@runtime_checkable
class HasParameters(Protocol):
    """A module, known by what it can do: to import it here would import NumPy."""

    def named_parameters(self) -> Iterable[tuple[str, object]]: ...


LONGEST_LIST = 1000  # a longer list is data, not a handful of parameters: not worth a name for each item


def names_in(namespace: Mapping[str, object], drawn: Callable[[object], T | None]) -> dict[T, str]:
    """What `namespace` calls each thing that can be drawn, by its first name.

    An item of a list or tuple is called x[3], a parameter of a module model.0.weight.

    drawn   the thing behind an object that can be drawn; None for any other object
    """
    names: dict[T, str] = {}
    for name, held in list(namespace.items()):
        if name.startswith("_") or name in ("In", "Out"):  # IPython's own memories of past cells
            continue
        for candidate, item in candidates(name, held):
            thing = drawn(item)
            if thing is not None:
                names.setdefault(thing, candidate)
    return names


def candidates(name: str, held: object) -> Iterable[tuple[str, object]]:
    """The objects that a variable makes reachable, each with what it is called."""
    if isinstance(held, list | tuple):
        return [(f"{name}[{i}]", item) for i, item in enumerate(held)] if len(held) <= LONGEST_LIST else []
    if isinstance(held, HasParameters) and not isinstance(held, type):
        return [(f"{name}.{path}", parameter) for path, parameter in held.named_parameters()]
    return [(name, held)]


def variables(frame: FrameType | None) -> dict[str, object]:
    """The variables that code running in `frame` can see: its locals, then its module's globals."""
    return {} if frame is None else {**frame.f_locals, **frame.f_globals, **frame.f_locals}
