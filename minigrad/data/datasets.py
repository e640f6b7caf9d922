"""Data sets: moons() generates its data; the others read files. Sources and licences: data/README.md."""

from __future__ import annotations

import csv
import gzip
import unicodedata
from pathlib import Path
from typing import NamedTuple

import numpy as np

DIGITS, NAMES, ALICE = (Path(__file__).with_name(n) for n in ("digits.csv.gz", "names.csv", "alice.txt.gz"))
TEST_DIGITS = 360  # a fifth of 1797, as is usual
TEST_NAMES = 6  # of each language, every sixth name is for testing
UNMARKED = str.maketrans("łŁıİ", "lLiI")  # by hand: Unicode does not decompose ł and ı


class Split(NamedTuple):
    """A data set in two parts: one for training, and one for testing that training never sees."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def digits() -> Split:
    """1797 handwritten digits of 8 by 8 pixels: x (n, 64) in [0, 1], float64; y (n,), the digit, int64.

    The order is fixed, so every learner has the same 1437 for training and 360 for testing.
    Alpaydin & Kaynak 1998, “Optical Recognition of Handwritten Digits”, UCI Machine Learning Repository.
    """
    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.int64)
    table = np.random.default_rng(0).permutation(table)
    x, y = table[:, :64] / 16, table[:, 64]
    return Split(x[:-TEST_DIGITS], y[:-TEST_DIGITS], x[-TEST_DIGITS:], y[-TEST_DIGITS:])


def moons(n: int = 100, noise: float = 0.1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two interleaving half circles: x (n, 2) float64, y (n,) 0 for the upper half circle, 1 for the lower.

    noise    spread of the normal error added to each coordinate; the circles have radius 1
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    upper = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lower = np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1)
    return np.where(y[:, None] == 0, upper, lower) + rng.normal(0, noise, (n, 2)), y


class Names(NamedTuple):
    """Given names for training and testing, each with the index of its language in `languages`."""

    languages: list[str]
    train: list[tuple[str, int]]
    test: list[tuple[str, int]]


def names() -> Names:
    """840 given names, 120 from each of seven languages: 700 to train on, 140 to test on, as (name, language).

    Names have only the letters a to z, without marks: Małgorzata is "malgorzata". No name appears twice.
    """
    with NAMES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    languages = sorted({language for language, _ in rows})
    pairs = [(strip_marks(name), languages.index(language)) for language, name in rows]
    test = pairs[::TEST_NAMES]  # names are sorted by language, then letter: both parts cover all languages, A to Z
    train = [pair for i, pair in enumerate(pairs) if i % TEST_NAMES]
    return Names(languages, train, test)


def strip_marks(name: str) -> str:
    """The name in lower case, without diacritical marks."""
    apart = unicodedata.normalize("NFD", name.translate(UNMARKED))
    return "".join(c for c in apart if not unicodedata.combining(c)).lower()


def text() -> str:
    """The first four chapters of Lewis Carroll's “Alice's Adventures in Wonderland”, 1865: 45,225 characters.

    Each paragraph is one line, and empty lines separate paragraphs; verses keep their lines.
    """
    with gzip.open(ALICE, "rt", encoding="ascii", newline="\n") as file:
        return file.read()
