"""Several results, an order, and effects: what a graph needs besides arithmetic.

An op has one result. Where it truly has several (both ends of a loop, what a branch returns), the result is a
tuple, its spec is a Specs, and `TupleGet(i)` picks one. The gradients of the pieces come together in a `Cotangents`.

An op with an effect prints, keeps a value to be looked at, or calls what the user wrote. Reads and assignments of a
variable, which they name, only stand in the graph that a user builds: a run replaces a read by an input, an assignment
by a result (graph/pruning.py), for a graph is a function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar
from weakref import ref

import numpy as np

from ..base.dimension import fits
from ..base.errors import DTypeError, ShapeError
from ..base.spec import Spec, Specs
from ..core.op import Op


class Cotangents:
    """The gradients of an op's results, one each; None where none arrived.

    Two rows add piece by piece, so that backpropagation treats a row as it treats any other gradient.
    """

    def __init__(self, gys: tuple[Any, ...]):
        self.gys = gys

    def __add__(self, other: Cotangents) -> Cotangents:
        pairs = zip(self.gys, other.gys, strict=True)
        return Cotangents(tuple(b if a is None else a if b is None else a + b for a, b in pairs))


@dataclass(frozen=True)
class TupleGet(Op):
    """y = xs[i], one of several results"""

    i: int

    inline = True
    is_view = True

    def infer(self, xs): return xs[self.i]
    def forward(self, xp, xs): return xs[self.i]
    def flops(self, y, xs): return 0

    def gradients(self, gy, y, xs):
        return (Cotangents(tuple(gy if i == self.i else None for i in range(len(xs.spec)))),)


@dataclass(frozen=True)
class StopGradient(Op):
    """y = x, and no gradient passes; or it passes to what x was before an edit that nobody recorded"""

    inline = True
    is_view = True

    def infer(self, x, *before): return x
    def forward(self, xp, x, *before): return x
    def vjp(self, gy, y, x, *before): return (None, *(gy for _ in before))
    def jvp(self, dxs, y, x, *before): return dxs[1] if before else dxs[0] * 0
    def flops(self, y, *xs): return 0


@dataclass(frozen=True)
class ControlDep(Op):
    """y = x, once each of the others has been computed: an edge that only says "before" """

    is_view = True

    def infer(self, x, *waits): return x
    def forward(self, xp, x, *waits): return x
    def vjp(self, gy, y, x, *waits): return (gy, *(None for _ in waits))
    def jvp(self, dxs, y, x, *waits): return dxs[0]
    def flops(self, y, *xs): return 0


class Barrier(ControlDep):
    """y = x, once each of the others has been computed; and no pass takes y for x: what is made of y is made again"""


class Effect(Op):
    """What does more than give a result.

    repeats    whether it happens again when a run that failed is run again, to find where
    """

    effect = True
    repeats: ClassVar[bool] = True

    def flops(self, y, *xs): return 0


class Shown(Effect):
    """An effect that gives on its first operand as it is."""

    repeats = False

    def infer(self, *xs): return xs[0] if xs else Specs(())
    def vjp(self, gy, y, x, *others): return (gy, *(None for _ in others))
    def jvp(self, dxs, y, *xs): return dxs[0]


@dataclass(frozen=True)
class Print(Shown):
    """y = x, and a line is printed.

    words    what is printed: text, and None where an operand's value comes
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


@dataclass(frozen=True)
class Keep(Shown):
    """y = x, of which a copy is kept.

    probe    keeps it in its `values`, as long as somebody holds the probe
    """

    probe: ref[Any]

    def forward(self, xp, x, *waits):
        probe = self.probe()
        if probe is not None:
            probe.values.append(x.copy() if x.shape else x[()])
        return x


@dataclass(frozen=True)
class PyFunc(Effect):
    """y = f(x₁, x₂, …), a Python function of NumPy arrays. No gradient passes: nobody sees into it.

    specs    what it promises to give; one, or several
    """

    f: Callable[..., Any]
    specs: tuple[Spec, ...]
    several: bool = field(default=False)

    def infer(self, *xs): return Specs(self.specs) if self.several else self.specs[0]
    def vjp(self, gy, y, *xs): return tuple(None for _ in xs)

    def forward(self, xp, *xs):
        ys = self.f(*xs)
        if not self.several:
            return self.checked(ys, self.specs[0])
        if not isinstance(ys, tuple | list) or len(ys) != len(self.specs):
            raise ShapeError(f"{self} promised {len(self.specs)} results, and gave {ys!r}")
        return tuple(self.checked(y, spec) for y, spec in zip(ys, self.specs))

    def checked(self, y, spec):
        """What f gave, as the array it promised."""
        array = np.asarray(getattr(y, "value", y))
        if not fits(array.shape, spec.shape):
            raise ShapeError(f"{self} promised {spec}, and gave an array of shape {array.shape}")
        if not np.can_cast(array.dtype, spec.dtype, "same_kind"):
            raise DTypeError(f"{self} promised {spec}, and gave {array.dtype}")
        return array.astype(spec.dtype)

    def __str__(self): return f"py_func({getattr(self.f, '__name__', self.f)})"


@dataclass(frozen=True)
class Read(Op):
    """y = what the variable holds once the others have been computed; with no others, at the start of the run"""

    variable: str
    spec: Spec

    def infer(self, *waits): return self.spec
    def vjp(self, gy, y, *waits): return tuple(None for _ in waits)
    def flops(self, y, *waits): return 0


@dataclass(frozen=True)
class Assign(Op):
    """variable ← x; y = x"""

    variable: str

    symbol = "←"

    def infer(self, x, *waits): return x
    def vjp(self, gy, y, x, *waits): return (None, *(None for _ in waits))
    def flops(self, y, *xs): return 0


class AssignAdd(Assign):
    """variable ← variable + x, of what it holds at that moment; y = the sum"""

    symbol = "+←"


class AssignSub(Assign):
    """variable ← variable − x, of what it holds at that moment; y = the difference"""

    symbol = "−←"


class Group(Op):
    """All of these; it gives nothing"""

    def infer(self, *xs): return Specs(())
    def flops(self, y, *xs): return 0
