"""Attention: each query takes a mean of the values, weighted by how well their keys fit."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..functions.face import operand
from .activation import softmax
from .dropout import dropout


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    dropout_key: Any = None,
) -> Any:
    """softmax(q kᵀ · scale + mask) v

    query        q (…, L, E)
    key          k (…, S, E)
    value        v (…, S, Ev)  →  (…, L, Ev)
    attn_mask    (…, L, S): booleans, True where a query may look; or numbers, added to the scores
    is_causal    whether query i looks at keys 0 to i only
    scale        1/√E if None

    A query that may look nowhere receives zeros. Vaswani et al. 2017, “Attention Is All You Need”, eq. 1.
    https://arxiv.org/abs/1706.03762
    """
    q = operand(query)
    k, v = q.lift(key), q.lift(value)
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        raise ShapeError(
            "attention needs query (…, L, E), key (…, S, E) and value (…, S, Ev), "
            f"and got {q.spec}, {k.spec} and {v.spec}"
        )
    if is_causal and attn_mask is not None:
        raise ValueError("attention takes is_causal or attn_mask, and got both: put the two into one mask")
    L, S = q.shape[-2], k.shape[-2]
    if is_causal:
        attn_mask = np.tri(L, S, dtype=bool)
    weights = attention_weights(q, k, attn_mask, 1 / sqrt(q.shape[-1]) if scale is None else scale)
    return dropout(weights, dropout_p, key=dropout_key) @ v


def attention_weights(q: Any, k: Any, mask: Any, scale: float) -> Any:
    """softmax(q kᵀ · scale + mask), (…, L, S)"""
    scores = (q * scale) @ k.mT
    if mask is None:
        return softmax(scores, -1)
    mask = scores.lift(mask)
    if mask.dtype.kind != "b":
        return softmax(scores + mask.astype(scores.dtype), -1)
    # A query that may look nowhere has scores of −∞ alone, of which softmax makes no number.
    return softmax(scores.where(mask, -inf), -1).where(mask, 0.0)
