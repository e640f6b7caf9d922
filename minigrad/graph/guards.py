"""Guards: the state outside a trace that it depends on. Each run checks it; after a change, the function is retraced.

A trace depends on the dtype and shape of captured tensors; on the groups and options of an optimiser, and on which
parameters have made equally many steps with it; on whether a leaf had a .grad, and whether a parameter is trained; on
the code of functions, which a notebook's autoreload edits; on the objects that names lead to (names.py); and on what
Python read of modules, schedules and other minigrad objects: attributes, parts, hooks, options. Each call compares the
ids of the values in modules. Only values that can be edited in place (lists, arrays, user objects, attributes of
anything but a module) are compared by contents: see contents.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter, call
from types import MemberDescriptorType
from typing import Any
from weakref import ref

from ..engine.base.errors import GraphError
from ..engine.core.stateful import MISSING, ModuleLike, Stateful
from ..engine.random import Generator
from ..engine.tensor.tensor import Tensor
from .contents import CONTAINERS, contents, is_settled
from .names import NameSnapshot
from .signature import IMMUTABLE, IdentityRef, objects_in

GET, NODE, SPEC, TRACKED = map(attrgetter, ("get", "node", "spec", "tracked"))
Noted = Mapping[tuple[int, str], tuple[Any, Any]]
# methods that walk through a module: a trace notes what they return
REFUSED = dict.fromkeys(("sequence", "__dict__"), "the state or the seed of a random generator")
REFUSED["_version"] = "the count of edits"
TEMPORARY = "__getattribute__", "__slotnames__", "__annotations__"  # of a class: set by other traces, copies, readers
WALKS = "_modules", "_own_parameters", "_own_buffers", "_named_parts"


class Guards:
    """The state that a trace depends on, as it was during tracing.

    captured    name → the tensor that the graph reads from outside
    noted       (id, attribute) → (the object, the value that Python read)
    pulled      whether backward() was called, so that it matters which tensors require a gradient
    counted     the part of `noted` that changes only if an attribute of a minigrad object is set
    methods     for each of minigrad's classes of these objects, a C function that returns its methods
    objects     weak references to the minigrad objects that were read
    attributes  for each object, the names of the attributes that Python read; of a module, its count of changes too
    ids         ids of those values at the last comparison. A deleted value is appended, as its id may be reused
    others      weak references to uncaptured tensors whose dtype or shape Python may have read
    reached     the objects that the function's names led to
    """

    reached: NameSnapshot

    def __init__(self, captured: Mapping[str, Any], noted: Noted, pulled: bool):
        self.names, self.captured = list(captured), list(captured.values())
        self.pulled = pulled
        self.counted: list[tuple[Any, str, Any]] = []
        self.watched: list[tuple[Any, str, Any]] = []
        read: dict[int, tuple[Any, list[str]]] = {}
        for (_, attribute), (what, value) in noted.items():
            place = self.counted if is_counted(what, attribute, value) else self.watched
            place.append((ref(what), attribute, value))
            if isinstance(what, Stateful):
                names = read.setdefault(id(what), (what, ["_changes", "training"]))[1]
                names += [attribute] if attribute in vars(what) or not isinstance(what, ModuleLike) else []
        held = {*objects_in(tuple(noted.values()))}
        stateful = [what for what, _ in read.values()] + [x() for x in held if isinstance(x(), Stateful)]
        self.classes = self.watch_methods({*map(type, stateful)})
        self.objects = [ref(what) for what, _ in read.values()]
        self.attributes = [names for _, names in read.values()]
        self.ids: list[Any] = []
        tensors = {x for x in held if isinstance(x(), Tensor)}
        self.others = [*tensors - {IdentityRef(x) for x in self.captured if isinstance(x, Tensor)}]
        self.specs, self.learned = self.specs_now(), self.learned_now()

    def watch_methods(self, classes: set[Any]) -> set[Any]:
        """Watch the methods of minigrad's classes among these, their bases and `counted`. Returns the other classes."""
        classes |= {x() for x, *_ in self.counted if isinstance(x(), type)}
        ours = {base for kind in classes for base in kind.__mro__ if base.__module__.startswith("minigrad.")}
        self.counted += [(ref(kind), "methods", observe(kind, "methods")) for kind in ours]
        self.methods = [vars(kind).values for kind in ours]
        return classes - ours

    def watch_unnoted_reads(self, read: frozenset[str], modules: Sequence[ref[ModuleLike]]) -> None:
        """Watch what code may read without a notification: `p is q` of lists, object.__getattribute__(module, name)."""
        noted = [(of, f"is {name}", of()) for of, name, _ in self.watched] if "is" in read else []
        noted += [(x, "__dict__", x()) for x in modules] if "__getattribute__" in read else []
        self.watched += [(of, name, observe(x, name)) for of, name, x in noted if isinstance(x, Stateful)]

    def holds(self) -> bool:
        """Whether everything that the trace depends on is unchanged."""
        if self.specs_now() != self.specs:
            return False
        if self.pulled and self.learned_now() != self.learned:
            return False
        if not self.reached.holds() or not holds(self.watched):
            return False
        values = self.values()
        if [*map(id, values)] != self.ids:
            if not holds(self.counted):
                return False
            self.ids = []
            self.kept = [ref(x, self.ids.append) if type(x).__weakrefoffset__ else x for x in values]
            self.ids += map(id, values)
        return True

    def specs_now(self) -> list[Any]:
        specs = [*map(SPEC, self.captured)]
        return specs + [getattr(x(), "spec", None) for x in self.others] if self.others else specs

    def learned_now(self) -> list[Any]:
        hooks = map(getattr, map(NODE, self.captured), repeat("hooks"), repeat(None))
        return [*zip(map(TRACKED, self.captured), hooks)]

    def values(self) -> list[Any]:
        """The attributes that were read, the class of each object, and whether it has hooks. All of it runs in C."""
        if not self.objects:
            return []
        objects = [*map(call, self.objects)]
        try:
            spaces = [*map(vars, objects)]
        except TypeError:  # an object was deleted
            alive = [(of, names) for of, names in zip(self.objects, self.attributes) if of() is not None]
            self.objects, self.attributes = [of for of, _ in alive], [names for _, names in alive]
            return self.values()
        read = chain.from_iterable(map(map, map(GET, spaces), self.attributes, repeat(repeat(MISSING))))
        hooked = map(bool, map(dict.get, spaces, repeat("_hooks")))
        return [*read, *chain.from_iterable(map(call, self.methods)), *map(type, objects), *hooked]

    def describe_changes(self) -> Iterator[str]:
        """Describe each change, in words."""
        for name, x, spec, (learned, hooks) in zip(self.names, self.captured, self.specs, self.learned):
            if x.spec != spec:
                yield f"{name} was {spec} and is {x.spec}"
            if self.pulled and getattr(x.node, "hooks", None) != hooks:
                yield f"{name} has its first hook"
            if self.pulled and x.tracked != learned:
                yield f"{name} {'required a gradient, and no longer does' if learned else 'now requires a gradient'}"
        if self.specs_now()[len(self.captured) :] != self.specs[len(self.captured) :]:
            yield "a tensor of a module has another dtype or shape"
        yield from (f"{name} has another value" for name in self.reached.changed_names())
        for of, attribute, value in (*self.counted, *self.watched):
            if not holds([(of, attribute, value)]):
                yield change(of(), attribute, value, observe(of(), attribute))


