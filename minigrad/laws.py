"""The laws that every op obeys. Each is a function that raises AssertionError with both sides of the law.

The tests check the laws for the whole op table; an exercise checks them for the learner's op. So the grader is
the engine's own test suite.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .engine.base.spec import Spec
from .engine.core.op import Op
from .engine.tensor.tensor import Tensor

NUDGE = 1e-6


def infer_foretells_forward(op: Op, *xs: Tensor) -> None:
    """op.infer returns the shape and dtype of the result of op.forward."""
    y = np.asarray(op.forward(np, *(x.numpy() for x in xs)))
    foretold, came = op.infer(*(x.spec for x in xs)), Spec(y.shape, y.dtype)
    assert foretold == came, f"{op}: infer foretells {foretold}, and forward gives {came}"


def only_a_view_shares_memory(op: Op, *xs: Tensor) -> None:
    """Unless an op sets is_view, its result shares no memory with its operands: compiled code may overwrite results."""
    arrays = [x.numpy() for x in xs]
    y = np.asarray(op.forward(np, *arrays))
    shared = [i for i, x in enumerate(arrays) if np.shares_memory(x, y)]
    assert op.is_view or not shared, (
        f"{op}: forward gives the memory of operand {shared[0]}, and the op does not say is_view: copy it, or say so"
    )


def jvp_is_slope(op: Op, *xs: Tensor) -> None:
    """J dx = (f(x + h dx) − f(x − h dx)) / 2h, to O(h²) and rounding. Ops with `estimated` slopes are skipped."""
    if getattr(op, "estimated", False):
        return
    dxs = directions(xs, seed=1)
    up, down = (
        op.forward(
            np, *(x.numpy() + s * dx.numpy() if x.spec.is_float else x.numpy() for x, dx in zip(xs, dxs, strict=True))
        )
        for s in (NUDGE, -NUDGE)
    )
    y = xs[0].apply(op, *xs[1:])
    pushed, slope = np.broadcast_to(op.jvp(dxs, y, *xs).numpy(), y.shape), (up - down) / (2 * NUDGE)
    # h² ≈ 1e-12 from curvature, ε/h ≈ 1e-10 from rounding, plus a margin for steep places
    assert np.allclose(pushed, slope, rtol=1e-5, atol=1e-8), f"{op}: jvp says {pushed}, nudging forward says {slope}"


def expanded_is_forward(op: Op, *xs: Tensor) -> None:
    """An op's decomposition has the op's value and gradients. Ops without a decomposition are skipped."""
    if not hasattr(op, "decompose"):
        return
    leaves = [Tensor(x.value, requires_grad=x.spec.is_float) for x in xs]
    whole, parts = xs[0].apply(op, *xs[1:]), op.decompose(*leaves)
    assert whole.spec == parts.spec, f"{op} is {whole.spec}, and its parts make {parts.spec}"
    assert np.allclose(whole.numpy(), parts.numpy(), rtol=1e-12), f"{op} is {whole.numpy()}; its parts: {parts.numpy()}"
    (gy,) = directions([whole], seed=2)
    parts.backward(gy.value)
    for i, (leaf, gx) in enumerate(zip(leaves, op.gradients(gy, whole, *xs), strict=True)):
        if gx is not None:
            got = None if leaf.grad is None else leaf.grad.numpy()
            fits = got is not None and np.allclose(got, gx.numpy(), rtol=1e-10, atol=1e-12)  # sums in other orders
            assert fits, f"{op}: through its parts, the gradient of operand {i} is {got}; by its rule, {gx.numpy()}"


def vjp_is_adjoint(op: Op, *xs: Tensor) -> None:
    """⟨gy, J dx⟩ = ⟨Jᵀ gy, dx⟩: no finite difference, so exact to rounding."""
    dxs = directions(xs, seed=1)
    y = xs[0].apply(op, *xs[1:])
    (gy,) = directions([y], seed=2)
    pushed = inner(gy, op.jvp(dxs, y, *xs).broadcast_to(y.shape))
    pulled = sum(inner(dx, gx) for dx, gx in zip(dxs, op.gradients(gy, y, *xs), strict=True) if gx is not None)
    assert np.isclose(pushed, pulled), f"{op}: ⟨gy, J dx⟩ = {pushed:.12g}, but ⟨Jᵀ gy, dx⟩ = {pulled:.12g}"


def gradients_fit_operands(op: Op, *xs: Tensor) -> None:
    """Each gradient has its operand's shape and dtype."""
    y = xs[0].apply(op, *xs[1:])
    (gy,) = directions([y], seed=2)
    for i, (x, gx) in enumerate(zip(xs, op.gradients(gy, y, *xs), strict=True)):
        assert gx is None or gx.spec == x.spec, (
            f"{op}: the gradient of operand {i} is {gx.spec}, and the operand {x.spec}"
        )


def compiled_rule_is_the_rule(op: Op, *xs: Tensor) -> None:
    """The staged and compiled derivative gives the same result as the rule on tensors."""
    y = xs[0].apply(op, *xs[1:])
    (gy,) = directions([y], seed=2)
    leaves = [Tensor(x.value, requires_grad=x.spec.is_float) for x in xs]
    leaves[0].apply(op, *leaves[1:]).backward(gy.value)
    for i, (leaf, gx) in enumerate(zip(leaves, op.gradients(gy, y, *xs), strict=True)):
        if gx is not None:
            got = None if leaf.grad is None else leaf.grad.numpy()
            fits = got is not None and np.allclose(got, gx.numpy(), rtol=1e-12)  # the same arithmetic, but simplified
            assert fits, f"{op}: compiled, the gradient of operand {i} is {got}; interpreted, {gx.numpy()}"


ALL = (
    infer_foretells_forward, only_a_view_shares_memory, gradients_fit_operands,
    vjp_is_adjoint, jvp_is_slope, compiled_rule_is_the_rule, expanded_is_forward,
)  # fmt: skip


def check(op: Op, *shapes: tuple[int, ...]) -> None:
    """Check every law on random operands of these shapes, away from 0, where logs diverge and functions have kinks.

    Raises AssertionError with the op, and both sides of the first law it breaks.
    """
    rng = np.random.default_rng(0)
    obeys(op, *(Tensor(rng.uniform(0.5, 2.0, shape)) for shape in shapes))


def obeys(op: Op, *xs: Tensor, laws: tuple[Callable[..., None], ...] = ALL) -> None:
    """Check the laws on given operands."""
    for law in laws:
        law(op, *xs)


def directions(xs: Any, seed: int) -> list[Tensor]:
    """A random tensor for each x; zeros for integers and booleans, which have no derivative."""
    rng = np.random.default_rng(seed)
    return [Tensor(rng.normal(size=x.shape) if x.spec.is_float else np.zeros(x.shape)) for x in xs]


def inner(a: Tensor, b: Tensor) -> float:
    """⟨a, b⟩ = Σ aᵢ bᵢ"""
    return float(np.sum(a.numpy() * b.numpy()))
