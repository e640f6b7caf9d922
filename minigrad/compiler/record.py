"""The recorder: `forward` runs on it instead of arrays, and what it does is written down as steps.

An op says its computation once, against `xp`. Given NumPy it computes; given a pen it writes a formula; given this
recorder, whose arrays are *shadows* with a shape, a dtype and strides but no elements, it leaves a list of NumPy calls,
each with an array to write into. `1 / (1 + xp.exp(-x))` becomes

    negative(x, b); exp(b, b); add(b, 1, b); true_divide(1, b, b)

which is how one writes it by hand. What cannot be followed, as a question about an element or a function that is not
known here, raises `Unrecordable`: such an op is called as a whole, which is always right, only slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .steps import Shape, Step, Value, address, contiguous, shell


class Unrecordable(Exception):
    """Something the recorder cannot follow."""


class Recorder:
    """The `xp` that writes down what is done with its shadows.

    steps      so far
    records    says so to forwards that cut large arrays into blocks: the program does that by itself
    """

    records = True

    def __init__(self, steps: list[Step] | None = None) -> None:
        self.steps: list[Step] = [] if steps is None else steps
        self.fills: dict[Value, Any] = {}
        self.ambient = np.geterr()

    # -- values and steps ------------------------------------------------------------------------

    def shadow(self, value: Value) -> Shadow:
        return Shadow(self, value)

    def value(self, x: Any, dtype: Any = None) -> Value:
        """An operand as a value: arrays and numbers that are no shadows are constants."""
        if isinstance(x, Shadow | Value):
            return x if isinstance(x, Value) else x.value
        array = np.asarray(x, dtype)
        return Value(shell(array.shape, array.dtype, array.strides), "constant", array=array)

    def buffer(self, shape: Shape, dtype: Any, like: Sequence[Value] = ()) -> Value:
        """New memory; its axes in the order in which the first operand of that many axes has them, as in NumPy."""
        dtype = np.dtype(dtype)
        return Value(shell(shape, dtype, laid_out(shape, dtype.itemsize, like)), "buffer")

    def step(self, text: str, *operands: Value, writes: tuple[int, ...] = (), **more: Any) -> Step:
        errors = np.geterr()
        more["quiet"] = frozenset(k for k, v in errors.items() if v == "ignore" != self.ambient[k])
        self.steps.append(Step(text, operands, writes, **more))
        return self.steps[-1]

    def call(
        self, text: str, out: Value, *operands: Value, over: Any = frozenset(), leads: Any = None, **scope: Any
    ) -> Shadow:
        """A call that writes into `out`, which is the last name in its text."""
        self.step(text, *operands, out, writes=(len(operands),), over=over, leads=leads, scope=scope)
        return self.shadow(out)

    def view(self, x: Value, text: str, seen: np.ndarray, **scope: Any) -> Shadow:
        """x looked at in another way."""
        value = Value(seen, "view", x.roots, x.offset + address(seen) - address(x.shell))
        if x.kind == "constant":
            return self.shadow(Value(seen, "constant", array=eval(text.format("x"), dict(scope), {"x": x.array})))
        self.step(text, x, result=value, scope=scope)
        return self.shadow(value)

    def copy(self, x: Value, out: Value, where: Value | None = None) -> Shadow:
        """out[...] = x, where a mask holds, if there is one."""
        masked = () if where is None else (where,)
        cast = "" if x.shell.dtype == out.shell.dtype and where is None else ", 'unsafe'"
        text = f"copyto({{1}}, {{0}}{cast})" if where is None else "copyto({2}, {0}, 'unsafe', {1})"
        return self.call(text, out, x, *masked, leads=leading(out, x, *masked), copyto=np.copyto)

    # -- ufuncs ----------------------------------------------------------------------------------

    def ufunc(self, f: np.ufunc, xs: Sequence[Any], out: Value | None) -> Shadow:
        """f(*xs): each element by itself."""
        if f is np.matmul:
            return self.matmul(*xs, out)
        if f.signature is not None or f.nout != 1:
            raise Unrecordable(f.__name__)
        *wanted, made = resolved(f, tuple(map(kind_of, xs)))
        values = [self.value(x, None if has_dtype(x) else dtype) for x, dtype in zip(xs, wanted, strict=True)]
        out = out or self.buffer(np.broadcast_shapes(*(v.shell.shape for v in values)), made, values)
        names = "".join(f"{{{i}}}, " for i in range(len(values)))
        named = "out=" if f in (np.maximum, np.minimum) else ""  # of these two NumPy wants it so
        text = f"{f.__name__}({names}{named}{{{len(values)}}})"
        return self.call(text, out, *values, over=None, leads=leading(out, *values), **{f.__name__: f})

    def reduce(self, f: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False):
        """f applied along axes, which go; all of them for None."""
        x = self.value(x)
        axes = tuple(range(x.shell.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(a % x.shell.ndim for a in axes)
        shape = tuple(
            1 if a in axes else n for a, n in enumerate(x.shell.shape) if keepdims or a not in axes
        )
        made = dtype or f.reduce(np.ones((1,) * x.shell.ndim, x.shell.dtype), axis=axes).dtype
        said: Any = None if len(axes) == x.shell.ndim else axes[0] if len(axes) == 1 else axes
        out = self.value(out) if out is not None else self.buffer(shape, made, (x,))
        name = f.__name__
        text = f"{name}.reduce({{0}}, {said}, {None if dtype is None else np.dtype(dtype).name!r}, {{1}}{', True' * keepdims})"
        leads = (True, True) if axes and 0 not in axes else None
        return self.call(text, out, x, leads=leads, **{name: f})

    def accumulate(self, f: np.ufunc, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Shadow:
        """f's running results along an axis."""
        x = self.value(x)
        made = f.accumulate(np.ones((1,) * x.shell.ndim, x.shell.dtype), axis, dtype).dtype
        out = self.value(out) if out is not None else self.buffer(x.shell.shape, made, (x,))
        return self.call(f"{f.__name__}.accumulate({{0}}, {axis}, None, {{1}})", out, x, **{f.__name__: f})

    # -- products --------------------------------------------------------------------------------

    def matmul(self, x: Any, y: Any, out: Any = None) -> Shadow:
        x, y, out = self.value(x), self.value(y), None if out is None else self.value(out)
        if min(x.shell.ndim, y.shell.ndim) < 2:
            raise Unrecordable("a product of a vector")
        batch = np.broadcast_shapes(x.shell.shape[:-2], y.shell.shape[:-2])
        dtype = np.result_type(x.shell, y.shell)
        shape = (*batch, x.shell.shape[-2], y.shell.shape[-1])
        out = out or self.buffer(shape, dtype)
        # Of two matrices `dot` gives the same, in half the time where they are small.
        plain = out.shell.ndim == 2 and out.shell.flags.c_contiguous and dtype.kind == "f" and dtype.itemsize > 2
        same = x.shell.dtype == y.shell.dtype == out.shell.dtype
        if plain and same and min(*shape, x.shell.shape[1]) > 1:
            return self.call("dot({0}, {1}, {2})", out, x, y, dot=np.dot)
        return self.call("matmul({0}, {1}, {2})", out, x, y, matmul=np.matmul)

    def dot(self, x: Any, y: Any, out: Any = None) -> Shadow:
        x, y = self.value(x), self.value(y)
        if (x.shell.ndim, y.shell.ndim) != (2, 2):
            raise Unrecordable("dot of what are not two matrices")
        out = self.value(out) if out is not None else None
        out = out or self.buffer((x.shell.shape[0], y.shell.shape[1]), np.result_type(x.shell, y.shell))
        return self.call("dot({0}, {1}, {2})", out, x, y, dot=np.dot)

    def einsum(self, text: str, *xs: Any, out: Any = None) -> Shadow:
        left, arrow, right = text.partition("->")
        values = [self.value(x) for x in xs]
        lengths: dict[str, int] = {}
        for letters, x in zip(left.split(","), values, strict=True):
            if len(set(letters)) < len(letters) or not letters.isalpha() * letters.isascii() and letters:
                raise Unrecordable(text)
            lengths |= dict(zip(letters, x.shell.shape, strict=True))
        if not arrow or (len(xs) == 1 and len(right) == len(left)):
            raise Unrecordable(text)  # one operand with all its axes is a view
        shape = tuple(lengths[c] for c in right)
        made = self.value(out) if out is not None else self.buffer(shape, np.result_type(*(v.shell for v in values)))
        names = ", ".join(f"{{{i}}}" for i in range(len(values)))
        firsts = [letters[:1] == right[:1] for letters in left.split(",")]
        leads = (*firsts, True) if right and left.count(right[0]) == sum(firsts) else None
        line = f"einsum({text!r}, {names}, out={{{len(values)}}})"
        return self.call(line, made, *values, leads=leads, einsum=np.einsum)

    # -- making arrays ----------------------------------------------------------------------------

    def empty(self, shape: Any, dtype: Any = float, like: Sequence[Value] = ()) -> Shadow:
        return self.shadow(self.buffer(as_shape(shape), dtype, like))

    def full(self, shape: Any, fill: Any, dtype: Any = None, like: Sequence[Value] = ()) -> Shadow:
        if isinstance(fill, Shadow):
            raise Unrecordable("filled with what is computed")
        made = self.buffer(as_shape(shape), np.asarray(fill, dtype).dtype, like)
        self.step(f"{{0}}.fill({filling(fill)})", made, writes=(0,))
        self.fills[made] = fill
        return self.shadow(made)

    def triangle(self, f: Callable[..., Any], x: Shadow, offset: int = 0) -> Shadow:
        """tril or triu: x, and zeros on one side of a diagonal."""
        filled = self.fills.get(x.value)
        if filled is not None and self.steps[-1].operands == (x.value,):  # an array of one number: a constant
            self.steps.pop()
            array = f(np.full(x.shape, filled, x.dtype), offset)
            return self.shadow(Value(shell(array.shape, array.dtype), "constant", array=array))
        kept = f(np.ones(x.shape[-2:], bool), offset)
        return self.where(kept, x, np.zeros((), x.dtype))

    def arange(self, *args: Any) -> Shadow:
        array = np.arange(*args)
        return self.shadow(Value(shell(array.shape, array.dtype), "constant", array=array))

    def zeros(self, shape: Any, dtype: Any = float) -> Shadow:
        return self.full(shape, 0, dtype)

    def ones(self, shape: Any, dtype: Any = float) -> Shadow:
        return self.full(shape, 1, dtype)

    def array(self, x: Any, dtype: Any = None, copy: bool = True, order: str = "K") -> Any:
        if not isinstance(x, Shadow):
            return np.array(x, dtype)
        value = x.value
        out = self.buffer(value.shell.shape, dtype or value.shell.dtype, (value,) if order == "K" else ())
        return self.copy(value, out)

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        return x.astype(dtype or x.dtype, copy=False) if isinstance(x, Shadow) else np.asarray(x, dtype)

    def ascontiguousarray(self, x: Any) -> Any:
        if not isinstance(x, Shadow) or x.value.shell.flags.c_contiguous:
            return x
        return self.array(x, order="C")

    # -- several to one ---------------------------------------------------------------------------

    def where(self, c: Any, x: Any, y: Any) -> Shadow:
        dtype = np.result_type(*(v.dtype if has_dtype(v) else v for v in (x, y)))
        values = [self.value(c), *(self.value(v, None if has_dtype(v) else dtype) for v in (x, y))]
        if values[0].shell.dtype != bool:
            raise Unrecordable("where something that is no boolean holds")
        out = self.buffer(np.broadcast_shapes(*(v.shell.shape for v in values)), dtype, values)
        self.copy(values[2], out)
        return self.copy(values[1], out, where=values[0])

    def concatenate(self, xs: Sequence[Any], axis: int = 0) -> Shadow:
        values = [self.value(x) for x in xs]
        shape = list(values[0].shell.shape)
        shape[axis] = sum(v.shell.shape[axis] for v in values)
        out = self.buffer(tuple(shape), np.result_type(*(v.shell for v in values)))
        names = "".join(f"{{{i}}}, " for i in range(len(values)))
        return self.call(f"concatenate(({names}), {axis}, {{{len(values)}}})", out, *values, concatenate=np.concatenate)

    def stack(self, xs: Sequence[Any], axis: int = 0) -> Shadow:
        values = [self.value(x) for x in xs]
        shape = values[0].shell.shape
        made = self.empty((*shape[:axis], len(xs), *shape[axis:]), np.result_type(*(v.shell for v in values)))
        for i, value in enumerate(values):
            self.copy(value, made[(*(slice(None),) * axis, i)].value)
        return made

    # -- everything else ----------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)  # which asks the shadows it is given, see __array_function__


