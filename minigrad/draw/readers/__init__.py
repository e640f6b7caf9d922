"""Graphs of other frameworks. Each reader turns one framework's objects into a `Listing`, which every view can show.

minigrad never imports a framework by itself: a reader is loaded for the first object of its framework, which is then
imported already. A reader has

    listing_of(x, args, names)    the listing of x; if args are given, of the function or module x called with them
    replay_of(y, args, names)     optional, for `ChainRule`: forward and backward over that graph
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from inspect import isfunction, ismethod, signature
from types import ModuleType
from typing import Any

from ...engine.base.pytree import leaves
from ..names import LONGEST_LIST, variables_of

READERS = {  # the package that defines a class → the reader for its objects
    "torch": "pytorch",
    "jax": "jax",
    "jaxlib": "jax",
    "tensorflow": "tensorflow",
    "keras": "tensorflow",
    "onnx": "onnx",
}


def reader_of(x: object, args: Sequence[Any] = ()) -> ModuleType | None:
    """The reader for x; for a function, the reader for the arguments it is called with; None for minigrad's own.

    If the arguments are numbers, the reader for what the function uses. A path that ends in .onnx and the text of an
    HLO module are read, too.
    """
    if isinstance(x, str) and x.lstrip().startswith(("HloModule", "module @")):
        return load_reader("hlo")
    if isinstance(x, str | os.PathLike) and os.fspath(x).lower().endswith(".onnx"):
        return load_reader("onnx")
    for things in ([x, *args], [y for _, y in held_by(x)]):
        packages = dict.fromkeys(package for each in leaves(things) for package in packages_of(each))
        if "minigrad" in packages:
            return None
        for name in packages:
            if name in READERS:
                return load_reader(READERS[name])
    return None


def packages_of(x: object) -> list[str]:
    """The packages that define the class of x; for a function or a module, the package that it is in."""
    if isinstance(x, ModuleType) or isfunction(x):
        modules = [x.__name__ if isinstance(x, ModuleType) else x.__globals__["__name__"]]  # JAX's for jax.grad(f)
    else:
        modules = [cls.__module__ for cls in type(x).__mro__]
    return [name.partition(".")[0] for name in modules]


def held_by(x: Any) -> list[tuple[Any, Any]]:
    """(name, object) of what a function, a method, a container or any other object holds; of a long list, nothing."""
    if isinstance(x, dict | list | tuple):
        return [*(x.items() if isinstance(x, dict) else enumerate(x))] if len(x) <= LONGEST_LIST else []
    if isinstance(x, partial):
        return [("func", x.func), *enumerate(x.args), *x.keywords.items()]
    if ismethod(x):
        return [*held_by(x.__func__), ("self", x.__self__)]
    if isfunction(x):
        defaults = x.__defaults__ or ()
        names = x.__code__.co_varnames[x.__code__.co_argcount - len(defaults) :]
        return [*variables_of(x).items(), *zip(names, defaults), *(x.__kwdefaults__ or {}).items()]
    return [*vars(x).items()] if hasattr(x, "__dict__") and not isinstance(x, type | ModuleType) else []


def refuse_missing_arguments(f: Callable[..., Any], args: Sequence[Any]) -> None:
    """Raise TypeError if there are no arguments although f needs some."""
    try:
        args or signature(getattr(f, "forward", f)).bind()
    except (TypeError, ValueError):
        what = f"{name_of(f)} has no graph until it is called"
        raise TypeError(f"{what}: draw(f, x), where x is an example input") from None


def arguments_of(f: object) -> list[Any]:
    """The arguments in a partial."""
    return [f.args, f.keywords] if isinstance(f, partial) else []


def name_of(f: Any) -> str:
    """The name of a function, or of the function in a partial; for any other object, the name of its type."""
    f = f.func if isinstance(f, partial) else f
    return str(getattr(f, "__name__", type(f).__name__))


def load_reader(name: str) -> ModuleType:
    return import_module(f".{name}", __name__)
