"""Readings of ONNX's ops on shapes and indices: reshaping, padding, gathering, scattering, sorting."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...api.functions.creation import full
from ...api.functions.movement import broadcast_shapes, cat
from ...nn import functional as F
from .readings import READINGS, cast, concrete_array, constant, number, numbers, reads, require_supported


@reads("Constant")
def constant_value(value: Any = None, value_float: Any = None, value_floats: Any = None, value_int: Any = None,
                   value_ints: Any = None) -> Any:  # fmt: skip
    if value is not None:
        return value
    floats, integers = (value_float, value_floats), (value_int, value_ints)
    said = next(x for x in (*floats, *integers) if x is not None)
    return constant(said, np.float32 if said in floats else np.int64)


@reads("Squeeze")
def squeeze_axes(x: Any, axes: Any = None) -> Any:
    axes = numbers(axes)
    gone = {a % x.ndim for a in axes} if axes is not None else {a for a, n in enumerate(x.shape) if n == 1}
    require_supported(all(x.shape[a] == 1 for a in gone), f"squeezing an axis of {x.spec} whose length is not 1")
    return x.reshape(*(n for a, n in enumerate(x.shape) if a not in gone))


@reads("Unsqueeze")
def unsqueeze_axes(x: Any, axes: Any) -> Any:
    rest, ndim = iter(x.shape), x.ndim + len(numbers(axes))
    new = {a % ndim for a in numbers(axes)}
    return x.reshape(*(1 if a in new else next(rest) for a in range(ndim)))


@reads("Slice")
def slice_axes(x: Any, starts: Any, ends: Any, axes: Any = None, steps: Any = None) -> Any:
    starts, ends = numbers(starts), numbers(ends)
    axes = range(len(starts)) if axes is None else numbers(axes)
    parts = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, numbers(steps) or [1] * len(starts)):
        low, high, step = slice(start, end, step).indices(x.shape[axis])
        parts[axis] = slice(low, None if high < 0 else high, step)
    return x[tuple(parts)]


@reads("Split")
def split(x: Any, split: Any = None, axis: int = 0, num_outputs: Any = None, outputs: int = 1) -> Any:
    n, parts = x.shape[axis], num_outputs or outputs
    each = -(-n // parts)
    lengths = numbers(split) or [min(each, max(n - i * each, 0)) for i in range(parts)]
    require_supported(sum(lengths) == n, f"a split of {n} into {lengths}")
    return tuple(x.narrow(axis, sum(lengths[:i]), m) for i, m in enumerate(lengths))


@reads("Pad")
def pad_axes(x: Any, pads: Any = None, value: Any = 0.0, axes: Any = None, mode: str = "constant",
           paddings: Any = None) -> Any:  # fmt: skip
    widths, axes = numbers(paddings if pads is None else pads), numbers(axes) or [*range(x.ndim)]
    pairs = dict.fromkeys(range(x.ndim), (0, 0))
    pairs |= {a % x.ndim: (widths[i], widths[i + len(axes)]) for i, a in enumerate(axes)}
    flat = [n for a in reversed(range(x.ndim)) for n in pairs[a]]
    modes = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    require_supported(mode in modes, f"the mode {mode}")
    return F.pad(x, flat, modes[mode], (number(value) or 0) if mode == "constant" else None)


@reads("Tile")
def tile_axes(x: Any, repeats: Any, axis: Any = None) -> Any:
    if axis is not None:  # opset 1: `repeats` is one number, for this axis only
        return cat([x] * number(repeats), number(axis))
    return x.repeat(*numbers(repeats))


@reads("SpaceToDepth")
def space_to_depth(x: Any, blocksize: int, mode: str = "DCR") -> Any:
    y = F.pixel_unshuffle(x, blocksize)
    return y if mode == "CRD" else F.channel_shuffle(y, x.shape[1])


@reads("EyeLike")
def eye_like(x: Any, dtype: Any = None, k: int = 0) -> Any:
    y = constant(np.eye(x.shape[0], x.shape[1], k))
    return y.astype(x.dtype) if dtype is None else cast(y, dtype)


@reads("ConstantOfShape")
def constant_of_shape(shape: Any, value: Any = None) -> Any:
    fill, dtype = (0.0, np.float32) if value is None else (number(value), value.dtype)
    return full(tuple(numbers(shape)), fill, dtype)


@reads("Flatten")
def flatten_to_matrix(x: Any, axis: int = 1) -> Any:
    axis = axis % x.ndim if axis < 0 else axis
    return x.reshape(prod(x.shape[:axis]), prod(x.shape[axis:]))


READINGS |= {
    "Shape": lambda x, start=0, end=None: constant([*x.shape[start:end]], np.int64),
    "Size": lambda x: constant(prod(x.shape), np.int64),
    "Range": lambda start, limit, delta: constant(
        np.arange(*(concrete_array(n).item() for n in (start, limit, delta))), start.dtype),
    "Reshape": lambda x, shape, allowzero=0: x.reshape(
        *(x.shape[a] if n == 0 and not allowzero else n for a, n in enumerate(numbers(shape)))),
    "DepthToSpace": lambda x, blocksize, mode="DCR": F.pixel_shuffle(
        x if mode == "CRD" else F.channel_shuffle(x, blocksize**2), blocksize),
    "Expand": lambda x, shape: x.expand(*broadcast_shapes(x.shape, tuple(numbers(shape)))),
    "Transpose": lambda x, perm=None: x.permute(*(perm or reversed(range(x.ndim)))) if x.ndim else x,
    "Concat": lambda *xs, axis=1: cat(xs, axis),
    "Trilu": lambda x, k=None, upper=1: (x.triu if upper else x.tril)(number(k) or 0),
}  # fmt: skip


# -- indices ----------------------------------------------------------------------------------------


def positive(i: Any, n: int) -> Any:
    """Indices with n added to negative ones, which count from the end."""
    return i.astype(np.int64) + (i < 0).astype(np.int64) * n


@reads("GatherND")
def gather_nd(x: Any, i: Any, batch_dims: int = 0) -> Any:
    rest = i.ndim - 1
    own = [constant(np.arange(x.shape[a])).reshape(-1, *[1] * (rest - 1 - a)) for a in range(batch_dims)]
    return x[(*own, *(i[..., k] for k in range(i.shape[-1])))]


REDUCE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def scatter_along(x: Any, axis: int, i: Any, src: Any, reduction: str) -> Any:
    i = positive(i, x.shape[axis])
    if reduction == "none":
        return x.scatter(axis, i, src)
    require_supported(reduction in REDUCE, f"the reduction {reduction}")
    return x.scatter_reduce(axis, i, src, REDUCE[reduction])


@reads("ScatterND")
def scatter_nd(x: Any, i: Any, src: Any, reduction: str = "none") -> Any:
    """Scatter into x as a matrix, whose rows are the indexed axes and whose columns are the other axes."""
    k = i.shape[-1]
    rows, rest = prod(x.shape[:k]), prod(x.shape[k:])
    steps = [prod(x.shape[a + 1 : k]) for a in range(k)]
    row = sum((positive(i[..., a], x.shape[a]) * steps[a] for a in range(k)), constant(0))
    row = row.reshape(-1, 1).expand(prod(i.shape[:-1]), rest)
    y = scatter_along(x.reshape(rows, rest), 0, row, src.reshape(prod(i.shape[:-1]), rest), reduction)
    return y.reshape(*x.shape)


@reads("TopK")
def top_k(x: Any, k: Any, axis: int = -1, largest: int = 1, sorted: int = 1) -> Any:
    """Sort, because ONNX requires the first of equal elements, which topk does not guarantee."""
    return tuple(y.narrow(axis, 0, number(k)) for y in x.sort(axis, bool(largest)))


@reads("OneHot")
def one_hot(i: Any, depth: Any, values: Any, axis: int = -1) -> Any:
    n, ndim = int(number(depth)), i.ndim + 1
    axis %= ndim
    places = constant(np.arange(n)).reshape(-1, *[1] * (ndim - 1 - axis))
    return values[1].where(positive(i, n).unsqueeze(axis) == places, values[0])


@reads("Compress")
def compress_axis(x: Any, condition: Any, axis: Any = None) -> Any:
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    return x.index_select(axis, constant(np.flatnonzero(concrete_array(condition))))


@reads("ReverseSequence")
def reverse_sequence(x: Any, lengths: Any, batch_axis: int = 1, time_axis: int = 0) -> Any:
    y = x.movedim((batch_axis, time_axis), (0, 1))
    t, n = constant(np.arange(y.shape[1])), lengths.reshape(-1, 1)
    place = (n - 1 - t).where(t < n, t)
    rows = constant(np.arange(y.shape[0])).reshape(-1, 1)
    return y[rows, place].movedim((0, 1), (batch_axis, time_axis))


@reads("Unique")
def unique(x: Any, axis: Any = None, sorted: int = 1) -> Any:
    values, first, inverse, counts = np.unique(concrete_array(x), True, True, True, axis=axis)
    order = np.argsort(first) if not sorted else np.arange(len(first))
    place = np.argsort(order)[inverse.reshape(-1)]
    y = values[order] if axis is None else np.take(values, order, axis)
    return tuple(map(constant, (y, first[order], place, counts[order])))


READINGS |= {
    "Gather": lambda x, i, axis=0: x[(*[slice(None)] * (axis % x.ndim), i.astype(np.int64))],
    "GatherElements": lambda x, i, axis=0: x.gather(axis, positive(i, x.shape[axis])),
    "Scatter": lambda x, i, src, axis=0: scatter_along(x, axis, i, src, "none"),
    "ScatterElements": lambda x, i, src, axis=0, reduction="none": scatter_along(x, axis, i, src, reduction),
    "NonZero": lambda x: constant(np.array(np.nonzero(concrete_array(x)))),
}  # fmt: skip
