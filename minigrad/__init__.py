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

import lazy_loader

if sys.platform == "emscripten":
    from .course.browser import set_up

    set_up()

__version__ = "0.1.0"

__getattr__, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
__all__ = [name for name in _names if not hasattr(builtins, name)]  # `import *` leaves Python's own sum and float alone
