"""Functions for training loops: gradient clipping, parameters as a vector, pruning, padded sequences."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from ...api.functions.movement import cat, stack
from ...engine.base.errors import GraphError, ShapeError
from ...engine.core.modes import current, no_grad
from ...engine.tensor.inplace import write
from ...engine.tensor.lift import operand
from ...engine.tensor.tensor import Tensor
from . import prune as prune
from . import rnn as rnn

Tensors = Tensor | Iterable[Tensor]


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale all gradients by one factor, in place, so that their total norm is at most max_norm. Returns the old norm.

    Pascanu et al. 2013, “On the difficulty of training recurrent neural networks”, algorithm 1.
    https://arxiv.org/abs/1211.5063
    """
    if current.mode.builder is not None:
        if error_if_nonfinite:
            raise GraphError("a graph cannot refuse a norm that is not finite: run it inside `with graph.trap_nan():`")
        clipped: Tensor = clipped_in_graph(parameters, max_norm, norm_type)
        return clipped
    grads = gradients(parameters)
    total = total_norm(grads, norm_type).item()
    if error_if_nonfinite and not total < inf:
        raise RuntimeError(f"the norm of the gradients is {total}, and clipping cannot make it finite")
    scale = max_norm / (total + 1e-6)
    if not scale >= 1:  # a NaN norm makes all gradients NaN, which shows the problem
        for g in grads:
            write(g, g.value * scale)
    return Tensor(total)


def total_norm(grads: list[Any], norm_type: float) -> Any:
    """‖(‖g₁‖ₚ, ‖g₂‖ₚ, …)‖ₚ: for p > 0 the norm of all gradients as one vector; for 0, how many are nonzero."""
    with no_grad():
        return stack([g.norm(norm_type).double() for g in grads]).norm(norm_type) if grads else Tensor(0.0)


def clip_grad_value_(parameters: Tensors, clip_value: float) -> None:
    """Clamp the elements of each gradient to −clip_value … clip_value, in place."""
    for g in gradients(parameters):
        if current.mode.builder is None:
            write(g, g.value.clip(-clip_value, clip_value))
        else:
            with no_grad():
                g.clamp_(-clip_value, clip_value)


def gradients(parameters: Tensors) -> list[Any]:
    """The gradients of the parameters that have one."""
    each = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in each if p.grad is not None]


def clipped_in_graph(parameters: Tensors, max_norm: float, norm_type: float) -> Any:
    """clip_grad_norm_ while a graph is built."""
    grads = gradients(parameters)
    total = total_norm(grads, norm_type)
    with no_grad():
        for g in grads:
            g.mul_((max_norm / (total + 1e-6)).clamp(max=1).astype(g.dtype))
    return total


def parameters_to_vector(parameters: Iterable[Tensor]) -> Any:
    """All elements of all parameters as one vector; differentiable."""
    return cat([p.reshape(p.size) for p in parameters])


def vector_to_parameters(vec: Any, parameters: Iterable[Tensor]) -> None:
    """Copy the elements of a vector into the parameters, in order, without recording it."""
    x, ps = operand(vec).value, list(parameters)
    if x.shape != (sum(p.size for p in ps),):
        raise ShapeError(f"the parameters have {sum(p.size for p in ps)} elements, and the vector is {x.shape}")
    start = 0
    for p in ps:
        write(p, x[start : start + p.size].reshape(p.shape))
        start += p.size
