"""Side effects of a traced block on Python objects. The block is traced once, however often the graph will run it.

The variables that the block assigns are its state, and so are the local lists and dictionaries that it changes: a loop
carries them from turn to turn. A change of any other object, such as a global list, or a counter incremented by a
function that the block calls, would happen only once, so it is refused. An attribute or a global variable in the state
is correct within the graph, but holds a symbol after the trace, so the user gets a warning.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial, reduce
from io import IOBase
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple
from weakref import ref

from ...engine.base.errors import ConversionError
from ...engine.base.pytree import leaves
from ...engine.core.modes import current
from ...engine.core.node import place
from ...engine.core.stateful import ModuleLike
from ...tracing.builder import Tracer
from ..contents import contents, position
from ..effects import Probe
from ..names import is_library
from .scopes import is_foreign
from .state import Retrace, describe, is_part, symbolic

NOTHING = object()


class Location(NamedTuple):
    """A variable, or an attribute, that a block can reach.

    path      its path in the source
    holder    the cell or the dictionary that contains it; `by` is the function that names it
    """

    path: str
    holder: Any
    by: FunctionType

    @property
    def key(self) -> str:
        return self.path.rpartition(".")[2]

    def now(self) -> Any:
        """The current value, or NOTHING."""
        if isinstance(self.holder, dict):
            return self.holder.get(self.path.rpartition(".")[2], NOTHING)
        try:
            return self.holder.cell_contents
        except ValueError:  # the variable has no value yet
            return NOTHING


def reachable_locations(block: FunctionType) -> list[Location]:
    """The variables and attributes named in the block, and in the user's functions that it can call by these names."""
    found: list[Location] = []
    todo: list[tuple[FunctionType, Any]] = [(block, NOTHING)]
    seen: set[tuple[int, int]] = set()
    for function, owner in todo:  # `todo` grows during the loop
        if is_foreign(function) or (id(function), id(owner)) in seen:
            continue
        seen.add((id(function), id(owner)))
        names = code_names(function.__code__)
        places = [Location(name, function.__globals__, function) for name in names]
        places += [Location(n, c, function) for n, c in zip(function.__code__.co_freevars, function.__closure__ or ())]
        for name, x in [*[(its.path, its.now()) for its in places], ("self", owner)]:
            fields = getattr(x, "__dict__", None)
            if isinstance(fields, dict) and not (isinstance(x, ModuleType) and is_library(x)):
                places += [Location(f"{name}.{attribute}", fields, function) for attribute in names]
        values = {id(x): x for x in (owner, *map(Location.now, places)) if x is not NOTHING}
        todo += [its for x in values.values() for its in functions_of(x, names)]
        found += places
    return found


def functions_of(x: Any, names: Sequence[str]) -> Iterator[tuple[FunctionType, Any]]:
    """(function, owner) for each function that may run if x, or a method of x with one of these names, is called."""
    x = getattr(x, "__dict__", {}).get("__wrapped__", x)  # mg.function keeps the Python function there
    if isinstance(x, MethodType):
        x, owner = x.__func__, x.__self__
    else:
        owner = NOTHING
    if isinstance(x, FunctionType):
        yield x, owner
        return
    methods: dict[str, Any] = {}
    for kind in reversed(type(x).__mro__):  # getattr() would run the __get__ of a user's descriptor
        methods |= vars(kind)
    for name in (*names, "__call__", "forward"):
        if isinstance(its := methods.get(name), FunctionType):
            yield its, x


@cache
def code_names(code: CodeType) -> tuple[str, ...]:
    """The globals and attributes named in the code and in its inner functions."""
    inner = (code_names(its) for its in code.co_consts if isinstance(its, CodeType))
    return tuple(dict.fromkeys((*code.co_names, *(name for names in inner for name in names))))


class ContainerChange(Retrace):
    """Raised when a block changes a local list or dictionary, which then becomes part of its state."""

    def __init__(self, path: str, container: Any):
        self.path, self.container = path, container


class TrackedContainers:
    """The lists and dictionaries in a block's state, each with a copy of its contents before the block."""

    def __init__(self) -> None:
        self.all: list[tuple[Any, Any]] = []

    def add(self, container: Any) -> None:
        self.all.append((container, container.copy()))

    def __contains__(self, x: Any) -> bool:
        return any(x is container for container, _ in self.all)

    def values(self) -> list[Any]:
        """A copy of the current contents of each."""
        return [container.copy() for container, _ in self.all]

    def write(self, values: Sequence[Any]) -> None:
        for (container, _), value in zip(self.all, values):
            refill(container, value)

    def reset(self) -> None:
        self.write([before for _, before in self.all])


