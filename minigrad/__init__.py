"""minigrad: an autograd engine to read, and a course on computation graphs to do.

    mg.Value                        the seed: scalars, on one page
    mg.tensor, mg.Tensor            arrays that remember where they came from
    mg.exp, mg.cat, mg.where, …     what is done with them, as functions; x.exp() as methods
    mg.no_grad, mg.autograd         what is recorded; gradients as values, and their referee
    mg.func                         functions to their derivatives
    mg.nn, mg.optim, mg.data        networks, trained
    mg.quantization                 networks in small integers
    mg.random, mg.device            numbers that are a function of a key; where arrays live
    mg.compiler                     what a graph becomes: better, planned, compiled
    mg.ops, mg.laws                 every op, and what it obeys
    mg.draw, mg.widgets             a graph to look at, and to step through

The table of contents, name by name, is `__init__.pyi`. A name is loaded when it is first used, so that
the scalar lessons run where NumPy does not, and `import minigrad` takes no time.
"""

import builtins
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from typing import Any

import lazy_loader

ADDRESSES = {  # rooms by their names in `mg`, and of before there were floors: where each is now
    **dict.fromkeys(("base", "core", "methods", "ops", "random", "tensor"), "engine"),
    **dict.fromkeys(("cuda", "fft", "func", "functions", "linalg", "special"), "api"),
    **dict.fromkeys(("backends", "compiler", "lax"), "graph"),
    **dict.fromkeys(("amp", "functional", "quantization", "zoo"), "nn"),
    **dict.fromkeys(("onnx", "saving", "serving"), "files"),
    **dict.fromkeys(("grading", "widgets"), "course"),
}


class Addresses:
    """Imports `minigrad.onnx` as what it is, `minigrad.files.onnx`, and so each address that notebooks have used."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        floor = ADDRESSES.get(rest.partition(".")[0]) if package == __name__ else None
        return ModuleSpec(name, Addresses, origin=f"{__name__}.{floor}.{rest}") if floor else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> Any:
        module = import_module(spec.origin or "")
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: Any) -> None:
        module.__spec__ = module.__spec__.loader_state


sys.meta_path.insert(0, Addresses)  # type: ignore[arg-type]

if sys.platform == "emscripten":
    from .course.browser import set_up

    set_up()

__version__ = "0.1.0"

_load, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in _names if not hasattr(builtins, name)]  # `import *` leaves Python's own sum and float alone
vars().setdefault("__lazy_shadowed__", set()).add("tensor")  # a function: no import of minigrad.tensor replaces it


def __getattr__(name: str) -> Any:
    try:
        return _load(name)
    except AttributeError:
        if name not in ADDRESSES:
            raise
        return import_module(f"{__name__}.{name}")
