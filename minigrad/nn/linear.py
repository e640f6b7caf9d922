"""Layers that multiply by a weight: matrices, tables of vectors, convolutions and their transposes."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any, ClassVar, Self

import numpy as np

from ..api.functions.movement import MARGINS
from ..engine.base.device import Device
from ..engine.base.errors import ShapeError
from ..engine.core.modes import no_grad
from ..engine.tensor.lift import operand
from ..engine.tensor.tensor import Tensor
from . import functional, init
from .functional.convolution import Lengths, ends, ints_per_axis
from .functional_layer import nd_variants
from .module import Module
from .tree import Parameter, parameter


class Linear(Module):
    """y = x Wᵀ + b

    weight    W (out_features, in_features), from U(−1/√in, 1/√in)
    bias      b (out_features,), likewise; None with bias=False
    x         (…, in_features)  →  y (…, out_features)

    The bounds keep the spread of y near that of x for any width: LeCun et al. 1998, “Efficient BackProp”, §4.6.
    """

    _shown = "in_features=", "out_features=", "bias="

    bias: Tensor | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True,
        *, device: Device | str | None = None, dtype: Any = None, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        self.in_features, self.out_features = in_features, out_features
        self.weight = parameter(out_features, in_features, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters(rng)

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw weight and bias again."""
        uniform_of_fan(self.in_features, self.weight, self.bias, rng)

    def forward(self, input: Any) -> Any:
        input = operand(input)
        if not input.ndim or input.shape[-1] != self.in_features:
            raise ShapeError(f"{self} needs x (…, {self.in_features}), and got {input.spec}")
        return functional.linear(input, self.weight, self.bias)


