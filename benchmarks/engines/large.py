"""Large arrays by hand: whole, or in blocks that fit in a processor's cache.

A kernel has working arrays, made once. `forward` returns the loss of a block of x; `gradient` does too, writes the
block's gradient to G, and adds to G those of the other parameters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workloads import A, Arrays, B, C, Workload
from . import Run
from .layers import LayerNorm

BLOCK = 1 << 16  # numbers


class Fused:
    """Σ s t + x² with s = sigmoid(a x + b) = (1 + tanh((a x + b) / 2)) / 2 and t = tanh(c x).

    gx = s (a (1 − s) t + c (1 − t²)) + 2 x
    """

    def __init__(self, n: int, batch: Arrays, P: Arrays, G: Arrays):
        self.x, self.gx = P["x"], G["x"]
        self.s, self.t, self.u = (np.empty(n, self.x.dtype) for _ in range(3))

    def forward(self, piece: slice) -> float:
        x = self.x[piece]
        s, t = self.s[: x.size], self.t[: x.size]
        np.multiply(x, A / 2, s)
        np.add(s, B / 2, s)
        np.tanh(s, s)
        np.multiply(s, 0.5, s)
        np.add(s, 0.5, s)
        np.multiply(x, C, t)
        np.tanh(t, t)
        return float(np.dot(s, t)) + float(np.dot(x, x))

    def gradient(self, piece: slice) -> float:
        value, x, gx = self.forward(piece), self.x[piece], self.gx[piece]
        s, t, u = self.s[: x.size], self.t[: x.size], self.u[: x.size]
        np.subtract(1, s, u)
        np.multiply(u, A, u)
        np.multiply(u, t, u)
        np.multiply(t, t, t)
        np.subtract(1, t, t)
        np.multiply(t, C, t)
        np.add(u, t, u)
        np.multiply(u, s, u)
        np.add(x, x, gx)
        np.add(gx, u, gx)
        return value


class Softmax:
    """Σ p w with p = softmax(x) of each row;  gx = p (w − ⟨p, w⟩)"""

    def __init__(self, n: int, batch: Arrays, P: Arrays, G: Arrays):
        self.x, self.w, self.gx = P["x"], batch["w"], G["x"]
        self.p, self.row = np.empty((n, self.x.shape[1]), self.x.dtype), np.empty((n, 1), self.x.dtype)

    def forward(self, piece: slice) -> float:
        p, row = self.p, self.row
        np.maximum.reduce(self.x[piece], 1, None, row, True)
        np.subtract(self.x[piece], row, p)
        np.exp(p, p)
        np.add.reduce(p, 1, None, row, True)
        np.divide(1, row, row)
        np.multiply(p, row, p)
        np.einsum("ij,ij->i", p, self.w[piece], out=row[:, 0])
        return float(np.add.reduce(row, None))

    def gradient(self, piece: slice) -> float:
        value, gx = self.forward(piece), self.gx[piece]
        np.subtract(self.w[piece], self.row, gx)
        np.multiply(gx, self.p, gx)
        return value


class Normalised:
    """Σ y w with y the layer norm of each row."""

    def __init__(self, n: int, batch: Arrays, P: Arrays, G: Arrays):
        self.x, self.w, self.G = P["x"], batch["w"], G
        self.part = {name: np.zeros_like(P[name]) for name in ("gain", "bias")}
        self.norm = LayerNorm(P, self.part, "", n)

    def forward(self, piece: slice) -> float:
        return float(np.vdot(self.norm.forward(self.x[piece]), self.w[piece]))

    def gradient(self, piece: slice) -> float:
        value = self.forward(piece)
        self.norm.gx = self.G["x"][piece]
        self.norm.backward(self.w[piece])
        for name, part in self.part.items():
            np.add(self.G[name], part, self.G[name])
        return value


KERNELS = {"fused": Fused, "softmax": Softmax, "layernorm": Normalised}


def run(workload: Workload, dtype: str, block: int | None) -> Run:
    """Run the workload in blocks of about this many numbers, or in one."""
    batch, P = ({n: a.astype(dtype, copy=False) for n, a in arrays.items()} for arrays in workload.arrays())
    G, x = {name: np.zeros_like(p) for name, p in P.items()}, P["x"]
    n = len(x) if block is None else min(len(x), max(1, block // x[0].size))
    kernel: Any = KERNELS[workload.name](n, batch, P, G)
    pieces = [slice(i, i + n) for i in range(0, len(x), n)]

    def forward() -> float:
        return sum(map(kernel.forward, pieces))

    def gradient() -> float:
        for name in G.keys() - {"x"}:
            G[name].fill(0)
        return sum(map(kernel.gradient, pieces))

    return Run({"forward": forward, "gradient": gradient}, lambda: (gradient(), {n: g.copy() for n, g in G.items()}))
