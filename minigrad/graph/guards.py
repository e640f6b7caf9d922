"""Guards: everything outside that a trace depends on. Each run checks it; after a change the function is traced again.

A trace depends on the dtype and shape of what it captured; the groups and options of an optimiser, and which parameters
have made the same number of steps with it; whether a leaf had a .grad, and whether a parameter learns; the code of a
function, which a notebook's autoreload edits; what names lead to (names.py); and all that Python read of modules,
schedules and other objects of minigrad's: attributes, parts, hooks, options. Each module counts the assignments to it,
so most calls make one comparison. Only what can be edited in place (a list, an array, a user's object, an attribute of
anything but a module) is compared in each call: see contents.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from weakref import ref

from ..tracing.module import MISSING, ModuleLike, Stateful
from .contents import contents, is_settled
from .names import Names
from .signature import IMMUTABLE, Same

Noted = Mapping[tuple[int, str], tuple[Any, Any]]
# methods that walk through a module: a trace notes what they return
WALKS = "_modules", "_own_parameters", "_own_buffers", "_named_parts"


class Guards:
    """What a trace depends on, and how it was while tracing.

    captured    name → what the graph reads from outside
    noted       (id, attribute) → (a weak reference to the object, what Python read)
    pulled      whether backward() was called, so that it matters which tensors require a gradient
    changes     ModuleLike.changes when the notes of modules were last compared: before the trace, to begin with
    versions    the number of changes of each module that was read, at that time
    counted     the part of `noted` that changes only if one of the versions does
    reached     what the function's names led to
    """

    reached: Names

    def __init__(self, captured: Mapping[str, Any], noted: Noted, pulled: bool, changes: int):
        self.names, self.captured = list(captured), list(captured.values())
        self.noted = {key: (ref(what), value) for key, (what, value) in noted.items()}
        self.pulled, self.changes = pulled, changes
        modules = {id(what): what for what, _ in noted.values() if isinstance(what, ModuleLike)}
        self.modules = [*map(ref, modules.values())]
        versions = self.versions_now()
        self.versions = versions if ModuleLike.changes == changes else []  # another thread may have changed one since
        self.classes = {*map(type, modules.values())}
        self.specs = [x.spec for x in self.captured]
        self.learned = [x.tracked for x in self.captured]
        self.counted: list[tuple[Any, str, Any]] = []
        self.watched: list[tuple[Any, str, Any]] = []
        for (_, attribute), (what, value) in noted.items():
            place = self.counted if is_counted(what, attribute, value) else self.watched
            place.append((ref(what), attribute, value))

    def holds(self) -> bool:
        """Whether everything that the trace depends on is unchanged."""
        if [x.spec for x in self.captured] != self.specs:
            return False
        if self.pulled and [x.tracked for x in self.captured] != self.learned:
            return False
        if not self.reached.holds() or not holds(self.watched):
            return False
        if self.changes != (changes := ModuleLike.changes):
            versions = self.versions_now()
            if versions != self.versions and not holds(self.counted):
                return False
            self.changes, self.versions = changes, versions
        return True

    def versions_now(self) -> list[Any]:
        """How often each module was changed, and its hooks."""
        attributes = [None if (x := of()) is None else vars(x) for of in self.modules]  # which notes no read
        return [x and (x.get("_changes"), x["_hooks"].changes) for x in attributes]

    def broken(self) -> Iterator[str]:
        """Describe each change, in words."""
        for name, x, spec, learned in zip(self.names, self.captured, self.specs, self.learned):
            if x.spec != spec:
                yield f"{name} was {spec} and is {x.spec}"
            if self.pulled and x.tracked != learned:
                yield f"{name} {'wanted a gradient' if learned else 'wanted no gradient'}, and this has changed"
        yield from (f"{name} has another value" for name in self.reached.broken())
        for (_, attribute), (of, value) in self.noted.items():
            if not holds([(of, attribute, value)]):
                yield change(of(), attribute, value, observe(of(), attribute))


def holds(noted: Sequence[tuple[Callable[[], Any], str, Any]]) -> bool:
    """Whether everything noted is unchanged. An object that was deleted counts as unchanged."""
    return all((what := of()) is None or observe(what, attribute) == value for of, attribute, value in noted)


def observe(what: Any, attribute: str) -> Any:
    """Return what Python would read now in this attribute; of a .grad, whether there is one."""
    if isinstance(what, ModuleLike) and attribute in WALKS:
        return contents(tuple(getattr(what, attribute)()))
    if isinstance(what, type):
        return contents(next((vars(c)[attribute] for c in what.__mro__ if attribute in vars(c)), MISSING))
    if attribute == "groups()":
        return what.groups()
    if isinstance(what, Stateful):
        return (type, type(what)) if attribute == "__class__" else contents(vars(what).get(attribute, MISSING))
    if attribute == "value":
        return contents(what.numpy())
    found = getattr(what, attribute, None)
    return found is not None if attribute == "grad" else found


def is_counted(what: Any, attribute: str, value: Any) -> bool:
    """Whether what was noted changes only by assignment to a module, and never in place."""
    if isinstance(what, type):
        return what.__module__.startswith("minigrad.")
    return isinstance(what, ModuleLike) and (attribute in (*WALKS, "_hooks") or is_settled(value))


def change(what: Any, attribute: str, before: Any, now: Any) -> str:
    """Describe how an attribute of `what` has changed since the trace."""
    if isinstance(what, Stateful | type) and attribute != "groups()":
        return change_of_module(what, attribute, before, now)
    match attribute:
        case "value":
            return f"the elements of {what.spec}, which Python read, have changed"
        case "grad":
            return "a leaf that had a .grad has none" if before else "a leaf that had no .grad has one"
        case "together":
            return "parameters that had made the same number of steps with an optimiser no longer have"
        case "groups()":
            changed = {name: (old, new) for (name, old), (_, new) in zip(before, now) if old != new}
            if len(before) != len(now) or "params" in changed:
                return "an optimiser has other parameters"
            return ", ".join(f"{name} of an optimiser was {old} and is {new}" for name, (old, new) in changed.items())
    return f"{what.__qualname__}() has other code"


def change_of_module(module: Any, attribute: str, before: Any, now: Any) -> str:
    """How an attribute of a module or of its class has changed, or the result of a walk through the module."""
    if attribute in WALKS:
        old, new = ({name: part for _, (_, name), part, _ in value[1:-1]} for value in (before, now))
        names = [name for name in {**old, **new} if old.get(name, MISSING) != new.get(name, MISSING)]
        pairs = [(name, old.get(name, MISSING), new.get(name, MISSING)) for name in names]
        return (
            ", ".join(change_of_module(module, *pair) for pair in pairs)
            or f"the order of the parts of {module!r} has changed"
        )
    whose = module.__name__ if isinstance(module, type) else f"a {type(module).__name__}"
    was, is_now = describe(before), describe(now)
    return f"{attribute} of {whose} was {was} and is {'another' if was == is_now else is_now}"


def describe(value: Any) -> str:
    """A noted value in words, for a message."""
    match value:
        case (type() as kind, *parts):
            return f"a {kind.__name__}" if kind not in IMMUTABLE else parts[0] if kind is float else repr(parts[0])
        case (Same() as whole, *_) | (Same() as whole):
            return f"a {whole.kind}"
    return "not there" if value is MISSING else f"a {type(value).__name__}"
