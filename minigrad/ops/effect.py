"""Ops that do more than give a result: they print, keep a value to be looked at, or call what the user wrote."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar
from weakref import ref

import numpy as np

from ..errors import DTypeError, ShapeError
from ..op import Op
from ..spec import Spec, Specs
from ..standin import fits


class Effect(Op):
    """What does more than give a result.

    repeats    whether it happens again when a run that failed is run again, to find where
    """

    effect = True
    inline = False
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