class Shadow(NDArrayOperatorsMixin):
    """An array without elements. What is done with it is done by its recorder."""

    __slots__ = ("recorder", "value")
    __hash__ = object.__hash__

    def __init__(self, recorder: Recorder, value: Value):
        self.recorder, self.value = recorder, value

    # -- what is known ----------------------------------------------------------------------------

    shape = property(lambda self: self.value.shell.shape)
    dtype = property(lambda self: self.value.shell.dtype)
    ndim = property(lambda self: self.value.shell.ndim)
    size = property(lambda self: self.value.shell.size)
    nbytes = property(lambda self: self.value.shell.nbytes)
    itemsize = property(lambda self: self.value.shell.itemsize)
    strides = property(lambda self: self.value.shell.strides)
    T = property(lambda self: self.transpose())

    def __len__(self) -> int:
        return len(self.value.shell)

    def unknown(self, *_: Any, **__: Any) -> NoReturn:
        raise Unrecordable("a question about elements, which are known only when the program runs")

    __bool__ = __int__ = __float__ = __index__ = __array__ = item = tolist = unknown

    # -- views ------------------------------------------------------------------------------------

    def seen(self, method: str, *args: Any) -> Shadow:
        """What a method of arrays gives that never copies."""
        text = f"{{0}}.{method}({', '.join(map(repr, args))})"
        return self.recorder.view(self.value, text, getattr(self.value.shell, method)(*args))

    def transpose(self, *axes: Any) -> Shadow:
        axes = tuple(axes[0]) if len(axes) == 1 and not isinstance(axes[0], int) else axes
        return self.seen("transpose", *map(int, axes))

    def swapaxes(self, i: int, j: int) -> Shadow:
        return self.seen("swapaxes", i, j)

    def squeeze(self, axis: Any = None) -> Shadow:
        return self.seen("squeeze", axis)

    def reshape(self, *shape: Any) -> Shadow:
        shape = as_shape(shape[0] if len(shape) == 1 else shape)
        known = int(np.prod([n for n in shape if n >= 0], dtype=np.int64))
        shape = tuple(self.size // max(known, 1) if n < 0 else n for n in shape)
        if shape == self.shape:
            return self
        try:
            seen = self.value.shell.reshape(shape, copy=False)
        except ValueError:
            copied = self.recorder.array(self, order="C")
            return copied.reshape(shape)  # type: ignore[no-any-return]
        return self.recorder.view(self.value, f"{{0}}.reshape({shape})", seen)

    def ravel(self) -> Shadow:
        return self.reshape(-1)

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Shadow:
        text, arrays = self.named(index)
        if arrays:
            index = tuple(np.zeros(p.shape, p.dtype) if isinstance(p, Shadow) else p for p in as_tuple(index))
            places = np.broadcast_to(np.empty((), bool), self.shape)[index]
            made = Value(shell(places.shape, self.dtype), "made")
            self.recorder.step(text, self.value, *arrays, result=made)
            return self.recorder.shadow(made)
        index = index if Ellipsis in as_tuple(index) else (*as_tuple(index), ...)
        return self.recorder.view(self.value, self.named(index)[0], self.value.shell[index])

    def __setitem__(self, index: Any, x: Any) -> None:
        text, arrays = self.named(index)
        if arrays:
            names = [*arrays, self.recorder.value(x, None if has_dtype(x) else self.dtype)]
            target = text.replace("{0}", f"{{{len(names)}}}", 1)
            shift = {f"{{{i + 1}}}": f"{{{i}}}" for i in range(len(arrays))}
            for old, new in shift.items():
                target = target.replace(old, new)
            self.recorder.call(f"{target} = {{{len(arrays)}}}", self.value, *names)
            return
        there = self[index].value
        x = self.recorder.value(x, None if has_dtype(x) else self.dtype)
        if not x.is_same_as(there):
            self.recorder.copy(x, there)

    def named(self, index: Any) -> tuple[str, list[Value]]:
        """The index as it is written, and the arrays in it. Raises Unrecordable for masks, whose number of places varies."""
        parts, arrays = [], []
        for part in as_tuple(index):
            if isinstance(part, Shadow | np.ndarray):
                if part.dtype.kind == "b":
                    self.unknown()
                arrays.append(self.recorder.value(part))
                parts.append(f"{{{len(arrays)}}}")
            elif isinstance(part, slice):
                ends = ["" if n is None else str(n) for n in (part.start, part.stop)]
                parts.append(":".join(ends) + ("" if part.step is None else f":{part.step}"))
            else:
                parts.append("..." if part is Ellipsis else repr(part))
        return f"{{0}}[{', '.join(parts)}{',' * (len(parts) == 1)}]" if parts else "{0}[()]", arrays

    # -- copies ------------------------------------------------------------------------------------

    def view(self, dtype: Any) -> Shadow:
        seen = self.value.shell.view(dtype)
        return self.recorder.view(self.value, f"{{0}}.view({np.dtype(dtype).name!r})", seen)

    def copy(self) -> Shadow:
        return self.recorder.array(self)  # type: ignore[no-any-return]

    def astype(self, dtype: Any, copy: bool = True) -> Shadow:
        if self.dtype == dtype and not copy:
            return self
        return self.recorder.array(self, dtype)  # type: ignore[no-any-return]

    def fill(self, number: Any) -> None:
        self.recorder.step(f"{{0}}.fill({filling(number)})", self.value, writes=(0,))

    def take(self, index: Any, axis: int) -> Shadow:
        value, places = self.value, self.recorder.value(index)
        shape = (*self.shape[:axis], *places.shell.shape, *self.shape[axis + 1 :])
        made = Value(shell(shape, self.dtype), "made")  # with `out` it would be made, and then copied
        self.recorder.step(f"{{0}}.take({{1}}, {axis})", value, places, result=made)
        return self.recorder.shadow(made)

    # -- arithmetic ----------------------------------------------------------------------------------

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Shadow:
        return self.recorder.reduce(np.add, self, axis, dtype, out, keepdims)

    def prod(self, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Shadow:
        return self.recorder.reduce(np.multiply, self, axis, dtype, out, keepdims)

    def max(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Shadow:
        return self.recorder.reduce(np.maximum, self, axis, None, out, keepdims)

    def min(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Shadow:
        return self.recorder.reduce(np.minimum, self, axis, None, out, keepdims)

    def all(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Shadow:
        return self.recorder.reduce(np.logical_and, self, axis, np.dtype(bool), out, keepdims)

    def any(self, axis: Any = None, out: Any = None, keepdims: bool = False) -> Shadow:
        return self.recorder.reduce(np.logical_or, self, axis, np.dtype(bool), out, keepdims)

    def argmax(self, axis: Any = None, keepdims: bool = False) -> Shadow:
        return self.place_of("argmax", axis, keepdims)

    def argmin(self, axis: Any = None, keepdims: bool = False) -> Shadow:
        return self.place_of("argmin", axis, keepdims)

    def place_of(self, method: str, axis: Any, keepdims: bool) -> Shadow:
        if not isinstance(axis, int):
            self.unknown()
        shape = tuple(1 if a == axis else n for a, n in enumerate(self.shape) if keepdims or a != axis)
        out = self.recorder.buffer(shape, np.intp)
        options = ", keepdims=True" * keepdims
        return self.recorder.call(f"{{0}}.{method}({axis}, {{1}}{options})", out, self.value)

    def cumsum(self, axis: int) -> Shadow:
        return self.recorder.accumulate(np.add, self, axis)

    def cumprod(self, axis: int) -> Shadow:
        return self.recorder.accumulate(np.multiply, self, axis)

    def dot(self, other: Any) -> Shadow:
        return self.recorder.dot(self, other)

    def __pow__(self, p: Any) -> Any:
        # As NumPy's arrays do it: not every power is `power`.
        f = POWERS.get(p) if isinstance(p, int | float) and self.dtype.kind == "f" else None
        return np.power(self, p) if f is None else f(self)

    def __array_ufunc__(self, f: np.ufunc, method: str, *xs: Any, out: Any = None, **options: Any) -> Any:
        if method in ("reduce", "accumulate"):
            out = out[0] if isinstance(out, tuple) else out
            return getattr(self.recorder, method)(f, *xs, out=out, **options)
        if method == "at" and not options:
            y, index, *x = xs
            values = [self.recorder.value(v) for v in (index, *x)]
            last = len(values)
            names = "".join(f", {{{i}}}" for i in range(last))
            self.recorder.call(f"{f.__name__}.at({{{last}}}{names})", y.value, *values, **{f.__name__: f})
            return None
        if method != "__call__" or options:
            raise Unrecordable(f"{f.__name__}.{method} with {options}")
        return self.recorder.ufunc(f, xs, out[0].value if out and out[0] is not None else None)

    def __array_function__(self, f: Callable[..., Any], _: Any, args: Any, options: Any) -> Any:
        name = f.__name__
        if name in METHODS:
            return getattr(args[0], name)(*args[1:], **options)
        if name in RECORDED:
            return getattr(self.recorder, name)(*args, **options)
        if name in VIEWS and not options:
            x, *rest = args
            text = f"{name}({{0}}, {', '.join(map(repr, rest))})"
            return self.recorder.view(x.value, text, f(x.value.shell, *rest), **{name: f})
        if name in LIKE:
            return LIKE[name](self.recorder, *args, **options)
        if name == "round":
            x, *decimals = args
            out = self.recorder.buffer(x.shape, x.dtype, (x.value,))
            return self.recorder.call(f"{{0}}.round({(*decimals, 0)[0]}, {{1}})", out, x.value)
        if name in ("tril", "triu"):
            return self.recorder.triangle(f, *args)
        if name == "result_type":
            return np.result_type(*(x.dtype if isinstance(x, Shadow) else x for x in args))
        if name == "may_share_memory":
            return bool({*args[0].value.roots} & {*args[1].value.roots})
        raise Unrecordable(name)


# Functions of NumPy that ask a shadow, by what is done about them.
METHODS = {"argmax", "argmin", "cumsum", "cumprod", "transpose", "swapaxes", "squeeze", "reshape", "ravel", "sum", "prod", "max", "min", "all", "any", "copy", "take"}
RECORDED = {"einsum", "where", "concatenate", "stack", "dot", "ascontiguousarray"}
VIEWS = {"broadcast_to", "flip", "expand_dims", "moveaxis", "diagonal"}
POWERS: dict[float, Any] = {1: np.positive, 2: np.square, 0.5: np.sqrt, -1: np.reciprocal}


def like(fill: Any) -> Callable[..., Shadow]:
    """zeros_like and its kin: of x's shape and order of axes, unless said otherwise."""

    def made(recorder: Recorder, x: Shadow, *args: Any, dtype: Any = None, shape: Any = None) -> Shadow:
        number, *rest = args if fill is ... else (fill, *args)
        dtype = dtype or (rest[0] if rest else x.dtype)
        shape = x.shape if shape is None else as_shape(shape)
        if number is None:
            return recorder.empty(shape, dtype, (x.value,))
        return recorder.full(shape, number, dtype, (x.value,))

    return made


LIKE = {"zeros_like": like(0), "ones_like": like(1), "full_like": like(...), "empty_like": like(None)}


# -- shapes, dtypes, orders ---------------------------------------------------------------------------


def as_shape(shape: Any) -> Shape:
    return (int(shape),) if isinstance(shape, int | np.integer) else tuple(int(n) for n in shape)


def as_tuple(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def filling(number: Any) -> str:
    """A number as it is written in a call of fill."""
    number = number.item() if isinstance(number, np.generic | np.ndarray) else number
    return repr(number) if number == number and abs(number) != float("inf") else f"float('{number}')"


def has_dtype(x: Any) -> bool:
    """Whether x is an array, or one of NumPy's numbers; Python's take the dtype of what they meet (NEP 50)."""
    return hasattr(x, "dtype")


def kind_of(x: Any) -> Any:
    """What x brings to the choice of a dtype: its own, or Python's type."""
    return x.dtype if has_dtype(x) else np.dtype(bool) if isinstance(x, bool) else type(x)


@lru_cache(maxsize=4096)
def resolved(f: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    """The dtypes f takes its operands in, and that of its result."""
    return f.resolve_dtypes((*kinds, *(None,) * f.nout))


def leading(out: Value, *xs: Value) -> tuple[bool, ...] | None:
    """Which operands of an elementwise step have the leading axis of what it writes: the others broadcast along it."""
    if not out.shell.ndim:
        return None
    n = out.shell.shape[0]
    return (*(x.shell.ndim == out.shell.ndim and x.shell.shape[0] == n for x in xs), True)


def laid_out(shape: Shape, itemsize: int, like: Sequence[Value]) -> Shape | None:
    """The strides of a result: its axes in the order that the operands' have in memory. None for the usual one."""
    for x in like:
        strides, n = x.shell.strides, len(shape)
        if x.shell.shape == shape and n > 1 and 0 not in strides:
            if x.shell.flags.c_contiguous:
                return None
            return contiguous(shape, itemsize, tuple(sorted(range(n), key=lambda a: -abs(strides[a]))))
    for x in like:
        if x.shell.ndim == len(shape) > 1 and not x.shell.flags.c_contiguous and 0 not in x.shell.strides:
            order = sorted(range(len(shape)), key=lambda a: -abs(x.shell.strides[a]))
            return contiguous(shape, itemsize, tuple(order))
    return None
