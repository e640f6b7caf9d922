"""Modules: objects whose tensors are parameters and whose call is the forward pass."""

from __future__ import annotations

from collections.abc import Iterator
from math import sqrt
from typing import Any

import numpy as np

from ..errors import ShapeError
from ..tensor import Tensor


class Module:
    """Anything made of parameters. A subclass makes them in `__init__` and says `forward`."""

    def forward(self, *xs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say its forward pass")

    def __call__(self, *xs: Any) -> Any:
        return self.forward(*xs)

    def parts(self) -> Iterator[tuple[str, Any]]:
        """(name, part) for each tensor and each module held here, in the order they were set."""
        for name, part in vars(self).items():
            if isinstance(part, Tensor | Module):
                yield name, part

    def named_parameters(self, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
        """(dotted name, tensor) for each tensor that requires a gradient, here and below."""
        for name, part in self.parts():
            if isinstance(part, Module):
                yield from part.named_parameters(f"{prefix}{name}.")
            elif part.requires_grad:
                yield prefix + name, part

    def parameters(self) -> Iterator[Tensor]:
        """Each tensor that requires a gradient, here and below; once, however many layers share it."""
        return iter(dict.fromkeys(p for _, p in self.named_parameters()))

    def zero_grad(self) -> None:
        """Forget every parameter's gradient."""
        for p in self.parameters():
            p.grad = None

    def __repr__(self) -> str:
        inside = [
            f"  ({name}): {part!r}".replace("\n", "\n  ") for name, part in self.parts() if isinstance(part, Module)
        ]
        return "\n".join([f"{type(self).__name__}(", *inside, ")"]) if inside else f"{type(self).__name__}()"


class Linear(Module):
    """y = x Wᵀ + b

    weight    W (out_features, in_features), from U(−1/√in, 1/√in)
    bias      b (out_features,), likewise; None without
    x         (…, in_features)  →  y (…, out_features)

    The bounds keep the spread of y near that of x, whatever the width: LeCun et al. 1998, “Efficient BackProp”, §4.6.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, rng: np.random.Generator | None = None):
        rng = np.random.default_rng() if rng is None else rng
        bound = 1 / sqrt(in_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = Tensor(rng.uniform(-bound, bound, (out_features, in_features)), requires_grad=True)
        self.bias = Tensor(rng.uniform(-bound, bound, out_features), requires_grad=True) if bias else None

    def forward(self, x: Any) -> Tensor:
        x = x if isinstance(x, Tensor) else Tensor(x)
        if not x.ndim or x.shape[-1] != self.in_features:
            raise ShapeError(f"{self} needs x (…, {self.in_features}), and got {x.spec}")
        y: Tensor = x @ self.weight.T
        return y if self.bias is None else y + self.bias

    def __repr__(self) -> str:
        return f"Linear(in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None})"


class ReLU(Module):
    """y = max(x, 0)"""

    def forward(self, x: Tensor) -> Tensor:
        return x.relu()


class Tanh(Module):
    """y = tanh x"""

    def forward(self, x: Tensor) -> Tensor:
        return x.tanh()


class Sequential(Module):
    """Modules, one after the other."""

    def __init__(self, *modules: Module):
        for i, module in enumerate(modules):
            if not isinstance(module, Module):
                raise TypeError(
                    f"Sequential is made of modules, and number {i} is {module!r}: write a Module that calls it"
                )
            setattr(self, str(i), module)

    def forward(self, x: Any) -> Any:
        for _, module in self.parts():
            x = module(x)
        return x
