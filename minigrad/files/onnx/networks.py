"""Readings of ONNX's layers: convolution, pooling, normalisation, recurrence, resizing, quantization.

This module adds them to the table of `readings.py`. They support any number of axes if the standard does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, floor, prod
from typing import Any

import numpy as np

from ...api.functions.creation import ones_like, zeros
from ...api.functions.movement import stack
from ...engine import ops
from ...graph import control
from ...nn import functional as F
from .readings import READINGS, constant, number, numbers, reads, require_supported
from .writer import dtype_of

# -- windows ----------------------------------------------------------------------------------------


def per_axis(given: Any, n: int, usual: int) -> tuple[int, ...]:
    return tuple([usual] * n if given is None else given)


def window(x: Any, kernel: Sequence[int], auto_pad: str = "NOTSET", ceil_mode: int = 0, dilations: Any = None,
           pads: Any = None, strides: Any = None, kernel_shape: Any = None) -> ops.Window:  # fmt: skip
    """The window of a convolution or a pooling over x (N, C, *size), from a node's attributes."""
    n, size = len(kernel), x.shape[2:]
    steps, spread, given = per_axis(strides, n, 1), per_axis(dilations, n, 1), per_axis(pads, 2 * n, 0)
    margins = list(zip(given[:n], given[n:]))
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, spread)]
    if auto_pad.startswith("SAME"):
        whole = [max((ceil(m / s) - 1) * s + r - m, 0) for m, s, r in zip(size, steps, reach)]
        margins = [halves(p, auto_pad == "SAME_UPPER") for p in whole]
    elif auto_pad == "VALID":
        margins = [(0, 0)] * n
    if ceil_mode:  # add a last, incomplete window, unless it begins in the padding after x
        rooms = [(m + sum(p) - r, s, m + p[0]) for m, p, r, s in zip(size, margins, reach, steps)]
        more = [-room % s if -(-room // s) * s < end else 0 for room, s, end in rooms]
        margins = [(before, after + m) for (before, after), m in zip(margins, more)]
    return ops.Window(tuple(kernel), steps, tuple(margins), spread)


def halves(n: int, upper: bool) -> tuple[int, int]:
    """Split n into two halves; if n is odd, the second is larger if `upper`, else the first."""
    return (n // 2, n - n // 2) if upper else (n - n // 2, n // 2)


def channels(b: Any, x: Any) -> Any:
    """One number for each channel, in a shape that broadcasts with x."""
    return b.reshape(-1, *[1] * (x.ndim - 2))


@reads("Conv")
def conv(x: Any, w: Any, b: Any = None, group: int = 1, **geometry: Any) -> Any:
    return x.apply(ops.Convolution(window(x, w.shape[2:], **geometry), group), w, *([] if b is None else [b]))


@reads("ConvTranspose")
def conv_transpose(x: Any, w: Any, b: Any = None, group: int = 1, output_padding: Any = None, output_shape: Any = None,
                   auto_pad: str = "NOTSET", **geometry: Any) -> Any:  # fmt: skip
    """Crop the full result by the padding. If an output size is given, it determines the padding."""
    seen = window(x, w.shape[2:], auto_pad if auto_pad == "VALID" else "NOTSET", **geometry)
    n, more = x.ndim - 2, per_axis(output_padding, x.ndim - 2, 0)
    axes = zip(x.shape[2:], seen.stride, seen.dilation, seen.kernel, more)
    full = [(m - 1) * s + d * (k - 1) + 1 + o for m, s, d, k, o in axes]
    size = tuple(m - sum(p) for m, p in zip(full, seen.padding))
    if auto_pad.startswith("SAME") or output_shape is not None:
        size = tuple(output_shape[-n:] if output_shape else (m * s for m, s in zip(x.shape[2:], seen.stride)))
        margins = tuple(halves(max(m - k, 0), auto_pad == "SAME_UPPER") for m, k in zip(full, size))
        seen = replace(seen, padding=margins)
    y = x.apply(ops.ConvolutionTranspose(seen, group, size), w)
    return y if b is None else y + channels(b, y)


@reads("MaxPool")
def max_pool(x: Any, kernel_shape: Any, storage_order: int = 0, outputs: int = 1, **geometry: Any) -> Any:
    """The maxima, and their indices into the flattened x."""
    seen, size = window(x, kernel_shape, **geometry), x.shape[2:]
    y = x.apply(ops.MaxPool(seen))
    if outputs == 1:
        return y
    place = x.apply(ops.ArgMaxPool(seen), y).apply(ops.TapPlaces(seen, size))
    if storage_order:
        require_supported(len(size) == 2, "storage_order=1 with other than two spatial axes")
        place = place % size[1] * size[0] + place // size[1]
    plane = constant(np.arange(prod(x.shape[:2])) * prod(size)).reshape(*x.shape[:2], *[1] * len(size))
    return y, place + plane


@reads("AveragePool")
def average_pool(x: Any, kernel_shape: Any, ceil_mode: int = 0, count_include_pad: int = 0, **geometry: Any) -> Any:
    inside, seen = (window(x, kernel_shape, ceil_mode=mode, **geometry) for mode in (0, ceil_mode))
    return x.apply(ops.AvgPool(seen, inside.padding if count_include_pad else ((0, 0),) * len(kernel_shape)))


@reads("LpPool")
def lp_pool(x: Any, kernel_shape: Any, p: float = 2, **geometry: Any) -> Any:
    """(Σ |x|ᵖ)^1/p, where the sum is the mean over all taps times their number."""
    seen = window(x, kernel_shape, **geometry)
    everywhere = tuple((n + sum(m), n + sum(m)) for n, m in zip(x.shape[2:], seen.padding))
    return ((x.abs() ** p).apply(ops.AvgPool(seen, everywhere)) * seen.taps) ** (1 / p)


@reads("MaxUnpool")
def max_unpool(x: Any, i: Any, shape: Any = None, kernel_shape: Any = (), **geometry: Any) -> Any:
    seen = window(x, kernel_shape, **geometry)
    axes = zip(x.shape[2:], kernel_shape, seen.stride, seen.padding)
    size = (*x.shape[:2], *((m - 1) * s + k - sum(p) for m, k, s, p in axes))
    y = zeros(prod(size), dtype=x.dtype).scatter(0, i.reshape(-1), x.reshape(-1)).reshape(*size)
    if shape is None:
        return y
    return F.pad(y, [w for m, k in reversed([*zip(size, numbers(shape))]) for w in (0, k - m)])


@reads("Col2Im")
def col2im(x: Any, image_shape: Any, block_shape: Any, **geometry: Any) -> Any:
    """Add windows into an image: a transposed convolution in which each tap is a channel that writes one pixel."""
    size, kernel = tuple(numbers(image_shape)), tuple(numbers(block_shape))
    taps, seen = prod(kernel), window(x, kernel, **geometry)
    C = x.shape[1] // taps
    stamps = constant(np.tile(np.eye(taps).reshape(taps, 1, *kernel), (C, 1, *[1] * len(size))), x.dtype)
    rows = x.reshape(*x.shape[:2], *seen.places(seen, size))
    return rows.apply(ops.ConvolutionTranspose(seen, C, size), stamps)


def spatial(x: Any) -> tuple[int, ...]:
    return tuple(range(2, x.ndim))


@reads("GlobalLpPool")
def global_lp_pool(x: Any, p: float = 2) -> Any:
    return (x.abs() ** p).sum(spatial(x), keepdims=True) ** (1 / p)


READINGS |= {
    "GlobalAveragePool": lambda x: x.mean(spatial(x), keepdims=True),
    "GlobalMaxPool": lambda x: x.amax(spatial(x), keepdims=True),
}  # fmt: skip


# -- normalisation ----------------------------------------------------------------------------------


@reads("BatchNormalization")
def batch_norm(x: Any, scale: Any, shift: Any, mean: Any, var: Any, epsilon: float = 1e-5, momentum: float = 0.9,
               training_mode: int = 0, is_test: int = 0, outputs: int = 1, version: int = 14,
               **old: Any) -> Any:  # fmt: skip
    infers = (version >= 7 or is_test) and (version >= 14 or outputs == 1)
    require_supported(old.get("spatial", 1) and infers, "training, before opset 14,")
    last: tuple[Any, ...] = ()
    if training_mode:
        axes = (0, *spatial(x))
        new, spread = x.mean(axes), x.var(axes, correction=0)
        last = tuple(old * momentum + now * (1 - momentum) for old, now in ((mean, new), (var, spread)))
        mean, var = new, spread
    y = (x - channels(mean, x)) * channels(scale * (var + epsilon).rsqrt(), x) + channels(shift, x)
    return (y, *last)[:outputs]


@reads("InstanceNormalization")
def instance_norm(x: Any, scale: Any, shift: Any, epsilon: float = 1e-5) -> Any:
    axes = spatial(x)
    centred = x - x.mean(axes, keepdims=True)
    var = (centred * centred).mean(axes, keepdims=True)
    return centred * (var + epsilon).rsqrt() * channels(scale, x) + channels(shift, x)


@reads("LayerNormalization")
def layer_norm(x: Any, scale: Any, shift: Any = None, axis: int = -1, epsilon: float = 1e-5, stash_type: int = 1,
               outputs: int = 1) -> Any:  # fmt: skip
    y = F.layer_norm(x, x.shape[axis % x.ndim :], scale, shift, epsilon)
    axes = tuple(range(axis % x.ndim, x.ndim))
    if outputs == 1:
        return y
    return y, x.mean(axes, keepdims=True), (x.var(axes, keepdims=True, correction=0) + epsilon).rsqrt()


@reads("LRN")
def local_response(x: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, bias: float = 1.0) -> Any:
    before, after = (size - 1) // 2, size // 2
    squares = F.pad(x * x, [*[0, 0] * (x.ndim - 2), before, after])
    total = sum(squares.narrow(1, i, x.shape[1]) for i in range(size))
    return x / (total * (alpha / size) + bias) ** beta


@reads("LpNormalization")
def lp_normalization(x: Any, axis: int = -1, p: int = 2) -> Any:
    size = x.abs().sum(axis, keepdims=True) if p == 1 else (x * x).sum(axis, keepdims=True).sqrt()
    return x / size.where(size != 0, 1)


@reads("Dropout")
def dropout(x: Any, ratio: Any = 0.5, training_mode: Any = False, seed: Any = None, is_test: int = 0,
            outputs: int = 1, version: int = 13) -> Any:  # fmt: skip
    """x unchanged. Nodes that drop elements are not supported: the file stores no random key."""
    drops = (not is_test) if version < 7 else training_mode is not None and number(training_mode)
    require_supported(not drops or not (0.5 if ratio is None else number(ratio)), "training")
    return (x, ones_like(x, dtype=bool))[:outputs]


# -- recurrence -------------------------------------------------------------------------------------


def activation(names: Any, alphas: Any, betas: Any, usual: Sequence[str]) -> Any:
    """The activation functions with these names, alphas and betas: all of the first direction, then of the second."""
    given = {"alpha": [*(alphas or [])], "beta": [*(betas or [])]}

    def function(kind: str, *slots: str) -> Any:
        return partial(READINGS[kind], **{slot: given[slot].pop(0) for slot in slots if given[slot]})

    asked = [name.lower() for name in names or usual]
    require_supported(all(name in KINDS for name in asked), f"the activations {names}")
    return [function(*KINDS[name]) for name in asked]


KINDS = (
    {name.lower(): (name,) for name in ("Relu", "Tanh", "Sigmoid", "Softsign", "Softplus")}
    | {name.lower(): (name, "alpha") for name in ("LeakyRelu", "ThresholdedRelu", "Elu")}
    | {"hardsigmoid": ("HardSigmoid", "alpha", "beta")}
)  # name → its reading, and the numbers that it takes


def recurrent(gates: int, states: int, usual: Sequence[str], step: Callable[..., Any]) -> Callable[..., Any]:
    """A reading of a recurrent network; `step` maps the states and one sequence element to the next states.

    x (T, N, I)   W (D, gH, I)   R (D, gH, H)   b (D, 2gH)   →   y (T, D, N, H), and each state's last (D, N, H)
    """

    def reading(x: Any, W: Any, R: Any, b: Any = None, lengths: Any = None, *rest: Any, activations: Any = None,
                activation_alpha: Any = None, activation_beta: Any = None, clip: Any = None, direction: str = "forward",
                hidden_size: Any = None, layout: int = 0, input_forget: int = 0, linear_before_reset: int = 0,
                outputs: int = 1, output_sequence: int = 0) -> Any:  # fmt: skip
        require_supported(not input_forget, "input_forget")
        starts, peepholes = [*rest[:states], *[None] * (states - len(rest))], (*rest[states:], None)[0]
        if layout:
            x, starts = x.swapaxes(0, 1), [s if s is None else s.swapaxes(0, 1) for s in starts]
        N, D, H = x.shape[1], W.shape[0], R.shape[-1]
        functions = activation(activations, activation_alpha, activation_beta, [*usual] * D)

        def side(d: int) -> Any:
            bias = zeros(2 * gates * H, dtype=x.dtype) if b is None else b[d]
            given = [zeros(N, H, dtype=x.dtype) if s is None else s[d] for s in starts]
            own = functions[d * len(usual) : (d + 1) * len(usual)]
            one = partial(step, R=R[d], bias=bias[gates * H :], f=own, clip=clip, linear=linear_before_reset,
                          peephole=None if peepholes is None else peepholes[d])  # fmt: skip
            return steps(one, x @ W[d].T + bias[: gates * H], given, lengths, direction == "reverse" or d == 1)

        sides = [side(d) for d in range(D)]
        y, last = stack([y for y, _ in sides], 1), [stack([s[i] for _, s in sides]) for i in range(states)]
        if layout:
            y, last = y.permute(2, 0, 1, 3), [s.swapaxes(0, 1) for s in last]
        return (y, *last)[:outputs]

    return reading


def steps(step: Callable[..., Any], a: Any, states: Sequence[Any], lengths: Any, back: bool) -> Any:
    """Return (h after each step, the final states). After a shorter sequence ends, its states stay and its h is 0."""
    turn = constant(np.arange(a.shape[0])).reshape(-1, 1, 1)
    going = ones_like(turn, dtype=bool) if lengths is None else turn < lengths.reshape(1, -1, 1)
    a, going = (a.flip(0), going.flip(0)) if back else (a, going)

    def one(states: Any, row: Any) -> Any:
        new, on = step(row[0], *states), row[1]
        if lengths is None:
            return tuple(new), new[0]
        return tuple(y.where(on, s) for y, s in zip(new, states)), new[0].where(on, 0)

    last, y = control.scan(one, tuple(states), (a, going))
    return (y.flip(0) if back else y), last


def clamp_symmetric(x: Any, clip: Any) -> Any:
    return x if clip is None else x.clamp(-clip, clip)


def elman(a: Any, h: Any, R: Any, bias: Any, f: Any, clip: Any, **_: Any) -> Any:
    return [f[0](clamp_symmetric(a + h @ R.T + bias, clip))]


def gru(a: Any, h: Any, R: Any, bias: Any, f: Any, clip: Any, linear: int, **_: Any) -> Any:
    """One GRU step: gates z, r, and a candidate. r multiplies h or, if `linear`, the product of h and R."""
    H = h.shape[-1]
    u = h @ R[: 2 * H].T + bias[: 2 * H] + a[:, : 2 * H]
    z, r = (f[0](clamp_symmetric(part, clip)) for part in u.chunk(2, -1))
    made = r * (h @ R[2 * H :].T + bias[2 * H :]) if linear else (r * h) @ R[2 * H :].T + bias[2 * H :]
    n = f[1](clamp_symmetric(a[:, 2 * H :] + made, clip))
    return [(1 - z) * n + z * h]


def lstm(a: Any, h: Any, c: Any, R: Any, bias: Any, f: Any, clip: Any, peephole: Any, **_: Any) -> Any:
    """One LSTM step: gates i, o, f and a candidate. With a peephole, i and f read the old cell state, o the new."""
    i, o, forget, g = (a + h @ R.T + bias).chunk(4, -1)
    pi, po, pf = (0, 0, 0) if peephole is None else peephole.chunk(3, -1)
    i, forget = f[0](clamp_symmetric(i + pi * c, clip)), f[0](clamp_symmetric(forget + pf * c, clip))
    c = forget * c + i * f[1](clamp_symmetric(g, clip))
    return [f[0](clamp_symmetric(o + po * c, clip)) * f[2](c), c]


READINGS |= {
    "RNN": recurrent(1, 1, ["Tanh"], elman),
    "GRU": recurrent(3, 1, ["Sigmoid", "Tanh"], gru),
    "LSTM": recurrent(4, 2, ["Sigmoid", "Tanh", "Tanh"], lstm),
}  # fmt: skip


# -- resizing ---------------------------------------------------------------------------------------


@reads("Resize", "Upsample")
def resize(x: Any, *given: Any, scales: Any = None, antialias: int = 0, axes: Any = None,
           coordinate_transformation_mode: Any = None, cubic_coeff_a: float = -0.75, exclude_outside: int = 0,
           extrapolation_value: float = 0.0, keep_aspect_ratio_policy: str = "stretch", mode: str = "nearest",
           nearest_mode: Any = None, version: int = 13) -> Any:  # fmt: skip
    """Multiply each resized axis by a matrix of interpolation weights."""
    roi, scales, sizes = (*given, None, None, None)[:3] if version >= 11 else (None, scales or given[0], None)
    require_supported(scales is None or not isinstance(scales, float), "a single number as scales")
    old = version < 11
    place = coordinate_transformation_mode or ("asymmetric" if old else "half_pixel")
    rounding = nearest_mode or ("floor" if old else "round_prefer_floor")
    along = [a % x.ndim for a in axes or range(x.ndim)]
    corners = [] if roi is None or place != "tf_crop_and_resize" else numbers(roi)
    lengths = [x.shape[a] for a in along]
    wished, factors = target_lengths(lengths, numbers(scales), sizes, keep_aspect_ratio_policy)
    outside: Any = False
    for i, (axis, n, m, factor) in enumerate(zip(along, lengths, wished, factors)):
        if n == m and factor == 1 and not corners:
            continue
        ends = (corners[i], corners[i + len(along)]) if corners else (0.0, 1.0)
        at = resize_coordinates(place, n, m, factor, ends)
        near = "ceil" if old and factor < 1 else rounding  # as in ONNX Runtime and the tests of opset 10
        weights = matrix(at, n, factor if antialias else 1.0, mode, near, cubic_coeff_a, exclude_outside)
        x = (x.movedim(axis, -1) @ constant(weights.T, x.dtype)).movedim(-1, axis)
        beyond = constant(((at < 0) | (at > n - 1)) & bool(corners)).reshape(-1, *[1] * (x.ndim - 1 - axis))
        outside = beyond | outside
    return x.where(~outside, extrapolation_value) if corners else x


def target_lengths(lengths: Sequence[int], scales: Any, sizes: Any, policy: str) -> tuple[Any, list[float]]:
    """The output lengths of a Resize and its scale factors, from its scales, or from its sizes and policy."""
    if scales:
        return [floor(np.float32(n) * np.float32(f)) for n, f in zip(lengths, scales)], scales  # as onnx infers shapes
    factors = [m / n for m, n in zip(numbers(sizes), lengths)]
    if policy == "stretch":
        return numbers(sizes), factors
    factor = (min if policy == "not_larger" else max)(factors)
    return [floor(factor * n + 0.5) for n in lengths], [factor] * len(lengths)


def resize_coordinates(mode: str, n: int, m: int, factor: float, ends: tuple[float, float]) -> Any:
    """The m output elements' coordinates on an axis of length n. Raises GraphError if the standard contradicts itself:
    its text uses the output length m, its tests use n times the scale, which need not be an integer.
    """
    length = float(np.float32(factor) * np.float32(n))
    at = source_coordinates(mode, n, m, length, factor, ends)
    require_supported(
        mode == "half_pixel_symmetric" or np.allclose(at, source_coordinates(mode, n, m, m, factor, ends)),
        f"Resize in mode {mode} by a scale to {length:g} elements (by the standard's text {m}: give sizes)",
    )
    return at


def source_coordinates(mode: str, n: int, m: int, length: float, factor: float, ends: tuple[float, float]) -> Any:
    """The m output elements' coordinates on an axis of length n, by formulas that use `length` as the output length."""
    i, factor = np.arange(m, dtype=np.float32), np.float32(factor)  # type: ignore[assignment]
    if mode == "half_pixel" or (mode == "pytorch_half_pixel" and length > 1):
        return (i + 0.5) / factor - 0.5
    if mode == "half_pixel_symmetric":
        return n / 2 * (1 - m / length) + (i + 0.5) / factor - 0.5
    if mode == "align_corners":
        return i * ((n - 1) / (length - 1)) if length > 1 else i * 0
    if mode == "tf_crop_and_resize":
        start, end = ends
        middle = (start + end) * (n - 1) / 2
        return start * (n - 1) + i * ((end - start) * (n - 1) / (length - 1)) if length > 1 else i * 0 + middle
    require_supported(mode in ("asymmetric", "pytorch_half_pixel"), f"the coordinates {mode}")
    return i / factor if mode == "asymmetric" else i * 0


NEAREST: dict[str, Any] = {
    "round_prefer_floor": lambda t: np.ceil(t - 0.5), "round_prefer_ceil": lambda t: np.floor(t + 0.5),
    "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip


def matrix(at: Any, n: int, factor: float, mode: str, rounding: str, a: float, exclude_outside: int) -> Any:
    """(m, n): the weight of each of n elements for each of m coordinates. Past an end, the last element repeats."""
    if mode == "nearest":
        return np.eye(n)[np.clip(NEAREST[rounding](at), 0, n - 1).astype(int)]
    shrink = min(factor, 1.0)
    reach = ceil((2 if mode == "cubic" else 1) / shrink)
    taps = np.floor(at).astype(int)[:, None] + np.arange(1 - reach, 1 + reach)
    distance = np.abs(taps - at[:, None]) * shrink
    weights = cubic(distance, a) if mode == "cubic" else np.maximum(1 - distance, 0)
    if exclude_outside:
        weights = weights * ((taps >= 0) & (taps < n))
    weights = weights / weights.sum(1, keepdims=True)
    rows = np.zeros((len(at), n))
    np.add.at(rows, (np.arange(len(at))[:, None], np.clip(taps, 0, n - 1)), weights)
    return rows


def cubic(t: Any, a: float) -> Any:
    """Keys 1981, “Cubic Convolution Interpolation for Digital Image Processing”, eq. 15 for a = −1/2."""
    near, far = ((a + 2) * t - (a + 3)) * t * t + 1, ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    return np.where(t <= 1, near, np.where(t < 2, far, 0))


@reads("GridSample")
def grid_sample(x: Any, grid: Any, align_corners: int = 0, mode: str = "linear", padding_mode: str = "zeros") -> Any:
    names = {"linear": "bilinear", "cubic": "bicubic"}
    return F.grid_sample(x, grid, names.get(mode, mode), padding_mode, bool(align_corners))


READINGS |= {  # the standard's own body of AffineGrid drops the batch axis of a batch of one
    "AffineGrid": lambda theta, size, align_corners=0: F.affine_grid(theta, numbers(size), bool(align_corners))
}


# -- integers ---------------------------------------------------------------------------------------


def broadcast_scale(scale: Any, x: Any, axis: int, block_size: int = 0) -> Any:
    """A scale or zero point, given per tensor, per axis or per block, in a shape that broadcasts with x."""
    if block_size:
        return scale.repeat_interleave(block_size, axis).narrow(axis, 0, x.shape[axis])
    if scale.size == 1:
        return scale.reshape(())
    return scale.reshape(-1, *[1] * (x.ndim - 1 - axis % x.ndim))


@reads("QuantizeLinear")
def quantize(x: Any, scale: Any, zero: Any = None, axis: int = 1, block_size: int = 0, output_dtype: int = 0,
             precision: int = 0, saturate: int = 1) -> Any:  # fmt: skip
    dtype = zero.dtype if zero is not None else dtype_of(output_dtype, "the result") if output_dtype else np.dtype("u1")
    require_supported(dtype.kind in "iu", f"quantization to {dtype}")
    ends = np.iinfo(dtype)
    y = (x / broadcast_scale(scale, x, axis, block_size).astype(x.dtype)).round()
    y = y if zero is None else y + broadcast_scale(zero, x, axis, block_size).astype(y.dtype)
    return y.clamp(float(ends.min), float(ends.max)).astype(dtype)


@reads("DequantizeLinear")
def dequantize(x: Any, scale: Any, zero: Any = None, axis: int = 1, block_size: int = 0, output_dtype: int = 0) -> Any:
    y = subtract_zero_point(x, None if zero is None else broadcast_scale(zero, x, axis, block_size))
    return y.astype(scale.dtype) * broadcast_scale(scale, x, axis, block_size)


def subtract_zero_point(x: Any, zero: Any) -> Any:
    """x minus its zero point, in int32."""
    return x.astype(np.int32) if zero is None else x.astype(np.int32) - zero.astype(np.int32)


def columns(zero: Any) -> Any:
    return zero.unsqueeze(-1) if zero is not None and zero.ndim and zero.shape[-1] > 1 else zero


def requantize(y: Any, a: Any, b: Any, scale: Any, zero: Any) -> Any:
    """Quantize an exact product to 8 bits."""
    return quantize(y.astype(np.float32) * (a * b / scale), constant(1.0, np.float32), zero)


@reads("QLinearConv")
def qlinear_conv(
    x: Any, sx: Any, zx: Any, w: Any, sw: Any, zw: Any, sy: Any, zy: Any, b: Any = None, **options: Any
) -> Any:
    y = conv_integer(x, w, zx, zw, **options)
    y = y if b is None else y + channels(b, y)
    return requantize(y, sx, sw if sw.ndim == 0 else channels(sw, y), sy, zy)


@reads("ConvInteger")
def conv_integer(x: Any, w: Any, zx: Any = None, zw: Any = None, **options: Any) -> Any:
    """Convolve in float64, in which products of small integers are exact."""
    first = None if zw is None else zw.reshape(-1, *[1] * (w.ndim - 1))
    x, w = (subtract_zero_point(v, zero).astype(np.float64) for v, zero in ((x, zx), (w, first)))
    return conv(x, w, **options).astype(np.int32)


def matmul_integer(a: Any, b: Any, za: Any = None, zb: Any = None) -> Any:
    return subtract_zero_point(a, columns(za)) @ subtract_zero_point(b, zb)


READINGS |= {
    "MatMulInteger": matmul_integer,
    "QLinearMatMul": lambda a, sa, za, b, sb, zb, sy, zy: requantize(
        matmul_integer(a, b, za, zb), columns(sa), sb, sy, zy),
}  # fmt: skip
