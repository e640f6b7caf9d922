"""Guards: everything outside that a trace depends on. Each run checks it; after a change the function is traced again.

A trace depends on the dtype and shape of what it captured; the options of an optimiser, and which parameters have made
the same number of steps with it; whether a leaf had a .grad, and whether a parameter learns; the code of a function,
which a notebook's autoreload edits; the module or the tensor behind a variable; and all that Python read of modules:
attributes, parts, hooks, options. Modules change by assignment, which is counted, so most calls make one comparison.
Only values that can be edited in place (a list, a dictionary, an array, a user's object) are compared in each call.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ref

import numpy as np

from ..tensor.tensor import Tensor
from ..tracing.module import MISSING, ModuleLike
from .signature import BY_VALUE, Same

Noted = Mapping[tuple[int, str], tuple[Any, Any]]
WALKS = (
    "_modules",
    "_own_parameters",
    "_own_buffers",
    "_named_parts",
)  # a walk through a module: its result is what was read
IMMUTABLE = BY_VALUE | {float, MethodType}
DEPTH = 6  # levels of containers and objects that are compared


class Guards:
    """What was seen while tracing.

    captured    name → what the graph reads from outside
    noted       (id, attribute) → (a weak reference to whose, what Python read there)
    pulled      whether backward() was called: it reaches what wants a gradient
    changes     ModuleLike.changes when the trace began
    counted     the part of `noted` that changes only if ModuleLike.changes does
    """

    def __init__(self, captured: Mapping[str, Any], noted: Noted, pulled: bool, changes: int):
        self.names, self.captured = list(captured), list(captured.values())
        self.noted = {key: (ref(what), value) for key, (what, value) in noted.items()}
        self.pulled, self.changes = pulled, changes
        self.specs = [x.spec for x in self.captured]
        self.learned = [x.tracked for x in self.captured]
        self.bindings: list[Binding] = []
        self.counted: list[tuple[Any, str, Any]] = []
        self.watched: list[tuple[Any, str, Any]] = []
        for (_, attribute), (what, value) in noted.items():
            place = self.counted if is_counted(what, attribute, value) else self.watched
            place.append((ref(what), attribute, value))

    def holds(self) -> bool:
        """Whether it is still so."""
        if [x.spec for x in self.captured] != self.specs:
            return False
        if self.pulled and [x.tracked for x in self.captured] != self.learned:
            return False
        if not all(map(Binding.holds, self.bindings)) or not holds(self.watched):
            return False
        changes = ModuleLike.changes
        if self.changes != changes and not holds(self.counted):
            return False
        self.changes = changes
        return True

    def broken(self) -> Iterator[str]:
        """What is no longer so, in words."""
        for name, x, spec, learned in zip(self.names, self.captured, self.specs, self.learned):
            if x.spec != spec:
                yield f"{name} was {spec} and is {x.spec}"
            if self.pulled and x.tracked != learned:
                yield f"{name} {'wanted a gradient' if learned else 'wanted no gradient'}, and this has changed"
        yield from (f"{binding.name} has another value" for binding in self.bindings if not binding.holds())
        for (_, attribute), (of, value) in self.noted.items():
            if not holds([(of, attribute, value)]):
                yield change(of(), attribute, value, observe(of(), attribute))


def holds(noted: Sequence[tuple[Callable[[], Any], str, Any]]) -> bool:
    """Whether everything noted is unchanged. An object that was deleted counts as unchanged."""
    return all((what := of()) is None or observe(what, attribute) == value for of, attribute, value in noted)


def observe(what: Any, attribute: str) -> Any:
    """What Python reads now, of what it read while tracing; of a .grad, whether there is one."""
    if isinstance(what, ModuleLike):
        if attribute in WALKS:
            return contents(tuple(getattr(what, attribute)()))
        return contents(type(what) if attribute == "__class__" else vars(what).get(attribute, MISSING))
    if isinstance(what, type):
        return contents(next((vars(c)[attribute] for c in what.__mro__ if attribute in vars(c)), MISSING))
    if attribute == "value":
        return contents(what.numpy())
    found = getattr(what, attribute, None)
    return found is not None if attribute == "grad" else found


def contents(x: Any, depth: int = DEPTH) -> Any:
    """A value in a form to compare later: its contents, if they can be edited; else itself, held weakly if possible."""
    kind: Any = type(x)
    if kind in IMMUTABLE:
        return kind, repr(x) if kind is float else x  # repr tells 0.0 from −0.0, and makes all NaNs equal
    if isinstance(x, np.ndarray):
        return kind, x.dtype.str, x.shape, x.tobytes()
    if isinstance(x, tuple | list | set | frozenset | dict):
        parts = x.items() if isinstance(x, dict) else x
        return kind, *(contents(part, depth - 1) for part in parts if depth), len(x)
    itself = Same(x) if kind.__weakrefoffset__ else x
    foreign = isinstance(x, Tensor | ModuleLike | FunctionType | ModuleType | type) or kind.__module__.startswith(
        "minigrad."
    )
    return itself if foreign or not depth or not hasattr(x, "__dict__") else (itself, contents(vars(x), depth - 1))


def is_counted(what: Any, attribute: str, value: Any) -> bool:
    """Whether what was noted changes only by assignment to a module, and never in place."""
    if isinstance(what, type):
        return what.__module__.startswith("minigrad.")
    return isinstance(what, ModuleLike) and (attribute in (*WALKS, "_hooks") or is_settled(value))


def is_settled(value: Any) -> bool:
    """Whether nothing in a value can be edited in place, except tensors: each run reads their elements."""
    match value:
        case (type() as kind, *parts):
            return kind in IMMUTABLE or (issubclass(kind, tuple) and all(map(is_settled, parts)))
    return not isinstance(value, tuple)


def states(x: Any) -> list[Any]:
    """The modules and tensors in a variable."""
    parts = x.values() if type(x) is dict else x if isinstance(x, list | tuple) else (x,)
    return [part for part in parts if isinstance(part, Tensor | ModuleLike)]


class Binding:
    """A variable of a function, and the modules and tensors in it when the function was traced.

    look    returns what the variable holds
    """

    def __init__(self, name: str, look: Callable[[], Any]):
        self.name, self.look = name, look
        self.ids, self.refs = [*map(id, states(look()))], [*map(ref, states(look()))]

    def holds(self) -> bool:
        """Whether they are in it still. No Python function is called for each: there may be thousands."""
        return [*map(id, states(self.look()))] == self.ids and not [of for of in self.refs if of() is None]


def bindings(f: Any) -> list[Binding]:
    """The variables of a function, and the attributes of its object, that hold modules or tensors."""
    owner, function = getattr(f, "__self__", None), inspect.unwrap(getattr(f, "__func__", f))
    places: list[tuple[str, Callable[[], Any]]] = []
    if inspect.isfunction(function):
        cells = zip(function.__code__.co_freevars, function.__closure__ or ())
        places += [(name, partial(getattr, cell, "cell_contents", None)) for name, cell in cells]
        places += [(name, partial(function.__globals__.get, name)) for name in function.__code__.co_names]
    if not isinstance(owner, ModuleLike):
        attributes = getattr(owner, "__dict__", {})
        places += [(f"self.{name}", partial(attributes.get, name)) for name in attributes]
    return [Binding(name, look) for name, look in places if states(look())]


def change(what: Any, attribute: str, before: Any, now: Any) -> str:
    """What was noted while tracing and is another now, in words.

    what    the object that has the attribute
    """
    if isinstance(what, ModuleLike | type):
        return change_of_module(what, attribute, before, now)
    match attribute:
        case "value":
            return f"the elements of {what.spec}, which Python read, have changed"
        case "grad":
            return "a leaf that had a .grad has none" if before else "a leaf that had no .grad has one"
        case "together":
            return "parameters that had made the same number of steps with an optimiser no longer have"
        case "options":
            changed = [(name, old, new) for (name, old), (_, new) in zip(before, now) if old != new]
            return ", ".join(f"{name} of an optimiser was {old} and is {new}" for name, old, new in changed)
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
        case (Same() as whole, _) | (Same() as whole):
            return f"a {whole.kind}"
    return "not there" if value is MISSING else f"a {type(value).__name__}"
