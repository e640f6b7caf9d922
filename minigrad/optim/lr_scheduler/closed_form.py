"""Schedules that multiply: the rate is the group's own, times a factor that falls or rises with t.

Schedules along half a wave: slow to leave, slow to arrive.

A schedule that goes up and down, over and over.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import cos, pi, prod
from typing import Any

from ..groups import Group
from ..optimizer import Optimizer
from .scheduler import LRScheduler, each_group, whole


class LambdaLR(LRScheduler):
    """base · f(t)

    lr_lambda    f, or a list of one for each group
    """

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[float], float] | Sequence[Callable[[float], float]],
        last_epoch: int = -1,
    ):
        self.lr_lambdas = each_group(optimizer, "lr_lambda", lr_lambda)
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return base * float(self.lr_lambdas[group](t))


class MultiplicativeLR(LambdaLR):
    """base · f(1) · f(2) ⋯ f(t)"""

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return float(base * prod(self.lr_lambdas[group](k) for k in range(1, int(t) + 1)))


class StepLR(LRScheduler):
    """base · γ^⌊t / step_size⌋"""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1):
        self.step_size, self.gamma = whole(self, "step_size", step_size), gamma
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return float(base * self.gamma ** (t // self.step_size))


class MultiStepLR(LRScheduler):
    """base · γⁿ, where n milestones have been passed"""

    def __init__(self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1):
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return float(base * self.gamma ** bisect_right(self.milestones, t))


class ExponentialLR(LRScheduler):
    """base · γᵗ"""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return float(base * self.gamma**t)


class ConstantLR(LRScheduler):
    """base · factor for total_iters steps, then base"""

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1):
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR holds the rate down, by a factor from 0 to 1, and got {factor}")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return base * self.factor if t < self.total_iters else base


class LinearLR(LRScheduler):
    """base times a line from start_factor to end_factor, over total_iters steps: a warm-up"""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ):
        if not (0 < start_factor <= 1 and 0 <= end_factor <= 1):
            raise ValueError(
                f"LinearLR needs 0 < start_factor ≤ 1 and 0 ≤ end_factor ≤ 1, and got {start_factor} and {end_factor}"
            )
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = whole(self, "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        done = min(t / self.total_iters, 1)
        return base * (self.start_factor + (self.end_factor - self.start_factor) * done)


class PolynomialLR(LRScheduler):
    """base · (1 − t / total_iters)^power, and 0 from there on"""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1):
        self.total_iters, self.power = whole(self, "total_iters", total_iters), power
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return float(base * (1 - min(t / self.total_iters, 1)) ** self.power)


def cosine(start: float, end: float, done: float) -> float:
    """From start to end along half a wave, as `done` goes from 0 to 1."""
    return end + (start - end) * (1 + cos(pi * done)) / 2


def line(start: float, end: float, done: float) -> float:
    """From start to end, evenly."""
    return start + (end - start) * done


class CosineAnnealingLR(LRScheduler):
    """η_min + ½ (base − η_min) (1 + cos(π t / T_max))

    Loshchilov & Hutter 2017, “SGDR: Stochastic Gradient Descent with Warm Restarts”, eq. 5, without the restarts:
    after T_max it climbs the wave again. https://arxiv.org/abs/1608.03983
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_max, self.eta_min = whole(self, "T_max", T_max), eta_min
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return cosine(base, self.eta_min, t / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """The same cosine, from the start again after T_0 steps, after T_0 · T_mult more, after T_0 · T_mult² more …

    Loshchilov & Hutter 2017, eq. 5. `step(epoch + i / n)` follows it between epochs.
    """

    def __init__(self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1):
        self.T_0, self.T_mult, self.eta_min = whole(self, "T_0", T_0), whole(self, "T_mult", T_mult), eta_min
        super().__init__(optimizer, last_epoch)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        if self.T_mult == 1:
            return cosine(base, self.eta_min, t % self.T_0 / self.T_0)
        period = self.T_0
        while t >= period:
            t, period = t - period, period * self.T_mult
        return cosine(base, self.eta_min, t / period)


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor up to max_lr, then down to a final_div_factor-th of where it began.

    pct_start         the part of all steps that goes up
    three_phase       down as long as up, to the first rate; what is left goes to the last one
    cycle_momentum    momentum (β₁ of Adam and its kin) does the opposite, from max_momentum down to base_momentum

    Smith & Topin 2019, “Super-Convergence”, §4; Smith 2018, “A disciplined approach to neural network
    hyper-parameters: Part 1”, §4.3. https://arxiv.org/abs/1803.09820
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ):
        if total_steps is None:
            total_steps = whole(self, "epochs", epochs) * whole(self, "steps_per_epoch", steps_per_epoch)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"pct_start is the part of the steps that goes up, from 0 to 1, and got {pct_start}")
        if anneal_strategy not in CURVES:
            raise ValueError(f"anneal_strategy is one of {sorted(CURVES)}, and got {anneal_strategy!r}")
        self.total_steps, self.curve = whole(self, "total_steps", total_steps), CURVES[anneal_strategy]
        top = pct_start * total_steps - 1
        self.ends = [top, 2 * top, total_steps - 1] if three_phase else [top, total_steps - 1]
        self.levels = [1, div_factor, 1, 1 / final_div_factor] if three_phase else [1, div_factor, 1 / final_div_factor]

        self.momenta = momenta(optimizer, base_momentum, max_momentum) if cycle_momentum else []
        if last_epoch == -1:
            for group, highest in zip(optimizer.param_groups, each_group(optimizer, "max_lr", max_lr)):
                group["initial_lr"] = highest / div_factor
        super().__init__(optimizer, last_epoch)

    def between(self, levels: list[float], t: float) -> float:
        """Where step t is on the way from level to level."""
        i = min(bisect_left(self.ends, t), len(self.ends) - 1)
        begin, end = self.ends[i - 1] if i else 0, self.ends[i]
        done = min((t - begin) / (end - begin), 1) if end > begin else 1
        return self.curve(levels[i], levels[i + 1], done)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        if t > self.total_steps:
            raise ValueError(f"this cycle has {self.total_steps} steps, and was asked for number {t}")
        return self.between([base * level for level in self.levels], t)

    def apply(self, t: float) -> None:
        super().apply(t)
        for group, (high, low) in zip(self.optimizer.param_groups, self.momenta):
            set_momentum(group, self.between([high, low, high, high], t))


