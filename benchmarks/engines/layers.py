"""Layers by hand: each gives its result and its backward.

The backward takes the gradient of the result, leaves those of the layer's parameters in `G`, and returns that of its
input. Parameters are in `P`, under PyTorch's layout: W (out, in).
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

import numpy as np

from ..workloads import HEADS, Arrays

Layer = tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]


def linear(P: Arrays, G: Arrays, name: str, x: np.ndarray) -> Layer:
    """x Wᵀ + b over the last axis; b if there is one."""
    W, flat = P[f"W{name}"], x.reshape(-1, x.shape[-1])
    y = flat @ W.T
    if f"b{name}" in P:
        y += P[f"b{name}"]

    def back(gy: np.ndarray) -> np.ndarray:
        gy = gy.reshape(-1, len(W))
        G[f"W{name}"] = gy.T @ flat
        if f"b{name}" in P:
            G[f"b{name}"] = gy.sum(0)
        return (gy @ W).reshape(x.shape)

    return y.reshape(*x.shape[:-1], len(W)), back


def first_linear(P: Arrays, G: Arrays, name: str, x: np.ndarray) -> Layer:
    """The same on the batch itself, which wants no gradient."""

    def back(gy: np.ndarray) -> np.ndarray:
        G[f"W{name}"], G[f"b{name}"] = gy.T @ x, gy.sum(0)
        return gy

    return x @ P[f"W{name}"].T + P[f"b{name}"], back


def relu(x: np.ndarray) -> Layer:
    y = np.maximum(x, 0)
    return y, lambda gy: gy * (y > 0)


def tanh(x: np.ndarray) -> Layer:
    y = np.tanh(x)
    return y, lambda gy: gy * (1 - y * y)


def gelu(x: np.ndarray) -> Layer:
    """x (1 + tanh u) / 2 with u = √(2/π) (x + 0.044715 x³): Hendrycks & Gimpel 2016."""
    c = sqrt(2 / pi)
    t = np.tanh(c * (x + 0.044715 * (x * x) * x))
    return x * (1 + t) * 0.5, lambda gy: gy * 0.5 * (1 + t + x * (1 - t * t) * c * (1 + 3 * 0.044715 * (x * x)))


def cross_entropy(z: np.ndarray, y: np.ndarray) -> tuple[Any, np.ndarray]:
    """The mean loss of logits z, and its gradient."""
    rows = np.arange(len(y))
    z = z - z.max(1, keepdims=True)
    gz = np.exp(z)
    total = gz.sum(1, keepdims=True)
    loss = (np.log(total).sum() - z[rows, y].sum()) / len(y)
    gz /= total
    gz[rows, y] -= 1
    gz /= z.dtype.type(len(y))
    return loss, gz


def layer_norm(P: Arrays, G: Arrays, name: str, x: np.ndarray) -> Layer:
    """(x − mean) / spread over the last axis, times gain, plus bias: Ba et al. 2016."""
    gain = P[f"gain{name}"]
    centred = x - x.mean(-1, keepdims=True)
    r = 1 / np.sqrt(np.mean(centred * centred, -1, keepdims=True) + x.dtype.type(1e-5))
    n = centred * r

    def back(gy: np.ndarray) -> np.ndarray:
        G[f"gain{name}"], G[f"bias{name}"] = (gy * n).sum((0, 1)), gy.sum((0, 1))
        gn: np.ndarray = gy * gain
        gx: np.ndarray = r * (gn - gn.mean(-1, keepdims=True) - n * (gn * n).mean(-1, keepdims=True))
        return gx

    return n * gain + P[f"bias{name}"], back


def attention(qkv: np.ndarray) -> Layer:
    """softmax(q kᵀ / √d) v per head, each place looking at itself and before; qkv (B, T, 3 D) → (B, T, D)."""
    B, T, D = *qkv.shape[:2], qkv.shape[2] // 3
    q, k, v = qkv.reshape(B, T, 3, HEADS, -1).transpose(2, 0, 3, 1, 4)
    scale = qkv.dtype.type(sqrt(HEADS / D))
    p = (q @ k.swapaxes(-1, -2)) * scale + np.triu(np.full((T, T), -np.inf, qkv.dtype), 1)
    p = np.exp(p - p.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)

    def back(gy: np.ndarray) -> np.ndarray:
        gy = gy.reshape(B, T, HEADS, -1).transpose(0, 2, 1, 3)
        gp = gy @ v.swapaxes(-1, -2)
        gs = p * (gp - (gp * p).sum(-1, keepdims=True)) * scale
        gs = np.stack([gs @ k, gs.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ gy])
        return gs.transpose(1, 3, 0, 2, 4).reshape(qkv.shape)

    return (p @ v).transpose(0, 2, 1, 3).reshape(B, T, D), back


def conv2d(P: Arrays, G: Arrays, i: int, x: np.ndarray) -> Layer:
    """3 × 3, with the batch innermost, x (C, H, W, B): windows side by side, and one matrix product."""
    K = P[f"K{i}"].reshape(len(P[f"K{i}"]), -1)
    C, H, W, B = x.shape
    places = [(a, b) for a in range(3) for b in range(3)]
    windows = np.stack([x[:, a : a + H - 2, b : b + W - 2] for a, b in places], 1).reshape(9 * C, -1)
    y = (K @ windows + P[f"b{i}"][:, None]).reshape(-1, H - 2, W - 2, B)

    def back(gy: np.ndarray) -> np.ndarray:
        gy = gy.reshape(len(K), -1)
        G[f"K{i}"], G[f"b{i}"] = (gy @ windows.T).reshape(P[f"K{i}"].shape), gy.sum(1)
        gx = np.zeros_like(x)
        if i > 1:  # the images want no gradient
            for (a, b), g in zip(places, (K.T @ gy).reshape(C, 9, H - 2, W - 2, B).swapaxes(0, 1)):
                gx[:, a : a + H - 2, b : b + W - 2] += g
        return gx

    return y, back


def max_pool2d(x: np.ndarray) -> Layer:
    """2 × 2, batch innermost; the largest of four, of which no two are equal here but at 0."""
    H, W = x.shape[1] // 2, x.shape[2] // 2
    corners = [np.s_[:, a : 2 * H : 2, b : 2 * W : 2] for a in (0, 1) for b in (0, 1)]
    y = np.maximum(np.maximum(x[corners[0]], x[corners[1]]), np.maximum(x[corners[2]], x[corners[3]]))

    def back(gy: np.ndarray) -> np.ndarray:
        gx = np.zeros_like(x)
        for corner in corners:
            np.multiply(gy, x[corner] == y, out=gx[corner])
        return gx

    return y, back
