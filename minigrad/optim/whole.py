"""Optimisers whose rule looks at a parameter as a whole, as a matrix say, and so is made of ops, by run too."""

from __future__ import annotations

from math import sqrt as root
from typing import Any

import numpy as np

from ..base.errors import ShapeError
from ..core.modes import no_grad
from ..tensor.tensor import Tensor
from .groups import Group, State
from .optimizer import Rule, staged
from .staged import Pad, power, sqrt, wanted, where


class Whole(Rule):
    """Optimisers whose `move` is given cells (staged.py): places for operands, which an operator in place replaces."""

    def sweep(self, p: Any, g: Any, means: list[Any], options: Group, state: State) -> None:
        Cell = staged().Cell
        with no_grad():
            cells = [Cell(Tensor(x)) for x in (p, *means)]
            pad = Pad(staged().Words(), Cell(), Cell(), Cell())
            self.move(cells[0], wanted(cells[0], Cell(Tensor(g)), pad, options), pad, options, state, *cells[1:])
        for array, cell in zip((p, *means), cells):
            array[...] = cell.symbol.value


class Adafactor(Whole):
    """p ← p − α u / max(1, rms(u) / d), with u = g / √v and α = max(ε₂, rms(p)) min(lr, 1 / √t)

    Of a matrix, v is the product of two vectors, the means of its rows and columns: a spread that takes no more memory
    than they. Shazeer & Stern 2018, “Adafactor”, algorithms 4 and 5. https://arxiv.org/abs/1804.04235
    """

    options = Group(lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, maximize=False)
    options |= Group(decoupled_weight_decay=True)

    def names(self, p: Any, options: Group) -> tuple[str, ...]:
        return ("row_var", "col_var") if p.ndim > 1 else ("variance",)

    def shape(self, p: Any, name: str) -> tuple[int, ...]:
        if name == "row_var":
            return (*p.shape[:-1], 1)
        return (*p.shape[:-2], 1, p.shape[-1]) if name == "col_var" else p.shape

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, *means: Any) -> None:
        x, gx, t, lr = p.symbol, g.symbol, state["step"], options["lr"]
        least, least_size = options["eps"]
        least = float(np.finfo(x.dtype).eps) if least is None else least
        square, share, rate = gx * gx, p.fitted(power(t, options["beta2_decay"])), 1 / sqrt(t)
        rate = p.fitted(where(lr < rate, lr, rate))
        decayed = p.fitted(1 - lr * options["weight_decay"])
        axes = (-1, -2) if x.ndim > 1 else (None,)
        for mean, axis in zip(means, axes):
            mean += ((square if axis is None else square.mean(axis, keepdims=True)) - mean.symbol) * share
        v = means[0].symbol
        if x.ndim > 1:
            v = v @ means[1].symbol / v.mean(-2, keepdims=True).clamp(min=least)
        u = v.clamp(min=least * least).rsqrt() * gx
        size = ((x / decayed) ** 2).mean().sqrt().clamp(min=least_size)
        p -= u * (size * rate / ((u * u).mean().sqrt() / options["d"]).clamp(min=1))


class Muon(Whole):
    """m ← μ m + (1 − μ) g;  p ← (1 − lr λ) p − lr √max(1, rows / columns) O(m): of matrices

    O(m) is nearly the orthogonal matrix nearest to m, by ns_steps of Newton and Schulz's iteration, in bfloat16's
    8 digits as PyTorch's. Jordan et al. 2024, “Muon: An optimizer for hidden layers in neural networks”.

    nesterov        look ahead to μ m + (1 − μ) g
    adjust_lr_fn    "match_rms_adamw" for 0.2 √max(rows, columns), so that a rate is as large as for AdamW
    """

    options = Group(lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315))
    options |= Group(eps=1e-7, ns_steps=5, adjust_lr_fn=None, maximize=False, decoupled_weight_decay=True)

    def carried(self, options: Group) -> tuple[str, ...]:
        return ("momentum_buffer",)

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.ndim != 2:
                raise ShapeError(f"Muon moves matrices, and got {p.spec}: give the other parameters to AdamW")

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, m: Any) -> None:
        mu, (a, b, c), (rows, columns) = options["momentum"], options["ns_coefficients"], p.symbol.shape
        pad.lerp_(m, g, 1 - mu)
        x = short(g.symbol + (m.symbol - g.symbol) * mu if options["nesterov"] else m.symbol)
        x = x.mT if rows > columns else x
        x = short(x / short((x * x).sum().sqrt()).clamp(min=options["eps"]))
        for _ in range(options["ns_steps"]):
            gram = short(x @ x.mT)
            x = short(x * a + short(gram * b + (gram @ gram) * c) @ x)
        matched = options["adjust_lr_fn"] == "match_rms_adamw"
        factor = 0.2 * root(max(rows, columns)) if matched else root(max(1, rows / columns))
        p -= (x.mT if rows > columns else x).astype(p.symbol.dtype) * p.fitted(options["lr"] * factor)


def short(x: Any) -> Any:
    """x with bfloat16's 8 binary digits, in float32: Dekker 1971, “A floating-point technique”, §5."""
    x = x.astype(np.float32)
    far = x * 65537.0
    return far - (far - x)
