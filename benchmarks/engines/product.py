"""Hessian times vector by hand: one forward and one backward pass, with their tangents (Pearlmutter 1994)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..workloads import Arrays
from .layers import CrossEntropy
from .parameters import Parameters


class HessianVector:
    """For the loss `smooth_mlp`: leaves the product in H, and returns the loss.

    h, dh    result of each layer, and its tangent along the vector
    gh, dgh  the gradient there, and its tangent
    """

    def __init__(self, arrays: Arrays, vectors: Arrays, x: np.ndarray, y: np.ndarray, dtype: str = "f4"):
        self.P, self.V = Parameters(arrays, dtype).P, Parameters(vectors, dtype).P
        self.H, self.part = Parameters(arrays, dtype).P, Parameters(arrays, dtype).P
        self.x, self.last = x.astype(dtype), CrossEntropy(y, len(arrays["b3"]), dtype)
        shapes = [(len(x), len(arrays[f"b{i}"])) for i in "123"]
        self.h, self.dh, self.gh, self.dgh, self.s, self.t = ([np.empty(s, dtype) for s in shapes] for _ in range(6))
        self.one, self.two, self.row = np.array(1, dtype), np.array(-2, dtype), np.empty((len(x), 1), dtype)

    def __call__(self) -> Any:
        self.forward()
        loss = self.last.forward(self.h[2])
        self.turn()
        for i in (2, 1, 0):
            self.backward(i)
        return loss

    def forward(self) -> None:
        P, V = self.P, self.V
        for i, (h, dh, s, t) in enumerate(zip(self.h, self.dh, self.s, self.t)):
            x = self.h[i - 1] if i else self.x
            np.dot(x, P[f"W{i + 1}"].T, h)
            np.add(h, P[f"b{i + 1}"], h)
            np.dot(x, V[f"W{i + 1}"].T, dh)
            if i:
                np.dot(self.dh[i - 1], P[f"W{i + 1}"].T, t)
                np.add(dh, t, dh)
            np.add(dh, V[f"b{i + 1}"], dh)
            if i < 2:
                np.tanh(h, h)
                np.multiply(h, h, s)
                np.subtract(self.one, s, s)
                np.multiply(dh, s, dh)

    def turn(self) -> None:
        """From the logits' gradient, (p − y) / N, to its tangent, p (dz − ⟨p, dz⟩) / N."""
        p, gz, dz, dgz = self.s[2], self.last.gz, self.dh[2], self.dgh[2]
        self.gh[2] = gz
        np.divide(gz, self.last.part, p)
        p[self.last.rows, self.last.y] += 1
        np.multiply(p, dz, dgz)
        np.add.reduce(dgz, 1, None, self.row, True)
        np.subtract(dz, self.row, dgz)
        np.multiply(dgz, p, dgz)
        np.multiply(dgz, self.last.part, dgz)

    def backward(self, i: int) -> None:
        P, V, H, W = self.P, self.V, self.H, f"W{i + 1}"
        gh, dgh = self.gh[i], self.dgh[i]
        np.dot(dgh.T, self.h[i - 1] if i else self.x, H[W])
        np.add.reduce(dgh, 0, None, H[f"b{i + 1}"])
        if not i:
            return
        np.dot(gh.T, self.dh[i - 1], self.part[W])
        np.add(H[W], self.part[W], H[W])
        h, dh, gx, dgx, s, t = (a[i - 1] for a in (self.h, self.dh, self.gh, self.dgh, self.s, self.t))
        np.dot(gh, P[W], gx)
        np.dot(dgh, P[W], dgx)
        np.dot(gh, V[W], t)
        np.add(dgx, t, dgx)
        np.multiply(dgx, s, dgx)
        np.multiply(h, dh, t)  # the tangent of 1 − h² is −2 h dh
        np.multiply(t, gx, t)
        np.multiply(t, self.two, t)
        np.add(dgx, t, dgx)
        np.multiply(gx, s, gx)
