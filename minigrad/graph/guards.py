"""What a trace was decided by. It is looked at before each run; where it no longer holds, the function is traced anew.

A dtype or a shape of something captured; an option of an optimiser, and which parameters have made the same number of
steps with it; whether a module is in training, whether a leaf had a .grad, whether a parameter learns; and whether a
module still holds the parameters that were captured; and the code of a function, which a notebook's autoreload edits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..tracing.module import ModuleLike

Noted = Mapping[tuple[int, str], tuple[Callable[[], Any], Any]]


class Guards:
    """What was seen while tracing.

    captured    name → what the graph reads from outside
    noted       (id, attribute) → (a weak reference to whose, what Python read there)
    pulled      whether backward() was called: it reaches what wants a gradient
    """

    def __init__(self, captured: Mapping[str, Any], noted: Noted, pulled: bool):
        self.names, self.captured = list(captured), list(captured.values())
        self.noted, self.pulled = noted, pulled
        self.specs = [x.spec for x in self.captured]
        self.learned = [x.tracked for x in self.captured]
        self.reach: Callable[[], Mapping[int, str]] = dict
        self.reached: dict[int, str] = {}
        self.replaced = ModuleLike.replaced

    def within(self, reach: Callable[[], Mapping[int, str]]) -> None:
        """Let it be noticed when a name has another tensor: reach() names, by id, what the function finds."""
        self.reach, now = reach, reach()
        self.reached = {id(x): now[id(x)] for x in self.captured if id(x) in now}

    def holds(self) -> bool:
        """Whether it is still so."""
        if [x.spec for x in self.captured] != self.specs:
            return False
        if self.pulled and [x.tracked for x in self.captured] != self.learned:
            return False
        if self.replaced != ModuleLike.replaced:
            if not self.reached.items() <= self.reach().items():
                return False
            self.replaced = ModuleLike.replaced
        for (_, name), (of, value) in self.noted.items():
            now = read(of(), name)
            if now is not value and now != value:
                return False
        return True

    def broken(self) -> Iterator[str]:
        """What is no longer so, in words."""
        for name, x, spec, learned in zip(self.names, self.captured, self.specs, self.learned):
            if x.spec != spec:
                yield f"{name} was {spec} and is {x.spec}"
            if self.pulled and x.tracked != learned:
                yield f"{name} {'wanted a gradient' if learned else 'wanted no gradient'}, and this has changed"
        now = self.reach()
        yield from (f"{name} is another tensor" for which, name in self.reached.items() if now.get(which) != name)
        for (_, attribute), (of, value) in self.noted.items():
            if (is_now := read(of(), attribute)) != value:
                yield change(of(), attribute, value, is_now)


def read(what: Any, attribute: str) -> Any:
    """What Python reads now, of what it read while tracing; of a .grad, whether there is one."""
    found = getattr(what, attribute, None)
    return found is not None if attribute == "grad" else found


def change(what: Any, attribute: str, before: Any, now: Any) -> str:
    """What was noted while tracing and is another now, in words.

    what    whose it is; None if that is gone
    """
    match attribute:
        case "grad":
            return "a leaf that had a .grad has none" if before else "a leaf that had no .grad has one"
        case "together":
            return "parameters that had made the same number of steps with an optimiser no longer have"
        case "options" if what is not None:
            changed = [(name, old, new) for (name, old), (_, new) in zip(before, now) if old != new]
            return ", ".join(f"{name} of an optimiser was {old} and is {new}" for name, old, new in changed)
        case "__code__" if what is not None:
            return f"{what.__qualname__}() has other code"
    if what is None:
        return f"what had {attribute} {before} is gone"
    return f"{attribute} of a {type(what).__name__} was {before} and is {now}"
