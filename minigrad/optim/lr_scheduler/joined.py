"""Schedules made of schedules: one after the other, or one upon the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ..optimizer import Optimizer
from .scheduler import LRScheduler


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
