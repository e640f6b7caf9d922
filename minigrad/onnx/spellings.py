"""Ops for which ONNX has a word of its own, or whose `forward` reads what only a run tells.

Every other op is written by its `forward`: see recorder.py.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .. import ops
from ..base.dimension import is_unknown
from ..compiler.program.abstract_array import Unrecordable
from ..core.op import Op
from .array import NamedArray

Spelling = Callable[..., Any]
SPELLINGS: dict[type[Op], Spelling] = {}


def spells(*kinds: type[Op]) -> Callable[[Spelling], Spelling]:
    """Says how these are written: a function of the recorder, the op and its operands."""

    def say(f: Spelling) -> Spelling:
        SPELLINGS.update(dict.fromkeys(kinds, f))
        return f

    return say


def alike(kind: str, **attributes: Any) -> Spelling:
    """One node, of the operand's shape and dtype."""
    return lambda xp, op, x: xp.call(kind, [x], x.shape, x.dtype, **attributes)


def in_single(spelling: Spelling) -> Spelling:
    """Not in double precision, in which ONNX's attributes are no numbers, or engines do not calculate."""

    def spelled(xp: Any, op: Any, x: NamedArray, *others: NamedArray) -> Any:
        if x.dtype.itemsize > 4:
            raise NotImplementedError
        return spelling(xp, op, x, *others)

    return spelled


SPELLINGS |= {
    ops.Relu: alike("Relu"), ops.Sigmoid: alike("Sigmoid"), ops.Erf: in_single(alike("Erf")),
    ops.Gelu: in_single(alike("Gelu")), ops.GeluTanh: in_single(alike("Gelu", approximate="tanh")),
    ops.LeakyRelu: in_single(lambda xp, op, x: alike("LeakyRelu", alpha=op.slope)(xp, op, x)),
    ops.Det: lambda xp, op, x: xp.call("Det", [x], x.shape[:-2], x.dtype),
    ops.Kept: lambda xp, op, t, c: xp.where(c, t, t.dtype.type(0)),
    ops.ReluDifferential: lambda xp, op, t, x: xp.where(x <= 0, t.dtype.type(0), t),
    ops.Mean: lambda xp, op, x: xp.reduce("ReduceMean", x, op.axes, op.keepdims),
    ops.Move: lambda xp, op, x: x,
    ops.Windows: lambda xp, op, x: x[..., windows(op, x.shape[-1])],
}  # fmt: skip


def windows(op: Any, n: int) -> np.ndarray:
    """The places that windows over n elements show."""
    return np.arange(0, n - op.size + 1, op.step)[:, None] + np.arange(op.size)


@spells(ops.GeluDifferential)
@in_single
def gelu_differential(xp: Any, op: Any, t: NamedArray, x: NamedArray) -> Any:
    cdf = alike("Erf")(xp, op, x * 0.5**0.5) * 0.5 + 0.5
    return t * (cdf + x * xp.exp(x * x * -0.5) * (2 * np.pi) ** -0.5)


@spells(ops.Softmax, ops.LogSoftmax)
def softmax(xp: Any, op: Any, x: NamedArray) -> Any:
    return xp.call(type(op).__name__, [x], x.shape, x.dtype, axis=op.axis)


@spells(ops.Affine)
def affine(xp: Any, op: Any, x: NamedArray, w: NamedArray, *b: NamedArray) -> Any:
    """Gemm of a matrix, and MatMul of more axes"""
    n = w.shape[0 if op.transposed else 1]
    dtype = xp.result_type(x, w, *b)
    x, w, *b = (xp.cast(v, dtype) for v in (x, w, *b))  # type: ignore[assignment]
    if x.ndim == 2:
        return xp.call("Gemm", [x, w, *b], (x.shape[0], n), dtype, transB=int(op.transposed))
    rows = x.reshape((1, *x.shape)) if x.ndim == 1 else x
    y = xp.matmul(rows, w.T if op.transposed else w)
    y = y + b[0] if b else y
    return y.reshape((*x.shape[:-1], n))


