"""Gradient descent, and the same with a memory: of its direction, or of where it has been."""

from __future__ import annotations

from typing import Any, ClassVar

from .groups import Group, State
from .inplace import Pad, power, where
from .optimizer import Rule


class SGD(Rule):
    """p ← p − lr g;  with momentum  b ← μ b + (1 − τ) g  and  p ← p − lr b

    Robbins & Monro 1951, “A Stochastic Approximation Method”, eq. 6. Momentum: Polyak 1964, “Some methods of
    speeding up the convergence of iteration methods”, eq. 9, in the form PyTorch uses, where lr is outside b;
    b begins as the first gradient. Nesterov's, which looks ahead to p − lr (g + μ b): Sutskever et al. 2013,
    “On the importance of initialization and momentum in deep learning”, eq. 3-4.
    """

    options = Group(lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False)

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        momentum, dampening = self.defaults["momentum"], self.defaults["dampening"]
        if self.defaults["nesterov"] and (momentum == 0 or dampening != 0):
            raise ValueError(f"Nesterov's step looks along an undamped momentum: {momentum=}, {dampening=}")

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


class ASGD(Rule):
    """p ← (1 − λ η) p − η g, with η = lr / (1 + λ lr t)^α after t steps; ax is the mean of p from step t0 on

    Polyak & Juditsky 1992, “Acceleration of stochastic approximation by averaging”, eq. 3: state["ax"] is the answer.
    """

    options = Group(lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, maximize=False)
    counters: ClassVar[dict[str, float]] = {**Rule.counters, "eta": 0.0, "rate": 0.0}  # of the next step, and of this

    def carried(self, options: Group) -> tuple[str, ...]:
        return ("ax",)

    def count(self, state: State, options: Group) -> None:
        super().count(state, options)
        t, lr = state["step"], options["lr"]
        state["rate"] = where(t == 1, lr, state.get("eta", 0.0))
        state["eta"] = lr / power(1 + options["lambd"] * lr * t, options["alpha"])

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, ax: Any) -> None:
        p *= 1 - options["lambd"] * state["rate"]
        pad.add_(p, g, -state["rate"])
        since = state["step"] - 1 - options["t0"]
        pad.lerp_(ax, p, 1 / where(since > 1, since, 1))
