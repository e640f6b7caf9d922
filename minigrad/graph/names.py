"""The objects that a traced function reaches by names: tensors, modules, optimisers and functions.

A function is traced again if a name is bound to another such object; if a container or an object that leads to such an
object is replaced, or gains one; or if an attribute of a user's object gets another value. A number in a variable, or
in a list or dictionary outside of modules, is a constant of the trace.

A snapshot is taken after tracing. Each run first compares the ids of all values, in C, as there may be thousands. Only
if an id differs is a second snapshot taken and compared.
"""

from __future__ import annotations

import dis
import re
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from io import IOBase
from itertools import chain, pairwise, repeat
from numbers import Number
from operator import attrgetter, call, methodcaller
from types import CodeType, FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any
from weakref import ref

from ..engine.core.stateful import ModuleLike, Stateful
from ..engine.tensor.tensor import Tensor
from .autograph.scopes import from_library, is_foreign
from .signature import IMMUTABLE, IdentityRef, unwrap

WATCHED = (Tensor, Stateful, FunctionType)
MOST_PARTS = 1000  # a longer container is searched only if it holds an object of a WATCHED type
DEPTH = 64
PARTS = {MethodType: ("__func__", "__self__"), partial: ("func", "args", "keywords"), property: ("fget",)}
PARTS |= dict.fromkeys((staticmethod, classmethod), ("__func__",))
OF_FUNCTIONS = "__code__", "__defaults__", "__kwdefaults__"
CALLED_BY_LAYERS = frozenset({"forward"})  # the name that Module.__call__ reads, which is a library's code
UNCALLED = {"__init__", "__new__", "__post_init__", "__repr__", "__str__"}
NAMES_OF_CODE = frozenset({"__name__", "__qualname__", "__doc__", "__module__", "writeable"})
# REFLECTION: names with which code can read any attribute; TEXT: names that compare or print all fields of a record
REFLECTION = set("vars dir __dict__ __getattribute__ __getstate__ __reduce__ __reduce_ex__ dumps MATCH_CLASS".split())  # noqa: SIM905
REFLECTION |= set("copy deepcopy dataclasses replace asdict astuple getmembers attrgetter methodcaller".split())  # noqa: SIM905
TEXT = set("repr str format print hash FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC".split())  # noqa: SIM905
VARIABLES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"}
ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"}
PLACE = r"LOAD_(?:FAST|FAST_BORROW|GLOBAL|DEREF|NAME) (?:LOAD_ATTR |(?:LOAD_FAST|LOAD_CONST) BINARY_SUBSCR )*"
CONSTANT_NAME = re.compile(rf"{PLACE}LOAD_CONST (?P<default>(?:LOAD_CONST |{PLACE})?)")
Look = Callable[[], Iterable[Any]]


@lru_cache(4096)
def names_in(code: CodeType) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """The variables, the attributes read and the attributes assigned in a function and its inner functions.

    A variable x that is used only in `x.append(…)` is listed as "x.append". Among the attributes, "__dict__" stands for
    all attributes of every object, "__repr__" for all fields of a record, "is" for the identity of containers.
    """
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code) if step.opname != "PRECALL"]
    pairs = [*pairwise(steps)]
    found = [{n if then != "append" else f"{n}.append" for (op, n), (_, then) in pairs if op in VARIABLES}]
    found += [{n for op, n in steps if op in ops} for ops in (ATTRIBUTES, {"STORE_ATTR", "DELETE_ATTR"})]
    found[1] |= unnamed_reads(code, steps, *found[:2])
    found[0] |= found[1] if "globals" in found[0] else set()
    inner = [names_in(x) for x in code.co_consts if isinstance(x, CodeType)]
    return tuple(frozenset(own.union(*others)) for own, *others in zip(found, *inner))  # type: ignore[return-value]


