"""Graphs of other frameworks. Each reader turns one framework's objects into a `Listing`, which every view can show.

minigrad never imports a framework by itself: a reader is loaded for the first object of its framework, which is then
imported already. A reader has

    listing_of(x, args, names)    the listing of x; if args are given, of the function or module x called with them
    replay_of(y, args, names)     optional, for `ChainRule`: forward and backward over that graph
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from ...engine.base.pytree import leaves

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

    A path that ends in .onnx and the text of an HLO module are read, too.
    """
    if isinstance(x, str) and x.lstrip().startswith("HloModule"):
        return load_reader("hlo")
    if isinstance(x, str | os.PathLike) and os.fspath(x).endswith(".onnx"):
        return load_reader("onnx")
    for each in leaves([x, *args]):
        for cls in type(each).__mro__:
            name = READERS.get(cls.__module__.partition(".")[0])
            if name is not None:
                return load_reader(name)
    return None


def load_reader(name: str) -> ModuleType:
    return import_module(f".{name}", __name__)
