"""gradcheck: compare gradients with finite differences, which do not use the chain rule.

A central difference (f(x + h) − f(x − h)) / 2h has an error of about h² from curvature and of about ε/h
from rounding, with ε = 2⁻⁵² in float64. The two balance near h = ε^⅓ ≈ 6e-6.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine import ops
from ..engine.base.errors import DTypeError, GradcheckError
from ..engine.tensor.tensor import Tensor, tensor
from .gradient import grad, gradients, record_gradients, zeros_like

NUDGE = 6e-6


def gradcheck(
    f: Callable[..., Any], inputs: Any, eps: float = NUDGE,
    rtol: float = 1e-4, atol: float = 1e-6, raise_exception: bool = True,
) -> bool:  # fmt: skip
    """Whether f's gradients agree with finite differences at `inputs`, for every output and every input.

    f returns one tensor or several. Floating point inputs are nudged, and must be float64; integer tensors and other
    values are passed on unchanged.

    Raises GradcheckError at the first mismatch, with the elements that differ most, unless raise_exception=False.
    """
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    places = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.spec.is_float]
    xs = [given[i].numpy() for i in places]
    if any(x.dtype != np.float64 for x in xs) or not xs:
        advice = "use .astype(float)"
        raise DTypeError(f"gradcheck needs float64, whose rounding leaves room for a nudge of {eps:g}: {advice}")
    n = len(outputs(f(*given)))
    for number in range(n):

        def alone(*ts: Tensor, number: int = number) -> Tensor:
            return outputs(f(*put(given, places, ts)))[number]

        difference = worst(backward_jacobian(alone, xs), nudged_jacobian(alone, xs, eps), xs, rtol, atol)
        if difference is not None and not raise_exception:
            return False
        if difference is not None:
            i, out, into, told, found = difference
            raise GradcheckError(
                f"∂output{f' {number}' if n > 1 else ''}{element(out)}/∂input {places[i]}{element(into)}: "
                f"backward says {told:.10g}, finite differences say {found:.10g}"
            )
    return True


def gradgradcheck(
    f: Callable[..., Any], inputs: Any, grad_outputs: Any = None, eps: float = NUDGE,
    rtol: float = 1e-4, atol: float = 1e-6, raise_exception: bool = True,
) -> bool:  # fmt: skip
    """Whether the gradients of f's gradients agree with finite differences of f's gradients.

    grad_outputs    the gradients that arrive at f's outputs; random numbers with a fixed seed if None
    """
    given = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    places = [i for i, x in enumerate(given) if isinstance(x, Tensor) and x.spec.is_float]
    rng = np.random.default_rng(0)
    with record_gradients():
        ys = outputs(f(*given))
        seeds = [rng.normal(size=y.shape) for y in ys] if grad_outputs is None else outputs(grad_outputs)
        gys = [tensor(seed, dtype=y.dtype) for seed, y in zip(seeds, ys, strict=True)]

    def slope(*moving: Tensor) -> Tensor:
        with record_gradients():
            ts = [t if t.tracked else t.detach().requires_grad_() for t in moving[: len(places)]]
            ys, arriving = outputs(f(*put(given, places, ts))), [*moving[len(places) :]]
            gxs = gradients(ys, [t.node for t in ts], arriving, create_graph=True)
        first, *others = ((zeros_like(t) if gx is None else gx).reshape(-1) for t, gx in zip(ts, gxs))
        joined: Tensor = first.apply(ops.Concatenate(0), *others)
        return joined

    return gradcheck(slope, [*(given[i] for i in places), *gys], eps, rtol, atol, raise_exception)


def outputs(y: Any) -> list[Tensor]:
    """The floating point results of a function, as a list."""
    ys = list(y) if isinstance(y, tuple | list) else [y]
    return [y for y in ys if not isinstance(y, Tensor) or y.spec.is_float]


def put(given: list[Any], places: list[int], new: Sequence[Any]) -> list[Any]:
    """The list `given`, with the items at `places` replaced by those of `new`."""
    changed = dict(zip(places, new))
    return [changed.get(i, x) for i, x in enumerate(given)]


def worst(told: list[Any], found: list[Any], xs: list[Any], rtol: float, atol: float) -> tuple[Any, ...] | None:
    """The largest mismatch in the first Jacobian that has any: (input, output element, input element, both slopes)."""
    for i, (a, b) in enumerate(zip(told, found, strict=True)):
        gap = np.nan_to_num(np.abs(a - b) - (atol + rtol * np.abs(b)), nan=np.inf)  # NaN is a mismatch
        if gap.size and gap.max() > 0:
            at = np.unravel_index(int(np.argmax(gap)), gap.shape)
            return i, at[: gap.ndim - xs[i].ndim], at[gap.ndim - xs[i].ndim :], a[at], b[at]
    return None


def backward_jacobian(f: Callable[..., Tensor], xs: list[np.ndarray]) -> list[np.ndarray]:
    """∂f/∂x for each x, of shape (*f.shape, *x.shape): one backward pass for each output element."""
    fresh = [tensor(x, requires_grad=True) for x in xs]
    with record_gradients():
        y = f(*fresh)
    jacobians = [np.zeros(y.shape + x.shape) for x in xs]
    for out in np.ndindex(*y.shape) if y.tracked else ():
        seed = np.zeros(y.shape)
        seed[out] = 1
        for jacobian, gx in zip(jacobians, grad(y, fresh, seed, retain_graph=True, allow_unused=True), strict=True):
            jacobian[out] = 0 if gx is None else gx.numpy()
    return jacobians


def nudged_jacobian(f: Callable[..., Tensor], xs: list[np.ndarray], eps: float) -> list[np.ndarray]:
    """∂f/∂x for each x by central differences, without derivative rules: two forward passes per input element."""
    jacobians = []
    for i, x in enumerate(xs):
        columns = []
        for into in np.ndindex(*x.shape):
            up, down = (f(*nudge_element(xs, i, into, step)).numpy() for step in (eps, -eps))
            columns.append((up - down) / (2 * eps))
        with record_gradients():
            shape = f(*map(tensor, xs)).shape
        jacobians.append(np.stack(columns, -1).reshape(shape + x.shape) if columns else np.empty(shape + x.shape))
    return jacobians


def nudge_element(xs: list[np.ndarray], i: int, at: tuple[int, ...], step: float) -> list[Tensor]:
    """The inputs as tensors, with `step` added to one element of xs[i]."""
    copies = [x.copy() for x in xs]
    copies[i][at] += step
    with record_gradients():
        return [tensor(x) for x in copies]


def element(at: Any) -> str:
    """An index in brackets, to append to a name; "" for a tensor without axes."""
    return f"[{', '.join(map(str, at))}]" if len(at) else ""
