"""Operand: what ops apply to. Operators and methods, one line each: the op says the rest.

Two things are operands: a Tensor, which has a value (tensor.py), and a Symbol, which has only a place
in a graph (symbol.py). The rules of the op table use what is written here and nothing else, so they
cannot tell the two apart.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Self

from . import ops
from .errors import DTypeError, ShapeError
from .op import Op
from .spec import Spec


class Operand:
    """Something with a spec that ops can be applied to."""

    __slots__ = ()
    __array_priority__ = 100  # so that ndarray + Tensor comes to us
    __array_ufunc__ = None
    __hash__ = object.__hash__  # == compares elements, identity is what a dictionary wants

    spec: Spec

    def apply(self, op: Op, *others: Any) -> Self:
        """The result of `op` on self and others."""
        raise NotImplementedError

    # -- what it is -------------------------------------------------------------------------

    shape = property(lambda self: self.spec.shape, doc="Length of each axis.")
    dtype = property(lambda self: self.spec.dtype, doc="Type of the elements.")
    ndim = property(lambda self: len(self.spec.shape), doc="Number of axes.")
    size = property(lambda self: self.spec.size, doc="Number of elements.")

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor of shape () has no length")
        return self.spec.shape[0]

    def __iter__(self) -> Iterator[Self]: return (self[i] for i in range(len(self)))

    # -- arithmetic -------------------------------------------------------------------------

    def __add__(self, o: Any) -> Self: return self.apply(_ADD, o)
    def __sub__(self, o: Any) -> Self: return self.apply(_SUB, o)
    def __mul__(self, o: Any) -> Self: return self.apply(_MUL, o)
    def __truediv__(self, o: Any) -> Self: return self.apply(_DIV, o)
    def __radd__(self, o: Any) -> Self: return self.lift(o).apply(_ADD, self)
    def __rsub__(self, o: Any) -> Self: return self.lift(o).apply(_SUB, self)
    def __rmul__(self, o: Any) -> Self: return self.lift(o).apply(_MUL, self)
    def __rtruediv__(self, o: Any) -> Self: return self.lift(o).apply(_DIV, self)
    def __rpow__(self, o: Any) -> Self: return self.lift(o).apply(ops.Power(), self)
    def __neg__(self) -> Self: return self.apply(ops.Neg())
    def __abs__(self) -> Self: return self.apply(ops.Abs())
    def __matmul__(self, o: Any) -> Self: return self.matmul(o)
    def __rmatmul__(self, o: Any) -> Self: return self.lift(o).matmul(self)

    def __pow__(self, p: Any) -> Self:
        return self.apply(ops.Pow(p)) if type(p) in (int, float) else self.apply(ops.Power(), p)

    # -- comparisons ------------------------------------------------------------------------

    def __gt__(self, o: Any) -> Self: return self.apply(ops.Greater(), o)
    def __ge__(self, o: Any) -> Self: return self.apply(ops.GreaterEqual(), o)
    def __lt__(self, o: Any) -> Self: return self.apply(ops.Less(), o)
    def __le__(self, o: Any) -> Self: return self.apply(ops.LessEqual(), o)
    def __eq__(self, o: Any) -> Self: return self.apply(ops.Equal(), o)  # type: ignore[override]
    def __ne__(self, o: Any) -> Self: return self.apply(ops.NotEqual(), o)  # type: ignore[override]
    def __invert__(self) -> Self: return self.apply(ops.Not())
    def equal(self, o: Any) -> Self: return self.apply(ops.Equal(), o)

    # -- functions of each element ----------------------------------------------------------

    def exp(self) -> Self: return self.apply(ops.Exp())
    def log(self) -> Self: return self.apply(ops.Log())
    def sqrt(self) -> Self: return self.apply(ops.Sqrt())
    def sin(self) -> Self: return self.apply(ops.Sin())
    def cos(self) -> Self: return self.apply(ops.Cos())
    def tanh(self) -> Self: return self.apply(_TANH)
    def sigmoid(self) -> Self: return self.apply(ops.Sigmoid())
    def relu(self) -> Self: return self.apply(ops.Relu())
    def abs(self) -> Self: return self.apply(ops.Abs())
    def sign(self) -> Self: return self.apply(ops.Sign())
    def maximum(self, o: Any) -> Self: return self.apply(ops.Maximum(), o)
    def minimum(self, o: Any) -> Self: return self.apply(ops.Minimum(), o)

    def where(self, condition: Any, other: Any) -> Self:
        """self where the condition holds, other elsewhere."""
        return self.lift(condition).astype(bool).apply(ops.Where(), self, other)

    def astype(self, dtype: Any) -> Self:
        """The same numbers in another dtype; self if it is its own."""
        to = self.spec.with_dtype(dtype)
        if to.dtype.kind not in "fiub":
            raise DTypeError(f"a tensor holds real numbers, integers or booleans, and {to.dtype} was asked")
        return self if to == self.spec else self.apply(ops.Cast(to.dtype))

    # -- moving elements --------------------------------------------------------------------

    def reshape(self, *shape: Any) -> Self:
        """The same elements in another shape; one length may be −1, and is worked out."""
        shape = self._worked_out(_ints(shape))
        return self if shape == self.shape else self.apply(ops.Reshape(shape))

    def transpose(self, *axes: Any) -> Self:
        """The axes in another order; reversed if none is given."""
        order = _ints(axes) or tuple(reversed(range(self.ndim)))
        return self.apply(ops.Transpose(tuple(a % self.ndim if -self.ndim <= a < self.ndim else a for a in order)))

    T = property(lambda self: self.transpose(), doc="The axes reversed.")
    mT = property(lambda self: self.transpose(*range(self.ndim - 2), -1, -2), doc="The last two axes exchanged.")

    def broadcast_to(self, *shape: Any) -> Self:
        """Axes of length 1 repeated to fill the shape."""
        shape = _ints(shape)
        return self if shape == self.shape else self.apply(ops.BroadcastTo(shape))

    def sum_to(self, shape: tuple[int, ...]) -> Self:
        """Undo a broadcast from `shape`: sum over the axes it added or stretched."""
        if shape == self.shape:
            return self
        added = self.ndim - len(shape)
        stretched = tuple(a for a, n in enumerate(self.shape) if a < added or shape[a - added] != n)
        return self.sum(stretched, keepdims=True).reshape(shape)

    def __getitem__(self, index: Any) -> Self:
        pattern, arrays = ops.pattern_of(index, self.shape)
        return self.apply(ops.Index(pattern), *arrays)

    # -- reducing ---------------------------------------------------------------------------

    def sum(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """Σ over an axis, several, or all."""
        return self.apply(ops.Sum(*self._reduction(axis, keepdims, **torch)))

    def mean(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """Σ / n over an axis, several, or all."""
        return self.apply(ops.Mean(*self._reduction(axis, keepdims, **torch)))

    def max(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """The largest element; tied ones share the gradient equally."""
        return self.apply(ops.Max(*self._reduction(axis, keepdims, **torch)))

    def logsumexp(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Self:
        """ln Σ eˣ, without forming a large eˣ."""
        return self.apply(ops.LogSumExp(*self._reduction(axis, keepdims, **torch)))

    def matmul(self, o: Any) -> Self:
        """Matrix product over the last two axes; a vector counts as a row on the left, as a column on the right."""
        x, y = self, self.lift(o)
        if x.ndim > 1 and y.ndim > 1:
            return x.apply(_MATMUL, y)
        if not x.ndim or not y.ndim:
            raise ShapeError(f"matmul needs at least one axis each, and got {x.spec} @ {y.spec}: use * for numbers")
        row = x.reshape(1, -1) if x.ndim == 1 else x
        column = y.reshape(-1, 1) if y.ndim == 1 else y
        z = row.apply(_MATMUL, column)
        return z.reshape(z.shape[: -2 if x.ndim == 1 else -1] + z.shape[-1 if y.ndim > 1 else z.ndim :])

    # -- reading arguments ------------------------------------------------------------------

    def lift(self, o: Any) -> Self:
        """o as an operand of self's kind; a Python number takes the dtype it has beside self (NEP 50)."""
        raise NotImplementedError

    def _worked_out(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape with its one −1, if any, replaced by the length that fits."""
        if any(n < -1 for n in shape) or shape.count(-1) > 1:
            raise ShapeError(f"a shape has lengths of 0 or more, and at most one −1 to be worked out; this is {shape}")
        if -1 not in shape:
            return shape
        known = -1
        for n in shape:
            known *= n
        if known == 0 or self.size % known:
            raise ShapeError(f"cannot reshape {self.spec} ({self.size} elements) into {shape}: no length fits the −1")
        return tuple(self.size // known if n == -1 else n for n in shape)

    def _reduction(self, axis: Any, keepdims: bool, **torch: Any) -> tuple[tuple[int, ...], bool]:
        """The axes counted from the left, in order, and keepdims; PyTorch's `dim` and `keepdim` are heard too."""
        axis, keepdims = torch.pop("dim", axis), torch.pop("keepdim", keepdims)
        if torch:
            raise TypeError(f"a reduction takes axis (or dim) and keepdims (or keepdim), not {', '.join(torch)}")
        axes = tuple(range(self.ndim)) if axis is None else _ints((axis,))
        if any(not -self.ndim <= a < self.ndim for a in axes):
            has = f"axes 0 to {self.ndim - 1}" if self.ndim else "no axes"
            raise ShapeError(f"{self.spec} has {has}, and axis {axis} was asked")
        return tuple(sorted({a % self.ndim for a in axes})), bool(keepdims)


def _ints(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Integers given one by one, or as one sequence: `(2, 3)` of both `f(2, 3)` and `f((2, 3))`."""
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = tuple(given[0])
    return tuple(operator.index(n) for n in given)


# Interning finds an op again in 0.15 µs; for the commonest even that shows.
_ADD, _SUB, _MUL, _DIV, _TANH, _MATMUL = ops.Add(), ops.Sub(), ops.Mul(), ops.Div(), ops.Tanh(), ops.MatMul()