def holds(noted: Sequence[tuple[Callable[[], Any], str, Any]]) -> bool:
    """Whether everything noted is unchanged. An object that was deleted counts as unchanged."""
    for of, attribute, value in noted:  # noqa: SIM110  # a loop calls nothing for each
        if (what := of()) is not None and observe(what, attribute) != value:
            return False
    return True


def observe(what: Any, attribute: str) -> Any:
    """The value that Python would read from this attribute now; for .grad, whether it is set."""
    if isinstance(what, ModuleLike) and attribute in WALKS:
        return contents(tuple(getattr(what, attribute)()))
    if attribute == "methods":  # special methods too, which code calls without naming them
        methods = [x for name, x in vars(what).copy().items() if name not in TEMPORARY]
        return [*map(id, methods)], methods
    if issubclass(type(what), type):
        spaces = [space for space in map(vars, what.__mro__) if attribute in space]
        return contents(spaces[0][attribute] if spaces else MISSING)
    if attribute in REFUSED and isinstance(what, Tensor | Generator):
        raise GraphError(
            f"a traced function uses {REFUSED[attribute]}. Python does that once, while it traces, and no run "
            "repeats it: do it outside the function. To draw numbers, take a key: mg.random.normal(key, (3,))"
        )
    if attribute == "groups()":
        return what.groups()
    if attribute == "__class__":
        return type, type(what)
    if attribute == "__dict__":  # while tracing, it contains the converted `forward`
        return contents({name: x for name, x in vars(what).items() if name not in ("forward", "_changes")})
    if attribute[:3] == "is ":
        parts = [vars(what).get(attribute[3:])]
        for part in parts:  # grows
            inner = part.values() if isinstance(part, dict) else part if type(part) in CONTAINERS else ()
            parts += [x for x in inner if type(x) in CONTAINERS]
        return [*map(id, parts)], parts
    if isinstance(what, Stateful):
        value = object.__getattribute__(what, "__dict__").get(attribute, MISSING)
        value = getattr(what, attribute, MISSING) if value is MISSING and is_slot(what, attribute) else value
        return MISSING if value is MISSING else contents(value)
    if attribute == "hooks":
        return contents((*what.node.hooks.arriving.values(), None, *what.node.hooks.after.values()))
    if attribute == "()":
        return what()
    if attribute in ("value", "contents"):
        return contents(what.numpy() if attribute == "value" else what)
    if attribute == "memory":  # of a tensor: x.data = y replaces it
        return IdentityRef(what.value)
    found = getattr(what, attribute, None)
    return found is not None if attribute == "grad" else found


