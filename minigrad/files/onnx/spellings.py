"""Spellings: how to write ops that ONNX has too, or whose `forward` cannot run without elements or lengths.

Every other op is written by running its `forward`: see recorder.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
from onnx import helper

from ...engine import ops
from ...engine.base.dimension import is_unknown
from ...engine.base.spec import Spec
from ...engine.core.op import Op
from ...graph.compiler.control import Cond, Scan, While
from ...graph.compiler.program.abstract_array import Unrecordable
from .named_array import NamedArray, is_empty
from .writer import value_info

Spelling = Callable[..., Any]
SPELLINGS: dict[type[Op], Spelling] = {}


def spells(*kinds: type[Op]) -> Callable[[Spelling], Spelling]:
    """Register the decorated function of (recorder, op, *operands) as the spelling of these ops."""

    def say(f: Spelling) -> Spelling:
        SPELLINGS.update(dict.fromkeys(kinds, f))
        return f

    return say


def alike(kind: str, **attributes: Any) -> Spelling:
    """A spelling that writes an op as one ONNX node, for floats only. The result has the operand's shape and dtype."""

    def emit_alike(g: Any, op: Any, x: NamedArray) -> Any:
        if x.dtype.kind in "iub":
            raise NotImplementedError
        return g.call(kind, [x], x.shape, x.dtype, **attributes)

    return emit_alike


def in_single(spelling: Spelling, always: bool = True) -> Spelling:
    """Refuse the spelling for float64, which ONNX's attributes cannot hold or engines do not compute in.

    always    if False, allow float64 when lengths are unknown, since forward needs known ones
    """

    def emit_in_single(g: Any, op: Any, x: NamedArray, *others: NamedArray) -> Any:
        if x.dtype.itemsize > 4 and (always or not any(map(is_unknown, x.shape))):
            raise NotImplementedError
        return spelling(g, op, x, *others)

    return emit_in_single


def real(x: NamedArray) -> NamedArray:
    """x, with integers as float64, because ONNX rounds the mean of integers."""
    return x.astype(np.float64) if x.dtype.kind in "iub" else x


SPELLINGS |= {
    ops.Relu: alike("Relu"), ops.Sigmoid: alike("Sigmoid"), ops.Erf: in_single(alike("Erf")),
    ops.Gelu: in_single(alike("Gelu")), ops.GeluTanh: in_single(alike("Gelu", approximate="tanh")),
    ops.LeakyRelu: in_single(lambda g, op, x: alike("LeakyRelu", alpha=op.slope)(g, op, x)),
    ops.Det: lambda g, op, x: g.call("Det", [x], x.shape[:-2], x.dtype),
    ops.Kept: lambda g, op, t, c: g.where(c, t, t.dtype.type(0)),
    ops.ReluDifferential: lambda g, op, t, x: g.where(x <= 0, t.dtype.type(0), t),
    ops.Move: lambda g, op, x: x,
    ops.Windows: lambda g, op, x: x[..., windows(op, x.shape[-1])],
    ops.Softmax: lambda g, op, x: g.call("Softmax", [x], x.shape, x.dtype, axis=op.axis),
    ops.LogSoftmax: lambda g, op, x: g.call("LogSoftmax", [x], x.shape, x.dtype, axis=op.axis),
    ops.Gather: lambda g, op, x, index: gather(g, op, x, nonnegative_index(g, index, x.shape[op.axis])),
    ops.Chosen: lambda g, op, x, k: g.take_along_axis(x, k[:, None], 1)[:, 0],
    ops.AvgUnpool: lambda g, op, y: each_channel(
        g, op, y * shares(op, op.size, y.dtype), ops.ConvolutionTranspose, op.size),
}  # fmt: skip


def windows(op: Any, n: int) -> np.ndarray:
    """The indices of the elements in each window over n elements."""
    return np.arange(0, n - op.size + 1, op.step)[:, None] + np.arange(op.size)


@spells(ops.Mean)
def mean(g: Any, op: Any, x: NamedArray) -> Any:
    """ReduceMean; along an unknown length, sum / length, because in engines the ReduceMean of no elements is 0"""
    if not any(is_unknown(x.shape[a]) for a in op.axes):
        return g.reduce("ReduceMean", real(x), op.axes, op.keepdims)
    y = op.forward(g, x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x)
    return y.astype(real(x).dtype)


