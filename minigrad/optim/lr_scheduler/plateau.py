"""Schedules made of schedules: one after the other, or one upon the other.

A schedule that watches the loss instead of the clock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from math import inf
from typing import Any, SupportsFloat

from ..optimizer import Optimizer
from .scheduler import LRScheduler, each_group


class SequentialLR(LRScheduler):
    """The first schedule until the first milestone, then the second from its own step 0, and so on."""

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ):
        self.schedulers, self.milestones = together(self, schedulers, optimizer), list(milestones)
        if len(milestones) != len(schedulers) - 1 or list(milestones) != sorted(milestones):
            raise ValueError(
                f"SequentialLR needs a milestone between any two schedules, in order: {len(schedulers) - 1} for these "
                f"{len(schedulers)}, and got {list(milestones)}"
            )
        super().__init__(optimizer, last_epoch)

    def part(self, t: float) -> tuple[LRScheduler, float]:
        """The schedule in force at step t, and what step that is of its own."""
        i = bisect_right(self.milestones, t)
        return self.schedulers[i], t - self.milestones[i - 1] if i else t

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        schedule, own = self.part(t)
        return schedule.lr_at(own, base, group)

    def apply(self, t: float) -> None:
        schedule, own = self.part(t)
        schedule.step(own)
        self._last_lr = schedule.get_last_lr()


class ChainedScheduler(LRScheduler):
    """Each schedule takes the rate of the one before it for its base: factors multiply."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None):
        self.schedulers = together(self, schedulers, optimizer)
        super().__init__(self.schedulers[0].optimizer)

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        for schedule in self.schedulers:
            base = schedule.lr_at(t, base, group)
        return base


def together(joined: object, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None) -> list[LRScheduler]:
    """The schedules, if all are functions of time and of one optimiser."""
    name = type(joined).__name__
    if not schedulers:
        raise ValueError(f"{name} joins schedules, and got none")
    for i, schedule in enumerate(schedulers):
        if not isinstance(schedule, LRScheduler):
            raise ValueError(f"{name} joins schedules that depend on time alone, and number {i} is {schedule!r}")
        if schedule.optimizer is not (schedulers[0].optimizer if optimizer is None else optimizer):
            raise ValueError(f"{name} joins schedules of one optimiser, and number {i} has another")
    return list(schedulers)


class ReduceLROnPlateau:
    """lr ← max(lr · factor, min_lr), once the metric has been no better for more than `patience` steps.

    mode              "min" if lower is better, "max" if higher
    threshold         how much better counts: a part of the best ("rel"), or as a number ("abs")
    cooldown          steps after a reduction in which nothing is counted
    eps               a smaller change of lr is not made
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0.0,
        eps: float = 1e-8,
    ):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"ReduceLROnPlateau schedules an optimiser of mg.optim, and got {optimizer!r}")
        if not 0 <= factor < 1:
            raise ValueError(f"ReduceLROnPlateau reduces, by a factor of at least 0 and below 1, and got {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"mode is 'min' or 'max' and threshold_mode 'rel' or 'abs', and got {mode!r} and {threshold_mode!r}"
            )
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lrs = each_group(optimizer, "min_lr", min_lr)
        self.best = inf if mode == "min" else -inf
        self.last_epoch = self.num_bad_epochs = self.cooldown_counter = 0

    def step(self, metrics: SupportsFloat) -> None:
        """Take note of the metric, and reduce the rates if it has not improved for too long."""
        self.last_epoch += 1
        current = float(metrics)
        if self.better(current):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self.reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def better(self, current: float) -> bool:
        """Whether the metric beats the best by more than the threshold."""
        match self.mode, self.threshold_mode:
            case "min", "rel":
                return current < self.best * (1 - self.threshold)
            case "min", "abs":
                return current < self.best - self.threshold
            case "max", "rel":
                return current > self.best * (1 + self.threshold)
        return current > self.best + self.threshold

    def reduce(self) -> None:
        for group, lowest in zip(self.optimizer.param_groups, self.min_lrs):
            lr = max(group["lr"] * self.factor, lowest)
            if group["lr"] - lr > self.eps:
                group["lr"] = lr

    def get_last_lr(self) -> list[float]:
        """The rates now, one for each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """What a run has changed."""
        return {name: getattr(self, name) for name in CHANGES}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from another's state."""
        for name in CHANGES:
            setattr(self, name, state_dict[name])


CHANGES = ("best", "num_bad_epochs", "cooldown_counter", "last_epoch")