def unnamed_reads(
    code: CodeType, steps: Sequence[tuple[str, Any]], variables: set[str], attributes: set[str]
) -> set[str]:
    """The attributes that code reads without spelling out their names, as names_in() lists them."""
    used = {op for op, _ in steps} | variables | attributes - {"copy", "replace"}  # also methods of dict and str
    after = {op for (before, _), (op, _) in pairwise(steps) if before not in ("LOAD_CONST", "LOAD_SMALL_INT")}
    calls = [steps[i:] for i, (_, n) in enumerate(steps) if n in ("getattr", "hasattr")]
    found = {"__dict__"} if not all(map(names_constant, calls)) or used & REFLECTION else set()
    found |= {"__repr__"} if after & {"COMPARE_OP", "CONTAINS_OP"} or used & TEXT else set()
    found |= {"is"} if "IS_OP" in after or "id" in variables else set()
    if not used & (REFLECTION | {"getattr", "hasattr", "globals"}):
        return found
    texts = chain(*(const if isinstance(const, tuple) else [const] for const in code.co_consts))
    return found | {x for x in texts if isinstance(x, str) and x.isidentifier()}


def names_constant(steps: Sequence[tuple[str, Any]]) -> bool:
    """Whether the code from getattr on is getattr(x.y[z], "name") or getattr(x.y[z], "name", default)."""
    steps = [(op, x) for op, x in steps[1:] if op != "PUSH_NULL"]
    end = next((i for i, (op, _) in enumerate(steps) if op.startswith("CALL")), 0)
    found = CONSTANT_NAME.fullmatch("".join(f"{op} " for op, _ in steps[:end]))
    return found is not None and steps[end][1] == 2 + bool(found["default"])