def is_slot(what: Any, attribute: str) -> bool:
    """Whether an attribute of an object is kept in a slot, and not in its dictionary."""
    return isinstance(getattr(type(what), attribute, None), MemberDescriptorType)


def is_counted(what: Any, attribute: str, value: Any) -> bool:
    """Whether a noted value changes only by assignment to an attribute, never in place."""
    if isinstance(what, type):
        is_kept = getattr(what, attribute, MISSING) is getattr(what, attribute, MISSING)  # unlike a class method
        return is_kept and what.__module__.startswith("minigrad.")
    if isinstance(what, ModuleLike) and (attribute in WALKS or (attribute == "_hooks" and not what._hooks)):
        return True
    if not isinstance(what, Stateful) or attribute == "groups()" or not is_settled(value):
        return False
    return attribute in vars(what) or not is_slot(what, attribute)


def change(what: Any, attribute: str, before: Any, now: Any) -> str:
    """Describe how an attribute of `what` has changed since the trace."""
    if attribute[:3] == "is ":
        return f"{attribute[3:]} of a {type(what).__name__}, whose identity may matter, is another object"
    if isinstance(what, Stateful | type) and attribute != "groups()":
        return change_of_module(what, attribute, before, now)
    match attribute:
        case "value":
            return f"the elements of {what.spec}, which Python read, have changed"
        case "grad":
            return "a leaf that had a .grad has none" if before else "a leaf that had no .grad has one"
        case "hooks":
            return f"the hooks of {what.spec} have changed"
        case "contents":
            return f"a {type(what).__name__} among the arguments has changed"
        case "memory" | "retains_grad" | "is_leaf":
            return f"{attribute} of {what.spec} has changed"
        case "requires_grad":
            return f"a tensor {'no longer requires a gradient' if before else 'now requires a gradient'}"
        case "together":
            return "parameters that had made the same number of steps with an optimiser no longer have"
        case "()":
            return f"{what.__name__}() was {before} and is {now}"
        case "groups()":
            changed = {name: (old, new) for (name, old), (_, new) in zip(before, now) if old != new}
            if len(before) != len(now) or "params" in changed:
                return "an optimiser has other parameters"
            return ", ".join(f"{name} of an optimiser was {old} and is {new}" for name, (old, new) in changed.items())
    return f"{what.__qualname__}() has other code"


def change_of_module(module: Any, attribute: str, before: Any, now: Any) -> str:
    """Describe how an attribute of a module or of its class has changed, or the result of a walk through the module."""
    if attribute in WALKS:
        old, new = ({name: part for _, (_, name), part, _ in value[1:-1]} for value in (before, now))
        names = [name for name in {**old, **new} if old.get(name, MISSING) != new.get(name, MISSING)]
        pairs = [(name, old.get(name, MISSING), new.get(name, MISSING)) for name in names]
        changes = ", ".join(change_of_module(module, *pair) for pair in pairs)
        return changes or f"the order of the parts of {module!r} has changed"
    whose = module.__name__ if isinstance(module, type) else f"a {type(module).__name__}"
    was, is_now = describe(before), describe(now)
    return f"{attribute} of {whose} was {was} and is {'another' if was == is_now else is_now}"


def describe(value: Any) -> str:
    """A noted value in words, for a message."""
    match value:
        case (type() as kind, *parts):
            return f"a {kind.__name__}" if kind not in IMMUTABLE else parts[0] if kind is float else repr(parts[0])
        case (IdentityRef() as whole, *_) | (IdentityRef() as whole):
            return f"a {whole.kind}"
    return "not there" if value is MISSING else f"a {type(value).__name__}"
