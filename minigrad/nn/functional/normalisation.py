"""Normalisation: rescales activations to mean 0 and variance 1. The kinds take mean and variance over different axes.

    batch       over batch and places: one mean and one variance for each channel
    instance    over places: one of each for each channel of each example
    layer       over the last axes: one of each for each example
    group       over places and a group of channels: one of each for each group of each example

x is (N, C, …): batch, channels, places.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine import ops
from ...engine.base.device import META
from ...engine.base.dimension import Dimension
from ...engine.base.dtypes import finfo, result_type, wide
from ...engine.base.errors import ShapeError
from ...engine.core.modes import current, no_grad
from ...engine.methods import integers
from ...engine.methods.arguments import autocast_to
from ...engine.tensor.inplace import write
from ...engine.tensor.lift import operand
from ...engine.tensor.tensor import Tensor


@autocast_to("float32")
def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """(x − μ) / √(σ² + ε) · w + b, over the last axes, which must have the shape `normalized_shape`.

    Ba et al. 2016, “Layer Normalization”, eq. 4. https://arxiv.org/abs/1607.06450
    """
    x = operand(input)
    return standardise_affine(x, last_axes("layer_norm", x, normalized_shape), eps, weight, bias)


@autocast_to("float32")
def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """x / √(mean x² + ε) · w, over the last axes, which must have the shape `normalized_shape`.

    eps    None for the machine epsilon of x's dtype, the distance from 1 to the next number

    Zhang & Sennrich 2019, “Root Mean Square Layer Normalization”, eq. 4. https://arxiv.org/abs/1910.07467
    """
    x = operand(input)._floating("rms_norm")
    axes = last_axes("rms_norm", x, normalized_shape)
    return scale_and_shift(x.rms_normalise(axes, epsilon(x) if eps is None else eps), weight, None)


def batch_norm(
    input: Any, running_mean: Tensor | None, running_var: Tensor | None, weight: Any = None,
    bias: Any = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """(x − μ) / √(σ² + ε) · w + b for each channel, with the batch's μ and σ² in training, else with running μ and σ².

    running_mean, running_var    (C,). Training moves them, in place, towards the batch's μ and σ² by `momentum`

    Ioffe & Szegedy 2015, “Batch Normalization”, algorithm 1. https://arxiv.org/abs/1502.03167
    """
    x = operand(input)
    if x.ndim < 2:
        raise ShapeError(f"batch_norm needs x (N, C, …), and got {x.spec}")
    C = x.shape[1]  # channels
    axes = (0, *range(2, x.ndim))
    column = (C, *(1,) * (x.ndim - 2))
    if not training:
        if running_mean is None or running_var is None:
            raise ValueError("batch_norm outside training needs running_mean and running_var, and got None")
        mean, var = x.lift(running_mean).reshape(column), x.lift(running_var).reshape(column)
        y = scale_and_shift((x - mean) / (var + eps).sqrt(), weight, bias, column)
        return y.astype(x.dtype) if x.spec.is_half else y
    x = several(x, axes, "batch_norm in training needs more than one value for each channel")
    follow(running_mean, running_var, x, axes, momentum)
    return standardise_affine(x, axes, eps, weight, bias, column)


def instance_norm(
    input: Any, running_mean: Tensor | None = None, running_var: Tensor | None = None, weight: Any = None,
    bias: Any = None, use_input_stats: bool = True, momentum: float = 0.1, eps: float = 1e-5,
) -> Any:  # fmt: skip
    """(x − μ) / √(σ² + ε) · w + b for each channel of each example.

    Ulyanov et al. 2016, “Instance Normalization”, eq. 2. https://arxiv.org/abs/1607.08022
    """
    x = operand(input)
    if x.ndim < 3:
        raise ShapeError(f"instance_norm needs x (N, C, …) with places, and got {x.spec}")
    if not use_input_stats:
        return batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)
    axes = tuple(range(2, x.ndim))
    x = several(x, axes, "instance_norm needs more than one place for each channel")
    follow(running_mean, running_var, x, axes, momentum)
    return standardise_affine(x, axes, eps, weight, bias, (x.shape[1], *(1,) * len(axes)))


@autocast_to("float32")
def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """(x − μ) / √(σ² + ε) · w + b for each of `num_groups` groups of channels of each example.

    Wu & He 2018, “Group Normalization”, eq. 1, 2 and 7. https://arxiv.org/abs/1803.08494
    """
    x = operand(input)
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise ShapeError(f"group_norm needs x (N, C, …), C a multiple of {num_groups} groups, and got {x.spec}")
    N, C, *places = x.shape  # batch, channels, places
    grouped = x.reshape(N, num_groups, C // num_groups, *places)
    y = grouped.standardise(tuple(range(2, grouped.ndim)), eps).reshape(x.shape)
    return scale_and_shift(y, weight, bias, (C, *(1,) * len(places)))


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Any:
    """x / max(‖x‖ₚ, ε) along an axis, which gives vectors of norm 1."""
    x = operand(input)
    return x / x.norm(p, dim, keepdims=True).maximum(eps)


def several(x: Any, axes: tuple[int, ...], rule: str) -> Any:
    """x, checked to have more than one value along the axes. Unknown lengths are checked when the graph runs."""
    op: Any = ops.Several(axes, rule)
    op.infer(x.spec)
    return x if x.spec.is_known else x.apply(op)


def last_axes(norm: str, x: Any, normalized_shape: Any) -> tuple[int, ...]:
    """The last axes of x. Raises ShapeError unless their lengths are `normalized_shape`."""
    shape = integers((normalized_shape,))
    if not shape or x.shape[-len(shape) :] != shape:
        raise ShapeError(f"{norm} over {shape} needs x (…, {', '.join(map(str, shape))}), and got {x.spec}")
    return tuple(range(x.ndim - len(shape), x.ndim))


def standardise_affine(
    x: Any, axes: Any, eps: float, weight: Any, bias: Any, shape: tuple[int, ...] | None = None
) -> Any:
    """(x − μ) / √(σ² + ε) · w + b along axes. w and b are reshaped to `shape`, if given, so that they broadcast."""
    if weight is None or x.dtype not in (np.float32, np.float64):
        y = scale_and_shift(x.standardise(axes, eps), weight, bias, shape)
        return y.astype(x.dtype) if x.spec.is_half else y
    affine = [x.lift(p) for p in (weight, bias) if p is not None]
    affine = affine if shape is None else [p.reshape(shape) for p in affine]
    dtype = result_type(x.dtype, *(p.dtype for p in affine))
    return x.astype(dtype).apply(ops.Standardise(axes, float(eps)), *affine)


def scale_and_shift(y: Any, weight: Any, bias: Any, shape: tuple[int, ...] | None = None) -> Any:
    """y w + b. w and b are reshaped to `shape`, if given, so that they broadcast."""
    weight, bias = (p if p is None or shape is None else y.lift(p).reshape(shape) for p in (weight, bias))
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def follow(mean: Tensor | None, var: Tensor | None, x: Any, axes: tuple[int, ...], momentum: float) -> None:
    """Move the running mean and variance (C,) towards those of x over `axes`. The variance divides by n − 1."""
    rest = tuple(a for a in (0,) if a not in axes)  # instance_norm averages the statistics of all examples
    is_empty = not isinstance(x.size, Dimension) and not x.size
    if mean is None or var is None or is_empty:
        return
    if current.mode.builder is not None:
        follow_in_graph(mean, var, x.detach(), axes, rest, momentum)
        return
    if not isinstance(x, Tensor) or x.spec.device is META:
        return
    value = x.value.astype(wide(x.dtype), copy=False)
    for running, seen in ((mean, value.mean(axes, keepdims=True)), (var, value.var(axes, ddof=1, keepdims=True))):
        seen = seen.mean(rest) if rest else seen
        write(running, (1 - momentum) * running.value + momentum * seen.reshape(running.shape))


def follow_in_graph(mean: Tensor, var: Tensor, x: Any, axes: Any, rest: tuple[int, ...], momentum: Any) -> None:
    """follow() while a graph is built: each run of the graph moves the statistics."""
    for running, seen in ((mean, x.mean(axes, keepdims=True)), (var, x.var(axes, correction=1, keepdims=True))):
        seen = seen.mean(rest) if rest else seen
        with no_grad():
            moved = running * (1 - momentum) + seen.reshape(running.shape) * momentum
            running.copy_(moved.where(x.lift(x.size) > 0, running) if not x.spec.is_known else moved)


def epsilon(x: Any) -> float:
    return float(finfo(x.dtype).eps)
