"""`mg.fft`: only the functions with real results. The transforms have complex results, so they raise an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..engine.tensor.lift import operand
from ..engine.tensor.tensor import Tensor


def fftfreq(n: int, d: float = 1.0) -> Tensor:
    """The frequencies of the spectrum of n samples that are a distance d apart."""
    return Tensor(np.fft.fftfreq(n, d))


def rfftfreq(n: int, d: float = 1.0) -> Tensor:
    """The non-negative frequencies, which suffice for the spectrum of n real numbers."""
    return Tensor(np.fft.rfftfreq(n, d))


def fftshift(input: Any, dim: Any = None) -> Any:
    """Shift frequency 0 to the middle of some axes, or of all."""
    return roll_axes(operand(input), dim, lambda n: n // 2)


def ifftshift(input: Any, dim: Any = None) -> Any:
    """Undo fftshift: shift frequency 0 to the start."""
    return roll_axes(operand(input), dim, lambda n: -(n // 2))


def roll_axes(x: Any, dim: Any, by: Any) -> Any:
    dim = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return x.roll([by(x.shape[a]) for a in dim], list(dim))


def __getattr__(name: str) -> Any:
    raise AttributeError(
        f"mg.fft has no {name}: a spectrum is complex, and tensors are real. Its two parts are x @ mg.cos(w) and "
        "x @ -mg.sin(w), w being 2π/n times the products of place and frequency; np.fft takes x.numpy()"
    )
