"""Layers by hand: every array is made once, and every step writes into it.

`forward` returns the result; `backward` takes the result's gradient, writes those of the layer's parameters to `G`, and
returns that of its input. A layer owns the arrays that it returns, and reuses them in its next call; some layers
overwrite their input. Parameters are in `P`, in PyTorch's layout: W (out, in). Inputs are rows, (N, n_in).
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from ..workloads import HEADS, LENGTH, Arrays


class Linear:
    """x Wᵀ + b; b is optional.

    first    whether x is the batch itself, which needs no gradient
    """

    def __init__(self, P: Arrays, G: Arrays, name: str, rows: int, first: bool = False):
        self.W, self.gW = P[f"W{name}"], G[f"W{name}"]
        self.b, self.gb = P.get(f"b{name}"), G.get(f"b{name}")
        n_out, n_in = self.W.shape
        self.y = np.empty((rows, n_out), self.W.dtype)
        self.gx = None if first else np.empty((rows, n_in), self.W.dtype)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.x = x
        np.dot(x, self.W.T, self.y)
        if self.b is not None:
            np.add(self.y, self.b, self.y)
        return self.y

    def backward(self, gy: np.ndarray) -> np.ndarray | None:
        np.dot(gy.T, self.x, self.gW)
        if self.gb is not None:
            np.add.reduce(gy, 0, None, self.gb)
        return None if self.gx is None else np.dot(gy, self.W, self.gx)


class Relu:
    """relu in place, of its input and of the gradient."""

    def __init__(self, shape: tuple[int, ...], dtype: str):
        self.positive, self.zero = np.empty(shape, bool), np.array(0, dtype)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.y = np.maximum(x, self.zero, out=x)
        return self.y

    def backward(self, gy: np.ndarray) -> np.ndarray:
        np.greater(self.y, self.zero, self.positive)
        return np.multiply(gy, self.positive, gy)


class Tanh:
    """tanh in place, of its input and of the gradient."""

    def __init__(self, shape: tuple[int, ...], dtype: str):
        self.slope, self.one = np.empty(shape, dtype), np.array(1, dtype)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.y = np.tanh(x, x)
        return self.y

    def backward(self, gy: np.ndarray) -> np.ndarray:
        s = np.multiply(self.y, self.y, self.slope)
        np.subtract(self.one, s, s)
        return np.multiply(gy, s, gy)


class Gelu:
    """y = x (1 + t) / 2 with t = tanh u, u = c (x + 0.044715 x³), c = √(2/π): Hendrycks & Gimpel 2016.

    y′ = (1 + t) / 2 + y (1 − t) u′; the gradient is overwritten.
    """

    c = sqrt(2 / pi)
    d = c * 0.044715

    def __init__(self, shape: tuple[int, ...], dtype: str):
        self.square, self.t, self.y, self.s = (np.empty(shape, dtype) for _ in range(4))

    def forward(self, x: np.ndarray) -> np.ndarray:
        square, t, y = self.square, self.t, self.y
        np.multiply(x, x, square)
        np.multiply(square, self.d, square)
        np.add(square, self.c, t)
        np.multiply(t, x, t)
        np.tanh(t, t)
        np.add(t, 1, y)
        np.multiply(y, x, y)
        return np.multiply(y, 0.5, y)

    def backward(self, gy: np.ndarray) -> np.ndarray:
        square, t, y, s = self.square, self.t, self.y, self.s
        np.multiply(square, 3, square)
        np.add(square, self.c, square)
        np.subtract(1, t, s)
        np.multiply(s, y, s)
        np.multiply(s, square, s)
        np.add(t, 1, t)
        np.multiply(t, 0.5, t)
        np.add(s, t, s)
        return np.multiply(gy, s, gy)


class LayerNorm:
    """n = (x − mean) / spread over a row, y = n gain + bias: Ba et al. 2016."""

    def __init__(self, P: Arrays, G: Arrays, name: str, rows: int):
        self.gain, self.bias = P[f"gain{name}"], P[f"bias{name}"]
        self.ggain, self.gbias = G[f"gain{name}"], G[f"bias{name}"]
        shape, dtype = (rows, len(self.gain)), self.gain.dtype
        self.n, self.y, self.gx, self.s = (np.empty(shape, dtype) for _ in range(4))
        self.r, self.mean = np.empty((rows, 1), dtype), np.empty((rows, 1), dtype)
        self.part = dtype.type(1 / len(self.gain))

    def forward(self, x: np.ndarray) -> np.ndarray:
        n, r, y = self.n, self.r, self.y
        np.add.reduce(x, 1, None, r, True)
        np.multiply(r, self.part, r)
        np.subtract(x, r, n)
        np.einsum("ij,ij->i", n, n, out=r[:, 0])
        np.multiply(r, self.part, r)
        np.add(r, 1e-5, r)
        np.sqrt(r, r)
        np.divide(1, r, r)
        np.multiply(n, r, n)
        np.multiply(n, self.gain, y)
        return np.add(y, self.bias, y)

    def backward(self, gy: np.ndarray) -> np.ndarray:
        """r (gn − mean gn − n mean(gn n)) with gn = gy gain."""
        n, mean, gx, s = self.n, self.mean, self.gx, self.s
        np.einsum("ij,ij->j", gy, n, out=self.ggain)
        np.add.reduce(gy, 0, None, self.gbias)
        np.multiply(gy, self.gain, gx)
        np.einsum("ij,ij->i", gx, n, out=mean[:, 0])
        np.multiply(mean, self.part, mean)
        np.multiply(n, mean, s)
        np.add.reduce(gx, 1, None, mean, True)
        np.multiply(mean, self.part, mean)
        np.subtract(gx, mean, gx)
        np.subtract(gx, s, gx)
        return np.multiply(gx, self.r, gx)


class Attention:
    """Causal attention, softmax(q kᵀ / √d) v per head; rows of q, k, v → rows of D."""

    def __init__(self, sequences: int, width: int, dtype: str):
        B, T, D, H = sequences, LENGTH, width, HEADS
        self.shape = (B, T, -1, H, D // H)
        self.later = np.triu(np.full((T, T), -np.inf, dtype), 1)
        self.p, self.gp = (np.empty((B, H, T, T), dtype) for _ in range(2))
        self.row = np.empty((B, H, T, 1), dtype)
        self.y, self.gqkv = np.empty((B * T, D), dtype), np.empty((B * T, 3 * D), dtype)
        self.scale = np.array(sqrt(H / D), dtype)

    def heads(self, rows: np.ndarray) -> np.ndarray:
        """Split rows of one or three concatenated arrays into views, each (B, H, T, d)."""
        return rows.reshape(self.shape).transpose(2, 0, 3, 1, 4)

    def forward(self, qkv: np.ndarray) -> np.ndarray:
        self.q, self.k, self.v = self.heads(qkv)
        p, row = self.p, self.row
        np.matmul(self.q, self.k.swapaxes(-1, -2), p)
        np.multiply(p, self.scale, p)
        np.add(p, self.later, p)
        np.maximum.reduce(p, -1, None, row, True)
        np.subtract(p, row, p)
        np.exp(p, p)
        np.add.reduce(p, -1, None, row, True)
        np.divide(p, row, p)
        np.matmul(p, self.v, self.heads(self.y)[0])
        return self.y

    def backward(self, gy: np.ndarray) -> np.ndarray:
        p, gp, row, gh = self.p, self.gp, self.row, self.heads(gy)[0]
        gq, gk, gv = self.heads(self.gqkv)
        np.matmul(p.swapaxes(-1, -2), gh, gv)
        np.matmul(gh, self.v.swapaxes(-1, -2), gp)
        np.einsum("bhij,bhij->bhi", gp, p, out=row[..., 0])
        np.subtract(gp, row, gp)
        np.multiply(gp, p, gp)
        np.multiply(gp, self.scale, gp)
        np.matmul(gp, self.k, gq)
        np.matmul(gp.swapaxes(-1, -2), self.q, gk)
        return self.gqkv


class CrossEntropy:
    """The mean loss of logits z (N, classes) for labels y; forward also computes its gradient."""

    def __init__(self, y: np.ndarray, classes: int, dtype: str):
        N = len(y)
        self.y, self.rows, self.part = y, np.arange(N), np.array(1 / N, dtype)
        self.gz, self.row = np.empty((N, classes), dtype), np.empty((N, 1), dtype)

    def forward(self, z: np.ndarray) -> Any:
        gz, row = self.gz, self.row
        np.maximum.reduce(z, 1, None, row, True)
        np.subtract(z, row, gz)
        chosen = np.add.reduce(gz[self.rows, self.y])
        np.exp(gz, gz)
        np.add.reduce(gz, 1, None, row, True)
        np.divide(gz, row, gz)
        gz[self.rows, self.y] -= 1
        np.multiply(gz, self.part, gz)
        np.log(row, row)
        return (np.add.reduce(row, None) - chosen) * self.part


class SquaredError:
    """The mean of (z − y)²; forward also computes its gradient."""

    def __init__(self, y: np.ndarray):
        self.y, self.gz = y, np.empty_like(y)
        self.part, self.twice = np.array(1 / y.size, y.dtype), np.array(2 / y.size, y.dtype)

    def forward(self, z: np.ndarray) -> Any:
        d = np.subtract(z, self.y, self.gz)
        loss = np.vdot(d, d) * self.part
        np.multiply(d, self.twice, d)
        return loss
