"""Operand: the base class of everything that ops apply to. Most operators and methods are one line that applies an op.

There are two kinds: a Tensor, which has a value (engine/tensor/tensor.py), and a Symbol, which only has a place
in a graph (engine/tensor/symbol.py). Derivative rules use only the methods defined in this folder, so they work
on both. This file contains the basics of every operand; the other files contain the methods:

    pointwise     functions of each element
    movement      moving elements: other shapes, other orders, pieces
    indexing      selecting and writing elements; unique elements and counts
    reduction     reductions; maxima; sorting; running totals
    algebra       einsum and matrix products; linear algebra of square matrices
    arguments     parsing of axes, lengths and flags
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Self

import numpy as np

from .. import ops
from ..base.device import CPU, Device
from ..base.device import device as device_called
from ..base.dimension import Dimension, is_unknown, wrap_dimension
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


class CallableSize:
    """`x.size` is the number of elements, as in NumPy. Called, `x.size()` is the shape, as in PyTorch."""

    __slots__ = ()
    spec: Spec

    def __call__(self, dim: int | None = None) -> Any:
        return self.spec.lengths if dim is None else self.spec.lengths[axis_of(self.spec, dim)]


class Count(CallableSize, int):
    """A number of elements."""


class UnknownCount(CallableSize, Dimension):
    """A number of elements that depends on an unknown length."""


def count(spec: Spec) -> Count | UnknownCount:
    """The number of elements of a spec."""
    n = (UnknownCount if is_unknown(spec.size) else Count)(spec.size)
    n.spec = spec
    return n


class Operand(Pointwise, Movement, Indexing, Reductions, Algebra):
    """An object with a spec to which ops can be applied."""

    __slots__ = ()
    __array_priority__ = 100  # so that ndarray + Tensor calls our __radd__
    __array_ufunc__ = None

    spec: Spec

    def apply(self, op: Op, *others: Any) -> Self:
        """The result of `op` on self and others."""
        raise NotImplementedError

    def lift(self, o: Any) -> Self:
        """o as an operand of self's kind; a Python number gets the dtype that it has next to self (NEP 50)."""
        raise NotImplementedError

    shape = property(attrgetter("spec.lengths"), doc="Length of each axis.")
    dtype = property(attrgetter("spec.dtype"), doc="Type of the elements.")
    ndim = property(attrgetter("spec.ndim"), doc="Number of axes.")
    size = property(lambda self: count(self.spec), doc="Number of elements; called, the shape: x.size(), x.size(0).")
    itemsize = property(lambda self: self.dtype.itemsize, doc="Bytes of an element.")
    nbytes = property(lambda self: wrap_dimension(self.spec.nbytes), doc="Bytes of all elements.")

    def dim(self) -> builtins.int: return self.spec.ndim
    def numel(self) -> builtins.int: return wrap_dimension(self.spec.size)
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

    # -- dtype, device, similar tensors -------------------------------------------------------------

    def astype(self, dtype: Any) -> Self:
        """The same numbers in another dtype; self if that is its dtype already."""
        to = self.spec.with_dtype(dtype)
        if kind(to.dtype) not in "fiub":
            raise DTypeError(f"a tensor holds real numbers, integers or booleans, and got dtype {to.dtype}")
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

    device = property(attrgetter("spec.device"), doc="Where it lives.")
    is_cuda = property(lambda self: self.spec.device is not CPU, doc="Whether that is a GPU.")

    def to(
        self: Any, *where: Any, dtype: Any = None, device: Any = None, non_blocking: Any = False, copy: Any = False
    ) -> Any:
        """The same numbers on another device, in another dtype, or both. If nothing changes: self; with copy, a clone.

        non_blocking is accepted and ignored: nothing waits for a device until a value is read.
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
        """A tensor of shape `size` filled with one value; dtype and device are self's unless given."""
        raise NotImplementedError

    def new_zeros(self, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """A tensor of zeros; options as in new_full."""
        return self.new_full(integers(lengths if size is None else (size,)), 0, **options)

    def new_ones(self, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """A tensor of ones; options as in new_full."""
        return self.new_full(integers(lengths if size is None else (size,)), 1, **options)

    def new_empty(self, *lengths: Any, size: Any = None, **options: Any) -> Any:
        """A tensor to be filled later; until then it holds zeros. Options as in new_full."""
        return self.new_zeros(*lengths, size=size, **options)

    # -- reading arguments ------------------------------------------------------------------

    def axis(self, axis: Any) -> builtins.int:
        """An axis counted from the left. Raises AxisError if there is no such axis."""
        return axis_of(self.spec, axis)

    def axes(self, axis: Any) -> tuple[builtins.int, ...]:
        """The given axis or axes, or all for None: counted from the left, sorted, each once."""
        chosen = range(self.ndim) if axis is None else integers((axis,))
        return tuple(sorted({self.axis(a) for a in chosen}))

    def _read(self) -> np.ndarray:
        """The operand's array. Raises NoValueError for a symbol, which has no array."""
        return self._note_read("value").value if hasattr(self, "value") else self.numpy()
