"""Observers: modules that return their input unchanged, record its range, and compute the scale for it.

Names, numbers and rules are PyTorch's. The range always includes 0, since padding and relu make exact zeros.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...engine import ops
from ...engine.base.errors import ShapeError, StateError
from ...engine.core.modes import current, no_grad
from ...engine.methods.arguments import axis_of
from ...engine.tensor.lift import operand
from ...engine.tensor.tensor import Tensor
from ..module import Module
from .affine import QuantizedTensor, limits, quantize_affine, spread

EPS = float(np.finfo(np.float32).eps)


class MinMaxObserver(Module):
    """Records the smallest and largest number of all inputs.

    dtype                   the dtype of the integers: uint8 or int8
    qscheme                 'per_tensor_affine' for the whole range, or 'per_tensor_symmetric' for z in the middle
    quant_min, quant_max    the range of the integers; by default that of the dtype
    """

    _shown = "dtype=", "qscheme=", "quant_min=", "quant_max="
    _kind: ClassVar[str] = "per_tensor"

    min_val: Any
    max_val: Any

    def __init__(
        self, dtype: Any = np.uint8, qscheme: str | None = None,
        quant_min: int | None = None, quant_max: int | None = None,
        *, eps: float = EPS, ch_axis: int | None = None,
    ):  # fmt: skip
        self.dtype, self.qscheme = np.dtype(dtype), qscheme or f"{self._kind}_affine"
        schemes = {f"{self._kind}_affine": False, f"{self._kind}_symmetric": True}
        if self.qscheme not in schemes:
            raise ValueError(f"{type(self).__name__} has the qschemes {', '.join(schemes)}, and got {self.qscheme!r}")
        self.symmetric = schemes[self.qscheme]
        self.quant_min, self.quant_max = limits(dtype, quant_min, quant_max)
        if not self.quant_min <= 0 <= self.quant_max:
            raise ValueError(f"the range of integers must include 0, got {quant_min} to {quant_max}")
        # As in PyTorch, the middle of the full uint8 range is 128; of a narrower range, the lower of its middle two.
        middle = 128 if (quant_min, quant_max) == (None, None) else (self.quant_min + self.quant_max) // 2
        self.middle = middle if self.dtype == np.uint8 else 0
        self.eps, self.ch_axis = eps, ch_axis
        self.register_buffer("min_val", None)
        self.register_buffer("max_val", None)
        self.reset_min_max_vals()

    @classmethod
    def with_args(cls, **options: Any) -> Any:
        """A factory of observers with these options, for a QConfig."""
        return partial(cls, **options)

    def reset_min_max_vals(self) -> None:
        """Forget the range."""
        self.min_val, self.max_val = Tensor(np.float32(np.inf)), Tensor(np.float32(-np.inf))

    def forward(self, input: Any) -> Any:
        x = operand(input)
        if x.spec.is_known and not x.size:  # an empty batch has no extremes
            return x
        with no_grad():
            low, high = self.extremes(x)
            if self.min_val.spec != low.spec:  # the first per-channel input, or an input on another device
                if self.min_val.shape not in ((), low.shape):
                    raise ShapeError(f"{self} saw {self.min_val.size} channels, and {x.spec} has {low.size}")
                arrays = [np.broadcast_to(t.numpy(), low.shape).copy() for t in (self.min_val, self.max_val)]
                self.min_val, self.max_val = (Tensor(array, device=low.spec.device) for array in arrays)
            for seen, new in zip((self.min_val, self.max_val), self.merge_range(low, high)):
                seen.copy_(new)
        return x

    def extremes(self, x: Any) -> tuple[Any, Any]:
        """The smallest and largest number of x, or of each channel, as float32."""
        channel = None if self.ch_axis is None else axis_of(x.spec, self.ch_axis)
        axes = None if channel is None else tuple(a for a in range(x.ndim + 1) if a != channel)
        x = x.unsqueeze(-1)  # so that there is an axis to reduce if x has only the axis of channels
        with no_grad():
            return x.amin(axes).astype(np.float32), x.amax(axes).astype(np.float32)

    def merge_range(self, low: Any, high: Any) -> tuple[Any, Any]:
        """The range so far merged with the range of a new input."""
        return self.min_val.minimum(low), self.max_val.maximum(high)

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """Scale and zero point, float32 and int32, for the recorded range.

        Raises StateError without data, or if the range is not finite. In a graph, the scale without data is NaN.
        """
        low, high = self.min_val, self.max_val
        if current.mode.builder is None:
            if not low.size or bool((low > high).any()):
                raise StateError(f"{self} has seen no data: call the prepared model on some first, in train() for QAT")
            if not bool((low.isfinite() & high.isfinite()).all()):
                raise StateError(f"{self} saw {low.tolist()} to {high.tolist()}, and a scale needs a finite range")
        s, z = self.qparams(low, high)
        return s.where(low <= high, np.nan), z.astype(np.int32)

    def qparams(self, low: Any, high: Any) -> tuple[Any, Any]:
        """Scale and zero point for a range, both float32."""
        low, high = low.clamp(max=0), high.clamp(min=0)
        n = self.quant_max - self.quant_min
        if self.symmetric:
            s = ((-low).maximum(high) / (n / 2)).clamp(min=self.eps)
            return s, s * 0 + self.middle
        s = ((high - low) / n).clamp(min=self.eps)
        return s, (self.quant_min - (low / s).round()).clamp(self.quant_min, self.quant_max)

    def fake_quantize(self, x: Any, s: Any, z: Any) -> Any:
        """x rounded to values that the integers can represent, as floats."""
        s, z = (spread(t, self.ch_axis, x.ndim) for t in (s, z))
        return x.apply(ops.FakeQuantize(self.quant_min, self.quant_max), s, z.astype(np.float32))

    def quantize_by_range(self, x: Any) -> QuantizedTensor:
        """x quantised with its own range."""
        ends = {"quant_min": self.quant_min, "quant_max": self.quant_max}
        return quantize_affine(x, *self.qparams(*self.extremes(x)), self.ch_axis, self.dtype, **ends)


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Averages the smallest and largest number of each batch over batches: m ← m + c (new − m)."""

    def __init__(self, averaging_constant: float = 0.01, dtype: Any = np.uint8, *more: Any, **options: Any):
        if not 0 < averaging_constant <= 1:
            raise ValueError(f"averaging_constant must be above 0 and at most 1, got {averaging_constant}")
        super().__init__(dtype, *more, **options)
        self.averaging_constant = averaging_constant

    def merge_range(self, low: Any, high: Any) -> tuple[Any, Any]:
        first = self.min_val > self.max_val
        low_was, high_was = low.where(first, self.min_val), high.where(first, self.max_val)
        c = self.averaging_constant
        return low_was + c * (low - low_was), high_was + c * (high - high_was)


class PercentileObserver(MovingAverageMinMaxObserver):
    """Averages the range of the middle `percentile` per cent of each batch, so outliers do not coarsen the rest."""

    def __init__(self, percentile: float = 99.9, averaging_constant: float = 0.1, **options: Any):
        if not 0 < percentile <= 100:
            raise ValueError(f"percentile must be above 0 and at most 100, got {percentile}")
        super().__init__(averaging_constant, **options)
        self.percentile = percentile

    def extremes(self, x: Any) -> tuple[Any, Any]:
        outside = (1 - self.percentile / 100) / 2
        with no_grad():
            x = x.flatten().astype(np.float32)
            return x.quantile(outside), x.quantile(1 - outside)


class PerChannelMinMaxObserver(MinMaxObserver):
    """Records the smallest and largest number of each channel, which is an index along ch_axis."""

    _kind = "per_channel"

    def __init__(self, ch_axis: int = 0, dtype: Any = np.int8, *more: Any, **options: Any):
        super().__init__(dtype, *more, ch_axis=ch_axis, **options)
