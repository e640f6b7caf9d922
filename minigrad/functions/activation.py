"""Activations, with PyTorch's names and arguments: what stands between the layers of a network.

Integers count as floats. Each is exact, forwards and backwards, also far from 0.
"""

from __future__ import annotations

from typing import Any

from .. import ops
from ..errors import ShapeError
from ..operand import Operand
from .face import function, operand

relu = function(Operand.relu)
sigmoid = function(Operand.sigmoid)
tanh = function(Operand.tanh)
logsigmoid = function(Operand.logsigmoid)
softplus = function(Operand.softplus)
gelu = function(Operand.gelu)
silu = function(Operand.silu)
mish = function(Operand.mish)


def leaky_relu(x: Any, negative_slope: float = 0.01) -> Any:
    """x where x > 0, a little of x elsewhere, so that a unit cannot die."""
    return real(x).apply(ops.LeakyRelu(float(negative_slope)))


def prelu(x: Any, weight: Any) -> Any:
    """x where x > 0, w x elsewhere, with one learned w for all or one for each channel, axis 1 of x."""
    x = operand(x)
    w = x.lift(weight)
    if w.size != 1 and (w.ndim != 1 or x.ndim < 2 or w.size != x.shape[1]):
        raise ShapeError(f"prelu needs one weight, or one for each channel of {x.spec}, and got {w.spec}")
    w = w.reshape(() if w.size == 1 else (w.size, *(1,) * (x.ndim - 2)))
    return x.where(x > 0, x * w)


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, α (eˣ − 1) elsewhere. Clevert et al. 2015, eq. 15. https://arxiv.org/abs/1511.07289"""
    return real(x).apply(ops.Elu(float(alpha)))


def selu(x: Any) -> Any:
    """s · elu(x, α), with the α and s that keep mean 0 and variance 1 from layer to layer: see ops.Elu."""
    return real(x).apply(ops.Elu(1.6732632423543772, 1.0507009873554805))


def celu(x: Any, alpha: float = 1.0) -> Any:
    """x where x > 0, α (e^(x/α) − 1) elsewhere: its slope has no step. Barron 2017. https://arxiv.org/abs/1704.07483"""
    return real(x).apply(ops.Elu(float(alpha), 1.0, 1 / alpha))


def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    """x moved into [min_val, max_val]; the gradient stops at the bounds."""
    return real(x).apply(ops.Hardtanh(float(min_val), float(max_val)))


def relu6(x: Any) -> Any:
    """min(max(x, 0), 6)"""
    return hardtanh(x, 0.0, 6.0)


def hardsigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6: a sigmoid of three straight lines"""
    return relu6(operand(x) + 3) / 6


def hardswish(x: Any) -> Any:
    """x · hardsigmoid(x)"""
    return real(x).apply(ops.Hardswish())


def softsign(x: Any) -> Any:
    """x / (1 + |x|)"""
    x = real(x)
    return x / (1 + x.abs())


def tanhshrink(x: Any) -> Any:
    """x − tanh x"""
    x = operand(x)
    return x - x.tanh()


def hardshrink(x: Any, lambd: float = 0.5) -> Any:
    """x, but 0 where |x| ≤ λ"""
    x = real(x)
    return x.where(~(x.abs() <= lambd), 0)


def softshrink(x: Any, lambd: float = 0.5) -> Any:
    """x moved towards 0 by λ, and no further than 0"""
    x = real(x)
    return (x - x.sign() * lambd).where(~(x.abs() <= lambd), 0)


def threshold(x: Any, threshold: float, value: float) -> Any:
    """x where x > threshold, value elsewhere"""
    return real(x).apply(ops.Threshold(float(threshold), float(value)))


def glu(x: Any, dim: int = -1) -> Any:
    """a · σ(b), where a and b are the halves of x along an axis. Dauphin et al. 2016. https://arxiv.org/abs/1612.08083"""
    x = operand(x)
    axis = x.axis(dim)
    half, odd = divmod(x.shape[axis], 2)
    if odd:
        raise ShapeError(f"glu halves axis {dim} of {x.spec}: make its length even")
    before = (slice(None),) * axis
    return x[*before, :half] * x[*before, half:].sigmoid()


def real(x: Any) -> Any:
    """x as an operand that holds floats."""
    return operand(x).real_valued()
