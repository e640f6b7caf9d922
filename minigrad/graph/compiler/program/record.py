"""The recorder: runs an op's `forward` on abstract arrays, and records its NumPy calls as steps.

An op defines its computation once, in terms of `xp`. With NumPy as xp it computes; with names it writes a formula.
With this recorder, whose *abstract* arrays have a shape, a dtype and strides but no elements, it produces a list of
NumPy calls, each with an array to write into. `1 / (1 + xp.exp(-x))` becomes

    negative(x, b); exp(b, b); add(b, 1, b); true_divide(1, b, b)

as a programmer would write it by hand. An operation that cannot be recorded, such as reading an element or
calling an unknown function, raises `Unrecordable`. The op then runs as one call of `forward`: correct, only slower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any

import numpy as np

from ....engine.base.dtypes import result_type
from . import buffer
from .abstract_array import AbstractArray, Unrecordable, as_shape, filling
from .buffer import Buffer, EinsumStep, ProgramStep, ReduceStep, Shape, contiguous, laid_out, reduced_order


class Recorder:
    """The `xp` that records the operations on its abstract arrays.

    steps      the steps so far
    records    tells a forward not to split large arrays into blocks: the program does that itself
    """

    records = True

    def __init__(self, steps: list[ProgramStep] | None = None) -> None:
        self.steps: list[ProgramStep] = [] if steps is None else steps
        self.fills: dict[Buffer, Any] = {}
        self.ambient = np.geterr().items()

    # -- values and steps ------------------------------------------------------------------------

    def abstract(self, value: Buffer) -> AbstractArray:
        return AbstractArray(self, value)

    def operand(self, x: Any, dtype: Any = None) -> Buffer:
        """An operand as a buffer. Real arrays and numbers become constants."""
        if isinstance(x, AbstractArray | Buffer):
            return x if isinstance(x, Buffer) else x.buffer
        array = np.asarray(x, dtype)
        return Buffer(buffer.shell(array.shape, array.dtype, array.strides), "constant", array=array)

    def new(self, shape: Shape, dtype: Any, order: tuple[int, ...] | None = None) -> Buffer:
        """A new planned buffer.

        order    the order of the axes in memory, if it is not C order
        """
        dtype = np.dtype(dtype)
        return Buffer(buffer.shell(shape, dtype, contiguous(shape, dtype.itemsize, order)), "planned")

    def step(self, text: str, *operands: Buffer, writes: tuple[int, ...] = (), **more: Any) -> ProgramStep:
        if changed := np.geterr().items() - self.ambient:
            more["quiet"] = frozenset(error for error, action in changed if action == "ignore")
        self.steps.append(ProgramStep(text, operands, writes, **more))
        return self.steps[-1]

    def call(
        self, text: str, out: Buffer,
        *operands: Buffer, over: Any = frozenset(), leads: Any = None, does: Any = None, **scope: Any,
    ) -> AbstractArray:  # fmt: skip
        """Record a call that writes into `out`, the last operand in its text."""
        self.step(text, *operands, out, writes=(len(operands),), over=over, leads=leads, does=does, scope=scope)
        return AbstractArray(self, out)

    def view(self, x: Buffer, text: str, seen: np.ndarray, **scope: Any) -> AbstractArray:
        """Record a view of x. Raises Unrecordable if the result is a scalar, because NumPy copies it."""
        if not isinstance(seen, np.ndarray):
            raise Unrecordable(text)
        value = Buffer(seen, "view", x.roots, x.offset + buffer.address(seen) - buffer.address(x.shell))
        if x.kind == "constant":
            return self.abstract(Buffer(seen, "constant", array=eval(text.format("x"), dict(scope), {"x": x.array})))
        self.step(text, x, result=value, scope=scope)
        return self.abstract(value)

    def copy(self, x: Buffer, out: Buffer, where: Buffer | None = None) -> AbstractArray:
        """out[...] = x, only where the mask `where` holds, if given."""
        masked = () if where is None else (where,)
        cast = "" if x.shell.dtype == out.shell.dtype and where is None else ", 'unsafe'"
        text = f"copyto({{1}}, {{0}}{cast})" if where is None else "copyto({2}, {0}, 'unsafe', {1})"
        return self.call(text, out, x, *masked, leads=leading(out, x, *masked), does=np.copyto, copyto=np.copyto)

    # -- ufuncs ----------------------------------------------------------------------------------

    def ufunc(self, f: np.ufunc, xs: Sequence[Any], out: Buffer | None) -> AbstractArray:
        """f(*xs), elementwise."""
        if f is np.matmul:
            x, y = xs
            return self.matmul(x, y, out)
        if f.signature is not None or f.nout != 1:
            raise Unrecordable(f.__name__)
        *wanted, made = ufunc_dtypes(f, tuple(map(kind_of, xs)))
        values = [self.operand(x, None if hasattr(x, "dtype") else dtype) for x, dtype in zip(xs, wanted, strict=True)]
        shape = np.broadcast_shapes(*map(attrgetter("shell.shape"), values))
        out = out or self.new(shape, made, laid_out(shape, values))
        names = "".join(map("{{{}}}, ".format, range(len(values))))
        named = "out=" if f in (np.maximum, np.minimum) else ""  # these two take `out` by keyword
        text = f"{f.__name__}({names}{named}{{{len(values)}}})"
        return self.call(text, out, *values, over=None, leads=leading(out, *values), does=f, **{f.__name__: f})

    def reduce(
        self, f: np.ufunc, x: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False
    ) -> AbstractArray:
        """Reduce x by f along the axes; None means all axes."""
        x = self.operand(x)
        axes = tuple(range(x.shell.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(a % x.shell.ndim for a in axes)
        shape = tuple(1 if a in axes else n for a, n in enumerate(x.shell.shape) if keepdims or a not in axes)
        made = dtype or f.reduce(np.ones((1,) * x.shell.ndim, x.shell.dtype), axis=axes).dtype
        said: Any = None if len(axes) == x.shell.ndim else axes[0] if len(axes) == 1 else axes
        out = self.operand(out) if out is not None else self.new(shape, made, reduced_order(x.shell, axes, keepdims))
        name = f.__name__
        kind = None if dtype is None else np.dtype(dtype).name
        text = f"{name}.reduce({{0}}, {said}, {kind!r}, {{1}}{', True' * keepdims})"
        leads = (True, True) if axes and 0 not in axes else None
        return self.call(text, out, x, leads=leads, does=ReduceStep(f, axes), **{name: f})

    def accumulate(self, f: np.ufunc, x: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> AbstractArray:
        """The cumulative results of f along an axis."""
        x = self.operand(x)
        made = f.accumulate(np.ones((1,) * x.shell.ndim, x.shell.dtype), axis, dtype).dtype
        out = self.operand(out) if out is not None else self.new(x.shell.shape, made, laid_out(x.shell.shape, (x,)))
        return self.call(f"{f.__name__}.accumulate({{0}}, {axis}, None, {{1}})", out, x, **{f.__name__: f})

    # -- products --------------------------------------------------------------------------------

    def matmul(self, x: Any, y: Any, out: Any = None) -> AbstractArray:
        x, y, out = self.operand(x), self.operand(y), None if out is None else self.operand(out)
        if min(x.shell.ndim, y.shell.ndim) < 2:
            raise Unrecordable("a product of a vector")
        batch = np.broadcast_shapes(x.shell.shape[:-2], y.shell.shape[:-2])
        dtype = result_type(x.shell, y.shell)
        shape = (*batch, x.shell.shape[-2], y.shell.shape[-1])
        out = out or self.new(shape, dtype)
        # For two matrices `dot` gives the same result, in half the time if they are small.
        plain = out.shell.ndim == 2 and out.shell.flags.c_contiguous and dtype.kind == "f" and dtype.itemsize > 2
        same = x.shell.dtype == y.shell.dtype == out.shell.dtype
        if plain and same and min(*shape, x.shell.shape[1]) > 1:
            return self.call("dot({0}, {1}, {2})", out, x, y, does=np.dot, dot=np.dot)
        return self.call("matmul({0}, {1}, {2})", out, x, y, does=np.dot, matmul=np.matmul)

    def dot(self, x: Any, y: Any, out: Any = None) -> AbstractArray:
        x, y = self.operand(x), self.operand(y)
        if (x.shell.ndim, y.shell.ndim) != (2, 2):
            raise Unrecordable("dot of operands that are not two matrices")
        out = self.operand(out) if out is not None else None
        out = out or self.new((x.shell.shape[0], y.shell.shape[1]), result_type(x.shell, y.shell))
        return self.call("dot({0}, {1}, {2})", out, x, y, does=np.dot, dot=np.dot)

    def einsum(self, text: str, *xs: Any, out: Any = None) -> AbstractArray:
        left, arrow, right = text.partition("->")
        values = [self.operand(x) for x in xs]
        lengths: dict[str, int] = {}
        for letters, x in zip(left.split(","), values, strict=True):
            if len(set(letters)) < len(letters) or (letters and not (letters.isalpha() and letters.isascii())):
                raise Unrecordable(text)
            lengths |= dict(zip(letters, x.shell.shape, strict=True))
        if not arrow or (len(xs) == 1 and len(right) == len(left)):
            raise Unrecordable(text)  # one operand with all its axes is a view
        shape = tuple(lengths[c] for c in right)
        along = [buffer.einsum_view(v.shell, letters, right) for v, letters in zip(values, left.split(","))]
        dtype = result_type(*(v.shell for v in values))
        made = self.operand(out) if out is not None else self.new(shape, dtype, laid_out(shape, along))
        names = ", ".join(f"{{{i}}}" for i in range(len(values)))
        firsts = [letters[:1] == right[:1] for letters in left.split(",")]
        leads = (*firsts, True) if right and left.count(right[0]) == sum(firsts) else None
        line = f"einsum({text!r}, {names}, out={{{len(values)}}})"
        return self.call(line, made, *values, leads=leads, does=EinsumStep(text), einsum=np.einsum)

    # -- making arrays ----------------------------------------------------------------------------

    def empty(self, shape: Any, dtype: Any = float, order: tuple[int, ...] | None = None) -> AbstractArray:
        return self.abstract(self.new(as_shape(shape), dtype, order))

    def full(self, shape: Any, fill: Any, dtype: Any = None, order: tuple[int, ...] | None = None) -> AbstractArray:
        if isinstance(fill, AbstractArray):
            raise Unrecordable("full() with a computed value")
        made = self.new(as_shape(shape), np.asarray(fill, dtype).dtype, order)
        self.step(f"{{0}}.fill({filling(fill)})", made, writes=(0,))
        self.fills[made] = fill
        return self.abstract(made)

    def triangle(self, f: Callable[..., Any], x: AbstractArray, offset: int = 0) -> AbstractArray:
        """tril or triu: x with zeros on one side of a diagonal."""
        filled = self.fills.get(x.buffer)
        if filled is not None and self.steps[-1].operands == (x.buffer,):  # x is one number: make a constant
            self.steps.pop()
            array = f(np.full(x.shape, filled, x.dtype), offset)
            return self.abstract(Buffer(buffer.shell(array.shape, array.dtype), "constant", array=array))
        kept = f(np.ones(x.shape[-2:], bool), offset)
        return self.where(kept, x, np.zeros((), x.dtype))

    def arange(self, *args: Any) -> AbstractArray:
        array = np.arange(*args)
        return self.abstract(Buffer(buffer.shell(array.shape, array.dtype), "constant", array=array))

    def zeros(self, shape: Any, dtype: Any = float) -> AbstractArray:
        return self.full(shape, 0, dtype)

    def ones(self, shape: Any, dtype: Any = float) -> AbstractArray:
        return self.full(shape, 1, dtype)

    def array(self, x: Any, dtype: Any = None, copy: bool = True, order: str = "K") -> Any:
        if not isinstance(x, AbstractArray):
            return np.array(x, dtype)
        value = x.buffer
        axes = buffer.copied_order(value.shell) if order == "K" else None
        return self.copy(value, self.new(value.shell.shape, dtype or value.shell.dtype, axes))

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        return x.astype(dtype or x.dtype, copy=False) if isinstance(x, AbstractArray) else np.asarray(x, dtype)

    def ascontiguousarray(self, x: Any) -> Any:
        if not isinstance(x, AbstractArray) or x.buffer.shell.flags.c_contiguous:
            return x
        return self.array(x, order="C")

    # -- joining arrays ---------------------------------------------------------------------------

    def where(self, c: Any, x: Any, y: Any) -> AbstractArray:
        dtype = result_type(*(v.dtype if hasattr(v, "dtype") else v for v in (x, y)))
        values = [self.operand(c), *(self.operand(v, None if hasattr(v, "dtype") else dtype) for v in (x, y))]
        if values[0].shell.dtype != bool:
            raise Unrecordable("where() with a condition that is not boolean")
        shape = np.broadcast_shapes(*map(attrgetter("shell.shape"), values))
        out = self.new(shape, dtype, laid_out(shape, values))
        self.copy(values[2], out)
        return self.copy(values[1], out, where=values[0])

    def concatenate(self, xs: Sequence[Any], axis: int = 0) -> AbstractArray:
        values = [self.operand(x) for x in xs]
        shape = list(values[0].shell.shape)
        shape[axis] = sum(v.shell.shape[axis] for v in values)
        out = self.new(tuple(shape), result_type(*(v.shell for v in values)))
        names = "".join(map("{{{}}}, ".format, range(len(values))))
        return self.call(f"concatenate(({names}), {axis}, {{{len(values)}}})", out, *values, concatenate=np.concatenate)

    def stack(self, xs: Sequence[Any], axis: int = 0) -> AbstractArray:
        values = [self.operand(x) for x in xs]
        shape = values[0].shell.shape
        made = self.empty((*shape[:axis], len(xs), *shape[axis:]), result_type(*(v.shell for v in values)))
        for i, value in enumerate(values):
            self.copy(value, made[(*(slice(None),) * axis, i)].buffer)
        return made

    # -- everything else ----------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)  # NumPy's functions call __array_function__ of their arguments


# -- dtypes and rows -----------------------------------------------------------------------------------


def kind_of(x: Any) -> Any:
    """What x contributes to dtype resolution: its dtype, or the Python type of a number."""
    return x.dtype if hasattr(x, "dtype") else np.dtype(bool) if isinstance(x, bool) else type(x)


@lru_cache(maxsize=4096)
def ufunc_dtypes(f: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    """The dtypes in which f takes its operands, then the dtype of its result."""
    return f.resolve_dtypes((*kinds, *(None,) * f.nout))


def leading(out: Buffer, *xs: Buffer) -> tuple[bool, ...] | None:
    """Which operands of an elementwise step have the result's leading axis; the others broadcast along it."""
    if not out.shell.ndim:
        return None
    n = out.shell.shape[0]
    return (*[x.shell.ndim == out.shell.ndim and x.shell.shape[0] == n for x in xs], True)