@spells(ops.Contract)
def contract(xp: Any, op: Any, x: NamedArray, y: NamedArray) -> Any:
    return xp.einsum(f"{op.left},{op.right}->{op.out}", x, y)


@spells(ops.Standardise)
@in_single
def standardise(xp: Any, op: Any, x: NamedArray, *affine: NamedArray) -> Any:
    """LayerNormalization over the last axes; over others, by the parts it is made of"""
    first = x.ndim - len(op.axes)
    if sorted(op.axes) != [*range(first, x.ndim)] or any(map(is_unknown, x.shape[first:])):
        raise NotImplementedError
    tail = x.shape[first:]
    whole = [p.shape[-len(tail) :] == tail and prod(p.shape) == prod(tail) for p in affine]
    scale = affine[0].reshape(tail) if affine and whole[0] else xp.full(tail, 1, x.dtype)
    if not all(whole):
        raise NotImplementedError
    return xp.call(
        "LayerNormalization", [x, scale, *(b.reshape(tail) for b in affine[1:])], x.shape, x.dtype,
        axis=first, epsilon=op.eps,
    )  # fmt: skip


# -- windows ----------------------------------------------------------------------------------------


def geometry(window: Any) -> dict[str, Any]:
    """A window as attributes. Raises Unrecordable where padding is negative: a crop, for which ONNX has no word."""
    before, after = zip(*window.padding) if window.padding else ((), ())
    if min((*before, *after), default=0) < 0:
        raise Unrecordable("negative padding")
    return {
        "kernel_shape": window.kernel,
        "strides": window.stride,
        "dilations": window.dilation,
        "pads": (*before, *after),
    }


@spells(ops.Convolution)
def convolution(xp: Any, op: Any, x: NamedArray, w: NamedArray, *b: NamedArray) -> Any:
    shape = (x.shape[0], w.shape[0], *op.window.places(op, x.shape[2:]))
    dtype = xp.result_type(x, w, *b)
    operands = [xp.cast(v, dtype) for v in (x, w, *b)]
    return xp.call("Conv", operands, shape, dtype, group=op.groups, **geometry(op.window))


@spells(ops.ConvolutionTranspose)
@in_single
def convolution_transpose(xp: Any, op: Any, y: NamedArray, w: NamedArray) -> Any:
    """ConvTranspose, with what no window reaches at the end as output padding"""
    w_ = op.window
    made = [(n - 1) * s + d * (k - 1) + 1 - sum(p) for n, s, d, k, p in zip(
        y.shape[2:], w_.stride, w_.dilation, w_.kernel, w_.padding)]  # fmt: skip
    more = [n - m for n, m in zip(op.size, made)]
    dtype = xp.result_type(y, w)
    shape = (y.shape[0], w.shape[1] * op.groups, *op.size)
    operands = [xp.cast(v, dtype) for v in (y, w)]
    return xp.call("ConvTranspose", operands, shape, dtype, group=op.groups, output_padding=more, **geometry(op.window))


@spells(ops.ConvolutionFilter)
def convolution_filter(xp: Any, op: Any, x: NamedArray, gy: NamedArray) -> Any:
    """The convolution of x with gy, batch and channels exchanged, strides and dilations too; one for each group"""
    w, size = op.window, x.shape[2:]
    channels, outputs = x.shape[1] // op.groups, gy.shape[1] // op.groups
    # What the last window does not reach is cut off, so that there are as many places as taps.
    reach = [(p - 1) * s + d * (k - 1) + 1 for p, s, d, k in zip(gy.shape[2:], w.stride, w.dilation, w.kernel)]
    after = [n - before - m for n, (before, _), m in zip(reach, w.padding, size)]
    keep = tuple(slice(0, n + min(a, 0)) for n, a in zip(size, after))
    seen = x[(slice(None), slice(None), *keep)].swapaxes(0, 1)
    turned = ops.Window(
        gy.shape[2:], w.dilation, tuple((b, max(a, 0)) for (b, _), a in zip(w.padding, after)), w.stride
    )
    parts = []
    for g in range(op.groups):
        mine, theirs = seen[g * channels : (g + 1) * channels], gy[:, g * outputs : (g + 1) * outputs].swapaxes(0, 1)
        parts.append(convolution(xp, ops.Convolution(turned), mine, theirs).swapaxes(0, 1))
    return xp.concatenate(parts, 0) if len(parts) > 1 else parts[0]


