"""What a traced function reaches by names: tensors, modules, optimisers and functions, in variables and in objects.

A function is traced again if a name is bound to another of these objects, if a container or an object that leads to
one is replaced, or if an attribute of a user's object holds another number or text. A number in a variable, or in a
list or dictionary outside of modules, is a constant of the trace.

The places are found once, after tracing, in the code that was called. There may be thousands, so each run reads them
without a call of a Python function for each.
"""

from __future__ import annotations

import dis
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import chain, repeat
from operator import call, is_not
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import ref

from ..tensor.tensor import Tensor
from ..tracing.module import Stateful
from .autograph.scopes import from_library, is_foreign
from .signature import IMMUTABLE, Same

WATCHED = (Tensor, Stateful, FunctionType)
MOST_PARTS = 1000  # a longer container is looked into only if it holds a watched object when the function is traced
DEPTH = 64
PARTS = {MethodType: ("__func__", "__self__"), partial: ("func", "args", "keywords"), property: ("fget",)}
OF_FUNCTIONS = "__code__", "__defaults__", "__kwdefaults__"
GLOBALS, ATTRIBUTES = {"LOAD_GLOBAL", "LOAD_NAME"}, {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"}
Look = Callable[[], Iterable[Any]]


@lru_cache(4096)
def names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The global variables that a function and the functions in it read, the attributes they read, and assign."""
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    found = [{n for op, n in steps if op in ops} for ops in (GLOBALS, ATTRIBUTES, {"STORE_ATTR", "DELETE_ATTR"})]
    found[1] |= {x for x in code.co_consts if isinstance(x, str) and x.isidentifier() and "getattr" in found[0]}
    inner = [names_in(x) for x in code.co_consts if isinstance(x, CodeType)]
    return tuple(frozenset(own.union(*others)) for own, *others in zip(found, *inner))  # type: ignore[return-value]


class Place(NamedTuple):
    """Variables, attributes or parts, read together.

    names       one for each value; of a container, whose length may change, one for each value that there was
    look        returns the values, in C
    numbers     whether numbers and texts count, as they do in attributes of users' objects
    """

    names: list[str]
    look: Look
    numbers: bool = False
    is_container: bool = False


class Names:
    """The places that the names in a function's code lead to, and what was there when it was traced.

    places      where to look
    leads       id of a container or an object → whether it leads to a watched object, or to a number that counts
    leading     the ids of those that do
    read        the attributes that the code of the functions reads; assigned: those that it assigns
    before      what was at each place when the function was traced, as far as it counts
    latest      ids of all values when they were last compared; weak references to them; those that allow none
    """

    def __init__(self, f: Any, classes: Iterable[type]):
        self.read: frozenset[str] = frozenset()
        self.assigned: frozenset[str] = frozenset()
        known = None
        while known != (self.read, self.assigned):  # it is known which attributes count, once all functions are
            known = self.read, self.assigned
            self.places: list[Place] = []
            self.leads: dict[int, bool] = {}
            for x in (f, *classes):
                self.open("", x, 0)
        self.leading = {key for key, leads in self.leads.items() if leads}
        self.looks = [place.look for place in self.places]
        values = self.values()
        self.before, self.latest = self.summary(values), remember(values)

    def holds(self) -> bool:
        """Whether each place holds what it held. Most calls find the very same objects, and compare no more."""
        ids, refs, _ = self.latest
        now = [*map(id, chain.from_iterable(map(call, self.looks)))]
        if now == ids and all(map(is_not, map(call, refs), repeat(None))):  # an object that is gone leaves its id
            return True
        values = self.values()
        if is_same := self.summary(values) == self.before:
            self.latest = remember(values)
        return is_same

    def values(self) -> list[list[Any]]:
        """What is at each place now."""
        return [[*look()] for look in self.looks]

    def summary(self, values: list[list[Any]]) -> list[list[Any]]:
        """What counts of these values: an object that is watched or leading, a number or a text, or else None."""
        found = []
        for place, xs in zip(self.places, values):
            keys = [repr(x) if place.numbers and type(x) in IMMUTABLE else self.key(x) for x in xs]
            found.append([*filter(None, keys)] if place.is_container else keys)
        return found

    def key(self, x: Any) -> Any:
        if isinstance(x, WATCHED) or id(x) in self.leading:
            return Same(x) if type(x).__weakrefoffset__ else id(x)
        return None

    def broken(self) -> Iterator[str]:
        """The names of the places that hold something else."""
        for place, was, now in zip(self.places, self.before, self.summary(self.values())):
            exact = len(place.names) == len(was) == len(now)
            changed = [name for name, x, y in zip(place.names, was, now) if x != y]
            yield from changed if exact else place.names[:1] * (was != now)

    # -- the walk -------------------------------------------------------------------------------------------

    def open(self, name: str, x: Any, depth: int) -> bool:
        """Find the places in a value. Returns whether the value counts, or leads to something that does."""
        if type(x) in IMMUTABLE or isinstance(x, Tensor | Stateful | CodeType) or depth == DEPTH:
            return isinstance(x, Tensor | Stateful)
        if id(x) not in self.leads:
            self.leads[id(x)] = isinstance(x, FunctionType)
            found = [self.open(*part, depth + 1) for part in self.parts(name, x)]
            self.leads[id(x)] |= any(found)
        return self.leads[id(x)]

    def note(self, names: Iterable[str], look: Look, **kind: bool) -> Iterator[tuple[str, Any]]:
        """Note a place, if it has names. Returns (name, value) for all that is there."""
        place = Place([*names], look, **kind)
        if place.names:
            self.places.append(place)
        return zip(place.names, look())

    def parts(self, name: str, x: Any) -> Iterator[tuple[str, Any]]:
        """(name, value) of each part of a value."""
        if isinstance(x, list | tuple | set | frozenset | deque | dict):
            look: Look = x.values if isinstance(x, dict) else x.__iter__
            if len(x) <= MOST_PARTS or any(isinstance(part, WATCHED) for part in look()):
                keys: Iterable[Any] = x if isinstance(x, dict) else range(len(x))
                yield from self.note([f"{name}[{key!r}]" for key in keys] or [name], look, is_container=True)
        elif type(x) in PARTS:
            yield from (("self" if part == "__self__" else name, getattr(x, part)) for part in PARTS[type(x)])
        elif isinstance(x, FunctionType):
            yield from self.parts_of_function(x)
        elif hasattr(x, "__wrapped__") and not isinstance(x, type):
            yield name, x.__wrapped__
        elif not type(x).__module__.startswith("minigrad."):
            yield from self.parts_of_object(name, x)

    def parts_of_function(self, f: FunctionType) -> Iterator[tuple[str, Any]]:
        """What a function's cells hold; and, of a user's function, its defaults and the global variables it reads."""
        cells = f.__closure__ or ()
        look = partial(map, getattr, cells, repeat("cell_contents"), repeat(None))
        yield from self.note(f.__code__.co_freevars, look)
        yield f.__name__, getattr(f, "__wrapped__", None)
        if not is_foreign(f):
            read, attributes, assigned = names_in(f.__code__)
            self.read, self.assigned = self.read | attributes, self.assigned | assigned
            names = [*read & f.__globals__.keys()]
            yield from self.note(names, partial(map, f.__globals__.get, names))
            names = [f"{part} of {f.__name__}()" for part in OF_FUNCTIONS]
            yield from self.note(names, partial(map, getattr, repeat(f), OF_FUNCTIONS))
            self.leads |= {id(getattr(f, part)): True for part in OF_FUNCTIONS}

    def parts_of_object(self, name: str, x: Any) -> Iterator[tuple[str, Any]]:
        """What is in the attributes, of a user's object, class or module, that some function reads."""
        holders = [x] if isinstance(x, ModuleType) else x.__mro__ if isinstance(x, type) else [x, *type(x).__mro__]
        for holder in holders:
            is_object = not isinstance(holder, type | ModuleType)
            if hasattr(holder, "__dict__") and (is_object or not is_library(holder)):
                space = vars(holder)
                names = self.read if is_object else self.read & space.keys()
                slots = [n for n in names if type(space.get(n)) is MemberDescriptorType]
                assigned = names & self.assigned
                for attributes, numbers in ((names - assigned, True), (assigned, False), (slots, True)):
                    get = partial(getattr, x) if attributes is slots else space.get
                    look = partial(map, get, [*attributes], repeat(None))
                    yield from self.note([f"{name}.{n}" for n in attributes], look, numbers=numbers)
                    self.leads[id(x)] |= numbers and any(v is not None and type(v) in IMMUTABLE for v in look())


def remember(values: list[list[Any]]) -> tuple[list[int], list[ref[Any]], list[Any]]:
    """The ids of the values, and what makes sure that no other object has one of these ids."""
    flat = [*chain(*values)]
    refs = [ref(x) for x in flat if type(x).__weakrefoffset__]
    return [*map(id, flat)], refs, [x for x in flat if not type(x).__weakrefoffset__]


def is_library(holder: Any) -> bool:
    """Whether a module, or the module of a class, is not the user's."""
    name = holder.__name__ if isinstance(holder, ModuleType) else holder.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    return name in sys.builtin_module_names or (file is not None and from_library(file))
