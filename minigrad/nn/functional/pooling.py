"""Pooling: one number for each window of x (N, C, *size), or (C, *size) for one example."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...api.functions.creation import zeros
from ...api.functions.indexing import within
from ...api.functions.movement import cat, pad
from ...engine import ops, random
from ...engine.base.dimension import is_unknown, require_known
from ...engine.base.dtypes import float32, result_type
from ...engine.base.errors import ShapeError
from ...engine.methods.arguments import whole
from ...engine.tensor.lift import operand
from .convolution import Lengths, hashable, ints_per_axis, over_axes, window, with_batch_axis


def max_pool(
    n: int, input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0,
    dilation: Lengths = 1, ceil_mode: bool = False, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The maximum of each window over the last axes. The gradient goes to the first of equal maxima.

    return_indices    whether to return also the position of each maximum in its flattened plane
    """
    x = operand(input)
    size = planes(n, x)
    lengths = map(hashable, (kernel_size, stride, padding, dilation))
    window = pool(n, sizes(size) if ceil_mode else (), *lengths, ceil_mode)
    y = with_batch_axis(n, x, lambda x: x.apply(ops.MaxPool(window)))
    if not return_indices:
        return y
    plane, found = (x, y) if x.ndim == n + 2 else (x.reshape(1, *x.shape), y.reshape(1, *y.shape))
    places = plane.apply(ops.ArgMaxPool(window), found).apply(ops.TapPlaces(window, x.spec.shape[-n:]))
    return y, places.reshape(y.shape)


