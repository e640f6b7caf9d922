"""Several results, and an order: what a graph with control flow needs besides arithmetic.

An op has one result. Where it truly has several (both ends of a loop, what a branch returns), the result is a
tuple, its spec is a Specs, and `Piece(i)` picks one. The gradients of the pieces come together in a `Row`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..op import Op


class Row:
    """The gradients of an op's results, one each; None where none arrived.

    Two rows add piece by piece, so that backpropagation treats a row as it treats any other gradient.
    """

    def __init__(self, gys: tuple[Any, ...]):
        self.gys = gys

    def __add__(self, other: Row) -> Row:
        pairs = zip(self.gys, other.gys, strict=True)
        return Row(tuple(b if a is None else a if b is None else a + b for a, b in pairs))


@dataclass(frozen=True)
class Piece(Op):
    """y = xs[i], one of several results"""

    i: int
    is_view = True

    def infer(self, xs): return xs[self.i]
    def forward(self, xp, xs): return xs[self.i]
    def flops(self, y, xs): return 0

    def gradients(self, gy, y, xs):
        return (Row(tuple(gy if i == self.i else None for i in range(len(xs.spec)))),)


@dataclass(frozen=True)
class StopGradient(Op):
    """y = x, and no gradient passes; or it passes to what x was before an edit that nobody recorded"""

    is_view = True

    def infer(self, x, *before): return x
    def forward(self, xp, x, *before): return x
    def vjp(self, gy, y, x, *before): return (None, *(gy for _ in before))
    def jvp(self, dxs, y, x, *before): return dxs[1] if before else dxs[0] * 0
    def flops(self, y, *xs): return 0


@dataclass(frozen=True)
class After(Op):
    """y = x, once each of the others has been computed: an edge that only says "before" """

    is_view = True
    inline = False

    def infer(self, x, *waits): return x
    def forward(self, xp, x, *waits): return x
    def vjp(self, gy, y, x, *waits): return (gy, *(None for _ in waits))
    def jvp(self, dxs, y, x, *waits): return dxs[0]
    def flops(self, y, *xs): return 0
