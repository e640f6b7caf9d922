"""Pictures read between their places: at points that a tensor says, so that where to look can be learned.

Points are from −1 to 1 along each axis, x first: Jaderberg et al. 2015, “Spatial Transformer Networks”, §3.
https://arxiv.org/abs/1506.02025
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..functions.activation import hardtanh
from ..functions.creation import ones_like
from ..functions.face import operand
from ..functions.movement import meshgrid, stack
from .resize import cubic


def grid_sample(
    input: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = None
) -> Any:
    """x (N, C, *size) read at the points of a grid (N, *size', n), over two axes or three: (N, C, *size').

    mode             'bilinear', 'nearest', or of two axes 'bicubic'
    padding_mode     what is beyond x: 'zeros'; 'border', its nearest element; 'reflection', itself mirrored
    align_corners    whether −1 and 1 are the middle of the first and the last element, and not their outer edges
    """
    x = operand(input)
    points = x.lift(grid)
    n = x.ndim - 2
    if n not in (2, 3) or points.ndim != x.ndim or points.shape[-1] != n or points.shape[0] != x.shape[0]:
        raise ShapeError(f"grid_sample needs x (N, C, *size) and grid (N, *size', n), and got {x.spec}, {points.spec}")
    if mode not in ("bilinear", "nearest", "bicubic") or (mode == "bicubic" and n == 3) or padding_mode not in BEYOND:
        raise ValueError(f"grid_sample has bilinear, nearest and of two axes bicubic, beyond {', '.join(BEYOND)}; "
                         f"and got {mode!r}, {padding_mode!r}")  # fmt: skip
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
    """What points at −1 ≤ t ≤ 1 of an axis of m elements read: which element, and with which weight, for each tap."""
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


def reflected(t: Any, m: int, align_corners: bool) -> Any:
    """t mirrored at both ends of an axis of m elements, until it is between them."""
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
    "reflection": reflected,
}


def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """The points θ p, p being each place of a picture of this size (N, C, *size): a grid for grid_sample.

    theta    (N, n, n + 1), n being 2 or 3: a matrix, and a shift behind it
    """
    x = operand(theta)
    N, _, *lengths = size
    n = len(lengths)
    if n not in (2, 3) or x.shape != (N, n, n + 1):
        raise ShapeError(
            f"affine_grid needs theta (N, n, n + 1) for a size (N, C, *n lengths), and got {x.spec}, {size}"
        )
    ends = [1.0 if align_corners else 1 - 1 / m for m in lengths]
    axes = [x.lift(np.linspace(-e, e, m) if m > 1 else np.zeros(1)).astype(x.dtype) for e, m in zip(ends, lengths)]
    places = meshgrid(*axes)[::-1]
    return (stack([*places, ones_like(places[0])], -1).reshape(1, -1, n + 1) @ x.mT).reshape(N, *lengths, n)
