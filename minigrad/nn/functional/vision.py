"""Resizes images x (N, C, *size), and samples them between their pixels.

Each element of the result is a weighted sum of a few elements of x. When resizing, the weights depend only on the
position, so each axis is resized by a gather and a weighted sum, in every mode. grid_sample reads x at points from a
tensor, so points can be learned; their coordinates are from −1 to 1, horizontal first. Jaderberg et al. 2015, “Spatial
Transformer Networks”, §3. https://arxiv.org/abs/1506.02025
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import floor, prod
from typing import Any

import numpy as np

from ...api.functions.activation import hardtanh
from ...api.functions.creation import ones_like
from ...api.functions.movement import meshgrid, stack
from ...engine.base.dimension import require_known
from ...engine.base.errors import ShapeError
from ...engine.methods.arguments import autocast_to
from ...engine.tensor.lift import operand
from .pooling import adaptive_avg_pool

MODES = {"nearest": None, "nearest-exact": None, "area": None, "linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4}


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
    align_corners: bool | None = None, recompute_scale_factor: bool | None = None, antialias: bool = False,
) -> Any:  # fmt: skip
    """Resizes x (N, C, *size) to another size, or by a factor `scale_factor`.

    mode                      'nearest', 'nearest-exact', 'area'; 'linear' for one axis, 'bilinear' or 'bicubic' for
                              two, 'trilinear' for three. Keys 1981, “Cubic Convolution Interpolation”, with a = −3/4
    align_corners             whether the centres of the corner pixels coincide, rather than their outer edges
    recompute_scale_factor    whether to use the ratio of the two sizes instead of the given factor
    """
    x = operand(input)
    n = x.ndim - 2
    check_mode(x, mode, align_corners, antialias)
    if (size is None) == (scale_factor is None):
        raise ValueError(f"interpolate needs a size or a scale_factor, and got {size} and {scale_factor}")
    require_known(f"interpolate of {x.spec}, to say which elements are read,", *x.shape[2:])
    factors = [None] * n if scale_factor is None else per_axis("scale_factor", scale_factor, n)
    lengths = [floor(m * f) for m, f in zip(x.shape[2:], factors)] if size is None else per_axis("size", size, n)
    if min(*lengths, *x.shape[2:]) < 1:
        raise ShapeError(f"interpolate needs lengths of 1 or more, got {x.spec} into {lengths}")
    if mode == "area":
        return adaptive_avg_pool(n, x, lengths)
    real = np.float64 if x.dtype == np.float64 else np.float32
    for i, (m, length, factor) in enumerate(zip(x.shape[2:], lengths, factors)):
        by_ratio = recompute_scale_factor or ignores_factor(mode, n, m, length)
        step = read_step(m, length, None if by_ratio else factor, align_corners)
        x = resample_axis(x, 2 + i, *reads(mode, m, length, float(real(step)), bool(align_corners), real))
    return x


def check_mode(x: Any, mode: str, align_corners: bool | None, antialias: bool) -> None:
    """Raises ShapeError, ValueError or NotImplementedError if interpolate cannot use the mode with x or the options."""
    if mode not in MODES or MODES[mode] not in (None, x.ndim) or not 3 <= x.ndim <= 5:
        raise ShapeError(f"interpolate has {', '.join(MODES)}, each for its number of axes: got {mode!r} of {x.spec}")
    if antialias:
        raise NotImplementedError("interpolate(antialias=True) is not supported: blur first, as with avg_pool2d")
    if align_corners is not None and MODES[mode] is None:
        raise ValueError(f"align_corners is only for the linear and cubic modes, and was given with {mode!r}")


def read_step(m: int, length: int, factor: float | None, align_corners: bool | None) -> float:
    """The distance, in elements of x, between the points that neighbouring elements of the result read."""
    if align_corners:
        return (m - 1) / max(length - 1, 1)
    return m / length if factor is None else 1 / factor


def ignores_factor(mode: str, n: int, m: int, length: int) -> bool:
    """Whether PyTorch uses the ratio of the lengths instead of the factor: when it copies or doubles an axis."""
    return (length == m and "linear" in mode) or (n == 2 and mode == "nearest" and length in (m, 2 * m))


def reads(mode: str, m: int, length: int, step: float, align_corners: bool, real: Any) -> tuple[np.ndarray, Any]:
    """(taps, length): the indices, below m, that each place of the result reads; and their weights, None if all 1."""
    if mode.startswith("nearest"):
        half = (mode == "nearest-exact") / 2  # ties are rounded as in PyTorch
        places = np.maximum(((np.arange(length) + half) * step - half).astype(real), 0) + np.float64(half)
        return np.minimum(places.astype(np.float32).astype(np.int64), m - 1)[None], None
    places = np.arange(length) * step if align_corners else (np.arange(length) + 0.5) * step - 0.5
    if mode == "bicubic":
        first = np.floor(places)
        taps = np.arange(-1, 3)[:, None]
        weights = np.stack(cubic(places - first))
    else:
        places = np.maximum(places, 0)
        first = np.minimum(np.floor(places), m - 1)
        taps = np.arange(2)[:, None]
        weights = np.stack([1 - (places - first), places - first])
    return np.clip(first + taps, 0, m - 1).astype(np.int64), weights


def cubic(t: Any, a: float = -0.75) -> list[Any]:
    """The weights of the elements at −1, 0, 1 and 2 for a point 0 ≤ t < 1."""
    near = [((a + 2) * u - (a + 3)) * u * u + 1 for u in (t, 1 - t)]
    far = [((a * u - 5 * a) * u + 8 * a) * u - 4 * a for u in (t + 1, 2 - t)]
    return [far[0], near[0], near[1], far[1]]


@autocast_to("float32")
def resample_axis(x: Any, axis: int, places: np.ndarray, weights: np.ndarray | None) -> Any:
    """x at `places` (taps, length) along an axis, times `weights` of the same shape, summed over the taps."""
    parts = [x.index_select(axis, x.lift(tap)) for tap in places]
    if weights is None:
        return parts[0]
    shape = (-1, *[1] * (x.ndim - 1 - axis))
    return sum(part * x.lift(w.reshape(shape)).astype(x.dtype) for part, w in zip(parts, weights))


def per_axis(name: str, given: Any, n: int) -> list[Any]:
    """A list with a number for each of n axes, from a list of n numbers, or from one number for all axes."""
    numbers = list(given) if isinstance(given, Sequence) else [given] * n
    if len(numbers) != n:
        raise ShapeError(f"{name} must be a number, or one for each of {n} axes, got {given}")
    return numbers


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate with mode='nearest'."""
    return interpolate(input, size, scale_factor)


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """interpolate with mode='bilinear' and align_corners=True."""
    return interpolate(input, size, scale_factor, "bilinear", True)


