"""What every operand has: a spec, and the one door through which ops are applied.

Two spellings of one argument: the array API's `axis`, which is ours, and PyTorch's `dim`, which is heard too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Self

import numpy as np

from ..base.dimension import Dimension, said
from ..base.errors import AxisError, DTypeError, NoValueError, ShapeError
from ..base.lengths import is_unknown
from ..base.spec import Spec
from ..core.op import Op


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


class Base:
    """Something with a spec that ops can be applied to."""

    __slots__ = ()
    __array_priority__ = 100  # so that ndarray + Tensor comes to us
    __array_ufunc__ = None
    __hash__ = object.__hash__  # == compares elements, identity is what a dictionary wants

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

    def dim(self) -> int: return self.spec.ndim
    def numel(self) -> int: return said(self.spec.size)
    def element_size(self) -> int: return self.spec.dtype.itemsize
    def is_same_size(self, other: Any) -> bool: return bool(self.shape == other.shape)
    def is_signed(self) -> bool: return bool(self.dtype.kind in "fi")

    ndimension, nelement = dim, numel

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a tensor of shape () has no length")
        if not self.spec.is_known and is_unknown(self.spec.shape[0]):
            raise NoValueError(f"{self.spec} has a length that is known only when the graph runs: use x.shape[0]")
        return self.spec.shape[0]

    def __iter__(self) -> Iterator[Self]: return (self[i] for i in range(len(self)))

    # -- reading arguments ------------------------------------------------------------------

    def axis(self, axis: Any) -> int:
        """An axis counted from the left. Raises AxisError where there is none of that number."""
        return axis_of(self.spec, axis)

    def axes(self, axis: Any) -> tuple[int, ...]:
        """One axis, several, or all if None: counted from the left, in order, each once."""
        chosen = range(self.ndim) if axis is None else integers((axis,))
        return tuple(sorted({self.axis(a) for a in chosen}))

    def _read(self) -> np.ndarray:
        """The array. A symbol, having none, raises NoValueError."""
        array: np.ndarray = self.value if hasattr(self, "value") else self.numpy()
        return array


def axis_of(spec: Spec, axis: Any) -> int:
    """An axis of a spec, counted from the left. Raises AxisError where there is none of that number."""
    n = whole(axis)
    if not -spec.ndim <= n < spec.ndim:
        has = f"axes 0 to {spec.ndim - 1}" if spec.ndim else "no axes"
        raise AxisError(f"{spec} has {has}, and axis {n} was asked")
    return n % spec.ndim


def whole(n: Any) -> int:
    """An axis or a length. Raises DTypeError on True and False, which Python counts as 1 and 0."""
    if isinstance(n, bool):
        raise DTypeError(f"an axis or a length is a number, and {n} came: say a flag by its name, as in keepdims={n}")
    return operator.index(n)


def flag(given: Any) -> bool:
    """A flag. Raises DTypeError on what is neither True nor False: in sum(0, 1), 1 was meant for an axis."""
    if isinstance(given, bool | np.bool_):
        return bool(given)
    raise DTypeError(f"a flag is True or False, and {given!r} came: several axes are a tuple, as in sum((0, 1))")


def integers(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Integers given one by one, or as one sequence: `(2, 3)` of both `f(2, 3)` and `f((2, 3))`."""
    if len(given) == 1 and isinstance(given[0], tuple | list):
        given = tuple(given[0])
    return tuple(n.number if isinstance(n, Dimension) else whole(n) for n in given)


def lengths(given: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape, given as `integers` are. Raises ShapeError on a negative length."""
    shape = integers(given)
    if min(shape, default=0) < 0:
        raise ShapeError(f"a shape has lengths of 0 or more, and this is {shape}")
    return shape


SYNONYMS = {
    "dim": "axis",
    "dims": "axes",
    "keepdim": "keepdims",
    "dim0": "axis0",
    "dim1": "axis1",
    "dim2": "axis2",
    "start_dim": "start_axis",
    "end_dim": "end_axis",
}


def hears(**synonyms: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method, or a function, where other words for its arguments may be used as well: other word → its own."""

    def of(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def heard(*given: Any, **options: Any) -> Any:
            if not options:
                return method(*given)
            ours = {synonyms.get(word, word): value for word, value in options.items()}
            if len(ours) < len(options):
                raise TypeError(f"{method.__name__} takes one of two spellings, and both came: {', '.join(options)}")
            return method(*given, **ours)

        return heard

    return of


hears_dim = hears(**SYNONYMS)
