"""Functions between the layers: softmax and its variants, similarity, dropout, attention."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np

from ...api.functions.activation import leaky_relu
from ...api.functions.creation import ones_like
from ...api.functions.movement import broadcast_tensors
from ...engine import ops, random
from ...engine.base.dimension import require_known
from ...engine.base.errors import ShapeError
from ...engine.methods import Operand
from ...engine.methods.arguments import autocast_to
from ...engine.tensor.lift import function, operand
from .convolution import over_axes

softmin = function(Operand.softmin)


@autocast_to("float32")
def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """x₁ · x₂ / (‖x₁‖ ‖x₂‖) along an axis: the cosine of the angle between them. Norms are at least eps."""
    x, y = broadcast_tensors(operand(x1), x2)
    lengths = x.norm(2, dim, keepdims=True).clamp(min=eps), y.norm(2, dim, keepdims=True).clamp(min=eps)
    return (x / lengths[0] * (y / lengths[1])).sum(dim)


@autocast_to("float32")
def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """‖x₁ − x₂ + ε‖ₚ over the last axis; ε keeps the gradient finite where x₁ = x₂."""
    return (operand(x1).real_valued() - x2 + eps).norm(p, -1, keepdim)


@autocast_to("float32")
def pdist(input: Any, p: float = 2.0) -> Any:
    """‖xᵢ − xⱼ‖ₚ for each pair of rows i < j, in one axis."""
    x = operand(input)
    require_known("pdist, to pair the rows,", x.shape[0])
    first, second = np.triu_indices(x.shape[0], 1)
    return (x[first] - x[second]).norm(p, -1)


def dropout(input: Any, p: float = 0.5, training: bool = True, *, key: Any = None) -> Any:
    """x · m / (1 − p), where m is 0 with probability p and 1 otherwise; x itself outside training.

    key    the key of the random numbers; None for the next key of the sequence that mg.manual_seed starts

    Srivastava et al. 2014, “Dropout: A Simple Way to Prevent Neural Networks from Overfitting”, §4.
    """
    x = operand(input)
    return apply_dropout(x, x.shape, p, training, key)


def channel_dropout(n: int, input: Any, p: float = 0.5, training: bool = True, *, key: Any = None) -> Any:
    """Dropout of whole channels of x (N, C, *size) or (C, *size), since neighbouring elements are strongly correlated.

    Tompson et al. 2015, “Efficient Object Localization Using Convolutional Networks”, §3.2. As in PyTorch, dropout2d
    reads an x with three axes as (N, C, L). https://arxiv.org/abs/1411.4280
    """
    x = operand(input)
    kept = 2 if n == 2 or x.ndim >= n + 2 else 1
    return apply_dropout(x, x.shape[:kept] + (1,) * (x.ndim - kept), p, training, key)


dropout1d, dropout2d, dropout3d = over_axes(channel_dropout, "dropout")


def apply_dropout(x: Any, shape: tuple[int, ...], p: float, training: bool, key: Any) -> Any:
    """x times a random mask of the given shape, scaled by 1 / (1 − p)."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout needs a probability of 0 to 1, and got p={p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    key = random.next_key(x.spec.device) if key is None else key
    return x * (random.bernoulli(key, 1 - p, shape).astype(x.dtype) * (1 / (1 - p)))


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, *, key: Any = None) -> Any:
    """Dropout that keeps SELU's mean 0 and variance 1: it sets elements to −λ α, and then rescales and shifts all.

    Klambauer et al. 2017, “Self-Normalizing Neural Networks”, §2. https://arxiv.org/abs/1706.02515
    """
    x = operand(input)
    return apply_alpha_dropout(x, x.shape, p, training, key)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, *, key: Any = None) -> Any:
    """alpha_dropout of whole channels of x (N, C, …)."""
    x = operand(input)
    return apply_alpha_dropout(x, x.shape[:2] + (1,) * (x.ndim - 2), p, training, key)


def apply_alpha_dropout(x: Any, shape: tuple[int, ...], p: float, training: bool, key: Any) -> Any:
    """x with random elements replaced by SELU's lowest value, −λ α; then rescaled to mean 0 and variance 1."""
    if p == 1 or not training:
        return apply_dropout(x, shape, p, training, key)
    lowest = -1.7580993408473766
    kept = apply_dropout(ones_like(x), shape, p, training, key) * (1 - p)
    return (x * kept + lowest * (1 - kept) - lowest * p) * ((1 - p) * (1 + p * lowest**2)) ** -0.5


