"""Numbers as small integers: x ≈ (q − z) s, with an integer q, a step size s (the scale), and a zero point z for 0.

A tensor has one pair (s, z), or a pair for each channel (index along an axis). A symmetric scheme puts z in the middle:
0 for int8. As in PyTorch, scales are float32, ties round to even, and numbers out of range are clamped.

Jacob et al. 2018, “Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference”,
section 2. https://arxiv.org/abs/1712.05877
"""

from __future__ import annotations

from math import inf
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from ...api.functions.indexing import within
from ...engine import ops
from ...engine.base.errors import DTypeError, ShapeError
from ...engine.core.modes import in_mode
from ...engine.methods import Operand
from ...engine.methods.arguments import axis_of
from ...engine.tensor.lift import operand
from ...engine.tensor.tensor import Tensor

# float dtype → the largest n such that the dtype holds every integer up to n
WHOLE: dict[np.dtype[Any], int] = {np.dtype(np.float32): 2**24, np.dtype(np.float64): 2**53}
INT32 = 2**31 - 1


class QuantizedTensor(NamedTuple):
    """Integers with their scale and zero point: one for all, or one for each index along `axis`."""

    values: Tensor
    scale: Tensor
    zero_point: Tensor
    axis: int | None = None

    def int_repr(self) -> Tensor:
        return self.values

    def dequantize(self) -> Any:
        """(q − z) s, float32."""
        s, z = (spread(t.float(), self.axis, self.values.ndim) for t in (self.scale, self.zero_point))
        return (self.values.float() - z) * s

    def __mul__(self, other: Any) -> Any:
        raise TypeError("a QuantizedTensor has no arithmetic: calculate with q.dequantize(), or q.int_repr()")

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __add__(self, other: Any) -> Any:
        return self * other


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any = np.int8, **ends: Any) -> QuantizedTensor:
    """Quantise to `dtype`, int8 or uint8. quant_min= and quant_max= limit the integers to fewer bits."""
    return quantize_affine(operand(input), scale, zero_point, None, dtype, **ends)


def quantize_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, dtype: Any = np.int8, **ends: Any
) -> QuantizedTensor:
    """quantize_per_tensor with a scale and a zero point for each index along an axis."""
    return quantize_affine(operand(input), scales, zero_points, axis, dtype, **ends)


def fake_quantize_per_tensor_affine(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """(q − z) s: x rounded by quantisation. Gradients pass only where q needed no clamping."""
    return fake_quantize_per_channel_affine(input, scale, zero_point, None, quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Any, scale: Any, zero_point: Any, axis: int | None, quant_min: int, quant_max: int
) -> Any:
    """fake_quantize_per_tensor_affine with a scale and a zero point for each index along an axis."""
    x, far = operand(input), WHOLE[np.dtype(np.float32)] // 2
    if not all(isinstance(n, Integral) for n in (quant_min, quant_max)) or not -far <= quant_min < quant_max <= far:
        raise ValueError(f"quant_min < quant_max must be integers of at most 24 bits, got {quant_min} and {quant_max}")
    op = ops.FakeQuantize(int(quant_min), int(quant_max))
    return x.apply(op, *steps(x, scale, zero_point, axis, op.low, op.high))


def int_matmul(x: Any, y: Any) -> Any:
    """x @ y of integers as int32, exact. A fast BLAS product computes it, in a float dtype that is exact for the sums.

    Raises DTypeError if int32 might be too small for the sums.
    """
    x, y = operand(x), operand(y)
    if {x.dtype.kind, y.dtype.kind} - {*"iu"}:
        raise DTypeError(f"int_matmul multiplies integers, and got {x.spec} and {y.spec}: use x @ y")
    largest = [-int(limit.min) or int(limit.max) for limit in (np.iinfo(x.dtype), np.iinfo(y.dtype))]
    dtype = exact(x.shape[-1], largest[0] * largest[1])
    with in_mode(autocast=None):  # half precision would round
        return (x.astype(dtype) @ y.astype(dtype)).astype(np.int32)


def exact(terms: int, largest: int) -> np.dtype[Any]:
    """The float dtype that sums `terms` integers of absolute value up to `largest` exactly, in any order."""
    if terms * largest > INT32:
        raise DTypeError(f"int32 ends at {INT32:,}, and {terms} products of up to {largest:,} may sum to more")
    return next(dtype for dtype, end in WHOLE.items() if terms * largest <= end)


def limits(dtype: Any, quant_min: int | None = None, quant_max: int | None = None) -> tuple[int, int]:
    """The integer range; by default that of the dtype. Raises ValueError if it is empty or exceeds the dtype."""
    if np.dtype(dtype) not in (np.int8, np.uint8):
        raise DTypeError(f"quantised numbers are int8 or uint8, not {np.dtype(dtype)}")
    ends = np.iinfo(dtype)
    low, high = ends.min if quant_min is None else quant_min, ends.max if quant_max is None else quant_max
    if not ends.min <= low < high <= ends.max:
        raise ValueError(f"{np.dtype(dtype)} has the integers {ends.min} to {ends.max}, not {low} to {high}")
    return int(low), int(high)


def quantize_affine(x: Any, scale: Any, zero: Any, axis: int | None, dtype: Any, **ends: Any) -> QuantizedTensor:
    """x quantised. Raises ValueError on NaN, because no integer stands for NaN."""
    low, high = limits(dtype, **ends)
    s, z = steps(x, scale, zero, axis, low, high)
    x = within(x, -inf, inf, f"{x.spec} contains NaN, which cannot be quantised")
    values = x.detach().apply(ops.Quantize(low, high, np.dtype(dtype)), s, z)
    s, z = (t if axis is None else t.reshape(t.size) for t in (s, z))
    return QuantizedTensor(values, s, z.astype(np.int32), axis)


def steps(x: Any, scale: Any, zero: Any, axis: int | None, low: int, high: int) -> tuple[Any, Any]:
    """Scale and zero point as float32, checked, in a shape that broadcasts with x."""
    if not x.spec.is_float:
        raise DTypeError(f"only floats can be quantised, got {x.spec}")
    axis = None if axis is None else axis_of(x.spec, axis)
    wanted = () if axis is None else (x.shape[axis],)
    s, z = (t if isinstance(t, Operand) else Tensor(t, device=x.spec.device) for t in (scale, zero))
    if any(t.shape != wanted and (axis is not None or t.size != 1) for t in (s, z)):
        raise ShapeError(f"{x.spec} needs scale and zero point of shape {wanted}, and got {s.shape} and {z.shape}")
    if isinstance(s, Tensor) and not bool(((s.value > 0) & (s.value < np.inf)).all()):
        raise ValueError(f"a scale must be above 0 and finite, got {scale}")
    if isinstance(z, Tensor) and not bool(((z.value >= low) & (z.value <= high) & (z.value % 1 == 0)).all()):
        raise ValueError(f"a zero point must be one of the integers {low} to {high}, got {zero}")
    s, z = (t.astype(np.float32).reshape(wanted) for t in (s, z))
    return spread(s, axis, x.ndim), spread(z, axis, x.ndim)


def spread(t: Any, axis: int | None, ndim: int) -> Any:
    """t, with one number for each index along an axis, reshaped to broadcast with a tensor of ndim axes."""
    return t if axis is None else t.reshape(*(-1 if a == axis % ndim else 1 for a in range(ndim)))
