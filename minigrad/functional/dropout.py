"""Dropout: elements set to zero at random, and the others scaled up, so that the mean stays."""

from __future__ import annotations

from typing import Any

from .. import random
from ..functions.face import operand


def dropout(input: Any, p: float = 0.5, training: bool = True, *, key: Any = None) -> Any:
    """x · m / (1 − p), m being 0 with probability p and 1 otherwise; x itself outside training.

    key    of the random numbers; None for the next of the sequence that mg.manual_seed starts

    Srivastava et al. 2014, “Dropout: A Simple Way to Prevent Neural Networks from Overfitting”, §4.
    """
    x = operand(input)
    return masked(x, x.shape, p, training, key)


def dropout1d(input: Any, p: float = 0.5, training: bool = True, *, key: Any = None) -> Any:
    """Dropout of whole channels of x (N, C, L), or (C, L): neighbours in one are too alike to be dropped one by one.

    Tompson et al. 2015, “Efficient Object Localization Using Convolutional Networks”, §3.2.
    https://arxiv.org/abs/1411.4280
    """
    return by_channel(operand(input), 3, p, training, key)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, *, key: Any = None) -> Any:
    """dropout1d's like for x (N, C, H, W): of three axes the first is the batch, as in PyTorch."""
    return by_channel(operand(input), 0, p, training, key)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, *, key: Any = None) -> Any:
    """dropout1d's like for x (N, C, D, H, W), or (C, D, H, W)."""
    return by_channel(operand(input), 5, p, training, key)


def by_channel(x: Any, batched: int, p: float, training: bool, key: Any) -> Any:
    """Dropout of whole channels: axis 1 of a batch, which has that many axes or more; axis 0 of one example."""
    kept = 2 if x.ndim >= batched else 1
    return masked(x, x.shape[:kept] + (1,) * (x.ndim - kept), p, training, key)


def masked(x: Any, shape: tuple[int, ...], p: float, training: bool, key: Any) -> Any:
    """x times a random mask of that shape, which broadcasts."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout needs a probability of 0 to 1, and got p={p}")
    if not training or p == 0:
        return x
    if p == 1:
        return x * 0
    key = random.next_key(x.spec.device) if key is None else key
    return x * (random.bernoulli(key, 1 - p, shape).astype(x.dtype) * (1 / (1 - p)))