def rrelu(
    input: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, inplace: bool = False,
    *, key: Any = None,
) -> Any:  # fmt: skip
    """x where x > 0, a x elsewhere. In training, each element draws a from lower … upper; else a = (lower + upper) / 2.

    Xu et al. 2015, “Empirical Evaluation of Rectified Activations in Convolutional Network”, §2.4.
    """
    x = operand(input)
    if not training:
        return leaky_relu(x, (lower + upper) / 2, inplace=inplace)
    key = random.next_key(x.spec.device) if key is None else key
    y = x.where(x > 0, x * (random.uniform(key, x.shape, x.dtype) * (upper - lower) + lower))
    return x.copy_(y) if inplace else y


def gumbel_softmax(
    logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1, *, key: Any = None
) -> Any:
    """softmax((x + g) / τ), with g = −ln(−ln u) for uniform u: a differentiable sample of softmax(x).

    hard    whether to return a one-hot vector, with the gradient of the soft vector

    Jang et al. 2017, “Categorical Reparameterization with Gumbel-Softmax”, eq. 2. https://arxiv.org/abs/1611.01144
    """
    x = operand(logits)
    key = random.next_key(x.spec.device) if key is None else key
    noise = -(-(1 - random.uniform(key, x.shape, x.dtype)).log()).log()
    y = ((x + noise) / tau).softmax(dim)
    return (y == y.amax(dim, keepdims=True)).astype(x.dtype) - y.detach() + y if hard else y


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
    *, dropout_key: Any = None,
) -> Any:  # fmt: skip
    """softmax(q kᵀ · scale + mask) v

    query        q (…, L, E)
    key          k (…, S, E)
    value        v (…, S, Ev)  →  (…, L, Ev)
    attn_mask    (…, L, S): booleans, True where a query may attend; or numbers, added to the scores
    is_causal    whether query i attends to keys 0 to i only
    scale        1/√E if None
    enable_gqa   whether heads of queries (…, H, L, E) share fewer heads of keys and values (Ainslie et al. 2023, “GQA”,
                 https://arxiv.org/abs/2305.13245)

    A query that may attend to no key gets zeros. Vaswani et al. 2017, “Attention Is All You Need”, eq. 1.
    https://arxiv.org/abs/1706.03762
    """
    q = operand(query)
    k, v = q.lift(key), q.lift(value)
    if min(q.ndim, k.ndim, v.ndim) < 2 or q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2]:
        shapes = "query (…, L, E), key (…, S, E) and value (…, S, Ev)"
        raise ShapeError(f"attention needs {shapes}, and got {q.spec}, {k.spec} and {v.spec}")
    if enable_gqa:
        k, v = repeat_heads(q, k), repeat_heads(q, v)
    if is_causal and attn_mask is not None:
        raise ValueError("attention takes is_causal or attn_mask, and got both: combine them into one mask")
    scale = 1 / sqrt(q.shape[-1]) if scale is None else float(scale)
    masks = () if attn_mask is None else (attention_bias(q, attn_mask),)
    if dropout_p == 0:
        return q.apply(ops.Attention(scale, bool(is_causal)), k, v, *masks)
    return dropout(q.apply(ops.AttentionWeights(scale, bool(is_causal)), k, *masks), dropout_p, key=dropout_key) @ v


def repeat_heads(q: Any, k: Any) -> Any:
    """k with each head repeated, so that it has as many heads as q."""
    heads, groups = (x.shape[-3] if x.ndim > 2 else 0 for x in (q, k))
    require_known("enable_gqa, to share heads,", heads, groups)
    if not groups or heads % groups:
        rule = f"those of the query {q.spec} must be a multiple of those of {k.spec}"
        raise ShapeError(f"enable_gqa shares heads (axis -3): {rule}")
    return k if heads == groups else k.repeat_interleave(heads // groups, -3)


def attention_weights(q: Any, k: Any, mask: Any, scale: float) -> Any:
    """softmax(q kᵀ · scale + mask), (…, L, S); NaN for a query that may attend to no key."""
    scores = (q * scale) @ k.mT
    return (scores if mask is None else scores + mask).softmax(-1)


def attention_bias(q: Any, mask: Any) -> Any:
    """A mask as numbers to add to the scores: −∞ where a boolean mask is False."""
    mask = q.lift(mask)
    return q.lift(0.0).where(mask, -inf) if mask.dtype.kind == "b" else mask.astype(q.dtype)