@spells(ops.GeluDifferential)
@in_single
def gelu_differential(g: Any, op: Any, t: NamedArray, x: NamedArray) -> Any:
    cdf = alike("Erf")(g, op, x * 0.5**0.5) * 0.5 + 0.5
    return t * (cdf + x * g.exp(x * x * -0.5) * (2 * np.pi) ** -0.5)


@spells(ops.Affine)
def affine(g: Any, op: Any, x: NamedArray, w: NamedArray, *b: NamedArray) -> Any:
    """Gemm for a matrix, MatMul for other numbers of axes"""
    n = w.shape[0 if op.transposed else 1]
    x, w, *b = g.promote(x, w, *b)
    if x.ndim == 2:
        return g.call("Gemm", [x, w, *b], (x.shape[0], n), x.dtype, transB=int(op.transposed))
    rows = x.reshape((1, *x.shape)) if x.ndim == 1 else x
    y = g.matmul(rows, w.T if op.transposed else w)
    y = y + b[0] if b else y
    return y.reshape((*x.shape[:-1], n))


@spells(ops.Standardise)
@in_single
def standardise(g: Any, op: Any, x: NamedArray, *affine: NamedArray) -> Any:
    """LayerNormalization over the last axes; over other axes, the op's decomposition"""
    first = x.ndim - len(op.axes)
    if sorted(op.axes) != [*range(first, x.ndim)] or any(map(is_unknown, x.shape[first:])):
        raise NotImplementedError
    tail = x.shape[first:]
    whole = [p.shape[-len(tail) :] == tail and prod(p.shape) == prod(tail) for p in affine]
    scale = affine[0].reshape(tail) if affine and whole[0] else g.full(tail, 1, x.dtype)
    if not all(whole):
        raise NotImplementedError
    return g.call(
        "LayerNormalization", [x, scale, *(b.reshape(tail) for b in affine[1:])], x.shape, x.dtype,
        axis=first, epsilon=op.eps,
    )  # fmt: skip


# -- windows ----------------------------------------------------------------------------------------


def geometry(window: Any) -> dict[str, Any]:
    """A window as attributes. Raises Unrecordable for negative padding, which would crop: ONNX cannot express it."""
    before, after = zip(*window.padding) if window.padding else ((), ())
    pads = (*before, *after)
    if min(pads, default=0) < 0:
        raise Unrecordable("negative padding")
    return {"kernel_shape": window.kernel, "strides": window.stride, "dilations": window.dilation, "pads": pads}


@spells(ops.Convolution)
@partial(in_single, always=False)
def convolution(g: Any, op: Any, x: NamedArray, w: NamedArray, *b: NamedArray) -> Any:
    shape = (x.shape[0], w.shape[0], *op.window.places(op, x.shape[2:]))
    operands = g.promote(x, w, *b)
    return g.call("Conv", operands, shape, operands[0].dtype, group=op.groups, **geometry(op.window))


@spells(ops.ConvolutionTranspose)
@partial(in_single, always=False)
def convolution_transpose(g: Any, op: Any, y: NamedArray, w: NamedArray) -> Any:
    """ConvTranspose; the positions at the end that no window reaches are its output padding"""
    w_ = op.window
    made = [(n - 1) * s + d * (k - 1) + 1 - sum(p) for n, s, d, k, p in zip(
        y.shape[2:], w_.stride, w_.dilation, w_.kernel, w_.padding)]  # fmt: skip
    more = [n - m for n, m in zip(op.size, made)]
    shape, (y, w) = (y.shape[0], w.shape[1] * op.groups, *op.size), g.promote(y, w)
    return g.call("ConvTranspose", [y, w], shape, y.dtype, group=op.groups, output_padding=more, **geometry(op.window))


@spells(ops.ConvolutionFilter)
@partial(in_single, always=False)
def convolution_filter(g: Any, op: Any, x: NamedArray, gy: NamedArray) -> Any:
    """Convolve x with gy in each group, after swapping batch with channels, and strides with dilations"""
    w, size = op.window, x.shape[2:]
    channels, outputs = x.shape[1] // op.groups, gy.shape[1] // op.groups
    # Crop what the last window does not reach, so that the result has one position per tap.
    reach = [(p - 1) * s + d * (k - 1) + 1 for p, s, d, k in zip(gy.shape[2:], w.stride, w.dilation, w.kernel)]
    after = [n - before - m for n, (before, _), m in zip(reach, w.padding, size)]
    keep = tuple(slice(0, n + min(a, 0)) for n, a in zip(size, after))
    seen = x[(slice(None), slice(None), *keep)].swapaxes(0, 1)
    padding = tuple((before, max(a, 0)) for (before, _), a in zip(w.padding, after))
    turned = ops.Window(gy.shape[2:], w.dilation, padding, w.stride)
    parts = []
    for i in range(op.groups):
        mine, theirs = seen[i * channels : (i + 1) * channels], gy[:, i * outputs : (i + 1) * outputs].swapaxes(0, 1)
        parts.append(convolution(g, ops.Convolution(turned), mine, theirs).swapaxes(0, 1))
    return g.concatenate(parts, 0) if len(parts) > 1 else parts[0]


