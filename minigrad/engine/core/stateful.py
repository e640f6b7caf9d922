"""The interface of a module as graphs see it: its parameters, and whether it has changed. This file does not import nn.

While a function is traced, the builder is notified of each attribute of a module that Python reads.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from .modes import current


class Stateful:
    """A minigrad object whose attributes a traced function may read; the trace records these reads."""

    unnoted: ClassVar[frozenset[str]] = frozenset()  # a graph reads these attributes at each run


class ModuleLike(Stateful):
    """A callable with parameters, such as an nn.Module, in the form that a traced function uses.

    forward             the function that a call runs, and that AutoGraph converts
    modules             the module itself and all its submodules
    named_parameters    prefix → (name, tensor) of its parameters
    named_buffers       prefix → (name, tensor) of its other state
    _changes            how often an attribute or a submodule was set or removed
    """

    _changes = 0
    _hooks: Any
    forward: Callable[..., Any]
    modules: Callable[[], Iterator[Any]]
    named_parameters: Callable[..., Iterator[tuple[str, Any]]]
    named_buffers: Callable[..., Iterator[tuple[str, Any]]]


MISSING = type("Missing", (), {"__slots__": ()})()  # the value of an attribute that is not set
PYTHON = {*dir(object), "__weakref__", "__module__"}  # attributes of every object
BOOKS = "_parameters", "_buffers"  # read by walks through a module; the results of the walks are recorded instead


def note_change(module: Any, name: str, before: Any) -> None:
    """Count a change of an attribute of a module, and notify the builder if a graph is being built."""
    vars(module)["_changes"] = vars(module).get("_changes", 0) + 1
    builder = current.mode.builder
    if builder is not None and not builder.is_own(module):
        builder.note_assignment(module, name, before)


def read_attribute(module: Any, name: str) -> Any:
    """Return the attribute, and notify the builder: this is Stateful.__getattribute__ during a trace."""
    builder = current.mode.builder
    skipped = name in PYTHON or name in BOOKS
    if name == "__dict__" or name in type(module).unnoted:  # minigrad itself reads it often
        skipped = sys._getframe(1).f_globals.get("__name__", "").startswith("minigrad.")
    if not (builder is None or skipped or id(module) in builder.born):
        builder.note_read(module, name)
        if name not in object.__getattribute__(module, "__dict__"):
            builder.note_read(type(module), name)
            builder.note_read(module, "__class__")
    return object.__getattribute__(module, name)


class noticing_reads:
    """A block in which builders are notified of reads of modules. Outside of such blocks, reads stay fast."""

    lock, blocks = threading.Lock(), 0

    def __enter__(self) -> None:
        with self.lock:
            noticing_reads.blocks += 1
            Stateful.__getattribute__ = read_attribute  # type: ignore[method-assign]

    def __exit__(self, *raised: object) -> None:
        with self.lock:
            noticing_reads.blocks -= 1
            if not noticing_reads.blocks:
                del Stateful.__getattribute__