def avg_pool(
    n: int, input: Any, kernel_size: Lengths, stride: Lengths | None = None, padding: Lengths = 0,
    ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """The mean of each window over the last axes."""
    x = operand(input).real_valued()
    size = planes(n, x)
    window = pool(n, sizes(size) if ceil_mode else (), *map(hashable, (kernel_size, stride, padding)), 1, ceil_mode)
    if divisor_override is not None:
        everywhere = tuple((max(window.kernel), max(window.kernel) + sum(p)) for p in window.padding)
        means = with_batch_axis(n, x, lambda x: x.apply(ops.AvgPool(window, everywhere)))
        return means * (window.taps / divisor_override)
    ends = tuple((p, p) for p in ints_per_axis("padding", padding, n)) if count_include_pad else ((0, 0),) * n
    return with_batch_axis(n, x, lambda x: x.apply(ops.AvgPool(window, ends)))


def adaptive_avg_pool(n: int, input: Any, output_size: Any) -> Any:
    """The means of output_size windows that cover the last axes evenly; None keeps the length of an axis."""
    x = operand(input).real_valued()
    planes(n, x)
    size = x.spec.shape[-n:]
    wanted = outputs(n, size, output_size)
    if not any(map(is_unknown, size)) and divides(wanted, size):
        op = ops.AvgPool(tiles(wanted, size), ((0, 0),) * n)
        return with_batch_axis(n, x, lambda x: x.apply(op))
    for i, m in enumerate(wanted):
        x = x.apply(ops.AdaptiveAvgPool(x.ndim - n + i, m))
    return x


def adaptive_max_pool(n: int, input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of output_size windows that cover the last axes evenly; None keeps the length of an axis."""
    x = operand(input)
    size = planes(n, x)
    wanted = outputs(n, size, output_size)
    places = np.arange(prod(size)).reshape(size) if return_indices else None
    for i, m in enumerate(wanted):
        if size[i] % m:  # make windows equally long: the shorter ones repeat their last element
            start, stop = ops.adaptive(size[i], m)
            at = np.minimum(start[:, None] + np.arange(max(stop - start)), stop[:, None] - 1).reshape(-1)
            x = x[(*[slice(None)] * (x.ndim - n + i), at)]
            places = None if places is None else places.take(at, i)
    kernel = tiles(wanted, x.shape[-n:]).kernel
    if places is None:
        return max_pool(n, x, kernel)
    y, found = max_pool(n, x, kernel, return_indices=True)
    return y, x.lift(places.reshape(-1))[found]


def lp_pool(
    n: int, input: Any, norm_type: float, kernel_size: Lengths, stride: Any = None, ceil_mode: bool = False
) -> Any:
    """(Σ xᵖ)^(1/p) of each window over the last axes, with p = norm_type: p = 1 is the sum, ∞ the largest |x|, −∞ the
    smallest. Where the sum is 0 the gradient is 0, as in PyTorch.
    """
    x = operand(input)
    if np.isinf(norm_type):
        side = 1.0 if norm_type > 0 else -1.0
        return max_pool(n, x.abs() * side, kernel_size, stride, 0, 1, ceil_mode) * side
    means = avg_pool(n, x**norm_type, kernel_size, stride, 0, ceil_mode)
    total = means * prod(ints_per_axis("kernel_size", kernel_size, n))
    some = total != 0
    return (total.where(some, 1.0) ** (1 / norm_type)).where(some, 0.0 if norm_type > 0 else np.inf)


def max_unpool(
    n: int, input: Any, indices: Any, kernel_size: Lengths,
    stride: Lengths | None = None, padding: Lengths = 0, output_size: Any = None,
) -> Any:  # fmt: skip
    """Puts each number where max_pool, with return_indices, found it in its plane, and zeros elsewhere.

    output_size    the size of the planes, because planes of several sizes are pooled to the same size
    """
    x = operand(input)
    size = planes(n, x)
    window = pool(n, (), *map(hashable, (kernel_size, stride, padding)), 1, False)
    entries = zip(size, window.kernel, window.stride, window.padding)
    usual = tuple((m - 1) * s + k - sum(p) for m, k, s, p in entries)
    wanted = usual if output_size is None else tuple(output_size)[-n:]
    if any(abs(w - u) >= s for w, u, s in zip(wanted, usual, window.stride)):
        raise ShapeError(f"max_unpool of {x.spec} needs an output_size within a stride of {usual}, got {wanted}")
    rows, places = x.reshape(*x.shape[:-n], prod(size)), x.lift(indices).reshape(*x.shape[:-n], prod(size))
    places = within(places, 0, prod(wanted) - 1, f"the places of a plane {wanted} are 0 to {prod(wanted) - 1}")
    empty = zeros(*x.shape[:-n], prod(wanted), dtype=x.dtype, device=x.spec.device)
    return empty.scatter(-1, places, rows).reshape(*x.shape[:-n], *wanted)


def fractional_max_pool(
    n: int, input: Any, kernel_size: Lengths, output_size: Any = None,
    output_ratio: Any = None, return_indices: bool = False, _random_samples: Any = None,
    *, key: Any = None,
) -> Any:  # fmt: skip
    """The maxima of output_size windows, which each call places at random over the last axes.

    output_ratio       in place of output_size: its ratio to the length of the axis, above 0 and below 1
    return_indices     whether to return also the position of each maximum in its flattened plane
    _random_samples    (N, C, n) numbers from 0 to 1, which determine the windows of each plane; drawn if None

    Graham 2014, “Fractional Max-Pooling”, §2: the pseudorandom sequences, as in PyTorch.
    https://arxiv.org/abs/1412.6071
    """
    x = operand(input)
    size = planes(n, x)
    require_known("fractional pooling, to arrange its windows,", *size)
    if (output_size is None) == (output_ratio is None):
        raise ValueError("fractional pooling needs either output_size or output_ratio")
    ratios = () if output_ratio is None else each_ratio(output_ratio, n)
    wanted = tuple(int(m * r) for m, r in zip(size, ratios)) if ratios else outputs(n, size, output_size)
    kernel = ints_per_axis("kernel_size", kernel_size, n)
    if any(m < 1 or m + k - 1 > length for m, k, length in zip(wanted, kernel, size)):
        raise ShapeError(f"fractional pooling of {x.spec} to {wanted} needs windows that fit, and got {kernel}")
    rows = x.shape[:-n] if x.ndim == n + 2 else (1, *x.shape[:-n])
    places = window_places(window_samples(x, (*rows, n), _random_samples, key), size, wanted, kernel)
    taps = x.reshape(*rows, prod(size)).gather(2, places.flatten(2)).reshape(places.shape)
    at = taps.detach().argmax(-1).unsqueeze(-1)
    shape = (*x.shape[:-n], *wanted)
    y = taps.gather(-1, at).reshape(shape)
    return (y, places.gather(-1, at).reshape(shape)) if return_indices else y


def window_samples(x: Any, shape: tuple[Any, ...], samples: Any, key: Any) -> Any:
    """The samples, or random numbers if None. Raises ShapeError unless the samples have this shape."""
    dtype = result_type(x.dtype, float32)  # half precision cannot count enough places
    if samples is None:
        samples = random.uniform(random.next_key(x.spec.device) if key is None else key, shape, dtype)
    samples = x.lift(samples).astype(dtype)
    if samples.shape != shape:
        raise ShapeError(f"_random_samples for {x.spec} must be {shape}, got {samples.spec}")
    return samples


def window_places(samples: Any, size: Any, wanted: Any, kernel: Any) -> Any:
    """(N, C, windows, elements): where each element of each window lies in its plane. The samples are (N, C, n)."""
    n, rows, places = len(size), samples.shape[:2], 0
    for i, (length, m, k) in enumerate(zip(size, wanted, kernel)):
        u = samples.narrow(-1, n - 1 - i if n == 2 else i, 1)  # for planes, PyTorch's samples start with the last axis
        across = [*rows, *[1] * (2 * n)]
        across[2 + i], across[2 + n + i] = m, k
        places = places * length + (starts(u, length, m, k).unsqueeze(-1) + np.arange(k)).reshape(across)
    return places.reshape(*rows, prod(wanted), prod(kernel))  # type: ignore[attr-defined]


def starts(u: Any, length: int, m: int, k: int) -> Any:
    """The starts of m windows of length k: ⌊(i + u) α⌋ − ⌊u α⌋ for a number u from 0 to 1; the last is at the end."""
    alpha = (length - k) / max(m - 1, 1)
    first = ((u + np.arange(m - 1, dtype=u.dtype)) * alpha).trunc() - (u * alpha).trunc()
    return cat([first, u * 0 + (length - k)], -1).astype(np.int64)


def each_ratio(given: Any, n: int) -> tuple[float, ...]:
    """The ratio of each axis. Raises ValueError unless all are above 0 and below 1."""
    ratios = tuple(given) if isinstance(given, tuple | list) else (given,) * n
    if len(ratios) != n or not all(0 < r < 1 for r in ratios):
        raise ValueError(f"output_ratio is a number above 0 and below 1, or {n} of them, and got {given}")
    return ratios


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """x / (k + α mean x²)^β, with the mean over `size` neighbouring channels of x (N, C, …).

    Krizhevsky et al. 2012, “ImageNet Classification with Deep Convolutional Neural Networks”, §3.3.
    """
    x = operand(input)
    if x.ndim < 3:
        raise ShapeError(f"local_response_norm needs x (N, C, …) with places, and got {x.spec}")
    square = pad((x * x).flatten(2).unsqueeze(1), (0, 0, size // 2, (size - 1) // 2))
    return x / (avg_pool(2, square, (size, 1), 1).reshape(x.shape) * alpha + k) ** beta


lp_pool1d, lp_pool2d, lp_pool3d = over_axes(lp_pool)
max_unpool1d, max_unpool2d, max_unpool3d = over_axes(max_unpool)
_, fractional_max_pool2d, fractional_max_pool3d = over_axes(fractional_max_pool)
max_pool1d, max_pool2d, max_pool3d = over_axes(max_pool)
avg_pool1d, avg_pool2d, avg_pool3d = over_axes(avg_pool)
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = over_axes(adaptive_avg_pool)
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = over_axes(adaptive_max_pool)


def planes(n: int, x: Any) -> tuple[int, ...]:
    """The lengths of the last n axes. Raises ShapeError unless x is (N, C, *size) or (C, *size), size of n axes."""
    if x.ndim not in (n + 1, n + 2):
        raise ShapeError(f"pooling over {n} axes needs (N, C, *size) or (C, *size), size of {n} axes, and got {x.spec}")
    size: tuple[int, ...] = x.shape[-n:]
    return size


def sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """The lengths, which ceil_mode needs to place the last windows. Raises GraphError if one is unknown."""
    require_known("pooling with ceil_mode", *size)
    return size


@lru_cache(maxsize=1024)
def pool(
    n: int, size: tuple[int, ...], kernel: Any, stride: Any, padding: Any, dilation: Any, ceil_mode: bool
) -> ops.Window:
    """The pooling window for the arguments that a user passes. ceil_mode becomes more padding at the end."""
    before = ints_per_axis("padding", padding, n)
    seen = window(n, kernel, kernel if stride is None or stride == () else stride, before, dilation)
    if any(2 * p > d * (k - 1) + 1 for p, k, d in zip(before, seen.kernel, seen.dilation)):
        raise ShapeError(f"padding must be at most half of the window, or windows are empty: {before} for {kernel}")
    if not ceil_mode:
        return seen
    entries = zip(size, seen.kernel, seen.stride, before, seen.dilation)
    margins = tuple((p, p + over(m + 2 * p - d * (k - 1) - 1, s, m + p)) for m, k, s, p, d in entries)
    return replace(seen, padding=margins)


def over(room: int, stride: int, end: int) -> int:
    """The padding that completes the last window; 0 if that window would begin in the padding after x."""
    return -room % stride if (-(-room // stride)) * stride < end else 0


def outputs(n: int, size: tuple[int, ...], output_size: Any) -> tuple[int, ...]:
    """The number of windows along each axis. None in output_size means one window for each element."""
    given = output_size if isinstance(output_size, tuple | list) else (output_size,) * n
    if len(given) != n or any(m is not None and m < 1 for m in given):
        raise ShapeError(f"output_size must be 1 or more, or None, for each of {n} axes, got {output_size}")
    return tuple(m if g is None else whole(g) for g, m in zip(given, size))


def divides(wanted: tuple[int, ...], size: tuple[int, ...]) -> bool:
    """Whether equally long windows cover each axis without overlap."""
    return prod(size) > 0 and all(m % w == 0 for w, m in zip(wanted, size))


def tiles(wanted: tuple[int, ...], size: tuple[int, ...]) -> ops.Window:
    """Windows of equal length, without gaps or overlaps."""
    kernel = tuple(m // w for w, m in zip(wanted, size))
    return ops.Window(kernel, kernel, ((0, 0),) * len(size), (1,) * len(size))
