"""SyncBatchNorm: batch normalisation over the batches of all processes together.

PyTorch has it as torch.nn.SyncBatchNorm. Imports go in one direction: mg.nn does not import mg.distributed.
"""

from __future__ import annotations

from typing import Any

from ..api.functions.movement import cat
from ..engine.base.dtypes import float32
from ..engine.base.errors import ShapeError
from ..engine.core.modes import no_grad
from ..engine.tensor.tensor import Tensor
from ..nn.functional.normalisation import scale_and_shift
from ..nn.module import Module
from ..nn.norm import BatchNormNd
from .functional import all_gather
from .group import ProcessGroup


class SyncBatchNorm(BatchNormNd):
    """(x − μ) / √(σ² + ε) · w + b for each channel, over all processes' batches in training: see nn.BatchNorm1d.

    x                (N, C) or (N, C, …); N may differ between processes, and be 0
    process_group    the processes whose batches count as one; all processes if None

    A step costs one all_gather of 2C + 1 numbers, and its gradient one reduce_scatter. The mean, squared deviations and
    count of each process combine to those of all (Chan et al. 1979, “Updating Formulae and a Pairwise Algorithm for
    Computing Sample Variances”, eq. 2.1); sums of squares would lose digits under a large mean. The loss is the sum of
    all processes' losses, as for every collective; gradients of w and b cover only each process's own batch.

    Raises ShapeError if all processes together have only one value for a channel, as one value has no variance.
    """

    dims = 2, 3, 4, 5

    def __init__(self, *given: Any, process_group: ProcessGroup | None = None, **named: Any):
        super().__init__(*given, **named)
        self.process_group = process_group

    def forward(self, input: Any) -> Any:
        if not self.training:
            return super().forward(input)
        x, momentum, C = self._check_input(input), self._momentum(), self.num_features
        axes, column = (0, *range(2, x.ndim)), (C, *(1,) * (x.ndim - 2))
        wide = x.astype(float32) if x.spec.is_half else x
        n = wide.lift(x.size // C).astype(wide.dtype).reshape(1)
        mean = wide.sum(axes) / n.maximum(1)
        squares = ((wide - mean.reshape(column)) ** 2).sum(axes)
        rows = all_gather(cat([mean, squares, n]).unsqueeze(0), self.process_group)
        means, squares, counts = rows[:, :C], rows[:, C:-1], rows[:, -1:]  # a row for each process
        total = counts.sum()
        if isinstance(total, Tensor) and total.item() < 2:
            raise ShapeError(f"{self} in training needs more than one value for each channel in all, and got {x.spec}")
        mean = (counts * means).sum(0) / total
        squares = (squares + counts * (means - mean) ** 2).sum(0)
        with no_grad():
            for running, now in ((self.running_mean, mean), (self.running_var, squares / (total - 1))):
                if running is not None:
                    running.copy_(running * (1 - momentum) + now.detach() * momentum)
        y = (wide - mean.reshape(column)) / (squares.reshape(column) / total + self.eps).sqrt()
        return scale_and_shift(y, self.weight, self.bias, column).astype(x.dtype)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: ProcessGroup | None = None) -> Module:
        """Replace each batch normalisation of the module by a SyncBatchNorm with the same tensors."""
        if isinstance(module, BatchNormNd) and not isinstance(module, cls):
            options = module.eps, module.momentum, module.affine, module.track_running_stats
            made = cls(module.num_features, *options, process_group=process_group)
            for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
                setattr(made, name, getattr(module, name))
            return made.train(module.training)
        for name, part in [*module._modules()]:
            setattr(module, name, cls.convert_sync_batchnorm(part, process_group))
        return module
