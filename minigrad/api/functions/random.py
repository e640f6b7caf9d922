"""Random tensors with PyTorch's interface. By default, keys come from a sequence that `mg.manual_seed` restarts.

`generator=` is another source of keys; `key=` passes the key, which determines the numbers. The default is float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...engine import random
from ...engine.base.device import blocks
from ...engine.base.dtypes import kind
from ...engine.methods import integers
from ...engine.tensor.lift import operand
from .creation import Place


def rand(*size: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False, **source: Any) -> Any:
    """Random numbers, uniform in [0, 1)."""
    u = random.uniform(draw_key(device, **source), integers(size), np.float64 if dtype is None else dtype)
    return u.requires_grad_(requires_grad)


def randn(*size: Any, dtype: Any = None, device: Place = None, requires_grad: bool = False, **source: Any) -> Any:
    """Random numbers from N(0, 1)."""
    z = random.normal(draw_key(device, **source), integers(size), np.float64 if dtype is None else dtype)
    return z.requires_grad_(requires_grad)


def randint(
    low: Any = 0, high: Any = None, size: Any = None, dtype: Any = np.int64, device: Place = None, **source: Any
) -> Any:
    """Uniform integers from low to high − 1: randint(low, high, size), or randint(high, size) from 0."""
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if size is None:
        raise TypeError("randint needs a size, as in randint(10, (2, 3)) or randint(5, 10, (2, 3))")
    drawn_as = np.int64 if kind(np.dtype(dtype)) == "f" else dtype
    return random.randint(draw_key(device, **source), size, low, high, drawn_as).astype(dtype)


def randperm(n: int, dtype: Any = np.int64, device: Place = None, **source: Any) -> Any:
    """0, …, n − 1 in random order."""
    return random.permutation(draw_key(device, **source), int(n)).astype(dtype)


def rand_like(input: Any, **options: Any) -> Any:
    """Random numbers, uniform in [0, 1), with the shape, dtype and device of input."""
    return rand(input.shape, **like(input, options))


def randn_like(input: Any, **options: Any) -> Any:
    """Random numbers from N(0, 1), with the shape, dtype and device of input."""
    return randn(input.shape, **like(input, options))


def randint_like(input: Any, low: int = 0, high: int | None = None, **options: Any) -> Any:
    """Uniform integers from low to high − 1, or from 0 to low − 1, with the shape, dtype and device of input."""
    return randint(low, high, input.shape, **like(input, options))


def bernoulli(input: Any, p: float | None = None, **source: Any) -> Any:
    """1 with probability input[i] for each element, or p for all; 0 otherwise. The dtype is that of input."""
    x = operand(input)
    chances = x.detach() if p is None else p
    drawn_here = random.bernoulli(draw_key(x.spec.device, **source), chances, x.shape).astype(x.dtype)
    return drawn_here.where(True, x)  # so that the gradient by x is 0, not None


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **options: Any) -> Any:
    """Random numbers from N(mean, std²), in the given size or the broadcast shape of mean and std, without gradient."""
    mean, std = operand(mean), operand(std)
    if size is None:
        spec = (mean.detach() + std.detach()).spec
        z = randn(spec.shape, **{"dtype": spec.dtype, "device": spec.device} | options)
    else:
        z = randn(size, **options)
    return (z * std.detach() + mean.detach()).astype(z.dtype)


def multinomial(input: Any, num_samples: int, replacement: bool = False, **source: Any) -> Any:
    """Indices along the last axis, drawn with probabilities in proportion to the weights in `input`."""
    weights = operand(input).detach()
    return random.choice(draw_key(weights.spec.device, **source), weights, num_samples, replacement)


def like(x: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with x's dtype and device as defaults."""
    return {"dtype": x.dtype, "device": x.spec.device} | options


def draw_key(device: Place, generator: random.Generator | None = None, key: Any = None) -> Any:
    """The given key, or else the next key of the generator, on a device."""
    if key is not None:
        return key if device is None else operand(key).to(device)
    return (random.default_generator if generator is None else generator).next_key(device or blocks.devices[-1])
