"""Abstract arrays have a shape, a dtype and strides, but no elements. A Recorder records their ops: see record.py."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ....engine.base.dtypes import result_type
from .buffer import Buffer, Shape, copied_order, laid_out, reshape_view, shell

if TYPE_CHECKING:
    from .record import Recorder


class Unrecordable(Exception):
    """An operation that the recorder cannot record."""


def reduction(f: np.ufunc, kind: Any = None) -> Callable[..., AbstractArray]:
    """An array method that reduces by the ufunc f."""

    def method(
        self: AbstractArray, axis: Any = None, dtype: Any = kind, out: Any = None, keepdims: bool = False
    ) -> AbstractArray:
        return self.recorder.reduce(f, self, axis, dtype, out, keepdims)

    return method


def place_of(name: str) -> Callable[..., AbstractArray]:
    """The array method of that name, argmax or argmin."""

    def method(self: AbstractArray, axis: Any = None, keepdims: bool = False) -> AbstractArray:
        if not isinstance(axis, int):
            self.unknown()
        shape = tuple(1 if a == axis else n for a, n in enumerate(self.shape) if keepdims or a != axis)
        out = self.recorder.new(shape, np.intp)
        return self.recorder.call(f"{{0}}.{name}({axis}, {{1}}{', keepdims=True' * keepdims})", out, self.buffer)

    return method


class AbstractArray(NDArrayOperatorsMixin):
    """An array without elements. Its recorder records every operation on it."""

    __slots__ = ("recorder", "buffer")
    __hash__ = object.__hash__

    def __init__(self, recorder: Recorder, buffer: Buffer):
        self.recorder, self.buffer = recorder, buffer

    # -- attributes -------------------------------------------------------------------------------

    shape = property(attrgetter("buffer.shell.shape"))
    dtype = property(attrgetter("buffer.shell.dtype"))
    ndim = property(attrgetter("buffer.shell.ndim"))
    size = property(attrgetter("buffer.shell.size"))
    nbytes = property(attrgetter("buffer.shell.nbytes"))
    itemsize = property(attrgetter("buffer.shell.itemsize"))
    strides = property(attrgetter("buffer.shell.strides"))
    T = property(lambda self: self.transpose())

    def __len__(self) -> int:
        return len(self.buffer.shell)

    def unknown(self, *_: Any, **__: Any) -> NoReturn:
        raise Unrecordable("reading elements, which are known only when the program runs")

    __bool__ = __int__ = __float__ = __index__ = __array__ = item = tolist = unknown

    # -- views ------------------------------------------------------------------------------------

    def record_view(self, method: str, *args: Any) -> AbstractArray:
        """Record an array method that returns a view."""
        text = f"{{0}}.{method}({', '.join(map(repr, args))})"
        return self.recorder.view(self.buffer, text, getattr(self.buffer.shell, method)(*args))

    def transpose(self, *axes: Any) -> AbstractArray:
        axes = tuple(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self.record_view("transpose", *map(int, axes))

    def swapaxes(self, i: int, j: int) -> AbstractArray:
        return self.record_view("swapaxes", i, j)

    def squeeze(self, axis: Any = None) -> AbstractArray:
        return self.record_view("squeeze", axis)

    def reshape(self, *shape: Any) -> AbstractArray:
        shape = as_shape(shape[0] if len(shape) == 1 else shape)
        known = int(np.prod([n for n in shape if n >= 0], dtype=np.int64))
        shape = tuple(self.size // max(known, 1) if n < 0 else n for n in shape)
        if shape == self.shape:
            return self
        seen = reshape_view(self.buffer.shell, shape)
        if seen is None:
            copied = self.recorder.array(self, order="C")
            return copied.reshape(shape)  # type: ignore[no-any-return]
        return self.recorder.view(self.buffer, f"{{0}}.reshape({shape})", seen)

    def ravel(self) -> AbstractArray:
        return self.reshape(-1)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> AbstractArray:
        text, arrays = self.format_index(index)
        if arrays:
            index = tuple(np.zeros(p.shape, p.dtype) if isinstance(p, AbstractArray) else p for p in as_tuple(index))
            places = np.broadcast_to(np.empty((), bool), self.shape)[index]
            made = Buffer(shell(places.shape, self.dtype), "made")
            self.recorder.step(text, self.buffer, *arrays, result=made)
            return self.recorder.abstract(made)
        index = index if Ellipsis in as_tuple(index) else (*as_tuple(index), ...)
        return self.recorder.view(self.buffer, self.format_index(index)[0], self.buffer.shell[index])

    def __setitem__(self, index: Any, x: Any) -> None:
        text, arrays = self.format_index(index)
        if arrays:
            names = [*arrays, self.recorder.operand(x, None if hasattr(x, "dtype") else self.dtype)]
            target = text.replace("{0}", f"{{{len(names)}}}", 1)
            shift = {f"{{{i + 1}}}": f"{{{i}}}" for i in range(len(arrays))}
            for old, new in shift.items():
                target = target.replace(old, new)
            self.recorder.call(f"{target} = {{{len(arrays)}}}", self.buffer, *names)
            return
        there = self[index].buffer
        x = self.recorder.operand(x, None if hasattr(x, "dtype") else self.dtype)
        if not x.is_same_as(there):
            self.recorder.copy(x, there)

    def format_index(self, index: Any) -> tuple[str, list[Buffer]]:
        """The index as source text, and the arrays in it. Raises Unrecordable for a mask: the size is unknown."""
        parts, arrays = [], []
        for part in as_tuple(index):
            if isinstance(part, AbstractArray | np.ndarray):
                if part.dtype.kind == "b":
                    self.unknown()
                arrays.append(self.recorder.operand(part))
                parts.append(f"{{{len(arrays)}}}")
            elif isinstance(part, slice):
                ends = ["" if n is None else str(n) for n in (part.start, part.stop)]
                parts.append(":".join(ends) + ("" if part.step is None else f":{part.step}"))
            else:
                parts.append("..." if part is Ellipsis else repr(part))
        return f"{{0}}[{', '.join(parts)}{',' * (len(parts) == 1)}]" if parts else "{0}[()]", arrays

    # -- copies ------------------------------------------------------------------------------------

    def view(self, dtype: Any) -> AbstractArray:
        seen = self.buffer.shell.view(dtype)
        return self.recorder.view(self.buffer, f"{{0}}.view({np.dtype(dtype).name!r})", seen)

    def copy(self) -> AbstractArray:
        return self.recorder.array(self)  # type: ignore[no-any-return]

    def astype(self, dtype: Any, copy: bool = True) -> AbstractArray:
        if self.dtype == dtype and not copy:
            return self
        return self.recorder.array(self, dtype)  # type: ignore[no-any-return]

    def fill(self, number: Any) -> None:
        self.recorder.step(f"{{0}}.fill({filling(number)})", self.buffer, writes=(0,))

    def take(self, index: Any, axis: int) -> AbstractArray:
        value, places = self.buffer, self.recorder.operand(index)
        shape = (*self.shape[:axis], *places.shell.shape, *self.shape[axis + 1 :])
        made = Buffer(shell(shape, self.dtype), "made")  # with `out`, NumPy would make an array and copy it
        self.recorder.step(f"{{0}}.take({{1}}, {axis})", value, places, result=made)
        return self.recorder.abstract(made)

    # -- arithmetic ----------------------------------------------------------------------------------

    sum, prod, max, min = map(reduction, (np.add, np.multiply, np.maximum, np.minimum))
    all, any = (reduction(f, np.dtype(bool)) for f in (np.logical_and, np.logical_or))
    argmax, argmin = map(place_of, ("argmax", "argmin"))

    def cumsum(self, axis: int) -> AbstractArray:
        return self.recorder.accumulate(np.add, self, axis)

    def cumprod(self, axis: int) -> AbstractArray:
        return self.recorder.accumulate(np.multiply, self, axis)

    def dot(self, other: Any) -> AbstractArray:
        return self.recorder.dot(self, other)

    def __pow__(self, p: Any) -> Any:
        # As in NumPy: x ** 2 and some other powers do not call `power`.
        f = POWERS.get(p) if isinstance(p, int | float) and self.dtype.kind == "f" else None
        return np.power(self, p) if f is None else f(self)

    def __array_ufunc__(self, f: np.ufunc, method: str, *xs: Any, out: Any = None, **options: Any) -> Any:
        if method in ("reduce", "accumulate"):
            out = out[0] if isinstance(out, tuple) else out
            return getattr(self.recorder, method)(f, *xs, out=out, **options)
        if method == "at" and not options:
            y, index, *x = xs
            values = [self.recorder.operand(v) for v in (index, *x)]
            last = len(values)
            names = "".join(f", {{{i}}}" for i in range(last))
            self.recorder.call(f"{f.__name__}.at({{{last}}}{names})", y.buffer, *values, **{f.__name__: f})
            return None
        if method != "__call__" or options:
            raise Unrecordable(f"{f.__name__}.{method} with {options}")
        return self.recorder.ufunc(f, xs, out[0].buffer if out and out[0] is not None else None)

    def __array_function__(self, f: Callable[..., Any], _: Any, args: Any, options: Any) -> Any:
        name = f.__name__
        if name in METHODS:
            return getattr(args[0], name)(*args[1:], **options)
        if name in RECORDED:
            return getattr(self.recorder, name)(*args, **options)
        if name in VIEWS and not options:
            x, *rest = args
            text = f"{name}({{0}}, {', '.join(map(repr, rest))})"
            return self.recorder.view(x.buffer, text, f(x.buffer.shell, *rest), **{name: f})
        if name in LIKE:
            return LIKE[name](self.recorder, *args, **options)
        if name == "round":
            x, *decimals = args
            out = self.recorder.new(x.shape, x.dtype, laid_out(x.shape, (x.buffer,)))
            return self.recorder.call(f"{{0}}.round({(*decimals, 0)[0]}, {{1}})", out, x.buffer)
        if name in ("tril", "triu"):
            return self.recorder.triangle(f, *args)
        if name == "result_type":
            return result_type(*(x.dtype if isinstance(x, AbstractArray) else x for x in args))
        if name == "may_share_memory":
            return bool({*args[0].buffer.roots} & {*args[1].buffer.roots})
        raise Unrecordable(name)


# NumPy functions that __array_function__ accepts, by how it handles them.
METHODS = {
    *("transpose", "swapaxes", "squeeze", "reshape", "ravel", "copy", "take"),
    *("sum", "prod", "max", "min", "all", "any", "argmax", "argmin", "cumsum", "cumprod"),
}
RECORDED = {"einsum", "where", "concatenate", "stack", "dot", "ascontiguousarray"}
VIEWS = {"broadcast_to", "flip", "expand_dims", "moveaxis", "diagonal"}
POWERS: dict[float, Any] = {1: np.positive, 2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


def like(fill: Any) -> Callable[..., AbstractArray]:
    """A function that records zeros_like, ones_like, …: with x's shape and axis order, unless `shape` is given."""

    def record_like(
        recorder: Recorder, x: AbstractArray, *args: Any, dtype: Any = None, shape: Any = None
    ) -> AbstractArray:
        number, *rest = args if fill is ... else (fill, *args)
        dtype = dtype or (rest[0] if rest else x.dtype)
        shape = x.shape if shape is None else as_shape(shape)
        order = copied_order(x.buffer.shell) if len(shape) == x.ndim else None
        return recorder.empty(shape, dtype, order) if number is None else recorder.full(shape, number, dtype, order)

    return record_like


LIKE = {"zeros_like": like(0), "ones_like": like(1), "full_like": like(...), "empty_like": like(None)}


# -- shapes, numbers, indices -----------------------------------------------------------------------


def as_shape(shape: Any) -> Shape:
    return (int(shape),) if isinstance(shape, int | np.integer) else tuple(map(int, shape))


def as_tuple(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def filling(number: Any) -> str:
    """The source text of a number, as an argument of fill()."""
    number = number.item() if isinstance(number, np.generic | np.ndarray) else number
    return repr(number) if number == number and abs(number) != float("inf") else f"float('{number}')"
