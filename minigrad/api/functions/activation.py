"""Activation functions, with PyTorch's names and arguments.

Integers are converted to floats. Values and gradients are accurate, also far from 0.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any

from ...engine import ops
from ...engine.base.errors import ShapeError
from ...engine.methods import Operand
from ...engine.methods.arguments import autocast_to
from ...engine.tensor.inplace import become
from ...engine.tensor.lift import function, operand


def can_be_in_place(f: Callable[..., Any]) -> Callable[..., Any]:
    """Add PyTorch's argument inplace to a function: with inplace=True it writes its result into x."""

    @wraps(f)
    def call_in_place(input: Any, *options: Any, inplace: bool = False, **named: Any) -> Any:
        y = f(input, *options, **named)
        if not inplace:
            return y
        become(input, y)
        return input

    known = list(signature(f).parameters.values())[1:]
    inplace = signature(call_in_place, follow_wrapped=False).parameters["inplace"]
    first = Parameter("input", Parameter.POSITIONAL_OR_KEYWORD)
    call_in_place.__signature__ = Signature([first, *known, inplace])  # type: ignore[attr-defined]
    return call_in_place


logsigmoid = function(Operand.logsigmoid)
softplus = function(Operand.softplus)
gelu = function(Operand.gelu)
relu = can_be_in_place(function(Operand.relu))
silu = can_be_in_place(function(Operand.silu))
mish = can_be_in_place(function(Operand.mish))


@can_be_in_place
def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """x where x > 0, negative_slope · x elsewhere, so that the gradient is never 0."""
    return real(x).apply(ops.LeakyRelu(float(negative_slope)))


@autocast_to("lower")
def prelu(input: Any, weight: Any) -> Any:
    """x where x > 0, w x elsewhere, with one learned w for all x, or one for each channel (axis 1 of x)."""
    x = operand(input)
    w = x.lift(weight)
    if w.size != 1 and (w.ndim != 1 or x.ndim < 2 or w.size != x.shape[1]):
        raise ShapeError(f"prelu needs one weight, or one for each channel of {x.spec}, and got {w.spec}")
    w = w.reshape(() if w.size == 1 else (w.size, *(1,) * (x.ndim - 2)))
    return x * w.lift(1).where(x > 0, w)


@can_be_in_place
def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, α (eˣ − 1) elsewhere. Clevert et al. 2015, eq. 15. https://arxiv.org/abs/1511.07289"""
    return real(x).apply(ops.Elu(float(alpha)))


@can_be_in_place
def selu(x: Any) -> Any:
    """s · elu(x, α), with the α and s that keep mean 0 and variance 1 from layer to layer: see ops.Elu."""
    return real(x).apply(ops.Elu(1.6732632423543772, 1.0507009873554805))


@can_be_in_place
def celu(x: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, α (e^(x/α) − 1) elsewhere: its slope is continuous. Barron 2017. https://arxiv.org/abs/1704.07483"""
    return real(x).apply(ops.Elu(float(alpha), 1.0, 1 / alpha))


@can_be_in_place
def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """x clamped to [min_val, max_val]; the gradient is 0 outside."""
    return real(x).apply(ops.Hardtanh(float(min_val), float(max_val)))


@can_be_in_place
def relu6(x: Any) -> Any:
    """min(max(x, 0), 6)"""
    return hardtanh(x, 0.0, 6.0)


@can_be_in_place
def hardsigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6: a piecewise linear sigmoid"""
    return relu6(real(x) + 3) / 6


@can_be_in_place
def hardswish(x: Any) -> Any:
    """x · hardsigmoid(x)"""
    return real(x).apply(ops.Hardswish())


def softsign(input: Any) -> Any:
    """x / (1 + |x|)"""
    x = real(input)
    return x / (1 + x.abs())


def tanhshrink(input: Any) -> Any:
    """x − tanh x"""
    x = operand(input)
    return x - x.tanh()


def hardshrink(input: Any, lambd: float = 0.5) -> Any:
    """x, but 0 where |x| ≤ λ"""
    x = real(input)
    return x.where(~(x.abs() <= lambd), 0)


def softshrink(input: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by λ; 0 where |x| ≤ λ"""
    x = real(input)
    return (x - x.sign() * lambd).where(~(x.abs() <= lambd), 0)


@can_be_in_place
def threshold(x: Any, threshold: float, value: float) -> Any:
    """x where x > threshold, value elsewhere"""
    return real(x).apply(ops.Threshold(float(threshold), float(value)))


def glu(input: Any, dim: int = -1) -> Any:
    """a · σ(b), where a and b are the halves of x along an axis. Dauphin et al. 2016. https://arxiv.org/abs/1612.08083"""
    x = operand(input)
    axis = x.axis(dim)
    half, odd = divmod(x.shape[axis], 2)
    if odd:
        raise ShapeError(f"glu halves axis {dim} of {x.spec}: make its length even")
    before = (slice(None),) * axis
    return x[*before, :half] * x[*before, half:].sigmoid()


def real(x: Any) -> Any:
    """x as an operand that holds floats."""
    return operand(x).real_valued()
