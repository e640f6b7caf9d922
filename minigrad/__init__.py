"""minigrad: a readable autograd engine, and a practical course on computation graphs.

    mg.Value                        the smallest engine: scalars, on one page
    mg.tensor, mg.Tensor            arrays that record how they were computed
    mg.exp, mg.cat, mg.where, …     operations as functions; x.exp() is the same as a method
    mg.no_grad, mg.autograd         a block that records no ops; gradients as values, and a check of gradients
    mg.func                         transforms of functions: grad, vjp, jvp, vmap
    mg.nn, mg.optim, mg.data        networks, optimisers, data
    mg.quantization                 networks in 8-bit integers
    mg.random, mg.device            random numbers from a key; the devices that hold arrays
    mg.compiler                     passes that optimise a graph, plan its memory and compile it
    mg.ops, mg.laws                 every op, and the laws it obeys
    mg.draw, mg.widgets             pictures of a graph, and widgets that step through it

`__init__.pyi` lists every name. A name is imported on first use: the scalar lessons run without NumPy, and
`import minigrad` is fast.
"""

import builtins
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

import lazy_loader

ADDRESSES = {  # name of a module, as notebooks import it from minigrad → the folder that contains the module
    **dict.fromkeys(("base", "core", "methods", "ops", "random", "tensor"), "engine"),
    **dict.fromkeys(("cuda", "fft", "func", "functions", "linalg", "special"), "api"),
    **dict.fromkeys(("backends", "compiler", "lax"), "graph"),
    **dict.fromkeys(("amp", "functional", "quantization", "zoo"), "nn"),
    **dict.fromkeys(("onnx", "saving", "serving"), "files"),
    **dict.fromkeys(("grading", "widgets"), "course"),
}


class Addresses:
    """Imports `minigrad.onnx` as `minigrad.files.onnx`, and likewise every other old address in ADDRESSES."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        floor = ADDRESSES.get(rest.partition(".")[0]) if package == __name__ else None
        return ModuleSpec(name, Addresses, origin=f"{__name__}.{floor}.{rest}") if floor else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        module = import_module(spec.origin or "")
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        module.__spec__ = module.__spec__.loader_state  # type: ignore[union-attr]


sys.meta_path.insert(0, Addresses)  # type: ignore[arg-type]

__version__ = "0.1.0"

_load, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in _names if not hasattr(builtins, name)]  # `import *` must not replace Python's sum and float
vars().setdefault("__lazy_shadowed__", set()).add("tensor")  # the module minigrad.tensor must not replace mg.tensor

if sys.platform == "emscripten":  # below _load, which keeps the module minigrad.draw from replacing mg.draw
    from .course.browser import set_up

    set_up()


def __getattr__(name: str) -> object:
    try:
        return _load(name)
    except AttributeError:
        if name not in ADDRESSES:
            raise
        return import_module(f"{__name__}.{name}")
