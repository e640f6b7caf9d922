"""Batching rules: apply an op to n stacked operands at once, as vmap needs.

    batch_op(op, n, mapped, x₁, x₂, …) → n results, stacked along a first axis. A mapped operand has n stacked values
                                         along its first axis; the others are the same for all n

Most ops need no rule of their own. Elementwise ops broadcast. The fields `axis` and `axes` count from the left, and are
shifted by one. Ops on the last axes accept any axes in front, and ops on rows accept more rows. The rules for the rest
are built from methods and ops, like derivatives, so they can be differentiated, traced into graphs, and batched again.
The result is None if there is no rule. Give your own op a rule by `@batch_op.register(MyOp)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import singledispatch
from math import prod
from string import ascii_letters
from typing import Any

import numpy as np

from ..engine import ops
from ..engine.base.dimension import require_known
from ..engine.base.spec import Spec
from ..engine.core.op import Elementwise, Op
from ..engine.ops.activation import Differential
from ..engine.ops.index import AlongAxis, PatternOp
from ..engine.ops.linalg import OfMatrix, OfSquare
from ..engine.ops.movement import Triangle
from ..engine.ops.pattern import ARRAY, Slice, chosen_at
from ..engine.ops.pooling import Pooling
from ..engine.ops.recurrent import Recurrent, Stepping

Mapped = Sequence[bool]


@singledispatch
def batch_op(op: Op, n: Any, mapped: Mapped, *xs: Any) -> Any:
    """n results, stacked; None if there is no rule, and n calls are needed."""
    wide = widen_op(op, n)
    return None if wide is None else apply_op(wide, side_by_side(n, mapped, xs))


def apply_op(op: Op, xs: Sequence[Any]) -> Any:
    """The result of op on these operands."""
    first, *others = xs
    return first.apply(op, *others)


# -- generic rules -------------------------------------------------------------------------------------


@singledispatch
def widen_op(op: Op, n: Any) -> Op | None:
    """The op for operands and a result with an extra first axis of length n; None if there is none."""
    moved = {f.name: shift_axis(getattr(op, f.name)) for f in fields(op) if f.name in ("axis", "axes")}
    return replace(op, **moved) if moved or isinstance(op, LEADING) else None


LEADING = (  # ops on the last axes, for any axes in front
    *(ops.Alias, ops.Clone, ops.Contiguous, ops.Move, ops.StopGradient, ops.Diagonal, ops.OnDiagonal, Triangle),
    *(ops.Within, ops.Windows, ops.Attention, ops.AttentionWeights, ops.Exchanged, OfSquare, OfMatrix),
)


WIDENED: dict[type[Op], Callable[[Any, Any], Op | None]] = {
    ops.Reshape: lambda op, n: ops.Reshape((n, *op.shape)),
    ops.OfShape: lambda op, n: replace(op, shape=(n, *op.shape)),
    ops.Transpose: lambda op, n: ops.Transpose((0, *shift_axis(op.axes))),
    ops.Pad: lambda op, n: ops.Pad(((0, 0), *op.widths), op.value),
    ops.Index: lambda op, n: None if op.basic is None else ops.Index((Slice(), *op.pattern)),
    ops.ScatterAdd: lambda op, n: ops.ScatterAdd(op.axis + 1, (n, *op.shape), op.inside),
}
for kind, rule in WIDENED.items():
    widen_op.register(kind, rule)


def shift_axis(axis: Any) -> Any:
    """The number of an axis, or of several, after one axis is added in front."""
    return tuple(map(shift_axis, axis)) if isinstance(axis, tuple) else axis + (axis >= 0)


def side_by_side(n: Any, mapped: Mapped, xs: Sequence[Any]) -> list[Any]:
    """n stacked values of each operand; an unmapped operand is broadcast, as a view."""
    return [x if each else x.broadcast_to((n, *x.spec.shape)) for each, x in zip(mapped, xs)]


def align_axes(mapped: Mapped, xs: Sequence[Any]) -> list[Any]:
    """Insert axes of length 1 after the first axis of mapped operands, so that all operands broadcast as slices do."""
    most = max(x.ndim - each for each, x in zip(mapped, xs))
    return [
        x.reshape((x.spec.shape[0], *(1,) * (most + 1 - x.ndim), *x.spec.shape[1:])) if each and x.ndim <= most else x
        for each, x in zip(mapped, xs)
    ]


def broadcast_each(x: Any, n: Any, shape: tuple[int, ...], is_mapped: bool) -> Any:
    """n stacked values of an operand, each broadcast to the shape."""
    ones = (1,) * (len(shape) + is_mapped - x.ndim)
    return x.reshape((n, *ones, *x.spec.shape[1:]) if is_mapped else x.spec.shape).broadcast_to((n, *shape))


def merge_axes(x: Any) -> Any:
    """x with its first two axes merged."""
    n, m, *rest = x.spec.shape
    return x.reshape((n * m, *rest))


def broadcasting(op: Op, n: Any, mapped: Mapped, *xs: Any) -> Any:
    """The rule of an op whose operands broadcast."""
    return apply_op(op, align_axes(mapped, xs))


def beside_the_first(op: Op, n: Any, mapped: Mapped, x: Any, *others: Any) -> Any:
    """The rule of an op whose other operands broadcast to the first."""
    xs = align_axes((True, *mapped[1:]), (*side_by_side(n, mapped[:1], (x,)), *others))
    return apply_op(widen_op(op, n), xs)  # type: ignore[arg-type]


def by_rows(op: Op, n: Any, mapped: Mapped, *xs: Any) -> Any:
    """The rule of an op that treats each index along the first axis of its operands independently."""
    first, *others = side_by_side(n, mapped, xs)
    y = merge_axes(first).apply(op, *map(merge_axes, others))
    return y.reshape((n, first.spec.shape[1], *y.spec.shape[1:]))


FAMILIES: dict[Any, tuple[type[Op], ...]] = {
    broadcasting: (Elementwise, ops.Solve),
    beside_the_first: (ops.Standardise, ops.Attention, ops.AttentionWeights),
    by_rows: (Pooling, ops.Unfold, ops.Fold, ops.CrossEntropy, ops.Chosen, ops.MinusOneHot, ops.SoftmaxMinusOneHot),
}
for family_rule, kinds in FAMILIES.items():
    for kind in kinds:
        batch_op.register(kind, family_rule)


@batch_op.register
def written_over(op: Differential, n: Any, mapped: Mapped, *xs: Any) -> Any:
    return apply_op(op, side_by_side(n, mapped, xs))  # same shapes, as one operand overwrites the other


# -- movement ------------------------------------------------------------------------------------------


@batch_op.register
def broadcast(op: ops.BroadcastTo, n: Any, mapped: Mapped, x: Any) -> Any:
    return broadcast_each(x, n, op.shape, True)


@widen_op.register
def overlay(op: ops.ViewScatter, n: Any) -> Op | None:
    way = tuple(wide for each in op.ops if (wide := widen_op(each, n)) is not None)
    return ops.ViewScatter(way) if len(way) == len(op.ops) else None


# -- products ------------------------------------------------------------------------------------------


@batch_op.register
def matmul(op: ops.MatMul, n: Any, mapped: Mapped, x: Any, y: Any) -> Any:
    if tuple(mapped) == (True, False) and y.ndim == 2:  # one product of all rows
        return (rows(x) @ y).reshape((*x.spec.shape[:-1], y.spec.shape[1]))
    if tuple(mapped) == (False, True) and x.ndim == 2:
        return matmul(op, n, (True, False), y.mT, x.mT).mT
    return broadcasting(op, n, mapped, x, y)


@batch_op.register
def affine(op: ops.Affine, n: Any, mapped: Mapped, x: Any, w: Any, *b: Any) -> Any:
    if not any(mapped[1:]):
        return x.apply(op, w, *b)
    shape, w = x.spec.shape[mapped[0] : -1], w.mT if op.transposed else w
    x = x.reshape((n, prod(shape), x.spec.shape[-1])) if mapped[0] else rows(x)
    y = matmul(ops.MatMul(), n, mapped[:2], x, w) if any(mapped[:2]) else x @ w
    for bias in b:
        y = y + (bias.unsqueeze(1) if mapped[2] else bias)
    return y.reshape((n, *shape, y.spec.shape[-1]))


@batch_op.register
def contract(op: ops.Contract, n: Any, mapped: Mapped, x: Any, y: Any) -> Any:
    new = next(letter for letter in ascii_letters if letter not in op.left + op.right)
    left, right = (new * each + side for each, side in zip(mapped, (op.left, op.right)))
    return x.apply(ops.Contract(left, right, new + op.out), y)


def rows(x: Any) -> Any:
    """x of shape (…, k) as one matrix."""
    return x.reshape((prod(x.spec.shape[:-1]), x.spec.shape[-1]))


# -- convolution: n batches become one batch, and n networks one network of separate groups ------------


@batch_op.register(ops.Convolution)
@batch_op.register(ops.ConvolutionTranspose)
def convolution(op: Any, n: Any, mapped: Mapped, x: Any, w: Any, *b: Any) -> Any:
    if not any(mapped[1:]):
        y = merge_axes(x).apply(op, w, *b)
        return y.reshape((n, x.spec.shape[1], *y.spec.shape[1:]))
    if not any(mapped[:2]):
        y = x.apply(op, w)
    elif not mapped[0] and op == ops.Convolution(op.window):
        y = split_channels(n, x.apply(op, merge_axes(w)))  # one x, more filters
    else:
        x, w = side_by_side(n, mapped, (x, w))
        y = split_channels(n, channels(x).apply(replace(op, groups=n * op.groups), merge_axes(w)))
    ones = (1,) * len(op.window.kernel)
    for bias in b:
        y = y + bias.reshape((n, 1, -1, *ones) if mapped[2] else (-1, *ones))
    return y


@batch_op.register
def of_filters(op: ops.ConvolutionFilter, n: Any, mapped: Mapped, x: Any, gy: Any) -> Any:
    x, gy = map(channels, side_by_side(n, mapped, (x, gy)))
    w = x.apply(replace(op, groups=n * op.groups), gy)
    return w.reshape((n, w.spec.shape[0] // n, *w.spec.shape[1:]))


def channels(x: Any) -> Any:
    """x of shape (n, N, C, …) with the channels of all n stacked: (N, n C, …)."""
    n, batch, each, *size = x.spec.shape
    return x.movedim(0, 1).reshape((batch, n * each, *size))


def split_channels(n: Any, y: Any) -> Any:
    """The inverse of channels(): (N, n C, …) as (n, N, C, …)."""
    batch, all_channels, *size = y.spec.shape
    return y.reshape((batch, n, all_channels // n, *size)).movedim(1, 0)


# -- sequences: n batches become one batch, if the weights are the same --------------------------------


@batch_op.register
def recurrent(op: Stepping, n: Any, mapped: Mapped, *xs: Any) -> Any:
    axes = sequences(op)[: len(xs)]
    if any(each and axis is None for each, axis in zip(mapped, axes)):
        return None
    of_all = [x if axis is None else interleave(n, each, x, axis) for each, x, axis in zip(mapped, xs, axes)]
    y = apply_op(replace(op, batch_sizes=op.batch_sizes and tuple(m * n for m in op.batch_sizes)), of_all)
    S, T, N, H = y.spec.shape
    return y.reshape((S, T, N // n, n, H)).movedim(3, 0)


def sequences(op: Stepping) -> tuple[int | None, ...]:
    """For each operand, the axis of the sequences; None if all sequences share the operand."""
    return (1, None, 1, None) if isinstance(op, Recurrent) else (2, 1, None, 1, 1)


def interleave(n: Any, is_mapped: bool, x: Any, axis: int) -> Any:
    """Merge n stacked values of x along the axis, interleaved: index 0 of all n, then index 1 of all n, and so on."""
    y = side_by_side(n, (is_mapped,), (x,))[0].movedim(0, axis + 1)
    shape = y.spec.shape
    return y.reshape((*shape[:axis], shape[axis] * n, *shape[axis + 2 :]))


# -- by index ------------------------------------------------------------------------------------------


def of_all(op: PatternOp, n: Any, ndim: int, mapped: Mapped, arrays: Sequence[Any]) -> Any:
    """The pattern and the arrays for n stacked x of `ndim` axes each; then two tuples of axes: moving the first axes to
    the second stacks the n selected regions.
    """
    at, several = chosen_at(op.pattern, ndim), max((a.ndim - each for each, a in zip(mapped, arrays)), default=0)
    if not any(mapped):
        pattern = (Slice(), *op.pattern)
        return pattern, arrays, (several if arrays and not chosen_at(pattern, ndim + 1) else 0,), (0,)
    require_known("vmap of an index", n)
    numbers = arrays[0].lift(np.arange(n).reshape(n, *(1,) * several))
    places = tuple(range(1, several + 1))
    return (ARRAY, *op.pattern), (numbers, *align_axes(mapped, arrays)), places, tuple(at + a for a in places)


def regions(op: PatternOp, n: Any, x: Spec, mapped: Mapped, value: Any, arrays: Sequence[Any]) -> Any:
    """n stacked values, each broadcast to the shape of x[pattern]."""
    slices = tuple(a.spec.with_shape(a.spec.shape[each:]) for each, a in zip(mapped[1:], arrays))
    return broadcast_each(value, n, op.region(x, slices), mapped[0])


@batch_op.register
def index(op: ops.Index, n: Any, mapped: Mapped, x: Any, *arrays: Any) -> Any:
    if not mapped[0]:  # one x, more indices
        return x.apply(op, *align_axes(mapped[1:], arrays)).movedim(chosen_at(op.pattern, x.ndim), 0)
    pattern, arrays, here, there = of_all(op, n, x.ndim - 1, mapped[1:], arrays)
    return x.apply(ops.Index(pattern), *arrays).movedim(here, there)


@batch_op.register
def index_add(op: ops.IndexAdd, n: Any, mapped: Mapped, x: Any, *arrays: Any) -> Any:
    x = regions(op, n, x.spec.with_shape(op.shape), mapped, x, arrays)
    pattern, arrays, here, there = of_all(op, n, len(op.shape), mapped[1:], arrays)
    return x.movedim(there, here).apply(ops.IndexAdd(pattern, (n, *op.shape), op.inside), *arrays)


@batch_op.register
def index_set(op: ops.IndexSet, n: Any, mapped: Mapped, x: Any, value: Any, *arrays: Any) -> Any:
    (x,) = side_by_side(n, mapped[:1], (x,))
    value = regions(op, n, x.spec.with_shape(x.spec.shape[1:]), mapped[1:], value, arrays)
    pattern, arrays, here, there = of_all(op, n, x.ndim - 1, mapped[2:], arrays)
    return x.apply(ops.IndexSet(pattern), value.movedim(there, here), *arrays)


@batch_op.register
def last(op: ops.Last, n: Any, mapped: Mapped, *arrays: Any) -> Any:
    shape = (n, *op.shape)
    if isinstance(op.writer, AlongAxis):
        return apply_op(ops.Last(widen_op(op.writer, n), shape), side_by_side(n, mapped, arrays))
    pattern, arrays, here, there = of_all(op.writer, n, len(op.shape), mapped, arrays)
    return apply_op(ops.Last(ops.IndexSet(pattern), shape), arrays).movedim(here, there)


@batch_op.register
def scatter(op: ops.Scatter, n: Any, mapped: Mapped, x: Any, src: Any, index: Any) -> Any:
    if src.ndim == mapped[1]:  # one number for each slice
        src, mapped = broadcast_each(src, n, index.spec.shape[mapped[2] :], mapped[1]), (mapped[0], True, mapped[2])
    return apply_op(ops.Scatter(op.axis + 1), side_by_side(n, mapped, (x, src, index)))


@batch_op.register(ops.SearchSorted)
@batch_op.register(ops.FoldIn)
def one_row(op: Op, n: Any, mapped: Mapped, row: Any, x: Any) -> Any:
    """The rule for an op on one sorted row, or one key, and any numbers; None if the row or the key is mapped."""
    return None if mapped[0] else row.apply(op, x)