def refill(container: Any, values: Any) -> None:
    """Replace the contents of a list, dictionary or set."""
    container.clear()
    container.extend(values) if isinstance(container, list) else container.update(values)


class Before:
    """A snapshot of everything that a block can reach, taken before the block is traced.

    places        the variables and attributes that it can reach, with their values
    containers    the lists, dictionaries and sets among the values, with copies
    values        (path, value) of all other values, and of the copies, which hold the same items
    """

    def __init__(self, block: Any, kind: str, at: str, get: Callable[[], Any], set_: Any):
        self.kind, self.at, self.get, self.set_, self.state = kind, at, get, set_, get()
        found = reachable_locations(getattr(block, "func", block))
        places = {(id(its.holder), its.key): (its, its.now()) for its in found}
        self.places = places.values()
        self.containers = [(its, x, x.copy()) for its, x in self.places if isinstance(x, list | dict | set)]
        self.values = [(its.path, x) for its, x in self.places if not isinstance(x, list | dict | set)]
        self.values += [(its.path, copy) for its, _, copy in self.containers]
        self.values += [(path, x) for path, held in self.values for x in leaves(held) if x is not held and moves(x)]
        self.contents = self.look()

    def look(self) -> list[Any]:
        """The contents of all values, except the containers, which are compared separately."""
        seen = {id(x): (i, x) for i, (_, x, _) in enumerate(self.containers)}
        return [position(x) if moves(x) else contents(x, seen) for _, x in self.values]

    def refuse_unknown_positions(self) -> None:
        """Raises ConversionError if the block names an iterator whose movement cannot be detected."""
        for (path, x), its in zip(self.values, self.contents):
            if moves(x) and is_unknown(its):
                raise ConversionError(
                    f"{self.at}: {self.kind} over tensors names `{path}`, {describe(x)} and an iterator whose position "
                    "Python cannot report: it would advance once, while the graph is built, and in no run. Take the "
                    "value before, v = next(it), or keep the values in a list: xs = list(it)"
                )

    def refuse_changed_contents(self) -> None:
        """Raises ConversionError if an object, or a part of a container, was edited in place."""
        state = self.get()
        self.set_(self.state)  # an attribute that is part of the state may change
        for (path, _), x, y in zip(self.values, self.contents, self.look()):
            if x != y and without_iterators(x) != without_iterators(y):
                raise ConversionError(
                    f"{self.at}: something in `{path}` changes in {self.kind} over tensors, which is written down once "
                    "and run as the graph decides. Keep it in a variable, in an attribute that is assigned right "
                    "there, or in a list or dictionary that is local to the function and part of no other object"
                )
        self.set_(state)

    def refuse_changed_containers(self, followed: TrackedContainers | None) -> None:
        """Raises Retrace if a changed list or dictionary can become part of the state, else ConversionError."""
        for its, now, before in self.containers:
            if not (followed and now in followed) and is_changed(now, before):
                outer = {id(place.holder) for place in reachable_locations(opened.function)}  # these outlive the trace
                is_local = isinstance(its.holder, CellType) and id(its.holder) not in outer
                if followed is not None and is_local and not isinstance(now, set):
                    raise ContainerChange(its.path, now)
                raise ConversionError(
                    f"{self.at}: `{its.path}` is a Python {type(now).__name__}, and "
                    f"{'grows' if len(now) > len(before) else 'changes'} in {self.kind} over tensors, which is written "
                    "down once and run as the graph decides. Keep what it collects in a tensor, as mg.lax.scan does, "
                    "or in a list of the function itself, or let Python decide: a loop over range(5) is unrolled"
                )

    def refuse_other_assignments(self) -> None:
        """Raises ConversionError if a variable or an attribute outside the state was assigned."""
        cells = set(map(id, self.set_.__closure__ or ()))
        for its, before in self.places:
            if id(its.holder) in cells or (isinstance(its.holder, dict) and its.key in self.set_.__code__.co_names):
                continue
            now = its.now()
            if now is not before and (is_part(before) or any(map(symbolic, leaves(now)))):
                raise ConversionError(
                    f"{self.at}: `{its.path}` is assigned by {its.by.__qualname__}(), or what it calls, in {self.kind} "
                    "over tensors; that is written down once and run as the graph decides, and only its own "
                    "assignments are tracked. Let the function return the new value, and assign it there: "
                    f"{its.path.removeprefix('self.')} = …"
                )

    def restore(self) -> None:
        """Restore each changed container. The others are not touched, as another thread may read them."""
        for _, now, before in self.containers:
            if len(now) != len(before) or is_changed(now, before):
                refill(now, before)


