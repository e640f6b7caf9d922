"""Forward mode: each value has a tangent, computed together with it while the program runs.

The tangent dx of a tensor x says how x moves when the inputs move. As each op runs, its `jvp` computes dy from
the dxs. Nothing is recorded or saved. One pass gives J dx: the effect of one direction of the inputs on every
output. A backward pass gives Jᵀ gy: the effect of every input on one direction of the outputs.

    with dual_level():
        x = make_dual(x, dx)
        y, dy = unpack_dual(f(x))

Wengert 1964, “A simple automatic derivative evaluation program”; Griewank & Walther 2008, §3.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from ..engine import ops
from ..engine.base.errors import DTypeError, NoGradientError, ShapeError
from ..engine.core import modes
from ..engine.core.node import Node
from ..engine.core.op import Op
from ..engine.tensor.grad import origin
from ..engine.tensor.tensor import Tensor


class Tangents:
    """The watcher that computes a tangent for every result.

    Levels nest: outer levels see the ops that this level runs, and this level does not.
    """

    follows = True  # run backward on tensors, so that this watcher sees the ops of backward

    def __init__(self) -> None:
        # Keyed by node: a tensor that backward restores from a saved array has the node of the original.
        self.book: WeakKeyDictionary[Node, Tensor] = WeakKeyDictionary()

    def start(self, x: Tensor, dx: Any) -> None:
        """Set the tangent of x to dx. Raises ShapeError or DTypeError if dx does not fit."""
        dx = dx if isinstance(dx, Tensor) else Tensor(dx, x.dtype, device=x.spec.device)
        if not x.spec.is_float:
            raise DTypeError(f"only a floating point tensor has a tangent, and {x.spec} is none: use .astype(float)")
        if dx.shape != x.shape:
            raise ShapeError(f"the tangent of {x.spec} has its shape, and got {dx.spec}")
        self.set(x, dx.astype(x.dtype))

    def set(self, x: Tensor, dx: Tensor) -> None:
        """Set the tangent of x to dx, without checks."""
        self.book[origin(x)] = dx

    def get(self, x: Tensor) -> Tensor | None:
        """The tangent of x; None if x does not depend on a dual input."""
        return None if x.node is None else self.book.get(x.node)

    def tangent(self, x: Any) -> Any:
        """The tangent of x; zeros if x depends on no dual input; x itself if x is not a tensor."""
        dx = self.get(x) if isinstance(x, Tensor) else x
        return still(x) if dx is None else dx

    def on_forward(self, op: Op, y: Tensor, xs: tuple[Tensor, ...]) -> None:
        dxs = [self.get(x) for x in xs]
        if y.spec.is_float and any(dx is not None for dx in dxs):
            watchers = modes.current.mode.watchers
            with modes.in_mode(watchers=watchers[: watchers.index(self)]):
                moved = [still(x) if dx is None else dx for x, dx in zip(xs, dxs)]
                self.set(y, op.jvp(moved, y, *xs).astype(y.dtype).broadcast_to(y.shape))

    def on_backward(self, node: Any, gy: Any, gxs: tuple[Any, ...]) -> None:
        pass


class Dual(NamedTuple):
    """A value and its tangent."""

    primal: Tensor
    tangent: Tensor | None


def still(x: Tensor) -> Any:
    """Zeros in the shape of x: the tangent of a tensor that depends on no dual input."""
    return x.lift(0).astype(x.dtype if x.spec.is_float else float).broadcast_to(x.shape)


@contextmanager
def dual_level() -> Iterator[Tangents]:
    """A block in which make_dual and unpack_dual work."""
    with modes.watching(Tangents()) as level:
        yield level


def make_dual(tensor: Tensor, tangent: Any, level: Tangents | None = None) -> Tensor:
    """An alias of the tensor that has this tangent at the given level, by default the innermost."""
    level = innermost() if level is None else level
    watchers = modes.current.mode.watchers
    with modes.in_mode(watchers=watchers[: watchers.index(level)]):
        x: Tensor = tensor.apply(ops.Alias())
    level.start(x, tangent)
    return x


def unpack_dual(tensor: Tensor, level: Tangents | None = None) -> Dual:
    """The tensor and its tangent at the given level, by default the innermost."""
    return Dual(tensor, (innermost() if level is None else level).get(tensor))


def innermost() -> Tangents:
    """The level of the innermost dual_level block."""
    levels = [w for w in modes.current.mode.watchers if isinstance(w, Tangents)]
    if not levels:
        raise NoGradientError("dual numbers live in a block: with mg.autograd.forward_ad.dual_level():")
    return levels[-1]