@spells(ops.MaxPool)
def max_pool(xp: Any, op: Any, x: NamedArray) -> Any:
    shape = (*x.shape[:2], *op.window.places(op, x.shape[2:]))
    if any(p >= k for pads, k in zip(op.window.padding, op.window.kernel) for p in pads):
        raise Unrecordable("padding as wide as the window")
    return xp.call("MaxPool", [x], shape, x.dtype, **geometry(op.window))


@spells(ops.AvgPool)
def average_pool(xp: Any, op: Any, x: NamedArray) -> Any:
    """AveragePool, where padding counts all or not at all; else the sums of the windows, each by its own share"""
    shape, window = (*x.shape[:2], *op.window.places(op, x.shape[2:])), op.window
    for counted, whole in ((window.padding, 1), (((0, 0),) * len(window.kernel), 0)):
        if op.counted == counted and not any(p >= k for pads, k in zip(window.padding, window.kernel) for p in pads):
            return xp.call("AveragePool", [x], shape, x.dtype, count_include_pad=whole, **geometry(window))
    return each_channel(xp, op, x, ops.Convolution) * shares(op, x.shape[2:], x.dtype)


@spells(ops.AvgUnpool)
def average_unpool(xp: Any, op: Any, y: NamedArray) -> Any:
    return each_channel(xp, op, y * shares(op, op.size, y.dtype), ops.ConvolutionTranspose, op.size)


def shares(op: Any, size: tuple[int, ...], dtype: np.dtype) -> Any:
    return np.asarray(op.weight(np, size, dtype))


def each_channel(xp: Any, op: Any, x: NamedArray, kind: Any, *size: Any) -> Any:
    """The sums of windows, or their transpose: a convolution with ones, each channel as an image of its own"""
    alone = x.reshape((x.shape[0] * x.shape[1], 1, *x.shape[2:]))
    y = SPELLINGS[kind](xp, kind(op.window, 1, *size), alone, xp.full((1, 1, *op.window.kernel), 1, x.dtype))
    return y.reshape((*x.shape[:2], *y.shape[2:]))


# -- places -----------------------------------------------------------------------------------------


@spells(ops.IndexAdd)
def index_add(xp: Any, op: Any, x: NamedArray, *arrays: NamedArray) -> Any:
    y = xp.broadcast_to(xp.lifted(0, x.dtype), op.shape).as_it_is()
    seen = op.seen(y)
    if arrays:
        xp.assign(seen, op.at(arrays), x, adds=True)
    else:
        seen[op.at(arrays)] = x
    return y


@spells(ops.Gather)
def gather(xp: Any, op: Any, x: NamedArray, index: NamedArray) -> Any:
    kept = tuple(slice(None) if a == op.axis else slice(0, n) for a, n in enumerate(index.shape))
    return xp.call("GatherElements", [x[kept], xp.whole(index)], index.shape, x.dtype, axis=op.axis)


@spells(ops.Chosen)
def chosen(xp: Any, op: Any, x: NamedArray, k: NamedArray) -> Any:
    return xp.take_along_axis(x, k[:, None], 1)[:, 0]


@spells(ops.MinusOneHot)
def minus_one_hot(xp: Any, op: Any, x: NamedArray, k: NamedArray) -> Any:
    places = xp.arange(x.shape[1])
    return x - xp.equal(xp.where(k < 0, k + x.shape[1], k)[:, None], places).astype(x.dtype)


