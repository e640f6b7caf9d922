"""Schedules that multiply: the rate is the group's own, times a factor that falls or rises with t."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from math import prod

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
