"""Layers that multiply by a matrix."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .. import functional
from ..device import Device
from ..errors import ShapeError
from ..functions.face import operand
from ..tensor import Tensor
from . import init
from .module import Module
from .parameter import parameter


class Linear(Module):
    """y = x Wᵀ + b

    weight    W (out_features, in_features), from U(−1/√in, 1/√in)
    bias      b (out_features,), likewise; None without
    x         (…, in_features)  →  y (…, out_features)

    The bounds keep the spread of y near that of x, whatever the width: LeCun et al. 1998, “Efficient BackProp”, §4.6.
    """

    bias: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        device: Device | str | None = None,
        dtype: Any = None,
        rng: np.random.Generator | None = None,
    ):
        self.in_features, self.out_features = in_features, out_features
        self.weight = parameter(out_features, in_features, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters(rng)

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw weight and bias anew."""
        uniform_of_fan(self.in_features, self.weight, self.bias, rng)

    def forward(self, input: Any) -> Any:
        input = operand(input)
        if not input.ndim or input.shape[-1] != self.in_features:
            raise ShapeError(f"{self} needs x (…, {self.in_features}), and got {input.spec}")
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """y[k] = x₁ Wₖ x₂ᵀ + b[k]

    weight    W (out_features, in1_features, in2_features), from U(−1/√in1, 1/√in1)
    bias      b (out_features,), likewise; None without
    """

    bias: Tensor | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        *,
        device: Device | str | None = None,
        dtype: Any = None,
        rng: np.random.Generator | None = None,
    ):
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = parameter(out_features, in1_features, in2_features, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters(rng)

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw weight and bias anew."""
        uniform_of_fan(self.in1_features, self.weight, self.bias, rng)

    def forward(self, input1: Any, input2: Any) -> Any:
        return functional.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


def uniform_of_fan(fan_in: int, weight: Any, bias: Any, rng: np.random.Generator | None) -> None:
    """Weight and bias from U(−1/√fan_in, 1/√fan_in)."""
    rng = init.source(rng)
    bound = 1 / sqrt(fan_in) if fan_in else 0.0
    for p in (weight, bias):
        if p is not None:
            init.uniform_(p, -bound, bound, rng)
