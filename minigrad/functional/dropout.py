"""Dropout: elements set to zero at random, and the others scaled up, so that the mean stays."""

from __future__ import annotations

from typing import Any

from .. import random
from ..functions.activation import leaky_relu
from ..functions.creation import ones_like
from ..tensor.lift import operand


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


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, *, key: Any = None) -> Any:
    """Dropout that keeps SELU's mean 0 and variance 1: what is left out is −λ α, and all is scaled and moved after it.

    Klambauer et al. 2017, “Self-Normalizing Neural Networks”, §2. https://arxiv.org/abs/1706.02515
    """
    x = operand(input)
    return saturated(x, x.shape, p, training, key)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, *, key: Any = None) -> Any:
    """alpha_dropout of whole channels of x (N, C, …)."""
    x = operand(input)
    return saturated(x, x.shape[:2] + (1,) * (x.ndim - 2), p, training, key)


def saturated(x: Any, shape: tuple[int, ...], p: float, training: bool, key: Any) -> Any:
    """x where a random mask of that shape says so, and SELU's lowest value elsewhere; then of variance 1 again."""
    if p == 1 or not training:
        return masked(x, shape, p, training, key)
    lowest = -1.7580993408473766
    kept = masked(ones_like(x), shape, p, training, key) * (1 - p)
    return (x * kept + lowest * (1 - kept) - lowest * p) * ((1 - p) * (1 + p * lowest**2)) ** -0.5


def rrelu(
    input: Any,
    lower: float = 1 / 8,
    upper: float = 1 / 3,
    training: bool = False,
    inplace: bool = False,
    *,
    key: Any = None,
) -> Any:
    """x where x > 0, a x elsewhere, a being drawn from lower to upper for each element; their mean outside training.

    Xu et al. 2015, “Empirical Evaluation of Rectified Activations in Convolutional Network”, §2.4.
    """
    x = operand(input)
    if not training:
        return leaky_relu(x, (lower + upper) / 2, inplace=inplace)
    key = random.next_key(x.spec.device) if key is None else key
    y = x.where(x > 0, x * (random.uniform(key, x.shape, x.dtype) * (upper - lower) + lower))
    return x.copy_(y) if inplace else y


def gumbel_softmax(
    logits: Any, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1, *, key: Any = None
) -> Any:
    """softmax((x + g) / τ), g being −ln(−ln u) for u uniform: a choice by these odds that has a gradient.

    hard    whether the choice is 1 and all else 0, and the gradient as if it were not

    Jang et al. 2017, “Categorical Reparameterization with Gumbel-Softmax”, eq. 2. https://arxiv.org/abs/1611.01144
    """
    x = operand(logits)
    key = random.next_key(x.spec.device) if key is None else key
    noise = -(-(1 - random.uniform(key, x.shape, x.dtype)).log()).log()
    y = ((x + noise) / tau).softmax(dim)
    return (y == y.amax(dim, keepdims=True)).astype(x.dtype) - y.detach() + y if hard else y
