"""Optimisers: each is its update rule, written as in its paper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .tensor import Tensor


class Optimizer:
    """Parameters, and a rule that moves each against its gradient."""

    def __init__(self, parameters: Iterable[Tensor], lr: float):
        self.parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
        if not self.parameters:
            raise ValueError(
                f"{type(self).__name__} got no parameters: pass model.parameters(), afresh if it was used up"
            )
        for i, p in enumerate(self.parameters):
            if not (isinstance(p, Tensor) and p.is_leaf and p.requires_grad):
                raise TypeError(
                    f"{type(self).__name__} moves leaves that require a gradient, and parameter {i} is {p!r}: "
                    "pass model.parameters(), or a list as in [w]"
                )
        self.lr = lr

    def zero_grad(self) -> None:
        """Forget every gradient: backward() adds to what is there."""
        for p in self.parameters:
            p.grad = None

    def step(self) -> None:
        """Move every parameter that has a gradient."""
        for i, p in enumerate(self.parameters):
            if p.grad is not None:
                self.move(i, p.value, p.grad.value)

    def move(self, i: int, p: Any, g: Any) -> None:
        """Change array p, parameter number i, in place, given its gradient g."""
        raise NotImplementedError


class SGD(Optimizer):
    """v ← μ v + g;  p ← p − lr v

    Polyak 1964, “Some methods of speeding up the convergence of iteration methods”, in the form PyTorch uses.
    """

    def __init__(self, parameters: Iterable[Tensor], lr: float = 1e-3, momentum: float = 0.0):
        super().__init__(parameters, lr)
        self.momentum = momentum
        self.velocity: dict[int, Any] = {}

    def move(self, i: int, p: Any, g: Any) -> None:
        if self.momentum:
            g = self.velocity[i] = self.momentum * self.velocity[i] + g if i in self.velocity else g.copy()
        p -= self.lr * g


class Adam(Optimizer):
    """Steps of size about lr, along the gradient's mean over its spread.

    Kingma & Ba 2015, “Adam”, algorithm 1. https://arxiv.org/abs/1412.6980
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ):
        super().__init__(parameters, lr)
        self.betas, self.eps, self.t = betas, eps, 0
        self.m, self.v = ([p.spec.device.xp.zeros_like(p.value) for p in self.parameters] for _ in "mv")

    def step(self) -> None:
        self.t += 1
        super().step()

    def move(self, i: int, p: Any, g: Any) -> None:
        beta1, beta2 = self.betas
        m, v = self.m[i], self.v[i]
        m += (1 - beta1) * (g - m)
        v += (1 - beta2) * (g * g - v)
        m_hat = m / (1 - beta1**self.t)
        v_hat = v / (1 - beta2**self.t)
        p -= self.lr * m_hat / (v_hat**0.5 + self.eps)
