"""NamedArray stands for an array while an ONNX graph is written: a name, a shape and a dtype, but no elements.

ONNX computes each value once, so an in-place edit in a forward, such as `y += b`, gives the array a new name. A view is
computed again when it is read after an edit of its base. A write to a view becomes a scatter into the base; the same
view of an array 0, 1, 2, … of the base's shape gives the positions to scatter to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ...engine.base.dimension import is_unknown
from ...graph.compiler.program.abstract_array import Unrecordable

if TYPE_CHECKING:
    from .recorder import OnnxNumPy

Look = Callable[[Any], Any]  # array → its view; works on NumPy arrays and on NamedArrays


def reduction(kind: str) -> Callable[..., NamedArray]:
    """A method that reduces an array by the ONNX op of this kind."""

    def method(self: NamedArray, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> NamedArray:
        return self.recorder.reduce(kind, self, axis, keepdims, dtype)

    return method


class NamedArray(NDArrayOperatorsMixin):
    """A value of the graph that is being written.

    base    for a view: (its base, the function base → view, the base's name when the view was computed); else None
    """

    __slots__ = ("base", "dtype", "shape", "value", "recorder")
    __hash__ = object.__hash__

    def __init__(self, recorder: OnnxNumPy, value: str, shape: tuple[Any, ...], dtype: Any):
        self.recorder, self.value, self.shape, self.dtype = recorder, value, tuple(shape), np.dtype(dtype)
        self.base: tuple[NamedArray, Look, str] | None = None

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    T = property(lambda self: self.transpose())
    strides = property(lambda self: tuple(prod(self.shape[a + 1 :]) * self.itemsize for a in range(self.ndim)))

    def __len__(self) -> int:
        return self.shape[0]  # type: ignore[no-any-return]

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def unknown(self, *_: Any, **__: Any) -> NoReturn:
        raise Unrecordable("it reads elements, which are known only when the graph runs")

    __bool__ = __int__ = __float__ = __index__ = __array__ = item = tolist = unknown

    def __array_function__(self, f: Any, types: Any, args: Any, options: Any) -> Any:
        raise Unrecordable(f"np.{f.__name__}")

    # -- memory -----------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """The name of the array's value. A view is computed again if its base has been edited."""
        if self.base is not None:
            array, look, before = self.base
            if array.name != before:
                self.value, self.base = look(array.as_it_is()).value, (array, look, array.name)
        return self.value

    def as_it_is(self) -> NamedArray:
        """A copy, which keeps this value when the array is edited."""
        return NamedArray(self.recorder, self.name, self.shape, self.dtype)

    def make_view(self, look: Look) -> NamedArray:
        """Return a view of this array."""
        y = look(self.as_it_is())
        y.base = self, look, self.name
        return y  # type: ignore[no-any-return]

    def write(self, x: NamedArray) -> NamedArray:
        """self[...] = x, where x has the same shape."""
        self.value = x.astype(self.dtype).name
        if self.base is not None:
            array, look, _ = self.base
            new = NamedArray(self.recorder, self.value, self.shape, self.dtype)
            array.write(self.recorder.scatter_view(array.as_it_is(), look, new))
            self.base = (array, look, array.name)
        return self

    def __setitem__(self, index: Any, value: Any) -> None:
        parts = index if isinstance(index, tuple) else (index,)
        if any(map(is_array, parts)):
            return self.recorder.assign(self, parts, value)
        part = self[parts if Ellipsis in parts else (*parts, ...)]
        part.write(self.recorder.broadcast_to(self.recorder.as_operand(value, self.dtype), part.shape))
        return None

    def __array_ufunc__(self, f: np.ufunc, method: str, *xs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__" or options:
            raise Unrecordable(f"np.{f.__name__}.{method}")
        return self.recorder.ufunc(f, *xs, out=out[0] if out else None)

    # -- NumPy's methods --------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> NamedArray:
        parts = self.recorder.normalize_index(self, index if isinstance(index, tuple) else (index,))
        if any(map(is_array, parts)):
            return self.recorder.index_by_arrays(self, parts)
        return self.make_view(lambda a: a[parts] if isinstance(a, np.ndarray) else self.recorder.emit_slice(a, parts))

    def reshape(self, *shape: Any) -> NamedArray:
        wanted = (
            shape[0] if len(shape) == 1 and not isinstance(shape[0], int) and hasattr(shape[0], "__len__") else shape
        )
        g = self.recorder
        return self.make_view(lambda a: a.reshape(wanted) if isinstance(a, np.ndarray) else g.emit_reshape(a, wanted))

    def transpose(self, *axes: Any) -> NamedArray:
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
        order = tuple(a % self.ndim for a in order) if order else tuple(range(self.ndim))[::-1]
        g = self.recorder
        return self.make_view(lambda a: a.transpose(order) if isinstance(a, np.ndarray) else g.emit_transpose(a, order))

    def swapaxes(self, a: int, b: int) -> NamedArray:
        order = [*range(self.ndim)]
        order[a], order[b] = order[b], order[a]
        return self.transpose(order)

    def astype(self, dtype: Any, copy: bool = True) -> NamedArray:
        return self.recorder.cast(self, np.dtype(dtype))

    def copy(self, order: str = "C") -> NamedArray:
        return self.as_it_is()

    def fill(self, value: Any) -> None:
        self[...] = value

    def take(self, indices: Any, axis: int | None = None) -> NamedArray:
        x = self.reshape((-1,)) if axis is None else self
        return self.recorder.emit_gather(x, self.recorder.as_operand(indices), axis or 0)

    sum, prod = reduction("ReduceSum"), reduction("ReduceProd")
    max, min = reduction("ReduceMax"), reduction("ReduceMin")
    all, any = reduction("all"), reduction("any")


def is_array(part: Any) -> bool:
    """Whether a part of an index is an array."""
    return hasattr(part, "dtype")


def is_empty(shape: Sequence[Any]) -> bool:
    """Whether arrays of this shape never have elements."""
    return 0 in shape and not any(map(is_unknown, shape))


def ends(p: slice) -> tuple[Any, Any, Any]:
    """Start, stop and step of a slice as ONNX writes them: a huge number means the end of the axis."""
    step = 1 if p.step is None else p.step
    far = np.iinfo(np.int64)
    start = (0 if step > 0 else int(far.max)) if p.start is None else p.start
    return start, (int(far.max if step > 0 else far.min)) if p.stop is None else p.stop, step
