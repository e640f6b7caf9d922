"""Layers that multiply by a matrix.

Tables of vectors, looked up by index.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, Self

import numpy as np

from .. import functional
from ..base.device import Device
from ..base.errors import ShapeError
from ..core.modes import no_grad
from ..tensor.lift import operand
from ..tensor.tensor import Tensor
from . import init
from .module import Module
from .tree import Parameter, parameter


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


class Embedding(Module):
    """y[i…, :] = W[x[i…], :]

    weight         W (num_embeddings, embedding_dim), from N(0, 1)
    padding_idx    a row that starts at zero and receives no gradient
    max_norm       rows that are read are cut to this length, in place: as functional.embedding says, and all the rest
    x              integers of any shape  →  y (…, embedding_dim)
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        *,
        device: Device | str | None = None,
        dtype: Any = None,
        rng: np.random.Generator | None = None,
    ):
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise IndexError(f"padding_idx is one of the {num_embeddings} rows, and got {padding_idx}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.weight = parameter(num_embeddings, embedding_dim, dtype=dtype, device=device)
        self.reset_parameters(rng)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Self:
        """A table that exists already, (num_embeddings, embedding_dim); frozen unless freeze=False."""
        table = Tensor(embeddings)
        if table.ndim != 2:
            raise ShapeError(f"a table is (num_embeddings, embedding_dim), and got {table.spec}")
        made = cls(table.shape[0], table.shape[1], padding_idx)
        made.weight = Parameter(table, requires_grad=not freeze)
        return made

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw the table anew."""
        init.normal_(self.weight, generator=rng)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx] = 0.0

    def forward(self, input: Any) -> Any:
        limits = self.max_norm, self.norm_type, self.scale_grad_by_freq
        return functional.embedding(input, self.weight, self.padding_idx, *limits)

    def extra_repr(self) -> str:
        padding = "" if self.padding_idx is None else f", padding_idx={self.padding_idx}"
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}"


class EmbeddingBag(Embedding):
    """The rows of each bag as one, their 'mean', 'sum' or 'max': see functional.embedding_bag."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        *,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        **where: Any,
    ):
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, **where)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        limits = self.max_norm, self.norm_type, self.scale_grad_by_freq
        options = {"per_sample_weights": per_sample_weights, "include_last_offset": self.include_last_offset}
        options["padding_idx"] = self.padding_idx
        return functional.embedding_bag(input, self.weight, offsets, *limits, self.mode, **options)
