"""First-order optimisers, each an update rule as in its paper.

Most rules are elementwise: they compute each element from the same element of parameter, gradient and means.
Adafactor and Muon treat a parameter as a matrix, so they consist of ops, in eager mode too.
"""

from __future__ import annotations

from math import sqrt as root
from typing import Any, ClassVar

import numpy as np

from ..engine.base.errors import ShapeError
from ..engine.core.modes import no_grad
from ..engine.tensor.tensor import Tensor
from .groups import Group, State, is_symbol
from .optimizer import UpdateRule
from .update_rules import Scratch, SymbolCell, Words, effective_gradient, power, sqrt, where


class SGD(UpdateRule):
    """p ← p − lr g;  with momentum  b ← μ b + (1 − τ) g  and  p ← p − lr b

    Robbins & Monro 1951, “A Stochastic Approximation Method”, eq. 6. Momentum: Polyak 1964, “Some methods of
    speeding up the convergence of iteration methods”, eq. 9, in PyTorch's form, with lr outside of b;
    b starts as the first gradient. Nesterov momentum looks ahead to p − lr (g + μ b): Sutskever et al. 2013,
    “On the importance of initialization and momentum in deep learning”, eq. 3-4.
    """

    options = Group(lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, maximize=False)

    remembered, optional = ("momentum_buffer",), ("momentum_buffer", "step")

    def check(self, options: Group) -> None:
        momentum, dampening = options["momentum"], options["dampening"]
        if options["nesterov"] and (momentum == 0 or dampening != 0):
            raise ValueError(f"nesterov needs a momentum and no dampening, got {momentum=}, {dampening=}")

    def state_names(self, p: Any, options: Group) -> tuple[str, ...]:
        return ("momentum_buffer",) if options["momentum"] else ()

    def count(self, state: State, options: Group) -> None:
        if is_symbol(options["momentum"]) or options["momentum"]:  # step 1 is the first with momentum, and not dampened
            super().count(state, options)

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, b: Any = None) -> None:
        direction = g
        if b is not None:
            b *= options["momentum"]
            if options["dampening"]:
                pad.add_(b, g, where(state["step"] == 1, 1, 1 - options["dampening"]))
            else:
                b += g
            direction = pad.plus(g, b, options["momentum"]) if options["nesterov"] else b
        pad.add_(p, direction, -options["lr"])


class ASGD(UpdateRule):
    """p ← (1 − λ η) p − η g, with η = lr / (1 + λ lr t)^α after t steps; ax is the mean of p from step t0 on

    Polyak & Juditsky 1992, “Acceleration of stochastic approximation by averaging”, eq. 3. The result is state["ax"].
    """

    options = Group(lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0.0, maximize=False)
    counters: ClassVar[dict[str, float]] = {**UpdateRule.counters, "eta": 0.0, "rate": 0.0}  # next η, this step's η
    remembered, optional = ("ax",), ("rate",)

    def count(self, state: State, options: Group) -> None:
        super().count(state, options)
        t, lr = state["step"], options["lr"]
        state["rate"] = where(t == 1, lr, state.get("eta", 0.0))
        state["eta"] = lr / power(1 + options["lambd"] * lr * t, options["alpha"])

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, ax: Any) -> None:
        p *= 1 - options["lambd"] * state["rate"]
        pad.add_(p, g, -state["rate"])
        since = state["step"] - 1 - options["t0"]
        pad.lerp_(ax, p, 1 / where(since > 1, since, 1))


