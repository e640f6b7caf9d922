"""Adagrad divides by all gradients so far; Adadelta by the recent ones, and needs no learning rate."""

from __future__ import annotations

from typing import Any

from .groups import Group, State
from .inplace import Pad
from .optimizer import Rule


class Adagrad(Rule):
    """s ← s + g²;  p ← p − lr g / (√s + ε)

    A number that seldom has a gradient moves far when it has one. Duchi, Hazan & Singer 2011, “Adaptive Subgradient
    Methods for Online Learning and Stochastic Optimization”, eq. 1, the diagonal form.

    lr_decay    lr / (1 + (t − 1) lr_decay) for lr
    """

    options = Group(lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10, maximize=False)

    def carried(self, options: Group) -> tuple[str, ...]:
        return ("sum",)

    def start(self, name: str, options: Group) -> float:
        return float(options["initial_accumulator_value"])

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, s: Any) -> None:
        s += pad.square(g)
        rate = options["lr"] / (1 + (state["step"] - 1) * options["lr_decay"])
        pad.addcdiv_(p, g, pad.root(s, options["eps"]), -rate)


class Adadelta(Rule):
    """v ← ρ v + (1 − ρ) g²;  δ = √(u + ε) / √(v + ε) g;  u ← ρ u + (1 − ρ) δ²;  p ← p − lr δ

    The step is in the unit of p, not of 1 / p as the gradient is. Zeiler 2012, “ADADELTA: An Adaptive Learning Rate
    Method”, algorithm 1. https://arxiv.org/abs/1212.5701
    """

    options = Group(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, maximize=False)

    def carried(self, options: Group) -> tuple[str, ...]:
        return "square_avg", "acc_delta"

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, v: Any, u: Any) -> None:
        xp, rho, eps = pad.xp, options["rho"], options["eps"]
        pad.mean_square_(v, g, 1 - rho)
        ratio = xp.divide(xp.add(u, eps, out=pad.second), xp.add(v, eps, out=pad.term), out=pad.term)
        delta = xp.multiply(xp.sqrt(ratio, out=ratio), g, out=pad.gradient)
        pad.mean_square_(u, delta, 1 - rho)
        pad.add_(p, delta, -options["lr"])
