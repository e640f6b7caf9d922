"""Image layers by hand, with the batch innermost, x (C, H, W, B): every slice consists of long contiguous rows.

Buffers are made once, as in layers.py. Max pooling runs before relu: the other order does four times the
work.
"""

from __future__ import annotations

import numpy as np

PLACES = [(a, b) for a in range(3) for b in range(3)]
CORNERS = [(a, b) for a in (0, 1) for b in (0, 1)]


class Conv2d:
    """3 × 3 convolution: windows as columns, with a row of ones for the bias, times (K b) in one matrix product.

    Kb       (out, 9 in + 1)
    first    whether x is the batch itself, which needs no gradient
    """

    def __init__(self, Kb: np.ndarray, gKb: np.ndarray, shape: tuple[int, int, int, int], first: bool = False):
        C, H, W, B = shape
        self.Kb, self.gKb, self.inside = Kb, gKb, (H - 2, W - 2)
        self.windows = np.ones((9 * C + 1, (H - 2) * (W - 2) * B), Kb.dtype)
        self.places = self.windows[:-1].reshape(C, 9, H - 2, W - 2, B)
        self.y = np.empty((len(Kb), H - 2, W - 2, B), Kb.dtype)
        self.gx = None if first else np.empty(shape, Kb.dtype)
        self.gwindows = None if first else np.empty((9 * C, (H - 2) * (W - 2) * B), Kb.dtype)

    def forward(self, x: np.ndarray) -> np.ndarray:
        H, W = self.inside
        for i, (a, b) in enumerate(PLACES):
            self.places[:, i] = x[:, a : a + H, b : b + W]
        np.dot(self.Kb, self.windows, self.y.reshape(len(self.Kb), -1))
        return self.y

    def backward(self, gy: np.ndarray) -> np.ndarray | None:
        gy = gy.reshape(len(self.Kb), -1)
        np.dot(gy, self.windows.T, self.gKb)
        if self.gx is None or self.gwindows is None:
            return None
        np.dot(self.Kb[:, :-1].T, gy, self.gwindows)
        parts = self.gwindows.reshape(self.places.shape)
        H, W = self.inside
        self.gx.fill(0)
        for i, (a, b) in enumerate(PLACES):
            part = self.gx[:, a : a + H, b : b + W]
            np.add(part, parts[:, i], part)
        return self.gx


class PoolRelu:
    """Max pooling of each 2 × 2, then relu. No two of four numbers are equal here.

    gx    stays 0 in the last row and column of an odd size, which are never written
    """

    def __init__(self, shape: tuple[int, int, int, int], dtype: str):
        C, H, W, B = shape
        h, w = H // 2, W // 2
        self.corners = [np.s_[:, a : 2 * h : 2, b : 2 * w : 2] for a, b in CORNERS]
        self.rows = np.s_[:, 0 : 2 * h : 2], np.s_[:, 1 : 2 * h : 2]
        self.columns = np.s_[:, :, 0 : 2 * w : 2], np.s_[:, :, 1 : 2 * w : 2]
        self.larger, self.y = np.empty((C, h, W, B), dtype), np.empty((C, h, w, B), dtype)
        self.gx, self.mask = np.zeros(shape, dtype), np.empty(self.y.shape, bool)

    def forward(self, x: np.ndarray) -> np.ndarray:
        self.x = x
        np.maximum(x[self.rows[0]], x[self.rows[1]], out=self.larger)
        np.maximum(self.larger[self.columns[0]], self.larger[self.columns[1]], out=self.y)
        return np.maximum(self.y, 0, out=self.y)

    def backward(self, gy: np.ndarray) -> np.ndarray:
        """Send gy to the maximum. No number is 0, so if relu gave 0, nothing matches."""
        for corner in self.corners:
            np.equal(self.x[corner], self.y, self.mask)
            np.multiply(gy, self.mask, self.gx[corner])
        return self.gx
