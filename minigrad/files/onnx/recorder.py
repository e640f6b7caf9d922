"""An array module that writes ONNX: an op's `forward` runs on it, and each call becomes a node.

So most ops need no ONNX code beyond their `forward`: this module knows NumPy's functions, not ops. Ops that ONNX
has too, such as Conv, are in the table of spellings.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf, prod
from operator import mul
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...engine.base.dimension import Formula, Length, clamped, divided, is_unknown, require_known, unwrap_dimension
from ...engine.base.spec import Spec, broadcast_shape
from ...engine.ops.movement import diagonal_length, resolve_shape
from ...engine.ops.pattern import extent
from ...graph.compiler.program.abstract_array import Unrecordable
from ...graph.compiler.program.record import kind_of, ufunc_dtypes
from .named_array import Look, NamedArray, ends, is_array, is_empty
from .ufuncs import OF_BOOLEANS, UFUNCS
from .writer import IN_SINGLE, NodeWriter, element

NARROW = {"i1", "i2", "u1", "u2"}  # few engines compute in these: compute in 32 bits, then cast back
CALCULATED: dict[Any, Any] = {
    clamped: lambda n, low, high: n.recorder.minimum(
        n.recorder.maximum(n, low), n.recorder.int64(min(high, 2**63 - 1))
    ),
    divided: lambda a, n: a / n,
    diagonal_length: lambda rows, columns, offset: CALCULATED[clamped](
        rows.recorder.minimum(rows + min(offset, 0), columns - max(offset, 0)), np.int64(0), inf
    ),
}


class OnnxNumPy:
    """An array module: NumPy's functions on NamedArrays, and NumPy's own types and constants.

    lengths    name of an unknown length → the input and the axis that have it
    records    tells forwards that they are being recorded, so that they do not cut large arrays into blocks
    """

    records = True

    def __init__(self, writer: NodeWriter) -> None:
        self.writer = writer
        self.lengths: dict[str, tuple[str, int]] = {}

    def call(self, kind: str, xs: Sequence[Any], shape: Sequence[Any], dtype: Any, **attributes: Any) -> NamedArray:
        """Add a node with one result. An empty result becomes a constant, since engines disagree on empty arrays."""
        if is_empty(shape):
            return self.as_operand(np.zeros(shape, dtype))
        names = [x if isinstance(x, str) else x.name for x in xs]
        if kind in IN_SINGLE and np.dtype(dtype) == np.float64:
            self.writer.rare.add(kind)
        return NamedArray(self, self.writer.node(kind, names, **attributes)[0], tuple(shape), dtype)

    # -- constants and lengths --------------------------------------------------------------------

    def as_operand(self, x: Any, dtype: Any = None) -> NamedArray:
        """Make an operand of an array, a number, or an expression of lengths."""
        if isinstance(x, NamedArray):
            return x
        if isinstance(x, Length | Formula):
            y = self.number(x)
            return y if dtype is None else self.cast(y, np.dtype(dtype))
        array = np.asarray(x, dtype)
        element(array.dtype)
        return NamedArray(self, self.writer.constant(array), array.shape, array.dtype)

    def number(self, n: Any) -> Any:
        """Compute an expression of lengths in the graph. Raises Unrecordable for a length that no input has."""
        match n:
            case str():
                if n not in self.lengths:
                    raise Unrecordable(f"it needs the length {n}, which no input has")
                name, axis = self.lengths[n]
                length = self.call("Shape", [name], (1,), np.int64, start=axis, end=axis + 1)
                return self.call("Squeeze", [length], (), np.int64)
            case Length():
                return sum(prod(map(self.number, product), start=np.int64(size)) for product, size in n.terms)
            case Formula():
                calculate: Any = CALCULATED.get(n.operation, n.operation)
                return calculate(*map(self.number, n.numbers))
        return n if isinstance(n, float) else np.int64(n)

    def dims(self, shape: Sequence[Any]) -> str:
        """The name of a 1-D int64 array with these lengths."""
        if not any(map(is_unknown, shape)):
            return self.writer.constant(np.array(shape, np.int64).reshape(-1))
        rows = [self.call("Unsqueeze", [self.as_operand(n, np.int64), self.dims((0,))], (1,), np.int64) for n in shape]
        return self.call("Concat", rows, (len(rows),), np.int64, axis=0).name

    # -- elementwise ------------------------------------------------------------------------------

    def ufunc(self, f: np.ufunc, *xs: Any, out: Any = None) -> NamedArray:
        """f(*xs), computed in the dtypes that NumPy would choose."""
        if f is np.matmul:
            x, y = xs
            return self.matmul(x, y, out)
        said, xs = UFUNCS.get(f.__name__), tuple(map(unwrap_dimension, xs))
        if said is None or f.nout != 1:
            raise Unrecordable(f"np.{f.__name__}")
        kinds = [float if isinstance(x, Formula) else int if isinstance(x, Length) else kind_of(x) for x in xs]
        *wanted, made = ufunc_dtypes(f, tuple(kinds))
        boolean = OF_BOOLEANS.get(f.__name__) if wanted[0].kind == "b" else None
        narrow = boolean is None and any(d.str[1:] in NARROW or d.kind == "b" for d in wanted)
        arrays = [self.ufunc_operand(x, d, narrow and d.kind != "f") for x, d in zip(xs, wanted)]
        said = boolean or said
        if isinstance(said, str):
            y = self.call(said, arrays, self.broadcast_of(*arrays), made if made.kind == "b" else arrays[0].dtype)
        else:
            y = said(self, *arrays)
        y = self.cast(y, made)
        return y if out is None else out.write(self.broadcast_to(y, out.shape))

    def ufunc_operand(self, x: Any, dtype: np.dtype, narrow: bool) -> NamedArray:
        """x in the dtype to which NumPy would convert it, then cast to int32 if `narrow`."""
        y = self.cast(self.as_operand(x, None if isinstance(x, NamedArray) else dtype), dtype)
        return self.cast(y, np.dtype(np.int32)) if narrow else y

    def broadcast_of(self, *xs: NamedArray) -> tuple[Any, ...]:
        """The shape that these arrays broadcast to."""
        shape = broadcast_shape(*(x.shape for x in xs))
        if shape is None:
            raise Unrecordable(f"shapes do not broadcast: {[x.shape for x in xs]}")
        return shape

    def where(self, c: Any, x: Any, y: Any) -> NamedArray:
        dtype = self.result_type(x, y)
        x, y = (self.cast(self.cast(self.as_operand(v, dtype), dtype), self.wide(dtype)) for v in (x, y))
        c = self.as_operand(c, bool)
        return self.cast(self.call("Where", (c, x, y), self.broadcast_of(c, x, y), x.dtype), dtype)

    def cast(self, x: NamedArray, dtype: np.dtype) -> NamedArray:
        """x cast to a dtype. As in NumPy, NaN becomes True in booleans."""
        if x.dtype == dtype:
            return x
        return self.call("Cast", [x], x.shape, dtype, to=element(dtype))

    def round(self, x: NamedArray, decimals: int = 0) -> Any:
        scale = 10.0 ** abs(decimals)
        if x.dtype.kind != "f" or not decimals:
            return self.ufunc(np.rint, x) if x.dtype.kind == "f" else x
        return self.ufunc(np.rint, x * scale) / scale if decimals > 0 else self.ufunc(np.rint, x / scale) * scale

    def nan_to_num(self, x: NamedArray, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> NamedArray:
        if x.dtype.kind != "f":
            return x
        ends = np.finfo(x.dtype)
        high, low = (end if said is None else said for end, said in ((ends.max, posinf), (ends.min, neginf)))
        y = self.where(self.ufunc(np.isnan, x), x.dtype.type(nan), x)
        y = self.where(x == inf, x.dtype.type(high), y)
        return self.where(x == -inf, x.dtype.type(low), y)

    # -- reductions -------------------------------------------------------------------------------

    def reduce(self, kind: str, x: NamedArray, axis: Any, keepdims: bool = False, dtype: Any = None) -> NamedArray:
        """Reduce x along an axis or a tuple of axes; for None, along all axes."""
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        along = [a % x.ndim for a in axes]
        shape = [1 if a in along else n for a, n in enumerate(x.shape) if keepdims or a not in along]
        if kind in ("all", "any"):  # the minimum or the maximum of zeros and ones
            extreme = self.cast(self.cast(x, np.dtype(bool)), np.dtype(np.int32))
            found = self.reduce("ReduceMin" if kind == "all" else "ReduceMax", extreme, tuple(along), keepdims)
            return found > 0  # type: ignore[no-any-return]  # of no elements: a limit of int32
        if dtype is None:
            like = np.ones((), x.dtype)
            dtype = (like.sum() if kind in ("ReduceSum", "ReduceProd") else like).dtype
        if not along:
            return self.cast(x, np.dtype(dtype))
        wide = self.cast(x, np.dtype(dtype) if kind in ("ReduceSum", "ReduceProd") else self.wide(x.dtype))
        y = self.call(kind, [wide, self.dims(along)], shape, wide.dtype, keepdims=int(keepdims))
        return self.cast(y, np.dtype(dtype))

    def wide(self, dtype: np.dtype) -> np.dtype:
        """The dtype to compute in: int32 for narrow integers and booleans, else the dtype itself."""
        return np.dtype(np.int32) if dtype.str[1:] in NARROW or dtype.kind == "b" else dtype

    def cumsum(self, x: NamedArray, axis: int) -> NamedArray:
        x = self.cast(x, np.cumsum(np.empty(0, x.dtype)).dtype)
        return self.call("CumSum", [x, self.as_operand(np.int64(axis))], x.shape, x.dtype)

    def cumprod(self, x: NamedArray, axis: int) -> NamedArray:
        """Multiply by shifted copies in steps 1, 2, 4, …: ONNX has no op for running products."""
        require_known("a running product", x.shape[axis])
        y, step = self.cast(x, np.cumprod(np.empty(0, x.dtype)).dtype).as_it_is(), 1
        before = (slice(None),) * axis
        while step < y.shape[axis]:
            late = y[(*before, slice(step, None))] * y[(*before, slice(None, -step))]
            y, step = self.concatenate((y[(*before, slice(None, step))], late), axis), 2 * step
        return y

    def argmax(self, x: NamedArray, axis: int, keepdims: bool = False, kind: str = "ArgMax") -> NamedArray:
        shape = [1 if a == axis else n for a, n in enumerate(x.shape) if keepdims or a != axis]
        return self.call(kind, [self.cast(x, self.wide(x.dtype))], shape, np.int64, axis=axis, keepdims=int(keepdims))

    def argmin(self, x: NamedArray, axis: int, keepdims: bool = False) -> NamedArray:
        return self.argmax(x, axis, keepdims, "ArgMin")

    # -- products ---------------------------------------------------------------------------------

    def matmul(self, x: Any, y: Any, out: Any = None) -> NamedArray:
        x, y = self.promote(x, y)
        batch = broadcast_shape(x.shape[:-2], y.shape[:-2])
        if min(x.ndim, y.ndim) < 2 or batch is None:
            raise Unrecordable("a product of a vector")
        shape = (*batch, x.shape[-2], y.shape[-1])
        z = self.call("MatMul", [x, y], shape, x.dtype)
        return z if out is None else out.write(z)

    dot = matmul

    def einsum(self, text: str, *xs: Any) -> NamedArray:
        """A sum of elements or of elementwise products, without Einsum, which not all engines support in all dtypes."""
        left, _, right = text.partition("->")
        letters, *others = left.split(",")
        if {*others} - {letters} or len({*letters}) < len(letters) or [c for c in letters if c in right] != [*right]:
            raise Unrecordable(f"einsum {text}")
        x, *more = self.promote(*xs)
        axes = tuple(a for a, c in enumerate(letters) if c not in right)
        return self.reduce("ReduceSum", reduce(mul, more, x), axes, dtype=x.dtype)

    # -- making arrays ----------------------------------------------------------------------------

    def full(self, shape: Any, fill: Any, dtype: Any = None, order: str = "C") -> NamedArray:
        shape = (shape,) if isinstance(shape, int | Length) else tuple(shape)
        value = self.as_operand(np.asarray(fill, dtype))
        if any(map(is_unknown, shape)) or prod(shape) > 64:
            return self.broadcast_to(value, shape)
        return self.as_operand(np.full(shape, fill, dtype)).as_it_is()

    def zeros(self, shape: Any, dtype: Any = float) -> NamedArray:
        return self.full(shape, 0, dtype)

    empty = zeros

    def ones(self, shape: Any, dtype: Any = float) -> NamedArray:
        return self.full(shape, 1, dtype)

    def full_like(self, x: NamedArray, fill: Any, dtype: Any = None, shape: Any = None) -> NamedArray:
        return self.full(x.shape if shape is None else shape, fill, x.dtype if dtype is None else dtype)

    def zeros_like(self, x: NamedArray, dtype: Any = None, shape: Any = None) -> NamedArray:
        return self.full_like(x, 0, dtype, shape)

    def ones_like(self, x: NamedArray, dtype: Any = None, shape: Any = None) -> NamedArray:
        return self.full_like(x, 1, dtype, shape)

    empty_like = zeros_like

    def arange(self, *args: Any, dtype: Any = None) -> Any:
        if not any(isinstance(n, Length) for n in args):
            return np.arange(*args, dtype=dtype)
        start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
        ends = [self.as_operand(n, np.int64) for n in (start, stop, step)]
        return self.call("Range", ends, (extent(stop, start, None, step),), np.int64)

    def array(self, x: Any, dtype: Any = None, copy: bool = True, order: str = "C") -> Any:
        return self.as_operand(x).astype(dtype or self.as_operand(x).dtype).as_it_is()

    def asarray(self, x: Any, dtype: Any = None, order: str = "C") -> Any:
        return self.as_operand(x, dtype) if not isinstance(x, NamedArray) else x if dtype is None else x.astype(dtype)

    def ascontiguousarray(self, x: Any) -> Any:
        return x

    def result_type(self, *xs: Any) -> Any:
        return np.result_type(*(x.dtype if isinstance(x, NamedArray) else x for x in xs))

    def promote(self, *xs: Any) -> list[NamedArray]:
        """The operands, cast to their common dtype."""
        arrays = [self.as_operand(x) for x in xs]
        return [self.cast(x, self.result_type(*arrays)) for x in arrays]

    def may_share_memory(self, x: Any, y: Any) -> bool:
        return True

    # -- movement ---------------------------------------------------------------------------------

    def emit_reshape(self, x: NamedArray, shape: Any) -> NamedArray:
        shape = (shape,) if isinstance(shape, int | Length) else tuple(shape)
        full = resolve_shape(shape, Spec(x.shape, x.dtype)) if -1 in [n for n in shape if isinstance(n, int)] else shape
        if full == x.shape:
            return x.as_it_is()
        unknown = [a for a, n in enumerate(full) if is_unknown(n)]
        said = tuple(-1 if [a] == unknown and prod(full[:a] + full[a + 1 :]) else n for a, n in enumerate(full))
        return self.call("Reshape", [x, self.dims(said)], full, x.dtype, allowzero=int(-1 not in said))

    def emit_transpose(self, x: NamedArray, axes: tuple[int, ...]) -> NamedArray:
        if axes == tuple(range(x.ndim)):
            return x.as_it_is()
        return self.call("Transpose", [x], [x.shape[a] for a in axes], x.dtype, perm=axes)

    def moveaxis(self, x: Any, source: Any, target: Any) -> Any:
        source, target = (normalize_axis_tuple(axes, x.ndim) for axes in (source, target))
        order = [a for a in range(x.ndim) if a not in source]
        for there, axis in sorted(zip(target, source)):
            order.insert(there, axis)
        return x.transpose(order)

    def broadcast_to(self, x: Any, shape: tuple[Any, ...]) -> NamedArray:
        x = self.as_operand(x)
        return x.as_it_is() if x.shape == tuple(shape) else self.call("Expand", [x, self.dims(shape)], shape, x.dtype)

    def concatenate(self, xs: Sequence[Any], axis: int = 0) -> NamedArray:
        arrays = self.promote(*xs)
        shape = list(arrays[0].shape)
        shape[axis] = sum(x.shape[axis] for x in arrays)
        return self.call("Concat", [x for x in arrays if not is_empty(x.shape)], shape, arrays[0].dtype, axis=axis)

    def stack(self, xs: Sequence[NamedArray], axis: int = 0) -> NamedArray:
        return self.concatenate([x[(*(slice(None),) * axis, None)] for x in xs], axis)

    def flip(self, x: NamedArray, axes: Any) -> NamedArray:
        axes = axes if isinstance(axes, tuple) else (axes,)
        return x[tuple(slice(None, None, -1 if a in axes else None) for a in range(x.ndim))] if x.ndim else x

    def roll(self, x: NamedArray, shifts: Any, axes: Any) -> NamedArray:
        for shift, axis in zip(shifts, axes):
            before = (slice(None),) * axis
            cut = -shift % clamped(x.shape[axis], 1)
            parts = x[(*before, slice(cut, None))], x[(*before, slice(None, cut))]
            x = self.concatenate(parts, axis) if cut else x
        return x.as_it_is()

    def tril(self, x: NamedArray, k: int = 0, upper: int = 0) -> NamedArray:
        x = self.as_operand(x)
        return self.call("Trilu", [x, self.as_operand(np.int64(k))], x.shape, x.dtype, upper=upper)

    def triu(self, x: NamedArray, k: int = 0) -> NamedArray:
        return self.tril(x, k, 1)

    def diagonal(self, x: NamedArray, offset: int, *axes: int) -> NamedArray:
        rows = self.arange(diagonal_length(x.shape[-2], x.shape[-1], offset))
        at = (..., rows + max(-offset, 0), rows + max(offset, 0))
        return x.make_view(lambda a: a[at] if isinstance(a, np.ndarray) else self.index_by_arrays(a, at))

    def __getattr__(self, name: str) -> Any:
        known = getattr(np, name, None)
        if isinstance(known, np.ufunc):
            return lambda *xs, out=None: self.ufunc(known, *xs, out=out)
        if known is None or (callable(known) and not isinstance(known, type)) or name == "linalg":
            if name in ("finfo", "iinfo", "errstate"):
                return known
            raise AttributeError(name) if known is None else Unrecordable(f"np.{name}")
        return known

    # -- indexing ---------------------------------------------------------------------------------

    def emit_slice(self, x: NamedArray, parts: tuple[Any, ...]) -> NamedArray:
        """x[parts], where parts are integers, slices, None and an ellipsis."""
        axis, starts, gone, new = 0, [], [], []
        shape: list[Any] = []
        for p in parts:
            if p is None:
                new.append(len(shape))
                shape.append(1)
                continue
            n = x.shape[axis]
            if isinstance(p, slice):
                if (p.start, p.stop, p.step) != (None, None, None):
                    starts.append((axis, *ends(p)))
                shape.append(extent(n, p.start, p.stop, p.step))
            else:
                starts.append((axis, p, p + 1 if p != -1 else ends(slice(None))[1], 1))
                gone.append(axis)
            axis += 1
        if is_empty(shape):
            return self.zeros(shape, x.dtype)
        y = x.as_it_is()
        if starts:
            axes, *rest = zip(*starts)
            begin, end, step = map(self.dims, rest)
            y = self.call("Slice", [x, begin, end, self.dims(axes), step], (), x.dtype)
        if gone:
            y = self.call("Squeeze", [y, self.dims(gone)], (), x.dtype)
        if new:
            y = self.call("Unsqueeze", [y, self.dims(new)], (), x.dtype)
        y.shape = tuple(shape)
        return y

    def normalize_index(self, x: NamedArray, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """An index with one part per axis; a slice that covers its axis becomes slice(None)."""
        missing = (slice(None),) * (x.ndim - sum(p is not None and p is not Ellipsis for p in parts))
        at = next((i for i, p in enumerate(parts) if p is Ellipsis), len(parts))
        lengths = iter(x.shape)
        wholes = [(p, None if p is None else next(lengths)) for p in (*parts[:at], *missing, *parts[at + 1 :])]

        def is_whole(p: Any, n: Any) -> bool:
            return isinstance(p, slice) and p.step is None and p.start in (None, 0) and p.stop in (None, n)

        return tuple(slice(None) if is_whole(p, n) else p for p, n in wholes)

    def split_index(self, x: NamedArray, parts: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[Any], list[int], bool]:
        """The index with slices in place of its arrays, the arrays, their axes, and whether these axes are adjacent."""
        if any(isinstance(p, int | Length) for p in parts):
            raise Unrecordable("an index mixes integers and arrays")
        parts = self.normalize_index(x, parts)
        basic = tuple(slice(None) if is_array(p) else p for p in parts)
        at = [i for i, p in enumerate(parts) if is_array(p)]
        return basic, [self.as_operand(parts[i]) for i in at], at, at == [*range(at[0], at[-1] + 1)]

    def index_by_arrays(self, x: NamedArray, parts: tuple[Any, ...]) -> NamedArray:
        """x[parts], where some parts are arrays of integers; negative integers count from the end."""
        basic, arrays, axes, together = self.split_index(x, parts)
        x = self.emit_slice(x, basic)
        if len(arrays) == 1:
            return self.emit_gather(x, arrays[0], axes[0])
        index, front = self.indices(arrays), self.moveaxis(x, axes, range(len(axes)))
        chosen = index.shape[:-1]
        y = self.call("GatherND", [front, index], (*chosen, *front.shape[len(axes) :]), x.dtype)
        where = axes[0] if together else 0
        return self.moveaxis(y, range(len(chosen)), range(where, where + len(chosen)))  # type: ignore[no-any-return]

    def emit_gather(self, x: NamedArray, index: NamedArray, axis: int) -> NamedArray:
        shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
        return self.call("Gather", [x, self.as_int64(index)], shape, x.dtype, axis=axis)

    def take_along_axis(self, x: NamedArray, index: NamedArray, axis: int) -> NamedArray:
        return self.call("GatherElements", [x, self.as_int64(index)], index.shape, x.dtype, axis=axis)

    def indices(self, arrays: Sequence[NamedArray]) -> NamedArray:
        """Broadcast index arrays and stack them along a new last axis, as GatherND and ScatterND expect them."""
        shape = self.broadcast_of(*arrays)
        return self.stack([self.broadcast_to(self.as_int64(a), shape) for a in arrays], len(shape))

    def as_int64(self, index: NamedArray) -> NamedArray:
        return self.cast(index, np.dtype(np.int64))

    def assign(self, x: NamedArray, parts: tuple[Any, ...], value: Any, adds: bool = False) -> None:
        """x[parts] = value, or += if `adds`, which adds to a repeated position each time. In an assignment, the last
        value must win, which ONNX does not guarantee, so the last index of each position is found first.
        """
        basic, arrays, axes, together = self.split_index(x, parts)
        seen = x.make_view(lambda a: a[basic] if isinstance(a, np.ndarray) else self.emit_slice(a, basic))
        index, first = self.indices(arrays), range(len(axes))
        front = self.moveaxis(seen.as_it_is(), axes, first)
        if is_empty(index.shape):
            return
        chosen, rest = index.shape[:-1], front.shape[len(axes) :]
        where = axes[0] if together else 0
        shape = (*rest[:where], *chosen, *rest[where:])
        rows = self.broadcast_to(self.as_operand(value, x.dtype).astype(x.dtype), shape)
        rows = self.moveaxis(rows, range(where, where + len(chosen)), range(len(chosen)))
        if adds:
            y = self.call("ScatterND", [front, index, rows], front.shape, x.dtype, reduction="add")
        else:
            last = self.last(front.shape[: len(axes)], index)
            written = self.emit_gather(rows.reshape((prod(chosen), *rest)), self.maximum(last, 0), 0)
            named = (last >= 0).reshape((*last.shape, *(1,) * len(rest)))
            y = self.where(named, written, front)
        seen.write(self.moveaxis(y, first, axes))

    def last(self, shape: Sequence[Any], index: NamedArray) -> NamedArray:
        """For each position of an array of this shape, the number of the last index that points to it, or −1."""
        turn = self.arange(prod(index.shape[:-1]))
        turn = self.as_operand(turn, np.int64).reshape(index.shape[:-1])
        return self.call("ScatterND", [self.full(shape, -1, np.int64), index, turn], shape, np.int64, reduction="max")

    def scatter_view(self, x: NamedArray, look: Look, part: NamedArray) -> NamedArray:
        """x with the elements of a view replaced by `part`. The view must contain axes of unknown length as a whole."""
        still, there = ([a for a, n in enumerate(y.shape) if is_unknown(n)] for y in (x, part))
        rest, n = [x.shape[a] for a in still], 2 ** len(still)  # pretend that unknown lengths are 2
        shape = [2 if a in still else length for a, length in enumerate(x.shape)]
        numbers = np.arange(prod(shape)).reshape(shape)
        whole = self.moveaxis(numbers, still, last(still)).reshape(-1, n)
        fits = rest == [part.shape[a] for a in there]
        rows = self.moveaxis(look(numbers), there, last(there)).reshape(-1, n) if fits else whole[:1]
        if not fits or (rows - rows[:, :1] != whole[:1]).any():
            raise Unrecordable("it edits a part of an axis of unknown length")
        if not len(rows):
            return x
        number = np.searchsorted(whole[:, 0], rows[:, 0])  # row numbers; a row spans the axes of unknown length
        behind = self.moveaxis(x, still, last(still))
        front = self.emit_reshape(behind, (len(whole), *rest))
        value = self.emit_reshape(self.moveaxis(part, there, last(there)), (len(rows), *rest))
        y = self.call("ScatterND", [front, self.as_operand(number[:, None]), value], front.shape, x.dtype)
        return self.moveaxis(self.emit_reshape(y, behind.shape), last(still), still)  # type: ignore[no-any-return]


def last(axes: Sequence[int]) -> range:
    """The last places for as many axes."""
    return range(-len(axes), 0)
