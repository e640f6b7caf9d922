"""Gradient descent, and the same with a memory of its direction."""

from __future__ import annotations

from typing import Any

from .groups import Group, Params, State
from .inplace import Pad, where
from .optimizer import Optimizer


class SGD(Optimizer):
    """p ← p − lr g;  with momentum  b ← μ b + (1 − τ) g  and  p ← p − lr b

    Robbins & Monro 1951, “A Stochastic Approximation Method”, eq. 6. Momentum: Polyak 1964, “Some methods of
    speeding up the convergence of iteration methods”, eq. 9, in the form PyTorch uses, where lr is outside b;
    b begins as the first gradient. Nesterov's, which looks ahead to p − lr (g + μ b): Sutskever et al. 2013,
    “On the importance of initialization and momentum in deep learning”, eq. 3-4.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
    ):
        if nesterov and (momentum == 0 or dampening != 0):
            raise ValueError(
                f"Nesterov's step looks along an undamped momentum, and got momentum={momentum}, dampening={dampening}"
            )
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "nesterov": nesterov, "maximize": maximize})

    def carried(self, options: Group) -> tuple[str, ...]:
        return ("momentum_buffer",) if options["momentum"] else ()

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, b: Any = None) -> None:
        direction = g
        if b is not None:
            b *= options["momentum"]
            if options["dampening"]:
                pad.add_(b, g, where(state["step"] == 1, 1, 1 - options["dampening"]))
            else:
                b += g
            direction = pad.plus(g, b, options["momentum"]) if options["nesterov"] else b
        pad.add_(p, direction, -options["lr"])