@spells(ops.MaxPool)
def max_pool(g: Any, op: Any, x: NamedArray) -> Any:
    shape = (*x.shape[:2], *op.window.places(op, x.shape[2:]))
    if any(p >= k for pads, k in zip(op.window.padding, op.window.kernel) for p in pads):
        raise Unrecordable("padding as wide as the window")
    return g.call("MaxPool", [x], shape, x.dtype, **geometry(op.window))


@spells(ops.AvgPool)
@partial(in_single, always=False)
def average_pool(g: Any, op: Any, x: NamedArray) -> Any:
    """AveragePool if padding counts entirely or not at all; else each window's sum times its own weight"""
    shape, window = (*x.shape[:2], *op.window.places(op, x.shape[2:])), op.window
    for counted, whole in ((window.padding, 1), (((0, 0),) * len(window.kernel), 0)):
        if op.counted == counted and not any(p >= k for pads, k in zip(window.padding, window.kernel) for p in pads):
            return g.call("AveragePool", [x], shape, x.dtype, count_include_pad=whole, **geometry(window))
    return each_channel(g, op, x, ops.Convolution) * shares(op, x.shape[2:], x.dtype)


@spells(ops.AdaptiveAvgPool)
def adaptive_average_pool(g: Any, op: Any, x: NamedArray) -> Any:
    """ReduceMean if one window covers the axis, of any length; else the op's forward"""
    if op.n != 1:
        raise NotImplementedError
    return g.reduce("ReduceMean", x, op.axis, keepdims=True)


def shares(op: Any, size: tuple[int, ...], dtype: np.dtype) -> Any:
    return np.asarray(op.weight(np, size, dtype))


def each_channel(g: Any, op: Any, x: NamedArray, kind: Any, *size: Any) -> Any:
    """Window sums, or their transpose: a convolution with ones that treats each channel as a separate image"""
    alone = x.reshape((x.shape[0] * x.shape[1], 1, *x.shape[2:]))
    y = SPELLINGS[kind](g, kind(op.window, 1, *size), alone, g.full((1, 1, *op.window.kernel), 1, x.dtype))
    return y.reshape((*x.shape[:2], *y.shape[2:]))


# -- indices ----------------------------------------------------------------------------------------


@spells(ops.IndexAdd)
def index_add(g: Any, op: Any, x: NamedArray, *arrays: NamedArray) -> Any:
    y = g.broadcast_to(g.as_operand(0, x.dtype), op.shape).as_it_is()
    seen = op.select_integers(y)
    if arrays:
        g.assign(seen, op.at(arrays), x, adds=True)
    else:
        seen[op.at(arrays)] = x
    return y


@spells(ops.Within)
def within(g: Any, op: Any, x: NamedArray) -> Any:
    """x, with NaN for floats out of range, and op.high + 1 for integers below op.low: engines refuse it as an index"""
    if x.dtype.kind == "f":
        return g.where((x >= op.low) & (x <= op.high), x, x.dtype.type(np.nan))
    if x.dtype.kind == "u" and op.low <= 0:
        return x
    if is_unknown(op.high) or op.high >= np.iinfo(x.dtype).max:  # int8 cannot hold the indices of a long axis
        x = g.as_int64(x)
    return g.where(x < op.low, g.as_operand(op.high + 1, x.dtype), x)


def nonnegative_index(g: Any, index: NamedArray, n: Any) -> Any:
    """Replace negative indices for an axis of length n by n, out of range, since ONNX would count them from the end"""
    index = g.as_int64(index)
    return g.where(index < 0, g.as_operand(n, index.dtype), index)


def gather(g: Any, op: Any, x: NamedArray, index: NamedArray) -> Any:
    kept = tuple(slice(None) if a == op.axis else slice(0, n) for a, n in enumerate(index.shape))
    return g.call("GatherElements", [x[kept], g.as_int64(index)], index.shape, x.dtype, axis=op.axis)