class RMSprop(UpdateRule):
    """v ← α v + (1 − α) g²;  p ← p − lr g / (√v + ε)

    Tieleman & Hinton 2012, “Neural Networks for Machine Learning”, lecture 6.5.

    centered    use √(v − m²), the standard deviation, not √v; m is the running mean of g. Graves 2013, “Generating
                Sequences With Recurrent Neural Networks”, eq. 38-45. https://arxiv.org/abs/1308.0850
    momentum    b ← μ b + g / (√v + ε);  p ← p − lr b
    """

    options = Group(lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0.0, momentum=0.0, centered=False, maximize=False)
    remembered = "square_avg", "grad_avg", "momentum_buffer"

    def state_names(self, p: Any, options: Group) -> tuple[str, ...]:
        centre = ("grad_avg",) if options["centered"] else ()
        return ("square_avg", *centre, "momentum_buffer") if options["momentum"] else ("square_avg", *centre)

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, v: Any, *means: Any) -> None:
        pad.mean_square_(v, g, 1 - options["alpha"])
        if options["centered"]:
            m, means = means[0], means[1:]
            pad.lerp_(m, g, 1 - options["alpha"])
            v = pad.variance(v, m)
        spread = pad.root(v, options["eps"])
        if means:
            (b,) = means
            b *= options["momentum"]
            pad.addcdiv_(b, g, spread, 1)
            pad.add_(p, b, -options["lr"])
        else:
            pad.addcdiv_(p, g, spread, -options["lr"])


class Rprop(UpdateRule):
    """s ← η₊ s where the gradient keeps its sign, η₋ s where it changes;  p ← p − s sign(g) unless the sign changes

    Each number has its own step size s; the size of the gradient does not matter.
    Riedmiller & Braun 1993, “A direct adaptive method for faster backpropagation learning: The RPROP algorithm”.

    etas          η₋ and η₊
    step_sizes    the least and the largest s; s starts as lr
    """

    options = Group(lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), maximize=False)
    remembered = "prev", "step_size"

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, before: Any, s: Any) -> None:
        xp, (shrink, grow), (least, largest) = pad.xp, options["etas"], options["step_sizes"]
        s += where(state["step"] == 1, options["lr"], 0)
        turn = xp.sign(xp.multiply(g, before, out=pad.term), out=pad.term)
        for bound, factor in ((xp.fmax, grow - 1), (xp.fmin, 1 - shrink)):  # fmax and fmin treat NaN as no change
            change = bound(turn, 0, out=pad.second)
            change *= factor
            change += 1
            s *= change
        xp.minimum(xp.maximum(s, least, out=s), largest, out=s)
        stays = xp.fmin(turn, 0, out=pad.term)
        stays += 1
        xp.multiply(g, stays, out=before)
        sign = xp.sign(before, out=pad.term)
        up = xp.fmax(sign, 0, out=pad.second)
        step = xp.fmin(sign, 0, out=pad.term)
        step += up
        step *= s
        p -= step


class Adagrad(UpdateRule):
    """s ← s + g²;  p ← p − lr g / (√s + ε)

    A number that rarely has a gradient takes large steps when it has one. Duchi, Hazan & Singer 2011, “Adaptive
    Subgradient Methods for Online Learning and Stochastic Optimization”, eq. 1, the diagonal form.

    lr_decay    the rate at step t is lr / (1 + (t − 1) lr_decay)
    """

    options = Group(lr=1e-2, lr_decay=0.0, weight_decay=0.0, initial_accumulator_value=0.0, eps=1e-10, maximize=False)
    remembered = ("sum",)

    def start(self, name: str, options: Group) -> float:
        return float(options["initial_accumulator_value"])

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, s: Any) -> None:
        s += pad.square(g)
        rate = options["lr"] / (1 + (state["step"] - 1) * options["lr_decay"])
        pad.addcdiv_(p, g, pad.root(s, options["eps"]), -rate)


