"""What a traced function reaches by names: tensors, modules, optimisers and functions, in variables and in objects.

A name that is bound to another such object is a reason to trace again. So is another container or object on the way to
one, and another number or text in an attribute of a user's object. A number in a variable, or in a list or dictionary
outside of modules, is a constant of the trace.

The places are found once, after tracing, in the code that was called. Each run looks at them without a call of a Python
function for each: there may be thousands.
"""

from __future__ import annotations

import dis
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import repeat
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType
from typing import Any
from weakref import ref

from ..tensor.tensor import Tensor
from ..tracing.module import Stateful
from .autograph.scopes import from_library, is_foreign
from .signature import BY_VALUE

WATCHED = (Tensor, Stateful, FunctionType)
PLAIN = BY_VALUE | {float}
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


class Names:
    """The places that the names in a function's code lead to, and what was there when it was traced.

    places      (names, look): variables, and parts of functions; look gives the values, in the order of the names
    fields      the same of attributes of users' objects, in which numbers count
    insides     the same of containers, which may grow: look gives all that is there
    way         ids of the containers and objects that lead to what is watched
    read        the attributes that the code of the functions reads; assigned: those that it assigns
    """

    def __init__(self, f: Any, classes: Iterable[type]):
        self.read: frozenset[str] = frozenset()
        self.assigned: frozenset[str] = frozenset()
        known = None
        while known != (self.read, self.assigned):  # it is known which attributes count, once all functions are
            known = self.read, self.assigned
            self.places: list[tuple[list[str], Look]] = []
            self.fields: list[tuple[list[str], Look]] = []
            self.insides: list[tuple[list[str], Look]] = []
            self.opened: dict[int, bool] = {}
            for x in (f, *classes):
                self.open("", x, 0)
        self.way = {key for key, leads in self.opened.items() if leads}
        self.before = self.now()
        looks = [look for _, look in (*self.places, *self.fields, *self.insides)]
        self.refs = [ref(x) for look in looks for x in look() if isinstance(x, WATCHED)]

    def now(self) -> list[list[Any]]:
        """What is at each place: the id of a watched object, a field's number or text, or 0."""
        way = self.way
        return [
            *[[id(x) if isinstance(x, WATCHED) or id(x) in way else 0 for x in look()] for _, look in self.places],
            *[
                [
                    repr(x) if type(x) in PLAIN else id(x) if isinstance(x, WATCHED) or id(x) in way else 0
                    for x in look()
                ]
                for _, look in self.fields
            ],
            *[[id(x) for x in look() if isinstance(x, WATCHED) or id(x) in way] for _, look in self.insides],
        ]

    def holds(self) -> bool:
        """Whether each place holds what it held."""
        return self.now() == self.before and not [of for of in self.refs if of() is None]

    def broken(self) -> Iterator[str]:
        """The names of the places that hold something else."""
        for (names, _), was, now in zip((*self.places, *self.fields, *self.insides), self.before, self.now()):
            exact = len(names) == len(was) == len(now)
            yield from (name for name, x, y in zip(names, was, now) if x != y) if exact else names[:1] * (was != now)

    # -- the walk -------------------------------------------------------------------------------------------

    def open(self, name: str, x: Any, depth: int) -> bool:
        """Find the places in a value. Returns whether the value is, or leads to, something that is watched."""
        if type(x) in PLAIN or isinstance(x, Tensor | Stateful | CodeType) or depth == DEPTH:
            return isinstance(x, Tensor | Stateful)
        if id(x) not in self.opened:
            self.opened[id(x)] = isinstance(x, FunctionType)
            leads = [self.open(*part, depth + 1) for part in self.parts(name, x)]
            self.opened[id(x)] |= any(leads)
        return self.opened[id(x)]

    def found(self, place: list[Any], names: Iterable[str], look: Look) -> Iterator[tuple[str, Any]]:
        """Note a place, unless it has no name and never will. Returns (name, value) for all that is there."""
        names = [*names]
        if names:
            place.append((names, look))
        return zip(names, look())

    def parts(self, name: str, x: Any) -> Iterator[tuple[str, Any]]:
        """(name, value) of each part of a value."""
        if isinstance(x, list | tuple | set | frozenset | deque | dict):
            look: Look = x.values if isinstance(x, dict) else x.__iter__
            if len(x) <= MOST_PARTS or any(isinstance(part, WATCHED) for part in look()):
                keys: Iterable[Any] = x if isinstance(x, dict) else range(len(x))
                yield from self.found(self.insides, [f"{name}[{key!r}]" for key in keys] or [name], look)
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
        yield from self.found(self.places, f.__code__.co_freevars, look)
        yield f.__name__, getattr(f, "__wrapped__", None)
        if not is_foreign(f):
            read, attributes, assigned = names_in(f.__code__)
            self.read, self.assigned = self.read | attributes, self.assigned | assigned
            names = [*read & f.__globals__.keys()]
            yield from self.found(self.places, names, partial(map, f.__globals__.get, names))
            names = [f"{part} of {f.__name__}()" for part in OF_FUNCTIONS]
            yield from self.found(self.places, names, partial(map, getattr, repeat(f), OF_FUNCTIONS))
            self.opened |= {id(getattr(f, part)): True for part in OF_FUNCTIONS}

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
                for place, attributes in ((self.fields, names - assigned), (self.places, assigned)):
                    paths = [f"{name}.{n}" for n in attributes]
                    yield from self.found(place, paths, partial(map, space.get, [*attributes]))
                if slots:
                    yield from self.found(self.fields, slots, partial(map, getattr, repeat(x), slots, repeat(None)))


def is_library(holder: Any) -> bool:
    """Whether a module, or the module of a class, is not the user's."""
    name = holder.__name__ if isinstance(holder, ModuleType) else holder.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    return name in sys.builtin_module_names or (file is not None and from_library(file))
