"""Losses as modules: functional/loss.py, margin.py and classification.py, with their options held."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

from ..tensor import Tensor
from .held import Held, held


@held
class Loss(Held):
    """A prediction and a target to one number, or, with reduction='none', one for each element."""

    reduction: str = field(default="mean", kw_only=True)


class MSELoss(Loss):
    """(x − t)²"""

    function = "mse_loss"


class L1Loss(Loss):
    """|x − t|"""

    function = "l1_loss"


@held
class SmoothL1Loss(Loss):
    """(x − t)² / 2β where |x − t| < β, |x − t| − β/2 beyond."""

    function = "smooth_l1_loss"
    beta: float = field(default=1.0, kw_only=True)


@held
class HuberLoss(Loss):
    """(x − t)² / 2 where |x − t| < δ, δ (|x − t| − δ/2) beyond."""

    function = "huber_loss"
    delta: float = field(default=1.0, kw_only=True)


@held
class KLDivLoss(Loss):
    """t (ln t − x), for log-probabilities x."""

    function = "kl_div"
    log_target: bool = field(default=False, kw_only=True)


@held
class GaussianNLLLoss(Loss):
    """(ln v + (x − t)² / v) / 2, v being the variance that is predicted with x."""

    function = "gaussian_nll_loss"
    full: bool = field(default=False, kw_only=True)
    eps: float = field(default=1e-6, kw_only=True)


@held
class Weighted(Loss):
    """Losses with weights, which are buffers: they move with the module."""

    weights: ClassVar[tuple[str, ...]] = ("weight",)
    weight: Any = None

    def __post_init__(self) -> None:
        for name in self.weights:
            given = vars(self).pop(name)
            self._buffers[name] = True
            setattr(self, name, given if given is None or isinstance(given, Tensor) else Tensor(given))


class BCELoss(Weighted):
    """−t ln x − (1 − t) ln(1 − x), for probabilities x."""

    function = "binary_cross_entropy"


@held
class BCEWithLogitsLoss(Weighted):
    """−p t ln σ(x) − (1 − t) ln(1 − σ(x)), for scores x."""

    function = "binary_cross_entropy_with_logits"
    weights = "weight", "pos_weight"
    pos_weight: Any = field(default=None, kw_only=True)


@held
class NLLLoss(Weighted):
    """−x[t], for log-probabilities x."""

    function = "nll_loss"
    ignore_index: int = field(default=-100, kw_only=True)


@held
class CrossEntropyLoss(NLLLoss):
    """−ln softmax(x)[t], for scores x."""

    function = "cross_entropy"
    label_smoothing: float = field(default=0.0, kw_only=True)
