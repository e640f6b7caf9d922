"""Losses as modules: functional/loss.py and functional/margin.py, with their options held."""

from __future__ import annotations

from typing import Any

from ..tensor.tensor import Tensor
from .functional_layer import Held, held


class Loss(Held):
    """A prediction and a target to one number, or, with reduction='none', one for each element or row.

    Weights are buffers: they move with the module.
    """

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        for name in self.__signature__.parameters.keys() & {"weight", "pos_weight"}:
            weight = vars(self).pop(name)
            self.register_buffer(name, weight if weight is None or isinstance(weight, Tensor) else Tensor(weight))

    def extra_repr(self) -> str:
        return ""


def loss(name: str, function: str, doc: str) -> type[Any]:
    return held(name, function, doc, base=Loss)


MSELoss = loss("MSELoss", "mse_loss", "(x − t)²")
L1Loss = loss("L1Loss", "l1_loss", "|x − t|")
SmoothL1Loss = loss("SmoothL1Loss", "smooth_l1_loss", "(x − t)² / 2β where |x − t| < β, |x − t| − β/2 beyond.")
HuberLoss = loss("HuberLoss", "huber_loss", "(x − t)² / 2 where |x − t| < δ, δ (|x − t| − δ/2) beyond.")
KLDivLoss = loss("KLDivLoss", "kl_div", "t (ln t − x), for log-probabilities x.")
PoissonNLLLoss = loss("PoissonNLLLoss", "poisson_nll_loss", "eˣ − t x, for x the ln of the rate of t events.")
GaussianNLLLoss = loss("GaussianNLLLoss", "gaussian_nll_loss", "(ln v + (x − t)² / v) / 2, v being predicted with x.")
BCELoss = loss("BCELoss", "binary_cross_entropy", "−t ln x − (1 − t) ln(1 − x), for probabilities x.")
BCEWithLogitsLoss = loss(
    "BCEWithLogitsLoss", "binary_cross_entropy_with_logits", "−p t ln σ(x) − (1 − t) ln(1 − σ(x)), for scores x."
)
NLLLoss = loss("NLLLoss", "nll_loss", "−x[t], for log-probabilities x.")
CrossEntropyLoss = loss("CrossEntropyLoss", "cross_entropy", "−ln softmax(x)[t], for scores x.")
CTCLoss = loss("CTCLoss", "ctc_loss", "−ln of the probability of a sequence of letters: see functional.ctc_loss.")

SoftMarginLoss = loss("SoftMarginLoss", "soft_margin_loss", "ln(1 + e^(−t x))")
HingeEmbeddingLoss = loss("HingeEmbeddingLoss", "hinge_embedding_loss", "x where t is 1, max(0, margin − x) beside.")
MarginRankingLoss = loss("MarginRankingLoss", "margin_ranking_loss", "max(0, margin − t (x₁ − x₂))")
CosineEmbeddingLoss = loss("CosineEmbeddingLoss", "cosine_embedding_loss", "1 − cos, or max(0, cos − margin).")
TripletMarginLoss = loss("TripletMarginLoss", "triplet_margin_loss", "max(0, margin + ‖a − p‖ − ‖a − n‖)")
TripletMarginWithDistanceLoss = loss(
    "TripletMarginWithDistanceLoss", "triplet_margin_with_distance_loss", "The same with another distance."
)
MultiMarginLoss = loss("MultiMarginLoss", "multi_margin_loss", "Σ max(0, margin − x[t] + x[i])ᵖ / C")
MultiLabelMarginLoss = loss("MultiLabelMarginLoss", "multilabel_margin_loss", "Σ max(0, 1 − x[j] + x[i]) / C")
MultiLabelSoftMarginLoss = loss(
    "MultiLabelSoftMarginLoss", "multilabel_soft_margin_loss", "−t ln σ(x) − (1 − t) ln(1 − σ(x)), over all classes."
)
