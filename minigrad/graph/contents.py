"""Take a snapshot of everything in a value that can be edited in place, to detect later changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from gc import get_referents
from inspect import getgeneratorlocals
from io import IOBase
from itertools import chain
from logging import Logger
from marshal import dumps
from types import BuiltinMethodType, CodeType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any
from warnings import catch_warnings
from weakref import ReferenceType

import numpy as np

from ..engine.base.pytree import leaves
from ..engine.core.stateful import Stateful
from ..engine.tensor.tensor import Tensor
from .autograph.scopes import is_foreign
from .names import DEPTH, is_library
from .signature import FLOATS, IMMUTABLE, IdentityRef

PLAIN = IMMUTABLE - {type, type(Ellipsis)}
CONTAINERS = frozenset({list, tuple, dict, set, frozenset})
CONSTANT = IMMUTABLE | {CodeType}
WHOLE = Tensor, Stateful, Logger, IOBase


def is_plain(x: Any, seen: Mapping[int, Any]) -> bool:
    """Whether a container holds only numbers, strings and more such containers, none of which is in `seen`. For speed,
    it calls no Python function per element.
    """
    parts = [x]
    for _ in range(DEPTH):
        kinds = {*map(type, parts)}
        if not kinds <= PLAIN | CONTAINERS or not seen.keys().isdisjoint(map(id, parts)):
            return False
        if kinds <= PLAIN:
            return True
        inner = [[*p, *p.values()] if type(p) is dict else p for p in parts if type(p) in CONTAINERS]
        parts = [*chain.from_iterable(inner)]
    return False


def contents(x: Any, seen: dict[int, tuple[int, Any]] | None = None) -> Any:
    """The contents of a value as nested tuples, if they can be edited in place; else a (weak) reference to the value.

    seen    id → (number, object) of the objects visited so far
    """
    kind: Any = type(x)
    if kind in CONSTANT and (kind is not type or is_library(x)):
        return kind, repr(x) if kind in FLOATS else x
    itself = IdentityRef(x) if kind.__weakrefoffset__ else x
    if isinstance(x, WHOLE) or (kind is FunctionType and x.__closure__ is None and is_foreign(x)):
        return itself
    is_container = isinstance(x, tuple | list | set | frozenset | deque | dict)
    if kind.__module__.startswith("minigrad.") and not is_container:
        return itself
    if (kind is np.ndarray or isinstance(x, np.generic)) and not x.dtype.hasobject:
        return kind, x.dtype.str, x.dtype.names, x.shape, x.flags.writeable, x.tobytes()
    if isinstance(x, Iterator):  # reading its next value consumes it, so an iterator never compares equal
        return object()
    seen = {} if seen is None else seen
    if kind in CONTAINERS and kind is not tuple and is_plain(x, seen):  # is_settled needs the parts of a tuple
        return kind, dumps(x, 2)
    if id(x) in seen:
        return kind, seen[id(x)][0]
    seen[id(x)] = len(seen), x
    parts = [*x, *(x.values() if isinstance(x, dict) else ())] if is_container else []
    own = [] if kind in CONTAINERS else state_of(x)
    found = [contents(part, seen) for part in (*parts, *own)]
    if is_container or kind is MethodType:
        return kind, *found, len(parts)
    return (itself, *found) if found else itself


def position(x: Iterator[Any]) -> list[Any] | object:
    """The position of an iterator, found without advancing it; if that is impossible, an object equal to no other."""
    with suppress(Exception), catch_warnings(action="ignore"):  # in Python 3.14 no iterator of itertools can be copied
        if isinstance(x, GeneratorType):
            parts: list[Any] = [x.gi_frame and x.gi_frame.f_lasti, x.gi_yieldfrom, *getgeneratorlocals(x).values()]
        elif isinstance(x, IOBase):
            parts = [x.tell()]
        else:
            reduced: Any = x.__reduce_ex__(2)  # (function, arguments, state, …); the state includes the slots
            parts = [*reduced[1], *reduced[2:]]
        if not any(map(hides_its_state, leaves(parts))):
            return [position(part) if isinstance(part, Iterator) else contents(part) for part in leaves(parts)]
    return object()


def hides_its_state(f: Any) -> bool:
    """Whether f is a method written in C, bound to an object, such as file.readline or the scanner of re.finditer()."""
    return isinstance(f, BuiltinMethodType) and not isinstance(f.__self__, ModuleType | type | None)


def state_of(x: Any) -> list[Any]:
    """The class of an object and its attributes and slots; for a function, its code, defaults and cells."""
    kind: Any = type(x)
    match x:
        case FunctionType():
            cells = [getattr(cell, "cell_contents", None) for cell in x.__closure__ or ()]
            options = [*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).items(), *vars(x).items()]
            options += [x.__name__, x.__qualname__, x.__module__, x.__doc__]
            return cells if is_foreign(x) else [x.__code__, *cells, *options]
        case type() if is_library(x) or "_make" in vars(x):  # a namedtuple has no state
            return []
        case type():
            special = {n: v.__code__ for n, v in vars(x).items() if n[:2] == "__" and isinstance(v, FunctionType)}
            own = {n: v for n, v in vars(x).items() if n[:2] != "__"} | special
            return [[*own], *own.values(), *x.__bases__, x.__name__, x.__doc__, kind]
        case ModuleType():
            return [] if is_library(x) else [v for n, v in vars(x).items() if n[:2] != "__"]
        case MethodType():
            return [x.__func__, x.__self__]
        case memoryview():
            return [x.tobytes()]
        case ContextVar():
            return [x.get(None)]
        case ReferenceType():
            return [x()]
    state = [kind]
    with suppress(Exception):  # a user's object may raise
        state += [getattr(x, name, None) for name in ("__dict__", "default_factory", "maxlen") if hasattr(kind, name)]
        whole = object.__getstate__(x)
        state += whole[1:] if type(whole) is tuple else ()  # the slots
    is_default = kind.__reduce_ex__ is object.__reduce_ex__ and kind.__reduce__ is object.__reduce__
    if not (isinstance(x, list | set | dict | deque) or (is_default and not is_library(kind))):
        try:
            state.append(x.__reduce_ex__(2)[1:])
        except Exception:  # an object of a type written in C, such as a property
            state += get_referents(x)
    return state


def is_settled(value: Any) -> bool:
    """Whether nothing in these contents() can be edited in place, except tensors: each run reads their elements."""
    match value:
        case (type() as kind, *parts):
            return kind in CONSTANT or (issubclass(kind, tuple | MethodType) and all(map(is_settled, parts)))
        case tuple() | object() if type(value) is tuple or type(value) is object:
            return False
    return True