class Adadelta(UpdateRule):
    """v ← ρ v + (1 − ρ) g²;  δ = √(u + ε) / √(v + ε) g;  u ← ρ u + (1 − ρ) δ²;  p ← p − lr δ

    The step has the unit of p, while a gradient has that of 1 / p. Zeiler 2012, “ADADELTA: An Adaptive Learning Rate
    Method”, algorithm 1. https://arxiv.org/abs/1212.5701
    """

    options = Group(lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0, maximize=False)
    remembered = "square_avg", "acc_delta"

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, v: Any, u: Any) -> None:
        xp, rho, eps = pad.xp, options["rho"], options["eps"]
        pad.mean_square_(v, g, 1 - rho)
        ratio = xp.divide(xp.add(u, eps, out=pad.second), xp.add(v, eps, out=pad.term), out=pad.term)
        delta = xp.multiply(xp.sqrt(ratio, out=ratio), g, out=pad.gradient)
        pad.mean_square_(u, delta, 1 - rho)
        pad.add_(p, delta, -options["lr"])


MEANS = Group(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)


class Adam(UpdateRule):
    """m ← β₁ m + (1 − β₁) g;  v ← β₂ v + (1 − β₂) g²;  p ← p − lr m̂ / (√v̂ + ε)

    with m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ), which correct the bias of means that start at 0. A step has size
    about lr, for any scale of the gradient. Kingma & Ba 2015, “Adam”, algorithm 1, in the order at the end of
    section 2: numerator and denominator are multiplied by √(1 − β₂ᵗ). https://arxiv.org/abs/1412.6980

    amsgrad    divide by the largest v so far: Reddi et al. 2018, “On the Convergence of Adam and Beyond”, algorithm 2
    """

    options = MEANS | Group(amsgrad=False, maximize=False, decoupled_weight_decay=False)
    remembered = "exp_avg", "exp_avg_sq", "max_exp_avg_sq"

    def state_names(self, p: Any, options: Group) -> tuple[str, ...]:
        return self.remembered[: 3 if options["amsgrad"] else 2]

    def move(
        self, p: Any, g: Any, pad: Scratch, options: Group, state: State, m: Any, v: Any, v_max: Any = None
    ) -> None:
        (beta1, beta2), t = options["betas"], state["step"]
        pad.lerp_(m, g, 1 - beta1)
        pad.mean_square_(v, g, 1 - beta2)
        if v_max is not None:
            v = pad.xp.maximum(v_max, v, out=v_max)
        unbiased = sqrt(1 - power(beta2, t))
        pad.addcdiv_(p, m, pad.root(v, options["eps"] * unbiased), -options["lr"] * unbiased / (1 - power(beta1, t)))


class AdamW(Adam):
    """Adam, and p ← (1 − lr λ) p: the decay is not divided by √v̂.

    Loshchilov & Hutter 2019, “Decoupled Weight Decay Regularization”, algorithm 2. https://arxiv.org/abs/1711.05101
    """

    options = Adam.options | Group(weight_decay=1e-2, decoupled_weight_decay=True)

    def check(self, options: Group) -> None:
        if not options["decoupled_weight_decay"]:
            raise ValueError("AdamW needs decoupled_weight_decay=True: use Adam for False")


class Adamax(UpdateRule):
    """m ← β₁ m + (1 − β₁) g;  u ← max(β₂ u, |g| + ε);  p ← p − lr / (1 − β₁ᵗ) m / u

    Adam with the largest recent gradient in place of √v̂. Kingma & Ba 2015, “Adam”, algorithm 2.
    """

    options = MEANS | Group(lr=2e-3, maximize=False)
    remembered = "exp_avg", "exp_inf"

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, m: Any, u: Any) -> None:
        (beta1, beta2), t = options["betas"], state["step"]
        pad.lerp_(m, g, 1 - beta1)
        u *= beta2
        size = pad.xp.absolute(g, out=pad.term)
        size += options["eps"]
        pad.xp.maximum(u, size, out=u)
        pad.addcdiv_(p, m, u, -options["lr"] / (1 - power(beta1, t)))