class Bilinear(Module):
    """y[k] = x₁ Wₖ x₂ᵀ + b[k]

    weight    W (out_features, in1_features, in2_features), from U(−1/√in1, 1/√in1)
    bias      b (out_features,), likewise; None with bias=False
    """

    _shown = "in1_features=", "in2_features=", "out_features=", "bias="

    bias: Tensor | None

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
        *, device: Device | str | None = None, dtype: Any = None, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = parameter(out_features, in1_features, in2_features, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_features, dtype=dtype, device=device) if bias else None)
        self.reset_parameters(rng)

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw weight and bias again."""
        uniform_of_fan(self.in1_features, self.weight, self.bias, rng)

    def forward(self, input1: Any, input2: Any) -> Any:
        return functional.bilinear(input1, input2, self.weight, self.bias)


def uniform_of_fan(fan_in: int, weight: Any, bias: Any, rng: np.random.Generator | None) -> None:
    """Fill weight and bias from U(−1/√fan_in, 1/√fan_in)."""
    rng = init.source(rng)
    bound = 1 / sqrt(fan_in) if fan_in else 0.0
    for p in (weight, bias):
        if p is not None:
            init.uniform_(p, -bound, bound, rng)


class Embedding(Module):
    """y[i…, :] = W[x[i…], :]

    weight         W (num_embeddings, embedding_dim), from N(0, 1)
    padding_idx    a row that starts at zero and receives no gradient
    max_norm       looked-up rows are first scaled down to this norm, in place: see functional.embedding
    x              integers of any shape  →  y (…, embedding_dim)
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
        *, device: Device | str | None = None, dtype: Any = None, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise IndexError(f"padding_idx must be one of the {num_embeddings} rows, got {padding_idx}")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        self.weight = parameter(num_embeddings, embedding_dim, dtype=dtype, device=device)
        self.reset_parameters(rng)

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None) -> Self:
        """An Embedding with an existing table (num_embeddings, embedding_dim); frozen unless freeze=False."""
        table = Tensor(embeddings)
        if table.ndim != 2:
            raise ShapeError(f"from_pretrained needs a table (num_embeddings, embedding_dim), got {table.spec}")
        made = cls(table.shape[0], table.shape[1], padding_idx)
        made.weight = Parameter(table, requires_grad=not freeze)
        return made

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw the table again."""
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
    """Reduces the rows of each bag to their 'mean', 'sum' or 'max': see functional.embedding_bag."""

    def __init__(
        self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
        *, include_last_offset: bool = False, padding_idx: int | None = None, **where: Any,
    ):  # fmt: skip
        super().__init__(num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, **where)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        limits = self.max_norm, self.norm_type, self.scale_grad_by_freq
        options = {"per_sample_weights": per_sample_weights, "include_last_offset": self.include_last_offset}
        options["padding_idx"] = self.padding_idx
        return functional.embedding_bag(input, self.weight, offsets, *limits, self.mode, **options)


class ConvBase(Module):
    """The common base of convolutions over n axes: a weight, and a bias for each output channel.

    weight    from U(−1/√f, 1/√f), with f = weight[0].size
    bias      (out_channels,), likewise; None with bias=False
    """

    n: ClassVar[int]
    transposed: ClassVar[bool] = False
    output_padding: tuple[int, ...]
    bias: Tensor | None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Lengths,
        stride: Lengths = 1, padding: Lengths | str = 0, dilation: Lengths = 1,
        groups: int = 1, bias: bool = True, padding_mode: str = "zeros",
        *, device: Device | str | None = None, dtype: Any = None, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        if padding_mode not in ("zeros", *MARGINS):
            raise ValueError(f"padding_mode must be one of zeros, {', '.join(MARGINS)}, got {padding_mode!r}")
        if groups < 1 or in_channels % groups or out_channels % groups:
            wrong = f"{in_channels} and {out_channels} channels do not divide into {groups} groups"
            raise ValueError(f"{type(self).__name__} needs groups of equal size: {wrong}")
        self.output_padding, self.padding_mode = (0,) * self.n, padding_mode
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = ints_per_axis("kernel_size", kernel_size, self.n)
        self.stride = ints_per_axis("stride", stride, self.n)
        self.dilation = ints_per_axis("dilation", dilation, self.n)
        self.padding = padding if isinstance(padding, str) else ints_per_axis("padding", padding, self.n)
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = parameter(first, second // groups, *self.kernel_size, dtype=dtype, device=device)
        self.register_parameter("bias", parameter(out_channels, dtype=dtype, device=device) if bias else None)
        self.reset_parameters(rng)

    def reset_parameters(self, rng: np.random.Generator | None = None) -> None:
        """Draw weight and bias again."""
        uniform_of_fan(prod(self.weight.shape[1:]), self.weight, self.bias, rng)

    def _check_input(self, x: Any) -> Any:
        x = operand(x)
        if x.ndim not in (self.n + 1, self.n + 2) or x.shape[-self.n - 1] != self.in_channels:
            size = ", ".join("DHW"[-self.n :] if self.n > 1 else "L")
            raise ShapeError(f"{self} needs x (N, {self.in_channels}, {size}), or one without N, and got {x.spec}")
        return x

    def extra_repr(self) -> str:
        none, ones = (0,) * self.n, (1,) * self.n
        usual = {"padding": none, "dilation": ones, "output_padding": none, "groups": 1, "bias": True}
        usual |= {"padding_mode": "zeros"}
        found = {name: getattr(self, name) for name in usual} | {"bias": self.bias is not None}
        said = [f"{name}={x}" for name, x in found.items() if x != usual[name]]
        sizes = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        return ", ".join([sizes, *said])


class ConvNd(ConvBase):
    """y = x ⋆ W + b: see functional.conv1d, conv2d and conv3d.

    weight          W (out_channels, in_channels / groups, *kernel_size)
    padding_mode    the values of the padding: 'zeros', or 'reflect', 'replicate', 'circular' as in functional.pad
    x               (N, in_channels, *size)  →  y (N, out_channels, *size')
    """

    def forward(self, input: Any) -> Any:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Any, weight: Any, bias: Any) -> Any:
        input = self._check_input(input)
        padding: Lengths | str = self.padding
        if self.padding_mode != "zeros":
            margins = ends(padding, self.kernel_size, self.stride, self.dilation)
            input = functional.pad(input, [width for pair in reversed(margins) for width in pair], self.padding_mode)
            padding = 0
        convolution = getattr(functional, f"conv{self.n}d")
        return convolution(input, weight, bias, self.stride, padding, self.dilation, self.groups)


Conv1d, Conv2d, Conv3d = nd_variants(ConvNd)


class ConvTransposeNd(ConvBase):
    """The transpose of a convolution: see functional.conv_transpose1d to conv_transpose3d.

    weight            (in_channels, out_channels / groups, *kernel_size)
    output_padding    length added to the result, since a convolution with a stride maps several lengths to one
    x                 (N, in_channels, *size)  →  y (N, out_channels, *size')
    """

    transposed = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Lengths, stride: Lengths = 1, padding: Lengths = 0,
        output_padding: Lengths = 0, groups: int = 1, bias: bool = True, dilation: Lengths = 1, **where: Any,
    ):  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, **where)
        self.output_padding = ints_per_axis("output_padding", output_padding, self.n)

    def forward(self, input: Any, output_size: Any = None) -> Any:
        """output_padding follows from output_size, the lengths of the last n axes or of all axes."""
        x, extra = self._check_input(input), self.output_padding
        if output_size is not None:
            margins = ints_per_axis("padding", self.padding, self.n)
            entries = zip(x.shape[-self.n :], self.kernel_size, self.stride, margins, self.dilation)
            least = [(p - 1) * s - 2 * cut + d * (k - 1) + 1 for p, k, s, cut, d in entries]
            extra = tuple(m - n for m, n in zip(tuple(output_size)[-self.n :], least))
            if any(not 0 <= e < s for e, s in zip(extra, self.stride)):
                most = tuple(n + s - 1 for n, s in zip(least, self.stride))
                raise ShapeError(f"{self} of {x.spec} can have sizes {tuple(least)} to {most}, got {output_size}")
        convolution = getattr(functional, f"conv_transpose{self.n}d")
        return convolution(x, self.weight, self.bias, self.stride, self.padding, extra, self.groups, self.dilation)


ConvTranspose1d, ConvTranspose2d, ConvTranspose3d = nd_variants(ConvTransposeNd)