def momenta(optimizer: Optimizer, low: Any, high: Any) -> list[tuple[float, float]]:
    """The highest and the lowest momentum of each group."""
    if not optimizer.defaults.keys() & {"momentum", "betas"}:
        raise ValueError(f"{optimizer.name} has no momentum to cycle: pass cycle_momentum=False")
    return list(zip(each_group(optimizer, "max_momentum", high), each_group(optimizer, "base_momentum", low)))


def set_momentum(group: Group, momentum: float) -> None:
    """Give a group its momentum: for Adam and its kin, β₁."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


CURVES = {"cos": cosine, "linear": line}


MODES: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "triangular": ("cycle", lambda gamma, x: 1.0),
    "triangular2": ("cycle", lambda gamma, x: 0.5 ** (x - 1)),
    "exp_range": ("iterations", lambda gamma, x: gamma**x),
}


class CyclicLR(LRScheduler):
    """base + (max_lr − base) · h · s, h going from 0 to 1 in step_size_up steps, and back in step_size_down

    mode              s is 1 ("triangular"), half of itself in each cycle ("triangular2"), or γᵗ ("exp_range")
    scale_fn          another s, of the number of the cycle, from 1, or with scale_mode="iterations" of t
    cycle_momentum    momentum (β₁ of Adam and its kin) does the opposite, from max_momentum down to base_momentum

    Smith 2017, “Cyclical Learning Rates for Training Neural Networks”, §3. https://arxiv.org/abs/1506.01186
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ):
        if scale_fn is None and mode not in MODES:
            raise ValueError(f"mode is one of {sorted(MODES)}, or scale_fn is given, and got {mode!r}")
        self.up = whole(self, "step_size_up", step_size_up)
        self.down = self.up if step_size_down is None else whole(self, "step_size_down", step_size_down)
        usual = MODES.get(mode, MODES["triangular"])
        self.scale_mode = scale_mode if scale_fn else usual[0]
        self.scale = scale_fn if scale_fn else lambda x: usual[1](gamma, x)
        self.max_lrs = each_group(optimizer, "max_lr", max_lr)
        self.momenta = momenta(optimizer, base_momentum, max_momentum) if cycle_momentum else []
        if last_epoch == -1:
            for group, lowest in zip(optimizer.param_groups, each_group(optimizer, "base_lr", base_lr)):
                group["initial_lr"] = lowest
        super().__init__(optimizer, last_epoch)

    def height(self, t: float) -> float:
        """h · s at step t."""
        cycle, place = divmod(t, self.up + self.down)
        h = place / self.up if place <= self.up else (self.up + self.down - place) / self.down
        return h * self.scale(cycle + 1 if self.scale_mode == "cycle" else t)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        return float(base + (self.max_lrs[group] - base) * self.height(t))

    def apply(self, t: float) -> None:
        super().apply(t)
        for group, (high, low) in zip(self.optimizer.param_groups, self.momenta):
            set_momentum(group, high - (high - low) * self.height(t))
