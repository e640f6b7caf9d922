"""Numbers as small integers: x ≈ (q − z) s, where q is whole; the scale s is a step, and the zero point z stands for 0.

One s and z for a tensor, or one for each index along an axis: each channel. Symmetric means z in the middle, 0 for
int8. As in PyTorch, scales are float32, halves go to the even neighbour, and what is out of range goes to its end.

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

WHOLE: dict[np.dtype[Any], int] = {
    np.dtype(np.float32): 2**24,
    np.dtype(np.float64): 2**53,
}  # up to where floats have every whole number
INT32 = 2**31 - 1


class QuantizedTensor(NamedTuple):
    """Integers, and what they stand for: one scale and zero point, or one for each index along `axis`."""

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
        raise TypeError("integers are no numbers without their scale: calculate with q.dequantize(), or q.int_repr()")

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __add__(self, other: Any) -> Any:
        return self * other


def quantize_per_tensor(input: Any, scale: Any, zero_point: Any, dtype: Any = np.int8, **ends: Any) -> QuantizedTensor:
    """Each number as an integer of `dtype`, int8 or uint8; of fewer bits with quant_min=, quant_max=."""
    return quantized(operand(input), scale, zero_point, None, dtype, **ends)


def quantize_per_channel(
    input: Any, scales: Any, zero_points: Any, axis: int, dtype: Any = np.int8, **ends: Any
) -> QuantizedTensor:
    """The same with a scale and a zero point for each index along an axis."""
    return quantized(operand(input), scales, zero_points, axis, dtype, **ends)


def fake_quantize_per_tensor_affine(input: Any, scale: Any, zero_point: Any, quant_min: int, quant_max: int) -> Any:
    """(q − z) s, q being x's integer: what is left of x. Gradients pass where q had not to be moved into the range."""
    return fake_quantize_per_channel_affine(input, scale, zero_point, None, quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Any, scale: Any, zero_point: Any, axis: int | None, quant_min: int, quant_max: int
) -> Any:
    """The same with a scale and a zero point for each index along an axis."""
    x, far = operand(input), WHOLE[np.dtype(np.float32)] // 2
    if not all(isinstance(n, Integral) for n in (quant_min, quant_max)) or not -far <= quant_min < quant_max <= far:
        raise ValueError(f"quant_min < quant_max are integers of at most 24 bits, and got {quant_min} and {quant_max}")
    op = ops.FakeQuantize(int(quant_min), int(quant_max))
    return x.apply(op, *steps(x, scale, zero_point, axis, op.low, op.high))


def int_matmul(x: Any, y: Any) -> Any:
    """x @ y of integers as int32, exact: by a product of floats that never rounds, for which BLAS is quick.

    Raises DTypeError where int32 might not hold a sum of so many products.
    """
    x, y = operand(x), operand(y)
    if {x.dtype.kind, y.dtype.kind} - {*"iu"}:
        raise DTypeError(f"int_matmul multiplies integers, and got {x.spec} and {y.spec}: use x @ y")
    largest = [-int(limit.min) or int(limit.max) for limit in (np.iinfo(x.dtype), np.iinfo(y.dtype))]
    dtype = exact(x.shape[-1], largest[0] * largest[1])
    with in_mode(autocast=None):  # halves would not be exact
        return (x.astype(dtype) @ y.astype(dtype)).astype(np.int32)


def exact(terms: int, largest: int) -> np.dtype[Any]:
    """The float dtype in which a sum of so many whole numbers, none larger, is right in whatever order it is formed."""
    if terms * largest > INT32:
        raise DTypeError(f"int32 ends at {INT32:,}, and {terms} products of up to {largest:,} may be more together")
    return next(dtype for dtype, end in WHOLE.items() if terms * largest <= end)


def limits(dtype: Any, quant_min: int | None = None, quant_max: int | None = None) -> tuple[int, int]:
    """The range of integers: that of the dtype, unless said. Raises ValueError where they are none, or do not fit."""
    if np.dtype(dtype) not in (np.int8, np.uint8):
        raise DTypeError(f"int8 and uint8 have what quantised numbers need, and {np.dtype(dtype)} was asked")
    ends = np.iinfo(dtype)
    low, high = ends.min if quant_min is None else quant_min, ends.max if quant_max is None else quant_max
    if not ends.min <= low < high <= ends.max:
        raise ValueError(f"{np.dtype(dtype)} has the integers {ends.min} to {ends.max}, and {low} to {high} were asked")
    return int(low), int(high)


def quantized(x: Any, scale: Any, zero: Any, axis: int | None, dtype: Any, **ends: Any) -> QuantizedTensor:
    """x in integers. Raises ValueError at what is no number: there is no integer for it."""
    low, high = limits(dtype, **ends)
    s, z = steps(x, scale, zero, axis, low, high)
    x = within(x, -inf, inf, f"{x.spec} has an element that is no number, and no integer stands for it")
    values = x.detach().apply(ops.Quantize(low, high, np.dtype(dtype)), s, z)
    s, z = (t if axis is None else t.reshape(t.size) for t in (s, z))
    return QuantizedTensor(values, s, z.astype(np.int32), axis)


def steps(x: Any, scale: Any, zero: Any, axis: int | None, low: int, high: int) -> tuple[Any, Any]:
    """Scale and zero point beside x, as float32, if they are such."""
    if not x.spec.is_float:
        raise DTypeError(f"floats are quantised, and got {x.spec}")
    axis = None if axis is None else axis_of(x.spec, axis)
    wanted = () if axis is None else (x.shape[axis],)
    s, z = (t if isinstance(t, Operand) else Tensor(t, device=x.spec.device) for t in (scale, zero))
    if any(t.shape != wanted and (axis is not None or t.size != 1) for t in (s, z)):
        raise ShapeError(f"{x.spec} needs scale and zero point of shape {wanted}, and got {s.shape} and {z.shape}")
    if isinstance(s, Tensor) and not bool(((s.value > 0) & (s.value < np.inf)).all()):
        raise ValueError(f"a scale is above 0 and finite, and got {scale}")
    if isinstance(z, Tensor) and not bool(((z.value >= low) & (z.value <= high) & (z.value % 1 == 0)).all()):
        raise ValueError(f"a zero point is one of the integers {low} to {high}, and got {zero}")
    s, z = (t.astype(np.float32).reshape(wanted) for t in (s, z))
    return spread(s, axis, x.ndim), spread(z, axis, x.ndim)


def spread(t: Any, axis: int | None, ndim: int) -> Any:
    """One number for each index along an axis, beside a tensor of so many axes."""
    return t if axis is None else t.reshape(*(-1 if a == axis % ndim else 1 for a in range(ndim)))
