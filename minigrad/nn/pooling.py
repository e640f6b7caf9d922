"""Pooling layers: windows to their largest element, or their mean."""

from __future__ import annotations

from typing import Any, ClassVar

from ..functional.convolution import Lengths
from .functional_layer import Held, over_axes


class MaxPool(Held):
    """The largest element of each window. A stride of None is the window's length."""

    quiet: ClassVar[tuple[str, ...]] = ("return_indices",)
    kernel_size: Lengths
    stride: Lengths | None

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self.stride = self.kernel_size if self.stride is None else self.stride


class AvgPool(MaxPool):
    """The mean of each window. A stride of None is the window's length."""

    quiet = "ceil_mode", "count_include_pad", "divisor_override"


class MaxUnpool(MaxPool):
    """Each number at the place that MaxPool said, with return_indices; zeros elsewhere."""

    quiet = ("output_size",)


class LPPool(MaxPool):
    """(Σ xᵖ)^(1/p) of each window, p being norm_type. A stride of None is the window's length."""


class AdaptiveMaxPool(Held):
    """The largest element of each of output_size windows that cover the axes evenly; None keeps an axis."""

    quiet = ("return_indices",)


class AdaptiveAvgPool(Held):
    """The mean of each of output_size windows that cover the axes evenly; None keeps an axis."""


LENGTHS = "kernel_size", "stride", "padding", "dilation", "return_indices"
MaxPool1d, MaxPool2d, MaxPool3d = over_axes("max_pool", MaxPool, *LENGTHS)
AvgPool1d, AvgPool2d, AvgPool3d = over_axes("avg_pool", AvgPool, "kernel_size")
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d = over_axes("max_unpool", MaxUnpool, "kernel_size")
LPPool1d, LPPool2d, LPPool3d = over_axes("lp_pool", LPPool, "norm_type", "kernel_size")
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = over_axes("adaptive_max_pool", AdaptiveMaxPool, "output_size")
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = over_axes("adaptive_avg_pool", AdaptiveAvgPool, "output_size")
