"""Operand: what ops apply to. Operators and methods, one line each: the op says the rest.

Two things are operands: a Tensor, which has a value (engine/tensor/tensor.py), and a Symbol, which has only a place
in a graph (engine/tensor/symbol.py). The rules of the op table use what is written here and nothing else, so they
cannot tell the two apart. What every operand has is in this file, and the methods in those beside it:

    pointwise     functions of each element
    movement      the same elements in other places; pieces
    indexing      some of the elements; which there are
    reduction     many elements to one; the larger; running totals
    algebra       sums of products, said in letters; what square matrices hide
    arguments     how axes, lengths and flags are read
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from .. import ops
from ..base.device import CPU, Device
from ..base.device import device as device_called
from ..base.dimension import Dimension, is_unknown, said
from ..base.dtypes import bfloat16, kind
from ..base.errors import DTypeError, NoValueError
from ..base.spec import Spec
from ..core.op import Op
from .algebra import Algebra
from .arguments import axis_of
from .arguments import integers as integers
from .arguments import lengths as lengths
from .indexing import Indexing
from .movement import Movement
from .pointwise import Pointwise
from .reduction import Reductions


class Sized:
    """`x.size` is how many elements, as in NumPy. It may be called: `x.size()` is PyTorch's word for the shape."""

    __slots__ = ()
    spec: Spec

    def __call__(self, dim: int | None = None) -> Any:
        return self.spec.lengths if dim is None else self.spec.lengths[axis_of(self.spec, dim)]


class Count(Sized, int):
    """How many elements."""


class UnknownCount(Sized, Dimension):
    """How many elements, where a length is not known yet."""


def count(spec: Spec) -> Count | UnknownCount:
    """The number of elements of a spec."""
    n = (UnknownCount if is_unknown(spec.size) else Count)(spec.size)
    n.spec = spec
    return n


class Operand(Pointwise, Movement, Indexing, Reductions, Algebra):
    """Something with a spec that ops can be applied to."""

    __slots__ = ()
    __array_priority__ = 100  # so that ndarray + Tensor comes to us
    __array_ufunc__ = None

    spec: Spec

    def apply(self, op: Op, *others: Any) -> Self:
        """The result of `op` on self and others."""
        raise NotImplementedError

    def lift(self, o: Any) -> Self:
        """o as an operand of self's kind; a Python number takes the dtype it has beside self (NEP 50)."""
        raise NotImplementedError

    shape = property(lambda self: self.spec.lengths, doc="Length of each axis.")
    dtype = property(lambda self: self.spec.dtype, doc="Type of the elements.")
    ndim = property(lambda self: len(self.spec.shape), doc="Number of axes.")
    size = property(lambda self: count(self.spec), doc="Number of elements; called, the shape: x.size(), x.size(0).")
    itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of an element.")
    nbytes = property(lambda self: said(self.spec.nbytes), doc="Bytes of all elements.")

    def dim(self) -> builtins.int: return self.spec.ndim
    def numel(self) -> builtins.int: return said(self.spec.size)
    def element_size(self) -> builtins.int: return self.spec.dtype.itemsize
    def is_same_size(self, other: Any) -> builtins.bool: return bool(self.shape == other.shape)
    def is_signed(self) -> builtins.bool: return bool(kind(self.dtype) in "fi")

    ndimension, nelement = dim, numel

    def __len__(self) -> builtins.int:
        if not self.ndim:
            raise TypeError("a tensor of shape () has no length")
        if not self.spec.is_known and is_unknown(self.spec.shape[0]):
            raise NoValueError(f"{self.spec} has a length that is known only when the graph runs: use x.shape[0]")
        return self.spec.shape[0]

    def __iter__(self) -> Iterator[Self]: return (self[i] for i in range(len(self)))

    # -- its dtype, its device, others like it ------------------------------------------------------

    def astype(self, dtype: Any) -> Self:
        """The same numbers in another dtype; self if it is its own."""
        to = self.spec.with_dtype(dtype)
        if kind(to.dtype) not in "fiub":
            raise DTypeError(f"a tensor holds real numbers, integers or booleans, and {to.dtype} was asked")
        return self if to == self.spec else self.apply(ops.Cast(to.dtype))

    def double(self) -> Self: return self.astype("f8")
    def half(self) -> Self: return self.astype("f2")
    def bfloat16(self) -> Self: return self.astype(bfloat16)
    def long(self) -> Self: return self.astype("i8")
    def short(self) -> Self: return self.astype("i2")
    def float(self) -> Self: return self.astype("f4")
    def int(self) -> Self: return self.astype("i4")
    def char(self) -> Self: return self.astype("i1")
    def byte(self) -> Self: return self.astype("u1")
    def bool(self) -> Self: return self.astype("?")
    def type(self, dtype: Any) -> Self: return self.astype(dtype)
    def type_as(self, other: Any) -> Self: return self.astype(other.dtype)
    def is_floating_point(self) -> builtins.bool: return self.spec.is_float

    device = property(lambda self: self.spec.device, doc="Where it lives.")
    is_cuda = property(lambda self: self.spec.device is not CPU, doc="Whether that is a GPU.")

    def to(
        self: Any, *where: Any, dtype: Any = None, device: Any = None, non_blocking: Any = False, copy: Any = False
    ) -> Any:
        """The same numbers on another device, or in another dtype, or both; self where nothing changes, unless copy.

        non_blocking is heard, and needs no saying: nothing waits for a device until a value is read.
        """
        x = self
        places, flags = [w for w in where if not isinstance(w, bool)], [w for w in where if isinstance(w, bool)]
        copy = copy or flags[1:] == [True]  # to(device, dtype, non_blocking, copy)
        for to in (*places, dtype, device):
            if isinstance(to, Operand):
                x = x.to(to.spec.dtype, to.spec.device)
            elif isinstance(to, Device | str) and str(to) not in np.sctypeDict:
                x = x if device_called(to) is x.spec.device else x.apply(ops.Move(device_called(to)))
            elif to is not None:
                x = x.astype(to)
        return x.clone() if copy and x is self else x

    def cpu(self) -> Any: return self.to("cpu")
    def cuda(self) -> Any: return self.to("gpu")

    def new_full(
        self, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: Any = False
    ) -> Any:
        """All one value, of that shape; dtype and device are self's unless said otherwise."""
        raise NotImplementedError

    def new_zeros(self, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """All 0; options as in new_full."""
        return self.new_full(integers(lengths if size is None else (size,)), 0, **options)

    def new_ones(self, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """All 1; options as in new_full."""
        return self.new_full(integers(lengths if size is None else (size,)), 1, **options)

    def new_empty(self, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """To be filled, and all 0 until then; options as in new_full."""
        return self.new_zeros(*lengths, size=size, **options)

    # -- reading arguments ------------------------------------------------------------------

    def axis(self, axis: Any) -> builtins.int:
        """An axis counted from the left. Raises AxisError where there is none of that number."""
        return axis_of(self.spec, axis)

    def axes(self, axis: Any) -> tuple[builtins.int, ...]:
        """One axis, several, or all if None: counted from the left, in order, each once."""
        chosen = range(self.ndim) if axis is None else integers((axis,))
        return tuple(sorted({self.axis(a) for a in chosen}))

    def _read(self) -> np.ndarray:
        """The array. A symbol, having none, raises NoValueError."""
        return self.value if hasattr(self, "value") else self.numpy()