@spells(ops.MinusOneHot)
def minus_one_hot(g: Any, op: Any, x: NamedArray, k: NamedArray) -> Any:
    places = g.arange(x.shape[1])
    return x - g.equal(g.where(k < 0, k + x.shape[1], k)[:, None], places).astype(x.dtype)


@spells(ops.ScatterAdd)
def scatter_add(g: Any, op: Any, x: NamedArray, index: NamedArray) -> Any:
    zeros = g.broadcast_to(g.as_operand(0, x.dtype), op.shape)
    index = g.as_int64(index) if op.inside else nonnegative_index(g, index, op.shape[op.axis])
    return g.call("ScatterElements", [zeros, index, x], op.shape, x.dtype, axis=op.axis, reduction="add")


@spells(ops.Scatter)
def scatter(g: Any, op: Any, x: NamedArray, src: NamedArray, index: NamedArray) -> Any:
    """At each position, the last element of src whose index points to it, or x's own element"""
    if is_empty(index.shape):
        return x
    src = g.broadcast_to(src.astype(x.dtype), index.shape).reshape((prod(index.shape),))
    last = last_along(g, op, x.shape, nonnegative_index(g, index, x.shape[op.axis]))
    return g.where(last >= 0, src.take(g.maximum(last, 0)), x)


def last_along(g: Any, op: Any, shape: tuple[int, ...], index: NamedArray) -> Any:
    turn = g.as_operand(np.arange(prod(index.shape)).reshape(index.shape))
    nobody = g.as_operand(np.full(shape, -1))
    return g.call("ScatterElements", [nobody, g.as_int64(index), turn], shape, np.int64, axis=op.axis, reduction="max")


@spells(ops.Last)
def last(g: Any, op: Any, *arrays: NamedArray) -> Any:
    if isinstance(op.writer, ops.Scatter):
        turns = last_along(g, op.writer, op.shape, *arrays)
        return g.equal(gather(g, op.writer, turns, *arrays), np.arange(prod(arrays[0].shape)).reshape(arrays[0].shape))
    pattern = op.writer.pattern
    if pattern != (ops.ARRAY,):
        raise Unrecordable("the last of equal indices, where an index has arrays and other parts")
    (index,) = arrays
    if any(map(is_unknown, (*op.shape, *index.shape))):
        raise Unrecordable("the last of equal indices, where lengths are unknown")
    turns = g.last(op.shape[:1], g.indices([index]))
    each = g.equal(turns.take(index), np.arange(prod(index.shape)).reshape(index.shape))
    return g.broadcast_to(each.reshape((*index.shape, *(1,) * (len(op.shape) - 1))), (*index.shape, *op.shape[1:]))


@spells(ops.ArgSort, ops.ArgTopK)
def arg_sort(g: Any, op: Any, x: NamedArray) -> Any:
    k = getattr(op, "k", x.shape[op.axis])
    largest = op.largest if isinstance(op, ops.ArgTopK) else op.descending
    _, places = g.writer.node("TopK", [x.name, g.dims((k,))], 2, axis=op.axis, largest=int(largest))
    return NamedArray(g, places, (*x.shape[: op.axis], k, *x.shape[op.axis + 1 :]), np.int64)


@spells(ops.SearchSorted)
def search_sorted(g: Any, op: Any, row: NamedArray, x: NamedArray) -> Any:
    """Compare x with each number of the row and count those below it"""
    each = x.reshape((*x.shape, 1))
    return g.reduce("ReduceSum", (row <= each if op.right else row < each).astype(np.int64), -1)


@spells(ops.ViewScatter)
def view_scatter(g: Any, op: Any, x: NamedArray, part: NamedArray) -> Any:
    y = x.as_it_is()
    seen = y
    for each in op.ops:
        seen = each.forward(g, seen)
    seen[...] = part
    return y


@spells(ops.Pad)
def pad(g: Any, op: Any, x: NamedArray) -> Any:
    if not x.ndim:
        return x
    shape = tuple(before + n + after for n, (before, after) in zip(x.shape, op.widths))
    before, after = zip(*op.widths)
    wide = g.cast(x, g.wide(x.dtype))
    y = g.call("Pad", [wide, g.dims((*before, *after)), g.as_operand(op.value, wide.dtype)], shape, wide.dtype)
    return g.cast(y, x.dtype)


# -- control flow: If, Loop and Scan, with subgraphs; recurrent networks are Scans too -------------------


