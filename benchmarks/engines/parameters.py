"""Parameters by hand: all in one flat vector, all gradients in another, so that an update is a few calls."""

from __future__ import annotations

from math import sqrt

import numpy as np

from ..workloads import Arrays

BLOCK = 1 << 15  # elements of each block: Adam's five vectors then fit in a processor's cache


class Parameters:
    """Named arrays, as views of one vector.

    P    name → the parameter
    G    name → the array for its gradient
    """

    def __init__(self, arrays: Arrays, dtype: str = "f4"):
        self.flat = np.concatenate([a.ravel() for a in arrays.values()]).astype(dtype)
        self.gradient = np.zeros_like(self.flat)
        self.P, self.G = parts(self.flat, arrays), parts(self.gradient, arrays)


def parts(vector: np.ndarray, like: Arrays) -> Arrays:
    """The vector cut into arrays of these shapes."""
    ends = np.cumsum([a.size for a in like.values()])
    return {name: vector[end - a.size : end].reshape(a.shape) for (name, a), end in zip(like.items(), ends)}


class Descent:
    """p ← p − lr g"""

    def __init__(self, p: np.ndarray, lr: float):
        self.p, self.s, self.lr = p, np.empty_like(p), np.array(lr, p.dtype)

    def __call__(self, g: np.ndarray) -> None:
        np.multiply(g, self.lr, self.s)
        np.subtract(self.p, self.s, self.p)


class Adam:
    """Kingma & Ba 2015, with the two corrections folded into the step, as at the end of their section 2."""

    def __init__(self, p: np.ndarray, lr: float):
        self.t, self.lr = 0, lr
        p = p.reshape(-1)
        m, v, s = np.zeros_like(p), np.zeros_like(p), np.empty_like(p[:BLOCK])
        cuts = [slice(i, i + BLOCK) for i in range(0, p.size, BLOCK)]
        self.blocks = [(c, p[c], m[c], v[c], s[: p[c].size]) for c in cuts]

    def __call__(self, g: np.ndarray) -> None:
        self.t += 1
        correction = sqrt(1 - 0.999**self.t)
        step, small = self.lr * correction / (1 - 0.9**self.t), 1e-8 * correction
        g = g.reshape(-1)
        for cut, p, m, v, s in self.blocks:
            part = g[cut]
            np.subtract(part, m, s)
            np.multiply(s, 0.1, s)
            np.add(m, s, m)
            np.multiply(part, part, s)
            np.subtract(s, v, s)
            np.multiply(s, 0.001, s)
            np.add(v, s, v)
            np.sqrt(v, s)
            np.add(s, small, s)
            np.divide(m, s, s)
            np.multiply(s, step, s)
            np.subtract(p, s, p)


UPDATES = {"sgd": Descent, "adam": Adam}
