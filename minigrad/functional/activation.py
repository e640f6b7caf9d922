"""Functions between the layers that look along a whole axis. Those of each element are in functions/activation.py.

How alike two vectors are, for each pair in a batch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..functions.movement import broadcast_tensors
from ..methods import Operand
from ..tensor.lift import function, operand

softmax = function(Operand.softmax)
log_softmax = function(Operand.log_softmax)
softmin = function(Operand.softmin)


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """x₁ · x₂ / (‖x₁‖ ‖x₂‖) along an axis: the cosine of the angle between them. No norm counts as less than eps."""
    x, y = broadcast_tensors(operand(x1), x2)
    lengths = x.norm(2, dim, keepdims=True).clamp(min=eps), y.norm(2, dim, keepdims=True).clamp(min=eps)
    return (x / lengths[0] * (y / lengths[1])).sum(dim)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """‖x₁ − x₂ + ε‖ₚ over the last axis; ε keeps the slope finite where the two are equal."""
    return (operand(x1).real_valued() - x2 + eps).norm(p, -1, keepdim)


def pdist(input: Any, p: float = 2.0) -> Any:
    """‖xᵢ − xⱼ‖ₚ for each pair of rows i < j, in one axis."""
    x = operand(input)
    first, second = np.triu_indices(len(x), 1)
    return (x[first] - x[second]).norm(p, -1)
