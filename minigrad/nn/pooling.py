"""Pooling layers: windows to their largest element, or their mean."""

from __future__ import annotations

from typing import Any, ClassVar

from .. import functional
from ..functional.convolution import Lengths
from .module import Module


class MaxPool(Module):
    """The largest element of each window: see functional.max_pool1d and its kin. A stride of None is the window's."""

    n: ClassVar[int]

    def __init__(
        self,
        kernel_size: Lengths,
        stride: Lengths | None = None,
        padding: Lengths = 0,
        dilation: Lengths = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ):
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Any) -> Any:
        pool = getattr(functional, f"max_pool{self.n}d")
        shape = self.kernel_size, self.stride, self.padding, self.dilation
        return pool(input, *shape, self.ceil_mode, self.return_indices)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(MaxPool):
    __doc__ = MaxPool.__doc__
    n = 1


class MaxPool2d(MaxPool):
    __doc__ = MaxPool.__doc__
    n = 2


class MaxPool3d(MaxPool):
    __doc__ = MaxPool.__doc__
    n = 3


class AvgPool(Module):
    """The mean of each window: see functional.avg_pool1d and its kin. A stride of None is the window's."""

    n: ClassVar[int]

    def __init__(
        self,
        kernel_size: Lengths,
        stride: Lengths | None = None,
        padding: Lengths = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        **divisor: int | None,
    ):
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor = divisor  # divisor_override, which pooling over one axis has not

    def forward(self, input: Any) -> Any:
        pool = getattr(functional, f"avg_pool{self.n}d")
        return pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            **self.divisor,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(AvgPool):
    __doc__ = AvgPool.__doc__
    n = 1


class AvgPool2d(AvgPool):
    __doc__ = AvgPool.__doc__
    n = 2


class AvgPool3d(AvgPool):
    __doc__ = AvgPool.__doc__
    n = 3


class AdaptivePool(Module):
    """output_size windows that cover the axes evenly, whatever their lengths; None keeps an axis as it is."""

    pool: ClassVar[str]

    def __init__(self, output_size: Any):
        self.output_size = output_size

    def forward(self, input: Any) -> Any:
        return getattr(functional, self.pool)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(AdaptivePool):
    """The mean of each of output_size windows that cover the last axis evenly."""

    pool = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(AdaptivePool):
    """The mean of each of output_size windows that cover the last two axes evenly."""

    pool = "adaptive_avg_pool2d"


class AdaptiveMaxPool1d(AdaptivePool):
    """The largest of each of output_size windows that cover the last axis evenly."""

    pool = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(AdaptivePool):
    """The largest of each of output_size windows that cover the last two axes evenly."""

    pool = "adaptive_max_pool2d"