# -- moving elements between channels and places --------------------------------------------------


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """x (…, C r², H, W) → (…, C, H r, W r): r² channels become a block of r × r pixels.

    Shi et al. 2016, “Real-Time Single Image and Video Super-Resolution”, eq. 4. https://arxiv.org/abs/1609.05158
    """
    x, r = operand(input), upscale_factor
    if x.ndim < 3 or r < 1 or x.shape[-3] % (r * r):
        raise ShapeError(f"pixel_shuffle needs x (…, C · {r}², H, W), and got {x.spec}")
    *rest, C, H, W = x.shape
    x = x.reshape(*rest, C // (r * r), r, r, H, W)
    return x.movedim((-4, -3), (-3, -1)).reshape(*rest, C // (r * r), H * r, W * r)


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """The inverse of pixel_shuffle: x (…, C, H r, W r) → (…, C r², H, W)."""
    x, r = operand(input), downscale_factor
    if x.ndim < 3 or r < 1 or x.shape[-2] % r or x.shape[-1] % r:
        raise ShapeError(f"pixel_unshuffle needs x (…, C, H · {r}, W · {r}), and got {x.spec}")
    *rest, C, H, W = x.shape
    x = x.reshape(*rest, C, H // r, r, W // r, r)
    return x.movedim((-3, -1), (-4, -3)).reshape(*rest, C * r * r, H // r, W // r)


def channel_shuffle(input: Any, groups: int) -> Any:
    """x (N, C, …) with groups of channels interleaved: the first channel of each group, then the second of each, …

    Zhang et al. 2018, “ShuffleNet”, §3.1. https://arxiv.org/abs/1707.01083
    """
    x = operand(input)
    if x.ndim < 3 or groups < 1 or x.shape[1] % groups:
        raise ShapeError(f"channel_shuffle needs x (N, C, …), C a multiple of {groups} groups, and got {x.spec}")
    return x.unflatten(1, (groups, x.shape[1] // groups)).swapaxes(1, 2).flatten(1, 2)


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """Sample x (N, C, *size) at the points of a grid (N, *size', n), n = 2 or 3 axes. The result is (N, C, *size').

    mode             'bilinear', 'nearest', or, for two axes, 'bicubic'
    padding_mode     the values outside x: 'zeros'; 'border', the nearest element; 'reflection', x mirrored
    align_corners    whether −1 and 1 are the centres of the first and last element, rather than their outer edges
    """
    x = operand(input)
    points = x.lift(grid)
    n = x.ndim - 2
    if n not in (2, 3) or points.ndim != x.ndim or points.shape[-1] != n or points.shape[0] != x.shape[0]:
        raise ShapeError(f"grid_sample needs x (N, C, *size) and grid (N, *size', n), and got {x.spec}, {points.spec}")
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and n == 3) or padding_mode not in BEYOND:
        raise ValueError("grid_sample has the modes bilinear, nearest and, of two axes, bicubic, and padding_mode "
                         f"{', '.join(BEYOND)}; got {mode!r}, {padding_mode!r}")  # fmt: skip
    axes = [taps(points[..., n - 1 - i], m, mode, padding_mode, bool(align_corners)) for i, m in enumerate(x.shape[2:])]
    N, C, *size = x.shape
    rows, out = x.reshape(N, C, prod(size)), points.shape[1:-1]
    y: Any = 0.0
    for corner in product(*axes):
        place: Any = 0
        weight: Any = 1.0
        for (at, w), m in zip(corner, size):
            place, weight = place * m + at, weight * w
        found = rows.gather(2, place.reshape(N, 1, prod(out)).broadcast_to(N, C, prod(out)))
        y = y + found.reshape(N, C, *out) * weight.astype(x.dtype).unsqueeze(1)
    return y


def taps(t: Any, m: int, mode: str, padding_mode: str, align_corners: bool) -> list[tuple[Any, Any]]:
    """(index, weight) of each element that is read, for points −1 ≤ t ≤ 1 along an axis of m elements."""
    t = (t + 1) * ((m - 1) / 2) if align_corners else ((t + 1) * m - 1) / 2
    beyond = BEYOND[padding_mode]
    if mode == "bicubic":
        first = t.detach().floor()
        read = [(beyond(first + i, m, align_corners), w) for i, w in zip(range(-1, 3), cubic(t - first))]
    else:
        t = beyond(t, m, align_corners)
        first = t.detach().round() if mode == "nearest" else t.detach().floor()
        read = [(first, ones_like(t))] if mode == "nearest" else [(first, 1 - (t - first)), (first + 1, t - first)]
    inside = [(at >= 0) & (at <= m - 1) for at, _ in read]
    return [(at.where(ok, 0.0).astype(np.int64), w * ok) for (at, w), ok in zip(read, inside)]


def reflect_points(t: Any, m: int, align_corners: bool) -> Any:
    """t mirrored at both ends of an axis of m elements until it lies between them."""
    low, span = (0.0, float(m - 1)) if align_corners else (-0.5, float(m))
    if not span:
        return t * 0
    t = (t - low).abs()
    turns = (t.detach() / span).floor()
    rest = t - turns * span
    return hardtanh(rest.where(turns % 2 == 0, span - rest) + low, 0.0, float(m - 1)) if m > 1 else t * 0


BEYOND = {
    "zeros": lambda t, m, align_corners: t,
    "border": lambda t, m, align_corners: hardtanh(t, 0.0, float(m - 1)) if m > 1 else t * 0,
    "reflection": reflect_points,
}


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """A grid for grid_sample: the points θ p for the places p of an image of this size (N, C, *size).

    theta    (N, n, n + 1) with n = 2 or 3: a matrix, then a shift as the last column
    """
    x = operand(theta)
    N, _, *lengths = size
    n = len(lengths)
    if n not in (2, 3) or x.shape != (N, n, n + 1):
        raise ShapeError(f"affine_grid needs theta (N, n, n + 1), and size (N, C, *n lengths): got {x.spec}, {size}")
    ends = [1.0 if align_corners else 1 - 1 / m for m in lengths]
    axes = [x.lift(np.linspace(-e, e, m) if m > 1 else np.zeros(1)).astype(x.dtype) for e, m in zip(ends, lengths)]
    places = meshgrid(*axes)[::-1]
    return (stack([*places, ones_like(places[0])], -1).reshape(1, -1, n + 1) @ x.mT).reshape(N, *lengths, n)
