"""The referee: derivatives by nudging, which knows nothing of the chain rule.

A central difference (f(x + h) − f(x − h)) / 2h is off by about h² from the curve and by about ε/h
from rounding, ε being 2⁻⁵² in float64: near h = ε^⅓ ≈ 6e-6 the two are in balance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import modes, ops
from ..errors import DTypeError, GradcheckError
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
    """Whether f's gradients agree with finite differences at `inputs`, which are float64: every output by every input.

    Raises GradcheckError, naming the pair that differs most, unless raise_exception=False.
    """
    xs = [x.numpy() for x in ((inputs,) if isinstance(inputs, Tensor) else inputs)]
    if any(x.dtype != np.float64 for x in xs):
        raise DTypeError(
            f"gradcheck needs float64, whose rounding leaves room for a nudge of {eps:g}: use .astype(float)"
        )
    for i, (told, found) in enumerate(zip(backward_jacobian(f, xs), nudged_jacobian(f, xs, eps), strict=True)):
        gap = np.nan_to_num(np.abs(told - found) - (atol + rtol * np.abs(found)), nan=np.inf)  # NaN agrees with nothing
        if gap.size and gap.max() > 0:
            if not raise_exception:
                return False
            at = np.unravel_index(int(np.argmax(gap)), gap.shape)
            out, into = at[: gap.ndim - xs[i].ndim], at[gap.ndim - xs[i].ndim :]
            raise GradcheckError(
                f"∂output{element(out)}/∂input {i}{element(into)}: "
                f"backward says {told[at]:.10g}, finite differences say {found[at]:.10g}"
            )
    return True


def gradgradcheck(
    f: Callable[..., Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Any = None,
    eps: float = NUDGE,
    rtol: float = 1e-4,
    atol: float = 1e-6,
    raise_exception: bool = True,
) -> bool:
    """Whether the gradients of f's gradients agree with finite differences of f's gradients.

    grad_outputs    what arrives at f's output; random numbers, by a fixed seed, if None
    """
    xs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    y = f(*xs)
    seed = np.random.default_rng(0).normal(size=y.shape) if grad_outputs is None else grad_outputs
    gy = tensor(seed, dtype=y.dtype)

    def slope(*given: Tensor) -> Tensor:
        *ts, g = given
        with modes.enable_grad():
            ts = [t if t.tracked else t.detach().requires_grad_() for t in ts]
            gxs = grad(f(*ts), ts, g, create_graph=True, materialize_grads=True)
        first, *others = (gx.reshape(-1) for gx in gxs)
        return first.apply(ops.Concatenate(0), *others)  # type: ignore[no-any-return]

    return gradcheck(slope, [*xs, gy], eps, rtol, atol, raise_exception)


def backward_jacobian(f: Callable[..., Tensor], xs: list[np.ndarray]) -> list[np.ndarray]:
    """∂f/∂x for each x, of shape (*f.shape, *x.shape): one backward for each output."""
    fresh = [tensor(x, requires_grad=True) for x in xs]
    y = f(*fresh)
    jacobians = [np.empty(y.shape + x.shape) for x in xs]
    for out in np.ndindex(*y.shape):
        seed = np.zeros(y.shape)
        seed[out] = 1
        for jacobian, gx in zip(jacobians, grad(y, fresh, seed, retain_graph=True, allow_unused=True), strict=True):
            jacobian[out] = 0 if gx is None else gx.numpy()
    return jacobians


def nudged_jacobian(f: Callable[..., Tensor], xs: list[np.ndarray], eps: float) -> list[np.ndarray]:
    """The same by central differences: two forward passes for each input element, and no derivative rule."""
    jacobians = []
    for i, x in enumerate(xs):
        columns = []
        for into in np.ndindex(*x.shape):
            up, down = (f(*moved(xs, i, into, step)).numpy() for step in (eps, -eps))
            columns.append((up - down) / (2 * eps))
        shape = f(*map(tensor, xs)).shape
        jacobians.append(np.stack(columns, -1).reshape(shape + x.shape) if columns else np.empty(shape + x.shape))
    return jacobians


def moved(xs: list[np.ndarray], i: int, at: tuple[int, ...], step: float) -> list[Tensor]:
    """The inputs as tensors, one element of xs[i] moved by a step."""
    copies = [x.copy() for x in xs]
    copies[i][at] += step
    return [tensor(x) for x in copies]


def element(at: Any) -> str:
    """An index as it is written behind a name; nothing for a number."""
    return f"[{', '.join(map(str, at))}]" if len(at) else ""