@spells(ops.ScatterAdd)
def scatter_add(xp: Any, op: Any, x: NamedArray, index: NamedArray) -> Any:
    zeros = xp.broadcast_to(xp.lifted(0, x.dtype), op.shape)
    return xp.call("ScatterElements", [zeros, xp.whole(index), x], op.shape, x.dtype, axis=op.axis, reduction="add")


@spells(ops.Scatter)
def scatter(xp: Any, op: Any, x: NamedArray, src: NamedArray, index: NamedArray) -> Any:
    """The last of those that name a place, and x where none does"""
    src = xp.broadcast_to(src.astype(x.dtype), index.shape).reshape((prod(index.shape),))
    last = last_along(xp, op, x.shape, index)
    return xp.where(last >= 0, src.take(xp.maximum(last, 0)), x)


def last_along(xp: Any, op: Any, shape: tuple[int, ...], index: NamedArray) -> Any:
    turn = xp.lifted(np.arange(prod(index.shape)).reshape(index.shape))
    nobody = xp.lifted(np.full(shape, -1))
    return xp.call("ScatterElements", [nobody, xp.whole(index), turn], shape, np.int64, axis=op.axis, reduction="max")


@spells(ops.Last)
def last(xp: Any, op: Any, *arrays: NamedArray) -> Any:
    if isinstance(op.writer, ops.Scatter):
        turns = last_along(xp, op.writer, op.shape, *arrays)
        return xp.equal(
            gather(xp, op.writer, turns, *arrays), np.arange(prod(arrays[0].shape)).reshape(arrays[0].shape)
        )
    pattern = op.writer.pattern
    if pattern != (ops.ARRAY,):
        raise Unrecordable("which of equal places is the last, of arrays beside other parts of an index")
    (index,) = arrays
    if any(map(is_unknown, (*op.shape, *index.shape))):
        raise Unrecordable("which of equal places is the last, of lengths not known")
    turns = xp.last(op.shape[:1], xp.indices([index]))
    each = xp.equal(turns.take(index), np.arange(prod(index.shape)).reshape(index.shape))
    return xp.broadcast_to(each.reshape((*index.shape, *(1,) * (len(op.shape) - 1))), (*index.shape, *op.shape[1:]))


@spells(ops.ArgSort, ops.ArgTopK)
def arg_sort(xp: Any, op: Any, x: NamedArray) -> Any:
    k = getattr(op, "k", x.shape[op.axis])
    largest = op.largest if isinstance(op, ops.ArgTopK) else op.descending
    _, places = xp.writer.node("TopK", [x.name, xp.dims((k,))], 2, axis=op.axis, largest=int(largest))
    return NamedArray(xp, places, (*x.shape[: op.axis], k, *x.shape[op.axis + 1 :]), np.int64)


@spells(ops.SearchSorted)
def search_sorted(xp: Any, op: Any, row: NamedArray, x: NamedArray) -> Any:
    """How many numbers of the row are below x, counted one by one"""
    each = x.reshape((*x.shape, 1))
    return xp.reduce("ReduceSum", (row <= each if op.right else row < each).astype(np.int64), -1)


@spells(ops.ViewScatter)
def view_scatter(xp: Any, op: Any, x: NamedArray, part: NamedArray) -> Any:
    y = x.as_it_is()
    seen = y
    for each in op.ops:
        seen = each.forward(xp, seen)
    seen[...] = part
    return y


@spells(ops.Pad)
def pad(xp: Any, op: Any, x: NamedArray) -> Any:
    if not x.ndim:
        return x
    shape = tuple(before + n + after for n, (before, after) in zip(x.shape, op.widths))
    before, after = zip(*op.widths)
    wide = xp.cast(x, xp.wide(x.dtype))
    y = xp.call("Pad", [wide, xp.dims((*before, *after)), xp.lifted(op.value, wide.dtype)], shape, wide.dtype)
    return xp.cast(y, x.dtype)
