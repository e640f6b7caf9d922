"""Initialisers: the values parameters start from, each with the paper that argues for it.

Each fills a tensor in place, unrecorded, and returns it. Randomness comes from `generator`, a NumPy generator;
without one, from a fresh one that mg.manual_seed decides.

    fan_in     how many numbers go into one output
    fan_out    how many outputs one number goes into

are read off a weight (out, in, …), whatever follows being the area of a convolution's window.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod, sqrt
from typing import Any, TypeVar, cast

import numpy as np

from ..engine import random
from ..engine.base.device import META
from ..engine.base.errors import NoValueError, ShapeError
from ..engine.core.modes import current, in_mode
from ..engine.tensor.inplace import write
from ..engine.tensor.tensor import Tensor

Generator = np.random.Generator | None
F = TypeVar("F", bound=Callable[..., Tensor])


def fill(tensor: Tensor, values: Any) -> Tensor:
    """Put values, an array or one number, into a tensor's own memory, unrecorded."""
    write(tensor, tensor.spec.device.array(values, tensor.dtype))
    return tensor


def filling(f: F) -> F:
    """An initialiser, which leaves a tensor on META as it is: it has no elements."""

    @wraps(f)
    def filled(tensor: Tensor, *args: Any, **options: Any) -> Tensor:
        return tensor if tensor.spec.device is META else f(tensor, *args, **options)

    return cast(F, filled)


def source(generator: Generator) -> np.random.Generator:
    """The generator, or a fresh one, whose seed is the next of the sequence that mg.manual_seed starts.

    It is drawn at once, in the block of a session's graph too. Raises NoValueError where a function is traced.
    """
    if generator is not None:
        return generator
    if current.mode.is_traced:
        raise NoValueError(
            "parameters are drawn when their module is made, and a traced function would draw them once for all its "
            "runs: make the module before, outside the traced function"
        )
    with in_mode(builder=None):
        return np.random.default_rng(random.next_key().numpy())


@filling
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator = None) -> Tensor:
    """U(a, b)"""
    return fill(tensor, source(generator).uniform(a, b, tensor.shape))


@filling
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator = None) -> Tensor:
    """N(mean, std²)"""
    return fill(tensor, source(generator).normal(mean, std, tensor.shape))


@filling
def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Generator = None
) -> Tensor:
    """N(mean, std²) between a and b: what falls outside is drawn again."""
    if not a < b:
        raise ValueError(f"trunc_normal_ draws between a and b, a < b, and got a={a}, b={b}")
    if not a - 4 * std <= mean <= b + 4 * std:
        raise ValueError(f"trunc_normal_ would draw for ever: {mean} is too far from the span {a} to {b} of it")
    draw = source(generator)
    values = draw.normal(mean, std, tensor.shape)
    while (outside := (values < a) | (values > b)).any():
        values[outside] = draw.normal(mean, std, np.count_nonzero(outside))
    return fill(tensor, values)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """The same number everywhere."""
    return fill(tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """0 everywhere."""
    return fill(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """1 everywhere."""
    return fill(tensor, 1)


@filling
def eye_(tensor: Tensor) -> Tensor:
    """The identity: 1 on the diagonal, 0 elsewhere. Raises ShapeError unless there are two axes."""
    if tensor.ndim != 2:
        raise ShapeError(f"eye_ fills a matrix, and got {tensor.spec}")
    return fill(tensor, np.eye(*tensor.shape))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator = None) -> Tensor:
    """U(−a, a), a = gain √(6 / (fan_in + fan_out)): neither activations nor gradients grow from layer to layer.

    Glorot & Bengio 2010, “Understanding the difficulty of training deep feedforward neural networks”, eq. 16.
    """
    bound = gain * sqrt(6 / sum(fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator = None) -> Tensor:
    """N(0, σ²), σ = gain √(2 / (fan_in + fan_out)).

    Glorot & Bengio 2010, “Understanding the difficulty of training deep feedforward neural networks”, eq. 12.
    """
    return normal_(tensor, 0.0, gain * sqrt(2 / sum(fans(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator = None
) -> Tensor:
    """U(−b, b), b = gain √(3 / fan): the variance passes through relu, which halves it, unchanged.

    a       the slope of the leaky relu that follows
    mode    'fan_in' keeps the variance forward, 'fan_out' that of the gradients

    He et al. 2015, “Delving Deep into Rectifiers”, eq. 10 and 14. https://arxiv.org/abs/1502.01852
    """
    bound = calculate_gain(nonlinearity, a) * sqrt(3 / fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Generator = None
) -> Tensor:
    """N(0, σ²), σ = gain / √fan.

    He et al. 2015, “Delving Deep into Rectifiers”, eq. 10 and 14. https://arxiv.org/abs/1502.01852
    """
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / sqrt(fan(tensor, mode)), generator)


@filling
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator = None) -> Tensor:
    """A matrix (out, the rest) whose rows or columns, whichever are fewer, are orthonormal, times gain.

    Saxe et al. 2013, “Exact solutions to the nonlinear dynamics of learning in deep linear neural networks”, §3.
    https://arxiv.org/abs/1312.6120
    """
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_ fills a matrix, and got {tensor.spec}")
    rows = tensor.shape[0]
    columns = tensor.size // rows if rows else 0
    q, r = np.linalg.qr(source(generator).normal(size=(max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diagonal(r))  # else the distribution would lean to one sign
    return fill(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """What a layer's weights are multiplied by, to make up for the function that follows.

    param    the slope of leaky_relu, 0.01 if not said
    """
    gains = {"tanh": 5 / 3, "relu": sqrt(2), "selu": 3 / 4}
    ones = ("linear", "sigmoid", *(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)))
    gains |= dict.fromkeys(ones, 1.0)
    if nonlinearity == "leaky_relu":
        return sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in gains:
        raise ValueError(f"no gain is known for {nonlinearity!r}: choose of leaky_relu, {', '.join(gains)}")
    return gains[nonlinearity]


def fans(tensor: Tensor) -> tuple[int, int]:
    """(fan_in, fan_out)"""
    if tensor.ndim < 2:
        raise ShapeError(f"fan_in and fan_out are those of a weight (out, in, …), and got {tensor.spec}")
    window = prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def fan(tensor: Tensor, mode: str) -> int:
    """The fan that a mode names."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode is 'fan_in' or 'fan_out', and got {mode!r}")
    return fans(tensor)[mode == "fan_out"]
