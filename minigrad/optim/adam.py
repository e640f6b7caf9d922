"""Adam and its kin: the gradient's running mean, over its running spread."""

from __future__ import annotations

from typing import Any, ClassVar

from .groups import Group, State
from .inplace import Pad, power, sqrt, where
from .optimizer import Rule

MEANS = Group(lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)


class Adam(Rule):
    """m ← β₁ m + (1 − β₁) g;  v ← β₂ v + (1 − β₂) g²;  p ← p − lr m̂ / (√v̂ + ε)

    with m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ): both means began at 0, and this undoes it. A step is of size
    about lr, whatever the gradient's unit. Kingma & Ba 2015, “Adam”, algorithm 1, in the order of the end of its
    section 2: the fraction is multiplied by √(1 − β₂ᵗ) above and below. https://arxiv.org/abs/1412.6980

    amsgrad    divide by the largest v so far: Reddi et al. 2018, “On the Convergence of Adam and Beyond”, algorithm 2
    """

    options = MEANS | Group(amsgrad=False, maximize=False, decoupled_weight_decay=False)

    def carried(self, options: Group) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")[: 3 if options["amsgrad"] else 2]

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, m: Any, v: Any, v_max: Any = None) -> None:
        (beta1, beta2), t = options["betas"], state["step"]
        pad.lerp_(m, g, 1 - beta1)
        pad.mean_square_(v, g, 1 - beta2)
        if v_max is not None:
            v = pad.xp.maximum(v_max, v, out=v_max)
        unbiased = sqrt(1 - power(beta2, t))
        pad.addcdiv_(p, m, pad.root(v, options["eps"] * unbiased), -options["lr"] * unbiased / (1 - power(beta1, t)))


class AdamW(Adam):
    """Adam, and p ← (1 − lr λ) p: the decay is not divided by the gradient's spread.

    Loshchilov & Hutter 2019, “Decoupled Weight Decay Regularization”, algorithm 2. https://arxiv.org/abs/1711.05101
    """

    options = Adam.options | Group(weight_decay=1e-2, decoupled_weight_decay=True)


class Adamax(Rule):
    """m ← β₁ m + (1 − β₁) g;  u ← max(β₂ u, |g| + ε);  p ← p − lr / (1 − β₁ᵗ) m / u

    Adam with the largest recent gradient for a spread. Kingma & Ba 2015, “Adam”, algorithm 2.
    """

    options = MEANS | Group(lr=2e-3, maximize=False)

    def carried(self, options: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_inf"

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, m: Any, u: Any) -> None:
        (beta1, beta2), t = options["betas"], state["step"]
        pad.lerp_(m, g, 1 - beta1)
        u *= beta2
        size = pad.xp.absolute(g, out=pad.term)
        size += options["eps"]
        pad.xp.maximum(u, size, out=u)
        pad.addcdiv_(p, m, u, -options["lr"] / (1 - power(beta1, t)))


class NAdam(Rule):
    """Adam with Nesterov's look ahead:  p ← p − lr (μₜ₊₁ m / (1 − ∏μ μₜ₊₁) + (1 − μₜ) g / (1 − ∏μ)) / (√v̂ + ε)

    where μₜ = β₁ (1 − ½ 0.96^(ψ t)) warms the momentum up, and ∏μ is the product of those so far.
    Dozat 2016, “Incorporating Nesterov Momentum into Adam”, algorithm 2.
    """

    options = MEANS | Group(lr=2e-3, momentum_decay=4e-3, decoupled_weight_decay=False, maximize=False)

    counters: ClassVar[dict[str, float]] = {**Rule.counters, "mu_product": 1.0}

    def carried(self, options: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def momentum(self, t: int, options: Group) -> float:
        """μₜ"""
        mu: float = options["betas"][0] * (1 - 0.5 * power(0.96, t * options["momentum_decay"]))
        return mu

    def count(self, state: State, options: Group) -> None:
        super().count(state, options)
        state["mu_product"] = state.get("mu_product", 1.0) * self.momentum(state["step"], options)

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, m: Any, v: Any) -> None:
        (beta1, beta2), t, so_far = options["betas"], state["step"], state["mu_product"]
        now, ahead = self.momentum(t, options), self.momentum(t + 1, options)
        pad.lerp_(m, g, 1 - beta1)
        pad.mean_square_(v, g, 1 - beta2)
        unbiased = sqrt(1 - power(beta2, t))
        rate = options["lr"] * unbiased
        spread = pad._replace(term=pad.second).root(v, options["eps"] * unbiased)
        pad.addcdiv_(p, g, spread, -rate * (1 - now) / (1 - so_far))
        pad.addcdiv_(p, m, spread, -rate * ahead / (1 - so_far * ahead))


class RAdam(Rule):
    """Adam that waits until it knows the spread:  p ← p − lr r m̂ / √v̂,  and  p ← p − lr m̂ while ρ ≤ 5

    ρ = ρ∞ − 2 t β₂ᵗ / (1 − β₂ᵗ), with ρ∞ = 2 / (1 − β₂) − 1, is how many gradients v has seen, in effect; and
    r = √((ρ−4)(ρ−2)ρ∞ / ((ρ∞−4)(ρ∞−2)ρ)) shortens the step while they are few.
    Liu et al. 2020, “On the Variance of the Adaptive Learning Rate and Beyond”, algorithm 2; its bound on ρ is 4,
    PyTorch's and its authors' code's is 5. https://arxiv.org/abs/1908.03265
    """

    options = MEANS | Group(decoupled_weight_decay=False, maximize=False)

    def carried(self, options: Group) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def move(self, p: Any, g: Any, pad: Pad, options: Group, state: State, m: Any, v: Any) -> None:
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
