"""Normalisation layers: the functions of nn/functional/normalisation.py with a learned scale and shift."""

from __future__ import annotations

from typing import Any, ClassVar

from ..engine.base.device import Device
from ..engine.base.errors import ShapeError
from ..engine.core.modes import current
from ..engine.methods import integers
from ..engine.tensor.lift import operand
from ..engine.tensor.tensor import Tensor, tensor
from . import functional, init
from .functional_layer import nd_variants
from .module import Module
from .tree import parameter


class AffineNorm(Module):
    """A layer with a scale, which starts at 1, and a shift, which starts at 0; scale or shift may be None."""

    weight: Tensor | None
    bias: Tensor | None

    def _affine(self, shape: tuple[int, ...], scale: bool, shift: bool, **where: Any) -> None:
        self.register_parameter("weight", parameter(*shape, **where) if scale else None)
        self.register_parameter("bias", parameter(*shape, **where) if shift else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reset the scale to 1 and the shift to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(AffineNorm):
    """(x − μ) / √(σ² + ε) · w + b, over the last axes: see functional.layer_norm.

    weight, bias    w and b, of normalized_shape; w is None if not elementwise_affine; b also if not bias
    """

    _shown = "normalized_shape", "eps=", "elementwise_affine=", "bias="

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5,
        elementwise_affine: bool = True, bias: bool = True,
        *, device: Device | str | None = None, dtype: Any = None,
    ):  # fmt: skip
        self.normalized_shape, self.eps = integers((normalized_shape,)), eps
        self.elementwise_affine = elementwise_affine
        self._affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device=device, dtype=dtype)

    def forward(self, input: Any) -> Any:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(AffineNorm):
    """x / √(mean x² + ε) · w, over the last axes: see functional.rms_norm."""

    _shown = "normalized_shape", "eps=", "elementwise_affine="

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float | None = None, elementwise_affine: bool = True,
        *, device: Device | str | None = None, dtype: Any = None,
    ):  # fmt: skip
        self.normalized_shape, self.eps = integers((normalized_shape,)), eps
        self.elementwise_affine = elementwise_affine
        self._affine(self.normalized_shape, elementwise_affine, False, device=device, dtype=dtype)

    def forward(self, x: Any) -> Any:
        return functional.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class GroupNorm(AffineNorm):
    """(x − μ) / √(σ² + ε) · w + b for each group of channels of each example: see functional.group_norm.

    weight, bias    w and b (num_channels,); w is None if not affine, b also if not bias
    """

    _shown = "num_groups", "num_channels", "eps=", "affine=", "bias="

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
        *, bias: bool = True, device: Device | str | None = None, dtype: Any = None,
    ):  # fmt: skip
        if num_channels % num_groups:
            wrong = f"{num_channels} channels do not divide into {num_groups} groups"
            raise ValueError(f"GroupNorm needs groups of equal size: {wrong}")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self._affine((num_channels,), affine, affine and bias, device=device, dtype=dtype)

    def forward(self, input: Any) -> Any:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class RunningNorm(AffineNorm):
    """The base of layers that keep running means and variances of their inputs, for use after training.

    weight, bias                 w and b (num_features,); w is None if not affine, b also if not bias
    running_mean, running_var    (num_features,), buffers; None if not track_running_stats
    num_batches_tracked          the number of training batches so far
    """

    _shown = "num_features", "eps=", "momentum=", "affine=", "bias=", "track_running_stats="

    n: ClassVar[int]
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1,
        affine: bool = True, track_running_stats: bool = True,
        *, bias: bool = True, device: Device | str | None = None, dtype: Any = None,
    ):  # fmt: skip
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        where = {"device": device, "dtype": dtype}
        self._affine((num_features,), affine, affine and bias, **where)
        statistics = (
            [tensor([float(n)] * num_features, **where) for n in (0, 1)] if track_running_stats else (None, None)
        )
        for name, value in zip(("running_mean", "running_var"), statistics):
            self.register_buffer(name, value)
        self.register_buffer("num_batches_tracked", tensor(0, device=device) if track_running_stats else None)

    def reset_running_stats(self) -> None:
        """Reset the running mean to 0, the variance to 1 and the count to 0."""
        for statistic, start in ((self.running_mean, 0), (self.running_var, 1), (self.num_batches_tracked, 0)):
            if statistic is not None:
                init.constant_(statistic, start)

    dims = property(lambda self: (self.n + 2,), doc="The numbers of axes that x may have.")

    def _options(self, momentum: Any) -> Any:
        """The arguments of the normalisation function that follow x."""
        by_batch = self.training or not self.track_running_stats
        return self.running_mean, self.running_var, self.weight, self.bias, by_batch, momentum, self.eps

    def _check_input(self, x: Any) -> Any:
        x = operand(x)
        if x.ndim not in self.dims or x.shape[1] != self.num_features:
            shapes = " or ".join(f"(N, {self.num_features}{', …' * (n > 2)}), {n} axes" for n in self.dims)
            raise ShapeError(f"{type(self).__name__}({self.num_features}) needs x {shapes}, and got {x.spec}")
        return x


class BatchNormNd(RunningNorm):
    """(x − μ) / √(σ² + ε) · w + b for each channel: see functional.batch_norm."""

    dims = property(lambda self: (2, 3) if self.n == 1 else (self.n + 2,))

    def _momentum(self) -> float:
        """In training, count the batch. Returns the weight of its statistics: momentum, or 1 / count if it is None."""
        if not self.training or self.num_batches_tracked is None:
            return 0.0
        if current.mode.builder is not None:
            count = self.num_batches_tracked.add_(1)
            return 1 / count if self.momentum is None else self.momentum
        init.fill(self.num_batches_tracked, self.num_batches_tracked.value + 1)
        return 1 / self.num_batches_tracked.item() if self.momentum is None else self.momentum

    def forward(self, input: Any) -> Any:
        return functional.batch_norm(self._check_input(input), *self._options(self._momentum()))


BatchNorm1d, BatchNorm2d, BatchNorm3d = nd_variants(BatchNormNd)


class InstanceNormNd(RunningNorm):
    """(x − μ) / √(σ² + ε) · w + b for each channel of each example: see functional.instance_norm."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1,
        affine: bool = False, track_running_stats: bool = False, **where: Any,
    ):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, **where)

    def forward(self, input: Any) -> Any:
        input = operand(input)
        if input.ndim == self.dims[0] - 1:  # one example, without a batch
            return self.forward(input.unsqueeze(0)).squeeze(0)
        input = self._check_input(input)
        return functional.instance_norm(input, *self._options(0.1 if self.momentum is None else self.momentum))


InstanceNorm1d, InstanceNorm2d, InstanceNorm3d = nd_variants(InstanceNormNd)
