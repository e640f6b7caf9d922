"""RMSprop: the gradient over the running size of it."""

from __future__ import annotations

from typing import Any

from .groups import Group, Params, State
from .inplace import Pad
from .optimizer import Optimizer


class RMSprop(Optimizer):
    """v ← α v + (1 − α) g²;  p ← p − lr g / (√v + ε)

    Tieleman & Hinton 2012, “Neural Networks for Machine Learning”, lecture 6.5.

    centered    √(v − m²) for √v, with m the running mean of g: the spread about the mean, Graves 2013, “Generating
                Sequences With Recurrent Neural Networks”, eq. 38-45. https://arxiv.org/abs/1308.0850
    momentum    b ← μ b + g / (√v + ε);  p ← p − lr b
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ):
        defaults = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, {**defaults, "momentum": momentum, "centered": centered, "maximize": maximize})

    def carried(self, options: Group) -> tuple[str, ...]:
        centre = ("grad_avg",) if options["centered"] else ()
        return ("square_avg", *centre, "momentum_buffer") if options["momentum"] else ("square_avg", *centre)

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, v: Any, *means: Any) -> None:
        carried = dict(zip(self.carried(options)[1:], means))
        pad.mean_square_(v, g, 1 - options["alpha"])
        if options["centered"]:
            m = carried["grad_avg"]
            pad.lerp_(m, g, 1 - options["alpha"])
            v = pad.xp.subtract(v, pad.square(m), out=pad.term)
            v = pad.xp.maximum(v, 0, out=v)  # rounding may put it below
        spread = pad.root(v, options["eps"])
        if options["momentum"]:
            b = carried["momentum_buffer"]
            b *= options["momentum"]
            pad.addcdiv_(b, g, spread, 1)
            pad.add_(p, b, -options["lr"])
        else:
            pad.addcdiv_(p, g, spread, -options["lr"])
