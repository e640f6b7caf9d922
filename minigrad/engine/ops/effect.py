"""Ops with several results, with control dependencies or with side effects.

An op usually has one result. If it has several, as a loop or a branch has, the result is a tuple, its spec is
a Specs, and `TupleGet(i)` selects a single result. The gradients of the results are collected in a `Cotangents`.

An op with an effect prints, stores a value for inspection, or calls a user's function. `Read` and `Assign` refer to a
variable by name, and exist only in the graph that the user builds: since a graph that runs is a function, a read
becomes an input of it, and an assignment a result (graph/pruning.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar
from weakref import ref

import numpy as np

from ..base.dimension import fits
from ..base.errors import DTypeError, ShapeError
from ..base.spec import Spec, Specs
from ..core.op import Op


class Cotangents:
    """The gradients of the results of an op, one for each result; None for a result without a gradient.

    Two Cotangents add entry by entry, so that backpropagation treats a Cotangents like any other gradient.
    """

    def __init__(self, gys: tuple[Any, ...]):
        self.gys = gys

    def __add__(self, other: Cotangents) -> Cotangents:
        pairs = zip(self.gys, other.gys, strict=True)
        return Cotangents(tuple(b if a is None else a if b is None else a + b for a, b in pairs))


class TupleGet(Op):
    """y = xs[i], one of several results of an op"""

    i: int

    inline = True
    is_view = True

    def infer(self, xs): return xs[self.i]
    def forward(self, xp, xs): return xs[self.i]
    def flops(self, y, xs): return 0

    def gradients(self, gy, y, xs):
        return (Cotangents(tuple(gy if i == self.i else None for i in range(len(xs.spec)))),)


class StopGradient(Op):
    """y = x, with no gradient to x. A second operand, x before an unrecorded edit, if given, gets the gradient"""

    inline = True
    is_view = True

    def infer(self, x, *before): return x
    def forward(self, xp, x, *before): return x
    def vjp(self, gy, y, x, *before): return (None, *(gy for _ in before))
    def jvp(self, dxs, y, x, *before): return dxs[1] if before else dxs[0] * 0
    def flops(self, y, *xs): return 0


class ControlDep(Op):
    """y = x, once each of the other operands has been computed: a control dependency"""

    is_view = True

    def infer(self, x, *waits): return x
    def forward(self, xp, x, *waits): return x
    def vjp(self, gy, y, x, *waits): return (gy, *(None for _ in waits))
    def jvp(self, dxs, y, x, *waits): return dxs[0]
    def flops(self, y, *xs): return 0


class Barrier(ControlDep):
    """A ControlDep that no pass replaces by x, so an op on y is computed again instead of shared with the op on x"""


class Effect(Op):
    """An op with a side effect.

    repeats    whether the effect happens again when a failed run is repeated to find the op that failed
    """

    effect = True
    repeats: ClassVar[bool] = True

    def flops(self, y, *xs): return 0


class PassThroughEffect(Effect):
    """An effect that returns its first operand unchanged."""

    repeats = False

    def infer(self, *xs): return xs[0] if xs else Specs(())
    def vjp(self, gy, y, x, *others): return (gy, *(None for _ in others))
    def jvp(self, dxs, y, *xs): return dxs[0]


class Print(PassThroughEffect):
    """y = x, and prints a line.

    words    the words to print: text, or None for the value of the next operand
    """

    words: tuple[str | None, ...]
    sep: str = " "
    end: str = "\n"
    file: Any = None

    def forward(self, xp, *xs):
        values = iter(xs)
        said = [str(next(values)) if word is None else word for word in self.words]
        print(*said, sep=self.sep, end=self.end, file=self.file)
        return xs[0] if xs else ()


class Keep(PassThroughEffect):
    """y = x, and stores a copy of x in a probe.

    probe    a weak reference to the probe; the copy is appended to its `values`
    """

    probe: ref[Any]

    def forward(self, xp, x, *waits):
        probe = self.probe()
        if probe is not None:
            probe.values.append(x.copy() if x.shape else x[()])
        return x


class PyFunc(Effect):
    """y = f(x₁, x₂, …), a Python function of NumPy arrays. No gradient passes through it.

    specs    the declared specs of its results
    """

    f: Callable[..., Any]
    specs: tuple[Spec, ...]
    several: bool = field(default=False)

    def infer(self, *xs): return Specs(self.specs) if self.several else self.specs[0]
    def vjp(self, gy, y, *xs): return tuple(None for _ in xs)

    def forward(self, xp, *xs):
        ys = self.f(*xs)
        if not self.several:
            return self.check(ys, self.specs[0])
        if not isinstance(ys, tuple | list) or len(ys) != len(self.specs):
            raise ShapeError(f"{self} promised {len(self.specs)} results, and gave {ys!r}")
        return tuple(self.check(y, spec) for y, spec in zip(ys, self.specs))

    def check(self, y, spec):
        """A result y of f, as an array of the declared dtype. Raises ShapeError or DTypeError if y does not fit."""
        array = np.asarray(getattr(y, "value", y))
        if not fits(array.shape, spec.shape):
            raise ShapeError(f"{self} promised {spec}, and gave an array of shape {array.shape}")
        if not np.can_cast(array.dtype, spec.dtype, "same_kind"):
            raise DTypeError(f"{self} promised {spec}, and gave {array.dtype}")
        return array.astype(spec.dtype)

    def __str__(self): return f"py_func({getattr(self.f, '__name__', self.f)})"


class Read(Op):
    """y = the variable's value once the operands have been computed; without operands, at the start of the run"""

    variable: str
    spec: Spec

    def infer(self, *waits): return self.spec
    def vjp(self, gy, y, *waits): return tuple(None for _ in waits)
    def flops(self, y, *waits): return 0


class Assign(Op):
    """variable ← x; y = x"""

    variable: str

    symbol = "←"

    def infer(self, x, *waits): return x
    def vjp(self, gy, y, x, *waits): return (None, *(None for _ in waits))
    def flops(self, y, *xs): return 0


class AssignAdd(Assign):
    """variable ← variable + x, with the variable's value at that moment; y = the sum"""

    symbol = "+←"


class AssignSub(Assign):
    """variable ← variable − x, with the variable's value at that moment; y = the difference"""

    symbol = "−←"


class Group(Op):
    """Computes all its operands, and has no result"""

    def infer(self, *xs): return Specs(())
    def flops(self, y, *xs): return 0
