"""What a block does behind the back of its state, through the functions that it calls.

A block is run once, to be written down, however often the graph will run it. `nonlocal n`, `global n` or `self.n = …`
in a function that the block calls is then done once as well; in the block itself they are part of its state.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from functools import cache
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from .scopes import is_foreign

NOTHING = object()
STORES = {"STORE_DEREF", "STORE_GLOBAL", "STORE_ATTR"}


class Binding(NamedTuple):
    """A variable or attribute that a function may assign, and what it was.

    name    what it is called
    by      the function
    now     reads it
    """

    name: str
    by: str
    now: Callable[[], Any]
    before: Any


def bindings(block: FunctionType, objects: Callable[[Any], Iterator[Any]], state: Any) -> Iterator[Binding]:
    """What the functions that a block calls may assign, but for what is the block's state.

    objects    function → what its code names
    state      the function that writes the block's state
    """
    cells, kept = set(map(id, state.__closure__ or ())), stored(state.__code__)
    seen: set[tuple[int, int]] = set()
    todo: list[tuple[FunctionType, Any]] = [(block, NOTHING)]
    while todo:
        function, owner = todo.pop()
        if (id(function), id(owner)) in seen:
            continue
        seen.add((id(function), id(owner)))
        for kind, name in stored(function.__code__) - {(k, n) for k, n in kept if k != "STORE_DEREF"}:
            for now in readers(function, owner, kind, name, cells):
                yield Binding(f"self.{name}" if kind == "STORE_ATTR" else name, function.__qualname__, now, now())
        todo += [its for x in objects(function) for its in called(x, function.__code__)]


def readers(function: FunctionType, owner: Any, kind: str, name: str, state: set[int]) -> Iterator[Callable[[], Any]]:
    """How to read what a function stores under a name."""
    if kind == "STORE_GLOBAL":
        yield lambda: function.__globals__.get(name, NOTHING)
    elif kind == "STORE_ATTR" and owner is not NOTHING:
        yield lambda: getattr(owner, "__dict__", {}).get(name, NOTHING)
    elif kind == "STORE_DEREF" and name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        if id(cell) not in state:
            yield lambda: content(cell)


def content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the variable has no value yet
        return NOTHING


def called(x: Any, code: CodeType) -> Iterator[tuple[FunctionType, Any]]:
    """The user's functions among x and the methods of x that the code names; with whose they are."""
    if isinstance(x, MethodType):
        x, owner = x.__func__, x.__self__
    else:
        owner = NOTHING
    if isinstance(x, FunctionType):
        if not is_foreign(x):
            yield x, owner
        return
    for name in (*mentioned(code), "__call__", "forward"):
        its = next((vars(c)[name] for c in type(x).__mro__ if name in vars(c)), None)
        if isinstance(its, FunctionType) and not is_foreign(its):
            yield its, x


@cache
def stored(code: CodeType) -> frozenset[tuple[str, str]]:
    """(operation, name) of all that the code, and the functions in it, store outside themselves."""
    own = ((its.opname, str(its.argval)) for its in dis.get_instructions(code) if its.opname in STORES)
    return frozenset(own).union(*(stored(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


@cache
def mentioned(code: CodeType) -> tuple[str, ...]:
    """Globals and attributes that the code, and the functions in it, name."""
    inner = (mentioned(its) for its in code.co_consts if isinstance(its, CodeType))
    return tuple(dict.fromkeys((*code.co_names, *(name for names in inner for name in names))))
