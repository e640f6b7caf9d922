"""The referee: derivatives by nudging, which knows nothing of the chain rule.

A central difference (f(x + h) − f(x − h)) / 2h is off by about h² from the curve and by about ε/h
from rounding, ε being 2⁻⁵² in float64: near h = ε^⅓ ≈ 6e-6 the two are in balance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import DTypeError, GradcheckError
from ..modes import no_grad
from ..tensor import Tensor, tensor
from .gradient import grad

NUDGE = 6e-6


def gradcheck(
    f: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    eps: float = NUDGE,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    raise_exception: bool = True,
) -> bool:
    """Whether f's gradients agree with finite differences at `inputs`, which are float64.

    An f of many outputs is checked through one random weighting of them.

    Raises GradcheckError, naming the input and the element that differ most, unless raise_exception=False.
    """
    xs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if any(x.dtype != np.float64 for x in xs):
        raise DTypeError(
            f"gradcheck needs float64 inputs, whose rounding leaves room for a nudge of {eps:g}: use .astype(float)"
        )
    fresh = [tensor(x.numpy(), requires_grad=True) for x in xs]
    y = f(*fresh)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, y.shape)
    told = grad(y, fresh, weights)
    for i, gx in enumerate(told):
        found = nudged(f, [x.numpy() for x in xs], i, weights, eps)
        gap = np.abs(gx.numpy() - found) - (atol + rtol * np.abs(found))
        if not np.all(gap <= 0):  # a NaN is no agreement
            if not raise_exception:
                return False
            at = np.unravel_index(int(np.argmax(np.nan_to_num(gap, nan=np.inf))), gap.shape)
            where = f"input {i}" + (f" at {tuple(map(int, at))}" if at else "")
            raise GradcheckError(
                f"{where}: backward says {gx.numpy()[at]:.10g}, finite differences say {found[at]:.10g}"
            )
    return True


def nudged(f: Callable[..., Tensor], xs: list[np.ndarray], i: int, weights: Any, eps: float) -> np.ndarray:
    """∂⟨weights, f⟩/∂xs[i], one element at a time, by central differences."""
    slope = np.empty_like(xs[i])
    with no_grad():
        for at in np.ndindex(*xs[i].shape):
            ends = []
            for step in (eps, -eps):
                moved = [x.copy() for x in xs]
                moved[i][at] += step
                ends.append(float(np.sum(f(*map(tensor, moved)).numpy() * weights)))
            slope[at] = (ends[0] - ends[1]) / (2 * eps)
    return slope
