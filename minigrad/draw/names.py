"""The learner's own variable names, found by looking where they keep them.

A value does not know its name; the code that asked for the drawing does. We look through the variables of that code, in
the order in which they were first assigned, for the very objects that are drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from types import FrameType
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

LONGEST_LIST = 1000  # a longer list is data, not a handful of parameters: not worth a name for each item


def names_in(namespace: Mapping[str, object], drawn: Callable[[object], T | None]) -> dict[T, str]:
    """What `namespace` calls each thing that can be drawn: its first name, or x[3] for an item of a list or tuple.

    drawn   the thing behind an object that can be drawn; None for any other object
    """
    names: dict[T, str] = {}
    for name, held in list(namespace.items()):
        if name.startswith("_") or name in ("In", "Out"):  # IPython's own memories of past cells
            continue
        if isinstance(held, list | tuple) and len(held) <= LONGEST_LIST:
            candidates = [(f"{name}[{i}]", item) for i, item in enumerate(held)]
        else:
            candidates = [(name, held)]
        for candidate, item in candidates:
            thing = drawn(item)
            if thing is not None:
                names.setdefault(thing, candidate)
    return names


def variables(frame: FrameType | None) -> dict[str, object]:
    """The variables that code running in `frame` can see: its locals, then its module's globals."""
    return {} if frame is None else {**frame.f_locals, **frame.f_globals, **frame.f_locals}
