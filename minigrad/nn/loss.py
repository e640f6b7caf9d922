"""Losses as modules: functional/loss.py and functional/classification.py, with their options held."""

from __future__ import annotations

from typing import Any

from .. import functional
from ..tensor import Tensor
from .module import Module


class Loss(Module):
    """A prediction and a target to one number, or, with reduction='none', one for each element."""

    def __init__(self, *, reduction: str = "mean"):
        self.reduction = reduction


class MSELoss(Loss):
    """(x − t)²"""

    def forward(self, input: Any, target: Any) -> Any:
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(Loss):
    """|x − t|"""

    def forward(self, input: Any, target: Any) -> Any:
        return functional.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Loss):
    """(x − t)² / 2β where |x − t| < β, |x − t| − β/2 beyond."""

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0):
        super().__init__(reduction=reduction)
        self.beta = beta

    def forward(self, input: Any, target: Any) -> Any:
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """(x − t)² / 2 where |x − t| < δ, δ (|x − t| − δ/2) beyond."""

    def __init__(self, *, reduction: str = "mean", delta: float = 1.0):
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Any, target: Any) -> Any:
        return functional.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(Loss):
    """t (ln t − x), for log-probabilities x."""

    def __init__(self, *, reduction: str = "mean", log_target: bool = False):
        super().__init__(reduction=reduction)
        self.log_target = log_target

    def forward(self, input: Any, target: Any) -> Any:
        return functional.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class GaussianNLLLoss(Loss):
    """(ln v + (x − t)² / v) / 2, v being the variance that is predicted with x."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self.full, self.eps = full, eps

    def forward(self, input: Any, target: Any, var: Any) -> Any:
        return functional.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class Weighted(Loss):
    """Losses with weights, which are buffers: they move with the module."""

    weight: Tensor | None

    def __init__(self, weight: Any = None, *, reduction: str = "mean"):
        super().__init__(reduction=reduction)
        self.register_buffer("weight", as_buffer(weight))


class BCELoss(Weighted):
    """−t ln x − (1 − t) ln(1 − x), for probabilities x."""

    def forward(self, input: Any, target: Any) -> Any:
        return functional.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(Weighted):
    """−p t ln σ(x) − (1 − t) ln(1 − σ(x)), for scores x."""

    pos_weight: Tensor | None

    def __init__(self, weight: Any = None, *, reduction: str = "mean", pos_weight: Any = None):
        super().__init__(weight, reduction=reduction)
        self.register_buffer("pos_weight", as_buffer(pos_weight))

    def forward(self, input: Any, target: Any) -> Any:
        return functional.binary_cross_entropy_with_logits(
            input, target, self.weight, reduction=self.reduction, pos_weight=self.pos_weight
        )


class NLLLoss(Weighted):
    """−x[t], for log-probabilities x."""

    def __init__(self, weight: Any = None, *, ignore_index: int = -100, reduction: str = "mean"):
        super().__init__(weight, reduction=reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Any, target: Any) -> Any:
        return functional.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class CrossEntropyLoss(Weighted):
    """−ln softmax(x)[t], for scores x."""

    def __init__(
        self,
        weight: Any = None,
        *,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ):
        super().__init__(weight, reduction=reduction)
        self.ignore_index, self.label_smoothing = ignore_index, label_smoothing

    def forward(self, input: Any, target: Any) -> Any:
        return functional.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


def as_buffer(weight: Any) -> Tensor | None:
    return weight if weight is None or isinstance(weight, Tensor) else Tensor(weight)