class NAdam(UpdateRule):
    """Adam with Nesterov's look ahead:  p ← p − lr (μₜ₊₁ m / (1 − ∏μ μₜ₊₁) + (1 − μₜ) g / (1 − ∏μ)) / (√v̂ + ε)

    where μₜ = β₁ (1 − ½ 0.96^(ψ t)) warms the momentum up, and ∏μ = μ₁ ⋯ μₜ.
    Dozat 2016, “Incorporating Nesterov Momentum into Adam”, algorithm 2.
    """

    options = MEANS | Group(lr=2e-3, momentum_decay=4e-3, decoupled_weight_decay=False, maximize=False)

    counters: ClassVar[dict[str, float]] = {**UpdateRule.counters, "mu_product": 1.0}
    remembered = "exp_avg", "exp_avg_sq"

    def momentum(self, t: int, options: Group) -> float:
        """μₜ"""
        mu: float = options["betas"][0] * (1 - 0.5 * power(0.96, t * options["momentum_decay"]))
        return mu

    def count(self, state: State, options: Group) -> None:
        super().count(state, options)
        state["mu_product"] = state.get("mu_product", 1.0) * self.momentum(state["step"], options)

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, m: Any, v: Any) -> None:
        (beta1, beta2), t, so_far = options["betas"], state["step"], state["mu_product"]
        now, ahead = self.momentum(t, options), self.momentum(t + 1, options)
        pad.lerp_(m, g, 1 - beta1)
        pad.mean_square_(v, g, 1 - beta2)
        unbiased = sqrt(1 - power(beta2, t))
        rate = options["lr"] * unbiased
        spread = pad._replace(term=pad.second).root(v, options["eps"] * unbiased)
        pad.addcdiv_(p, g, spread, -rate * (1 - now) / (1 - so_far))
        pad.addcdiv_(p, m, spread, -rate * ahead / (1 - so_far * ahead))


class RAdam(UpdateRule):
    """Adam that first waits until v̂ is reliable:  p ← p − lr m̂ while ρ ≤ 5,  then  p ← p − lr r m̂ / √v̂

    ρ = ρ∞ − 2 t β₂ᵗ / (1 − β₂ᵗ), with ρ∞ = 2 / (1 − β₂) − 1, is the effective number of gradients in v; and
    r = √((ρ−4)(ρ−2)ρ∞ / ((ρ∞−4)(ρ∞−2)ρ)) shortens the step while they are few.
    Liu et al. 2020, “On the Variance of the Adaptive Learning Rate and Beyond”, algorithm 2. The bound on ρ is 4 in the
    paper, and 5 in PyTorch and in the authors' code. https://arxiv.org/abs/1908.03265
    """

    options = MEANS | Group(decoupled_weight_decay=False, maximize=False)
    remembered = "exp_avg", "exp_avg_sq"

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, m: Any, v: Any) -> None:
        (beta1, beta2), t = options["betas"], state["step"]
        pad.lerp_(m, g, 1 - beta1)
        pad.mean_square_(v, g, 1 - beta2)
        rate = options["lr"] / (1 - power(beta1, t))
        unbiased = 1 - power(beta2, t)
        rho_end = 2 / (1 - beta2) - 1
        if rho_end <= 5:
            pad.add_(p, m, -rate)
        else:
            rho = rho_end - 2 * t * power(beta2, t) / unbiased
            known = rho > 5
            r2 = (rho - 4) * (rho - 2) * rho_end / ((rho_end - 4) * (rho_end - 2) * rho)
            spread = where(known, pad.root(v, options["eps"]), 1)
            pad.addcdiv_(p, m, spread, -rate * sqrt(where(known, r2, 1)) * sqrt(where(known, unbiased, 1)))


class Whole(UpdateRule):
    """An optimiser whose `move` always works on cells (update_rules.py), in eager mode too."""

    def sweep(self, p: Any, g: Any, means: list[Any], options: Group, state: State) -> None:
        with no_grad():
            cells = [SymbolCell(Tensor(x)) for x in (p, *means)]
            pad = Scratch(Words(), SymbolCell(), SymbolCell(), SymbolCell())
            gradient = effective_gradient(cells[0], SymbolCell(Tensor(g)), pad, options)
            self.move(cells[0], gradient, pad, options, state, *cells[1:])
        for array, cell in zip((p, *means), cells):
            array[...] = cell.symbol.value