class NameSnapshot:
    """A snapshot of the values that the names in a function's code lead to.

    read, assigned    the attributes that the code of all functions reads, and those that it assigns
    found             (name, key) of each relevant value: snapshots are compared by this
    variables         the names of variables, and a C function that returns their values
    leads             id of a container or an object → whether it leads to a relevant value
    looks             C functions that together return all watched values
    ids               the ids of all values. A deleted object is appended, as a new object may get the same id
    """

    def __init__(
        self, f: Any, classes: Iterable[type | IdentityRef],
        read: frozenset[str] = CALLED_BY_LAYERS, assigned: frozenset[str] = frozenset(),
    ):  # fmt: skip
        self.f, self.classes, self.read, self.assigned = f, classes, read, assigned
        known = None
        while known != (self.read, self.assigned):  # a function that is found late may read more attributes
            known = self.read, self.assigned
            self.found: list[tuple[str, Any]] = []
            self.looks: list[Look] = []
            self.variables: list[tuple[list[str], Look]] = []
            self.modules: list[ref[ModuleLike]] = []
            self.moving: list[object] = []
            self.leads: dict[int, bool] = {}
            for x in (unwrap(f), *classes):
                self.open("", x() if type(x) is IdentityRef else x, 0)
        self.ids: list[Any] = []
        values = [*self.values()]
        self.kept = [ref(x, self.ids.append) if type(x).__weakrefoffset__ else x for x in values]
        self.ids += [*map(id, values), *self.moving]

    def values(self) -> Iterator[Any]:
        """All watched values, as they are now."""
        return chain.from_iterable(map(call, self.looks))

    def holds(self) -> bool:
        """Whether all names lead to the same values as before."""
        if [*map(id, self.values())] == self.ids:
            return True
        again = self.again()
        if is_same := again.found == self.found:
            self.__dict__ = again.__dict__
        return is_same

    def again(self) -> NameSnapshot:
        """A new snapshot."""
        return NameSnapshot(self.f, self.classes, self.read, self.assigned)

    def constants(self) -> Iterator[str]:
        """Texts about variables whose numbers and strings, alone or in a container, no run compares."""
        for n, x in chain.from_iterable(zip(names, look()) for names, look in self.variables):
            parts = x.values() if isinstance(x, dict) else x if isinstance(x, list | tuple | set) else (x,)
            if any(isinstance(part, Number | str) for part in parts):
                yield f"{n} = {x!r:.60}" if isinstance(x, Number | str) else f"what is in {n}"

    def changed_names(self) -> Iterator[str]:
        """The names whose values have changed."""
        now = self.again().found
        changed = {*self.found} ^ {*now}
        yield from dict.fromkeys(name for name, key in (*self.found, *now) if (name, key) in changed)

    def open(self, name: str, x: Any, depth: int) -> bool:
        """Search x for relevant values. Returns whether x is a relevant value, or leads to one."""
        self.modules += [ref(x)] if isinstance(x, ModuleLike) else []
        if type(x) in IMMUTABLE - {type} or isinstance(x, Tensor | Stateful | CodeType) or depth == DEPTH:
            return isinstance(x, Tensor | Stateful)
        if isinstance(x, Iterator) and not isinstance(x, IOBase) and is_library(type(x)):
            self.moving.append(object())  # its next value is another one
            self.found.append((name, self.moving[-1]))
        if isinstance(x, attrgetter | methodcaller):
            self.read |= {part for n in x.__reduce__()[1] if isinstance(n, str) for part in n.split(".")}
        if id(x) not in self.leads:
            self.leads[id(x)] = isinstance(x, FunctionType)
            for part, value, counts in self.parts(name, x):
                if (leads := self.open(part, value, depth + 1)) or counts:
                    self.found.append((part, key_of(value)))
                    self.leads[id(x)] |= leads or value is not None
        return self.leads[id(x)]

    def look_at(self, names: Sequence[str], look: Look, counts: bool = False) -> Iterator[tuple[str, Any, bool]]:
        """Let each run compare these values. Returns (name, value, counts) for each; if counts, it is relevant."""
        if names:
            self.looks.append(look)
        return zip(names, [*look()], repeat(counts))

    def parts(self, name: str, x: Any) -> Iterator[tuple[str, Any, bool]]:
        """Register each part of a value, so that each run compares it. Yields the same triples as look_at()."""
        if isinstance(x, list | tuple | set | frozenset | deque | dict):
            look: Look = x.values if isinstance(x, dict) else x.__iter__
            if len(x) <= MOST_PARTS or any(isinstance(part, WATCHED) for part in look()):
                keys: Iterable[Any] = [*x] if isinstance(x, dict) else range(len(x))
                yield from self.look_at([f"{name}[{key!r}]" for key in keys] or [name], look)
        if type(x) in PARTS:
            yield from (("self" if part == "__self__" else name, getattr(x, part), False) for part in PARTS[type(x)])
        elif isinstance(x, FunctionType):
            yield from self.parts_of_function(x)
        elif "__wrapped__" in getattr(x, "__dict__", ()) and not isinstance(x, type):
            yield name, x.__wrapped__, False
        elif not type(x).__module__.startswith("minigrad."):
            yield from self.parts_of_object(name, x)

    def reads_all_of(self, x: Any) -> bool:
        """Whether code reads attributes that it does not name, or compares or prints x, a record."""
        is_record = hasattr(x, "__dataclass_fields__") or type(x) is SimpleNamespace
        return "__dict__" in self.read or ("__repr__" in self.read and is_record)

    def names_to_watch(self, space: Mapping[str, Any], is_object: bool, is_ours: bool, whole: bool) -> set[str]:
        """The attributes that code may read of an object, a class or a module; of a user's class, implicit ones too."""
        names = {*self.read} | {n for n in [*space] if whole and n[:2] != "__"}  # another thread may add a name
        return names if is_object else {n for n in [*space] if n in names or (not is_ours and is_implicit(space, n))}

    def built_in_parts(self, x: Any) -> Iterator[tuple[str, Any, bool]]:
        """The name, the module and the docstring of a function or a class; whether an array is writeable."""
        names = sorted(self.read & NAMES_OF_CODE - {"writeable"}) if isinstance(x, FunctionType | type) else []
        names += ["flags.writeable"] if hasattr(getattr(x, "flags", None), "writeable") else []
        for name in names:
            yield from self.look_at([name], partial(map, attrgetter(name), [x]), True)

    def parts_of_function(self, f: FunctionType) -> Iterator[tuple[str, Any, bool]]:
        """The contents of a function's cells; for a user's function also its defaults and the globals it reads."""
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
        yield from self.built_in_parts(f)
        yield f.__name__, getattr(f, "__wrapped__", None), False
        if not is_foreign(f):
            read, attributes, assigned = names_in(f.__code__)
            self.read, self.assigned = self.read | attributes, self.assigned | assigned
            held = {n: getattr(cell, "cell_contents", None) for n, cell in cells.items()}
            for n in [n[:-7] for n in read if n.endswith(".append")]:
                read |= set() if type(held.get(n, f.__globals__.get(n))) in (list, deque) else {n}
            cells = {name: cell for name, cell in cells.items() if name in read}
            names = sorted(read & f.__globals__.keys() - cells.keys())
            yield from self.look_at(names, look := partial(map, f.__globals__.get, names))
            self.variables += [(names, look), ([*cells], partial(map, attrgetter("cell_contents"), cells.values()))]
            names = [f"{part} of {f.__name__}()" for part in OF_FUNCTIONS]
            yield from self.look_at(names, partial(attrgetter(*OF_FUNCTIONS), f), True)
            self.looks.append(vars(f).values)
            names = sorted(vars(f) if "__dict__" in self.read else vars(f).keys() & self.read)
            yield from self.look_at(names, partial(map, f.__dict__.get, names), True)
        look = partial(map, getattr, cells.values(), repeat("cell_contents"), repeat(None))
        yield from self.look_at([*cells], look)

    def parts_of_object(self, name: str, x: Any) -> Iterator[tuple[str, Any, bool]]:
        """The attributes of a user's object, class or module that some function reads."""
        bases = x.__mro__ if isinstance(x, type) else (x,)
        classes: tuple[Any, ...] = (*bases, *type.mro(type(x)))
        if type(x).__weakrefoffset__ and not isinstance(x, type | ModuleType):
            here = ref(x)
            classes_now = lambda: (type(here()), type(here()).__mro__)  # noqa: E731
            yield from self.look_at([f"the class of {name}", f"the bases of {name}"], classes_now, True)
        yield from self.built_in_parts(x)
        is_ours = isinstance(x, ModuleType) and x.__name__.partition(".")[0] == "minigrad"
        whole = not is_ours and self.reads_all_of(x)
        for holder in [x] if isinstance(x, ModuleType) else classes:
            is_object = not isinstance(holder, type | ModuleType)
            if hasattr(holder, "__dict__") and (is_object or is_ours or not is_library(holder)):
                space = vars(holder)
                names = self.names_to_watch(space, is_object, is_ours, whole)
                self.looks += [space.values] if whole or isinstance(holder, type) else []
                slots = [n for n in names if type(space.get(n)) is MemberDescriptorType]
                assigned = names & self.assigned
                for attributes, counts in ((names - assigned, True), (assigned, False), (slots, True)):
                    get = partial(getattr, x) if attributes is slots else space.get
                    look = partial(map, get, attributes := sorted(attributes), repeat(None))
                    yield from self.look_at([f"{name}.{n}" for n in attributes], look, counts)


def is_implicit(space: Mapping[str, Any], name: str) -> bool:
    """Whether a method is a user's special method, such as __call__ or __len__, which code calls without naming it."""
    if name[:2] != "__" or name in UNCALLED or not isinstance(found := space.get(name), FunctionType):
        return False
    return found.__code__.co_filename != "<string>"  # not one generated by a dataclass


def key_of(x: Any) -> Any:
    """The key by which snapshots compare a value: the repr of a number or string, the identity of any other object."""
    if type(x) is tuple:
        return tuple(map(key_of, x))
    if type(x) in IMMUTABLE or isinstance(x, Number):
        return repr(x)
    return IdentityRef(x) if type(x).__weakrefoffset__ else id(x)


def is_library(holder: Any) -> bool:
    """Whether a module, or the module of a class, belongs to a library rather than the user."""
    name = holder.__name__ if isinstance(holder, ModuleType) else holder.__module__
    file = getattr(sys.modules.get(name), "__file__", None)
    return name in sys.builtin_module_names or (file is not None and from_library(file))
