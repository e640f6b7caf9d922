"""Layers that multiply by a matrix, as functions."""

from __future__ import annotations

from typing import Any

from ..functions.face import operand


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """y = x Wᵀ + b

    input     x (…, in)
    weight    W (out, in); or (in,), which gives y (…)
    bias      b (out,)
    """
    return operand(input).linear(weight, bias)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """y[…, k] = x₁ Wₖ x₂ᵀ + b[k]

    input1    x₁ (…, in1)
    input2    x₂ (…, in2)
    weight    W (out, in1, in2)
    bias      b (out,)
    """
    x1 = operand(input1)
    x2, W = x1.lift(input2), x1.lift(weight)
    out, in1, in2 = W.shape
    rows = x1 @ W.permute(1, 0, 2).reshape(in1, out * in2)
    y = (rows.reshape(*x1.shape[:-1], out, in2) @ x2.reshape(*x2.shape, 1)).reshape(*x1.shape[:-1], out)
    return y if bias is None else y + bias