def emit_subgraph(g: Any, name: str, inputs: Sequence[NamedArray], body: Callable[[], Sequence[NamedArray]]) -> Any:
    """Write a subgraph that maps these inputs to the results of body(); return the subgraph and the results."""
    with g.writer.inside() as nodes:
        # A subgraph must compute its outputs, so a value from outside passes through an Identity node.
        results = [g.call("Identity", [y], y.shape, y.dtype) for y in body()]
        given, made = ([value_info(x.name, x.dtype, x.shape) for x in xs] for xs in (inputs, results))
        return helper.make_graph(nodes, g.writer.fresh(name), given, made), results


def subgraph_input(g: Any, shape: Any, dtype: Any, name: str = "given") -> Any:
    return NamedArray(g, g.writer.fresh(name), shape, dtype)


def results_of(g: Any, kind: str, inputs: Sequence[str], specs: Any, **attributes: Any) -> Any:
    names = g.writer.node(kind, inputs, len(specs), **attributes)
    return tuple(NamedArray(g, name, spec.shape, spec.dtype) for name, spec in zip(names, specs))


@spells(Cond)
def cond(g: Any, op: Cond, p: NamedArray, *k: NamedArray) -> Any:
    branches = {}
    for name, graph in (("then_branch", op.true), ("else_branch", op.false)):
        branches[name], results = emit_subgraph(g, name, (), partial(g.run, graph, k))
    return results_of(g, "If", [p.astype(bool).name], results, **branches)


@spells(While)
def while_loop(g: Any, op: While, *xs: NamedArray) -> Any:
    n = op.carried
    carries = [subgraph_input(g, x.shape, x.dtype) for x in xs[:n]]
    turn, going = subgraph_input(g, (), np.int64, "turn"), subgraph_input(g, (), bool, "going")

    def body() -> Sequence[NamedArray]:
        ys = g.run(op.body, (*carries, *xs[n:]))
        return g.run(op.test, (*ys[:n], *xs[n:]))[0], *ys

    first = g.run(op.test, xs)[0]
    graph, _ = emit_subgraph(g, "body", (turn, going, *carries), body)
    specs = op.infer(*(Spec(x.shape, x.dtype) for x in xs))
    return results_of(g, "Loop", ["", first.name, *(x.name for x in xs[:n])], specs, body=graph)


@spells(Scan)
def scan(g: Any, op: Scan, *xs: NamedArray) -> Any:
    n, m = op.carried, op.carried + op.sliced
    counter = () if op.sliced else (g.as_operand(np.zeros(op.length or 0, np.int64)),)  # sets the number of steps
    return emit_scan(
        g, xs[:n], (*xs[n:m], *counter), lambda cs, slices: g.run(op.body, (*cs, *slices[: m - n], *xs[m:])), op.reverse
    )


def emit_scan(
    g: Any, carries: Sequence[NamedArray], xs: Sequence[NamedArray],
    step: Callable[..., Sequence[NamedArray]], reverse: bool = False,
) -> Any:  # fmt: skip
    """Scan step(carries, slices) over the first axis of xs; return the final carries, and the other results stacked."""
    n, T = len(carries), xs[0].shape[0]
    inner = [subgraph_input(g, x.shape, x.dtype) for x in carries]
    slices = [subgraph_input(g, x.shape[1:], x.dtype) for x in xs]
    graph, ys = emit_subgraph(g, "body", (*inner, *slices), lambda: step(inner, slices))
    specs = [*ys[:n], *(NamedArray(g, y.value, (T, *y.shape), y.dtype) for y in ys[n:])]
    back = {"scan_input_directions": [1] * len(xs), "scan_output_directions": [1] * len(ys[n:])} if reverse else {}
    names = [x.name for x in (*carries, *xs)]
    return results_of(g, "Scan", names, specs, body=graph, num_scan_inputs=len(xs), **back)


@spells(ops.Elman, ops.ElmanRelu, ops.Gru, ops.Lstm)
def recurrent(g: Any, op: Any, a: NamedArray, U: NamedArray, start: NamedArray, *c: NamedArray) -> Any:
    """Write a Scan over the op's steps; for sequences of different lengths, run the op's `forward`, which unrolls."""
    if op.batch_sizes is not None:
        return op.forward(g, a, U, start, *c)
    a, U, start, *c = g.promote(a, U, start, *c)

    def step(states: Sequence[NamedArray], slices: Sequence[NamedArray]) -> Sequence[NamedArray]:
        (s,), (at,) = states, slices
        y = op.forward(g, at.reshape((1, *at.shape)), U, s, *c)
        s = y.reshape(s.shape)
        return s, s

    _, y = emit_scan(g, [start], [a], step)
    return y.transpose((1, 0, 2, 3))
