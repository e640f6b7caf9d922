"""Attention, which does not keep its weights: L × S of them for each head, the largest array of a transformer.

They are needed again in backward, and there they are computed again, which costs less time than it saves memory.

Vaswani et al. 2017, “Attention Is All You Need”, eq. 1. https://arxiv.org/abs/1706.03762
Rabe and Staats 2021, “Self-attention Does Not Need O(n²) Memory”. https://arxiv.org/abs/2112.05682
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ..errors import ShapeError
from ..op import Op
from ..spec import broadcast_shape
from .linalg import MatMul
from .reduce import SumOfProducts
from .softmax import exponentials


@dataclass(frozen=True)
class AttentionWeights(Op):
    """w = softmax(s q kᵀ + m) along the keys: q (…, L, E), k (…, S, E), mask m (…, L, S), if there is one → (…, L, S)

    scale     s
    causal    whether query i looks at keys 0 to i only

    A query that may look nowhere, since all its scores are −∞, weighs nothing: zeros.
    """

    scale: float
    causal: bool = False

    symbol = "weights"
    inline = False

    def infer(self, q, k, *mask):
        if min(q.ndim, k.ndim) < 2 or q.shape[-1] != k.shape[-1]:
            raise ShapeError(f"attention needs queries (…, L, E) and keys (…, S, E), and got {q} and {k}")
        w = MatMul().infer(q, k.with_shape((*k.shape[:-2], k.shape[-1], k.shape[-2])))
        if mask and broadcast_shape(mask[0].shape, w.shape) != w.shape:
            raise ShapeError(f"attention needs a mask that broadcasts to {w.shape}, and got {mask[0]}")
        return w

    def forward(self, xp, q, k, *mask):
        scores = xp.matmul(q * self.scale, k.swapaxes(-1, -2))
        for m in (*mask, *([triangle(xp, *scores.shape[-2:], scores.dtype)] if self.causal else [])):
            scores += m
        if not scores.size:
            return scores
        w, sums = exponentials(xp, scores, scores.ndim - 1)
        w /= sums + (sums == 0)
        return w

    def vjp(self, gw, w, q, k, *mask):
        g = self.projected(gw, w)
        gq, gk = g @ k * self.scale, g.mT @ q * self.scale
        return gq.sum_to(q.shape), gk.sum_to(k.shape), *(g.sum_to(m.shape) for m in mask)

    def jvp(self, dxs, w, q, k, *mask):
        dq, dk, *dmask = dxs
        return self.projected(sum(dmask, (dq @ k.mT + q @ dk.mT) * self.scale), w)

    def projected(self, g, w):
        """w (g − Σ g w): softmax backwards, and forwards just so."""
        return w * (g - g.apply(SumOfProducts((w.ndim - 1,)), w))

    def flops(self, w, q, k, *mask): return 2 * w.size * q.shape[-1] + (5 + len(mask) + self.causal) * w.size + q.size


@dataclass(frozen=True)
class Attention(Op):
    """y = softmax(s q kᵀ + m) v: q (…, L, E), k (…, S, E), v (…, S, Ev), mask m (…, L, S), if there is one → (…, L, Ev)

    scale, causal    as in AttentionWeights
    """

    scale: float
    causal: bool = False

    symbol = "attention"
    inline = False

    @property
    def weights(self) -> AttentionWeights:
        return AttentionWeights(self.scale, self.causal)

    def infer(self, q, k, v, *mask): return MatMul().infer(self.weights.infer(q, k, *mask), v)

    def forward(self, xp, q, k, v, *mask):
        w = self.weights.forward(xp, q, k, *mask)
        # In q's order of memory: heads that lie side by side there are joined without a copy.
        y = xp.empty_like(q) if q.shape == (*w.shape[:-1], v.shape[-1]) and q.dtype == w.dtype == v.dtype else None
        return xp.matmul(w, v, out=y)

    def expanded(self, q, k, v, *mask): return q.apply(self.weights, k, *mask) @ v

    def vjp(self, gy, y, q, k, v, *mask):
        w = q.apply(self.weights, k, *mask)
        gq, gk, *gmask = self.weights.vjp(gy @ v.mT, w, q, k, *mask)
        return gq, gk, (w.mT @ gy).sum_to(v.shape), *gmask

    def jvp(self, dxs, y, q, k, v, *mask):
        dq, dk, dv, *dmask = dxs
        w = q.apply(self.weights, k, *mask)
        return self.weights.jvp((dq, dk, *dmask), w, q, k, *mask) @ v + w @ dv

    def flops(self, y, q, k, v, *mask):
        w = self.weights.infer(q, k, *mask)
        return self.weights.flops(w, q, k, *mask) + 2 * y.size * k.shape[-2]


@lru_cache(maxsize=16)
def triangle(xp, L, S, dtype):
    """0 where a query may look, at keys up to its own, and −∞ elsewhere: (L, S), to be added to scores."""
    return xp.triu(xp.full((L, S), -np.inf, dtype), 1)
