"""Pooling layers: windows to their largest element, or their mean."""

from __future__ import annotations

from typing import Any

from ..functional.convolution import Lengths
from .held import Held, held, over_axes


class Pool(Held):
    """Windows to one number each."""

    kernel_size: Lengths
    stride: Lengths | None

    def __post_init__(self) -> None:
        self.stride = self.kernel_size if self.stride is None else self.stride


@held
class MaxPool(Pool):
    """The largest element of each window: see functional.max_pool1d and its kin. A stride of None is the window's."""

    function = "max_pool"
    quiet = ("return_indices",)
    kernel_size: Lengths
    stride: Lengths | None = None
    padding: Lengths = 0
    dilation: Lengths = 1
    return_indices: bool = False
    ceil_mode: bool = False


@held
class AvgPool(Pool):
    """The mean of each window: see functional.avg_pool1d and its kin. A stride of None is the window's."""

    function = "avg_pool"
    quiet = ("ceil_mode", "count_include_pad", "divisor_override")
    kernel_size: Lengths
    stride: Lengths | None = None
    padding: Lengths = 0
    ceil_mode: bool = False
    count_include_pad: bool = True
    divisor_override: int | None = None


@held
class AdaptiveAvgPool(Held):
    """The mean of each of output_size windows that cover the last axes evenly; None keeps an axis as it is."""

    function = "adaptive_avg_pool"
    output_size: Any


@held
class AdaptiveMaxPool(AdaptiveAvgPool):
    """The largest of each of output_size windows that cover the last axes evenly; None keeps an axis as it is."""

    function = "adaptive_max_pool"
    quiet = ("return_indices",)
    return_indices: bool = False


MaxPool1d, MaxPool2d, MaxPool3d = over_axes(MaxPool)
AvgPool1d, AvgPool2d, AvgPool3d = over_axes(AvgPool)
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d = over_axes(AdaptiveAvgPool)
AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d = over_axes(AdaptiveMaxPool)
