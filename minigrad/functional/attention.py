"""Attention: each query takes a mean of the values, weighted by how well their keys fit."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

from .. import ops
from ..base.errors import ShapeError
from ..tensor.lift import operand
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
    is_half = q.dtype == np.float16
    if is_half:
        q, k, v = (x.astype(np.float32) for x in (q, k, v))
    scale = 1 / sqrt(q.shape[-1]) if scale is None else float(scale)
    masks = () if attn_mask is None else (added(q, attn_mask),)
    if dropout_p == 0:
        y = q.apply(ops.Attention(scale, bool(is_causal)), k, v, *masks)
    else:
        y = dropout(q.apply(ops.AttentionWeights(scale, bool(is_causal)), k, *masks), dropout_p, key=dropout_key) @ v
    return y.astype(np.float16) if is_half else y


def attention_weights(q: Any, k: Any, mask: Any, scale: float) -> Any:
    """softmax(q kᵀ · scale + mask), (…, L, S). A query that may look nowhere has none: NaN."""
    scores = (q * scale) @ k.mT
    return softmax(scores if mask is None else scores + mask, -1)


def added(q: Any, mask: Any) -> Any:
    """A mask as numbers to add to scores: −∞ where a boolean one is False."""
    mask = q.lift(mask)
    return q.lift(0.0).where(mask, -inf) if mask.dtype.kind == "b" else mask.astype(q.dtype)
