"""Two data sets: one that is drawn, one that is read. Sources and licences: data/README.md."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

DIGITS = Path(__file__).with_name("digits.csv.gz")
TEST_DIGITS = 360  # a fifth of 1797, as is usual


class Split(NamedTuple):
    """A data set in two parts: one to learn from, one that the learning never sees."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def digits() -> Split:
    """1797 handwritten digits of 8 by 8 pixels: x (n, 64) in [0, 1], float64; y (n,), the digit, int64.

    Shuffled once and for all, so that every learner has the same 1437 to train on and 360 to test on.
    Alpaydin & Kaynak 1998, “Optical Recognition of Handwritten Digits”, UCI Machine Learning Repository.
    """
    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.int64)
    table = np.random.default_rng(0).permutation(table)
    x, y = table[:, :64] / 16, table[:, 64]
    return Split(x[:-TEST_DIGITS], y[:-TEST_DIGITS], x[-TEST_DIGITS:], y[-TEST_DIGITS:])


def moons(n: int = 100, noise: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles that reach into each other: x (n, 2) float64, y (n,) 0 for the upper one and 1 for the lower.

    noise    spread of the normal error added to each coordinate; the circles have radius 1
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    return np.where(y[:, None] == 0, upper, lower) + rng.normal(0, noise, (n, 2)), y
