"""Schedules: the learning rate as a function of time.

A schedule is a function, `lr_at(t, base)`: the rate at step t of a group that began with `base`. So it remembers
nothing but t, it can be asked about any step, and two are joined by calling one, then the other. One schedule is
no function of time: `ReduceLROnPlateau` watches the loss.
"""

from __future__ import annotations

from math import floor
from typing import Any

from ...base.errors import GraphError
from ...core.modes import current
from ..optimizer import Optimizer


class LRScheduler:
    """A learning rate for each step, given to every group of an optimiser.

    optimizer     whose param_groups are told; a group keeps the rate it had at first as "initial_lr"
    last_epoch    the step of the last call; −1 is the start

    Call `step` after the optimiser's, once an epoch or once a batch, as the schedule counts.
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(self).__name__} schedules an optimiser of mg.optim, and got {optimizer!r}")
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch != -1 and "initial_lr" not in group:
                raise ValueError(
                    f"to resume at last_epoch={last_epoch}, group {i} must say its initial_lr: load the optimiser's "
                    "state_dict first"
                )
            group.setdefault("initial_lr", group["lr"])
        self.optimizer = optimizer
        self.base_lrs: list[float] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def lr_at(self, t: float, base: float, group: int = 0) -> float:
        """The learning rate at step t of a group, by its number, that began with `base`."""
        raise NotImplementedError(f"{type(self).__name__} does not say lr_at(t, base)")

    def step(self, epoch: float | None = None) -> None:
        """Go to the next step, or to step `epoch`, which may lie between two."""
        if epoch is not None and not epoch >= 0:
            raise ValueError(f"a schedule begins at step 0, and got epoch={epoch}")
        if current.mode.is_traced:
            raise GraphError(
                f"{type(self).__name__}.step() counts in Python, which runs once, while the graph is built: call it "
                "outside the traced function. The graph reads the rate anew in each run"
            )
        t = self.last_epoch + 1 if epoch is None else epoch
        self.apply(t)
        self.last_epoch = floor(t)

    def apply(self, t: float) -> None:
        """Tell the optimiser its rates at step t."""
        for i, (group, base) in enumerate(zip(self.optimizer.param_groups, self.base_lrs, strict=True)):
            group["lr"] = self.lr_at(t, base, i)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The rates of the last step, one for each group."""
        return list(self._last_lr)

    def state_dict(self) -> dict[str, Any]:
        """What a run has changed. What the constructor was told, it is told again."""
        return {"last_epoch": self.last_epoch, "base_lrs": list(self.base_lrs), "_last_lr": self.get_last_lr()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from the step of another's state; the optimiser has its rate from its own."""
        self.last_epoch = state_dict["last_epoch"]
        self.base_lrs = list(state_dict["base_lrs"])
        self._last_lr = list(state_dict["_last_lr"])


def each_group(optimizer: Optimizer, name: str, given: Any) -> list[Any]:
    """One for each group: `given` itself if it is a list of as many, or `given` for all."""
    n = len(optimizer.param_groups)
    if not isinstance(given, list | tuple):
        return [given] * n
    if len(given) != n:
        raise ValueError(f"{name} needs one value, or one for each of the {n} groups, and got {len(given)}")
    return list(given)


def whole(schedule: object, name: str, n: Any) -> int:
    """n, if it is a positive whole number."""
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"{type(schedule).__name__} needs {name} to be a positive whole number, and got {n!r}")
    return n