@contextmanager
def refuse_changes(
    block: Any, kind: str, at: str, get: Callable[[], Any], set_: Any, followed: TrackedContainers | None
) -> Iterator[None]:
    """Wrap the tracing of a block. Raises ConversionError if the block changes an object outside its state, or Retrace
    if the object is a local list or dictionary, which can become part of the state.

    get, set_    the functions that read and write the state of the block
    followed     the lists and dictionaries in the state; None if it cannot have any
    """
    before = Before(block, kind, at, get, set_)
    before.refuse_unknown_positions()
    try:
        yield
        before.refuse_other_assignments()
        before.refuse_changed_contents()
        before.refuse_changed_containers(followed)
    except Exception as error:
        if isinstance(error, Retrace):
            before.refuse_changed_contents()
        before.restore()
        raise


def moves(x: Any) -> bool:
    """Whether x is an iterator, but not a file that is closed or write-only."""
    return isinstance(x, Iterator) and not (isinstance(x, IOBase) and (x.closed or not x.readable()))


def is_unknown(its: Any) -> bool:
    """Whether a position, or the contents of a value, depend on an iterator whose position cannot be read."""
    return type(its) is object or (isinstance(its, list | tuple) and any(map(is_unknown, its)))


def without_iterators(its: Any) -> Any:
    """Contents with None in place of each iterator of unknown position, as these never compare equal."""
    return tuple(map(without_iterators, its)) if type(its) is tuple else None if type(its) is object else its


def is_changed(now: Any, before: Any) -> bool:
    """Whether a list, dictionary or set has other items than before. Probes in a dictionary are ignored."""
    if isinstance(now, dict):
        now, before = ({k: x for k, x in its.items() if not isinstance(x, Probe)} for its in (now, before))
    if isinstance(now, set) or len(now) != len(before):
        return bool(now != before)
    pairs = zip(*(x.items() if isinstance(x, dict) else enumerate(x) for x in (now, before)))
    return any(k != j or x is not y for (k, x), (j, y) in pairs)


# -- variables that still hold a symbol after the trace ------------------------------------------------


class Leftover(NamedTuple):
    """An attribute or a global variable that a branch or a loop of the graph has assigned.

    of      returns its owner, or None if the owner was deleted
    path    its path in the source
    kind    the kind of statement
    at      the line of the statement
    """

    of: Callable[[], Any]
    path: str
    kind: str
    at: Any

    def value(self) -> Any:
        owner, key = self.of(), self.path.rpartition(".")[2]
        return owner.get(key) if isinstance(owner, dict) else getattr(owner, key, None)


class Assignments(threading.local):
    """The assignments in the outermost converted function that runs in this thread; None while none runs.

    function    the Python function that is traced
    """

    found: dict[tuple[int, str], Leftover] | None = None
    function: Any = None


opened = Assignments()


@contextmanager
def warn_of_leaks(function: Any) -> Iterator[None]:
    """A block that runs a converted function. At the end of the outermost block, warn of leaked symbols."""
    if opened.found is not None:
        yield
        return
    opened.function, opened.found = getattr(function, "__func__", function), {}
    try:
        yield
        found = [*opened.found.values()]
    finally:
        opened.found = opened.function = None
    if current.mode.builder is None or not current.mode.builder.chained:
        return  # the graph of a session is still there, and its symbols may be used
    for its in found:
        is_state = isinstance(its.of(), ModuleLike)  # each run assigns the attribute
        symbols = [x for x in leaves(its.value()) if isinstance(x, Tracer) and not is_state]
        if symbols and its.at is not None:
            text = (
                f"`{its.path}` is assigned in the {its.kind} over tensors here, and holds {symbols[0]} when the trace "
                "is over: a symbol, which has a value only while the graph runs. Return what it counts, and assign it "
                "outside the traced function; or let it be a tensor, and edit it in place: x.add_(1)"
            )
            warnings.warn_explicit(text, UserWarning, its.at.file, its.at.line)


def note_assignments(names: Sequence[str], set_: Any, kind: str, at: Any = None) -> None:
    """Note the attributes and globals that a branch or a loop has assigned."""
    if opened.found is None:
        return
    cells = dict(zip(set_.__code__.co_freevars, set_.__closure__ or ()))
    for path in names:
        root, *way, _ = (*path.split("."), "")
        owner: Any = cells[root].cell_contents if root in cells else set_.__globals__.get(root)
        owner = reduce(lambda x, name: getattr(x, name, None), way[:-1], owner) if way else set_.__globals__
        if way or (root not in cells and root in set_.__code__.co_names):
            of = ref(owner) if type(owner).__weakrefoffset__ else partial(lambda its: its, owner)
            opened.found[id(owner), path] = Leftover(of, path, kind, at or place())
