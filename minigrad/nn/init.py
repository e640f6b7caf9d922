"""Initialisers: the values parameters start from, each with the paper that proposes it.

Each fills a tensor in place, without recording it, and returns it. Random numbers come from `generator`, a NumPy
generator; by default a new one, seeded from mg.manual_seed.

    fan_in     the number of inputs that each output depends on
    fan_out    the number of outputs that each input affects

Both follow from the shape of a weight (out, in, *window); window is the kernel size of a convolution.
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
    """Write values, an array or one number, into the memory of a tensor, without recording it."""
    write(tensor, tensor.spec.device.array(values, tensor.dtype))
    return tensor


def filling(f: F) -> F:
    """Make an initialiser skip tensors on META, which have no elements."""

    @wraps(f)
    def fill_or_skip(tensor: Tensor, *args: Any, **options: Any) -> Tensor:
        return tensor if tensor.spec.device is META else f(tensor, *args, **options)

    return cast(F, fill_or_skip)


def source(generator: Generator) -> np.random.Generator:
    """The generator; if None, a new generator, seeded with the next key of the sequence that mg.manual_seed starts.

    The key is drawn immediately, also while a session's graph is built. Raises NoValueError in a traced function.
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
    """N(mean, std²), truncated to a … b: numbers outside are drawn again."""
    if not a < b:
        raise ValueError(f"trunc_normal_ needs a < b, got a={a}, b={b}")
    if not a - 4 * std <= mean <= b + 4 * std:
        raise ValueError(f"trunc_normal_ would draw for ever: mean={mean} is more than 4 std outside of {a} to {b}")
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
    """U(−a, a), a = gain √(6 / (fan_in + fan_out)): keeps activations and gradients from growing or vanishing.

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
    """U(−b, b), b = gain √(3 / fan): the gain makes up for relu, which halves the variance.

    a       the slope of the leaky relu that follows
    mode    'fan_in' preserves the variance of the activations, 'fan_out' the variance of the gradients

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
    """gain · Q. As a matrix (out, the rest), Q has orthonormal rows, or, if it has fewer columns, orthonormal columns.

    Saxe et al. 2013, “Exact solutions to the nonlinear dynamics of learning in deep linear neural networks”, §3.
    https://arxiv.org/abs/1312.6120
    """
    if tensor.ndim < 2:
        raise ShapeError(f"orthogonal_ fills a matrix, and got {tensor.spec}")
    rows = tensor.shape[0]
    columns = tensor.size // rows if rows else 0
    q, r = np.linalg.qr(source(generator).normal(size=(max(rows, columns), min(rows, columns))))
    q = q * np.sign(np.diagonal(r))  # without this, qr's sign convention would bias the distribution
    return fill(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The gain: a factor for the weights of a layer that makes up for the activation after the layer.

    param    the slope of leaky_relu, 0.01 if None
    """
    gains = {"tanh": 5 / 3, "relu": sqrt(2), "selu": 3 / 4}
    ones = ("linear", "sigmoid", *(f"conv{t}{n}d" for t in ("", "_transpose") for n in (1, 2, 3)))
    gains |= dict.fromkeys(ones, 1.0)
    if nonlinearity == "leaky_relu":
        return sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in gains:
        raise ValueError(f"no gain is known for {nonlinearity!r}: choose leaky_relu, {', '.join(gains)}")
    return gains[nonlinearity]


def fans(tensor: Tensor) -> tuple[int, int]:
    """(fan_in, fan_out)"""
    if tensor.ndim < 2:
        raise ShapeError(f"fan_in and fan_out need a weight (out, in, …), and got {tensor.spec}")
    window = prod(tensor.shape[2:])
    return tensor.shape[1] * window, tensor.shape[0] * window


def fan(tensor: Tensor, mode: str) -> int:
    """fan_in or fan_out, as `mode` specifies."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', got {mode!r}")
    return fans(tensor)[mode == "fan_out"]