class Adafactor(Whole):
    """p ← p − α u / max(1, rms(u) / d), with u = g / √v and α = max(ε₂, rms(p)) min(lr, 1 / √t)

    For a matrix, v is the product of two vectors, the means of rows and columns of g², which saves memory.
    Shazeer & Stern 2018, “Adafactor”, algorithms 4 and 5. https://arxiv.org/abs/1804.04235
    """

    options = Group(lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, maximize=False)
    options |= Group(decoupled_weight_decay=True)

    def state_names(self, p: Any, options: Group) -> tuple[str, ...]:
        return ("row_var", "col_var") if p.ndim > 1 else ("variance",)

    def shape(self, p: Any, name: str) -> tuple[int, ...]:
        if name == "row_var":
            return (*p.shape[:-1], 1)
        return (*p.shape[:-2], 1, p.shape[-1]) if name == "col_var" else p.shape

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, *means: Any) -> None:
        x, gx, t, lr = p.symbol, g.symbol, state["step"], options["lr"]
        least, least_size = options["eps"]
        least = float(np.finfo(x.dtype).eps) if least is None else least
        square, share, rate = gx * gx, p.cast_operand(power(t, options["beta2_decay"])), 1 / sqrt(t)
        rate = p.cast_operand(where(lr < rate, lr, rate))
        decayed = p.cast_operand(1 - lr * options["weight_decay"])
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
    """m ← μ m + (1 − μ) g;  p ← (1 − lr λ) p − lr √max(1, rows / columns) O(m), for matrices p

    O(m) approximates the orthogonal matrix nearest to m, by ns_steps of the Newton-Schulz iteration, in bfloat16's
    8 binary digits as in PyTorch. Jordan et al. 2024, “Muon: An optimizer for hidden layers in neural networks”.

    nesterov        look ahead to μ m + (1 − μ) g
    adjust_lr_fn    "match_rms_adamw" for a factor of 0.2 √max(rows, columns), so that rates are comparable with AdamW's
    """

    options = Group(lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True, ns_coefficients=(3.4445, -4.775, 2.0315))
    options |= Group(eps=1e-7, ns_steps=5, adjust_lr_fn=None, maximize=False, decoupled_weight_decay=True)
    remembered, optional = ("momentum_buffer",), ("step",)

    def add_param_group(self, param_group: Group) -> None:
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if p.ndim != 2:
                raise ShapeError(f"Muon updates matrices only, and got {p.spec}: give other parameters to AdamW")

    def move(self, p: Any, g: Any, pad: Scratch, options: Group, state: State, m: Any) -> None:
        mu, (a, b, c), (rows, columns) = options["momentum"], options["ns_coefficients"], p.symbol.shape
        pad.lerp_(m, g, 1 - mu)
        x = round_to_bfloat16(g.symbol + (m.symbol - g.symbol) * mu if options["nesterov"] else m.symbol)
        x = x.mT if rows > columns else x
        x = round_to_bfloat16(x / round_to_bfloat16((x * x).sum().sqrt()).clamp(min=options["eps"]))
        for _ in range(options["ns_steps"]):
            gram = round_to_bfloat16(x @ x.mT)
            x = round_to_bfloat16(x * a + round_to_bfloat16(gram * b + (gram @ gram) * c) @ x)
        matched = options["adjust_lr_fn"] == "match_rms_adamw"
        factor = 0.2 * root(max(rows, columns)) if matched else root(max(1, rows / columns))
        p -= (x.mT if rows > columns else x).astype(p.symbol.dtype) * p.cast_operand(options["lr"] * factor)


def round_to_bfloat16(x: Any) -> Any:
    """x rounded to bfloat16's 8 binary digits, in float32: Dekker 1971, “A floating-point technique”, §5."""
    x = x.astype(np.float32)
    far = x * 65537.0
    return far - (far - x)
