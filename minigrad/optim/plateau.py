"""ReduceLROnPlateau, the only schedule that depends on the loss instead of the step; and checks of the options of all
schedules, and of the states they load.
"""

from __future__ import annotations

from inspect import signature
from math import inf
from numbers import Real
from typing import Any, SupportsFloat

from ..engine.base.damaged_state import refuse_by_name
from ..engine.core.stateful import Stateful
from .optimizer import Optimizer

CHANGING = {"last_epoch", "base_lrs", "_last_lr", "best", "num_bad_epochs", "cooldown_counter"}


class ReduceLROnPlateau(Stateful):
    """lr ← max(lr · factor, min_lr) when the metric has not improved for more than `patience` steps.

    mode              "min" if lower is better, "max" if higher
    threshold         the least improvement that counts: a fraction of the best ("rel"), or a difference ("abs")
    cooldown          the number of steps after a reduction in which bad steps are not counted
    eps               the least change of lr; smaller changes are not made
    """

    changing = "best", "num_bad_epochs", "cooldown_counter", "last_epoch"

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: float | list[float] = 0.0, eps: float = 1e-8,
    ):  # fmt: skip
        refuse_stranger(self, optimizer)
        if not 0 <= factor < 1:
            raise ValueError(f"ReduceLROnPlateau needs a factor of at least 0 and below 1, got {factor}")
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"mode must be 'min' or 'max', threshold_mode 'rel' or 'abs', got {mode!r} and {threshold_mode!r}"
            )
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.min_lr = each_group(optimizer, "min_lr", min_lr) and min_lr
        self.best = inf if mode == "min" else -inf
        self.last_epoch = self.num_bad_epochs = self.cooldown_counter = 0

    def step(self, metrics: SupportsFloat) -> None:
        """Record the metric, and reduce the rates if it has not improved for too long."""
        self.last_epoch += 1
        metric = float(metrics)
        if self.better(metric):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, lowest in zip(self.optimizer.param_groups, each_group(self.optimizer, "min_lr", self.min_lr)):
                lr = max(group["lr"] * self.factor, lowest)
                group["lr"] = lr if group["lr"] - lr > self.eps else group["lr"]
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def better(self, metric: float) -> bool:
        """Whether the metric beats the best by more than the threshold."""
        sign = 1 if self.mode == "max" else -1
        margin = sign * self.threshold
        bound = self.best * (1 + margin) if self.threshold_mode == "rel" else self.best + margin
        return sign * metric > sign * bound

    def get_last_lr(self) -> list[float]:
        """The current rate of each group."""
        return [group["lr"] for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The values that change during a run, and the options, which load_state_dict compares."""
        return settings(self) | {name: getattr(self, name) for name in self.changing}

    @refuse_by_name
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a saved state. Raises ValueError, and loads nothing, if its options are different."""
        refuse_other(self, state_dict, *self.changing)
        vars(self).update({name: state_dict[name] for name in self.changing})


def refuse_stranger(schedule: object, optimizer: Any) -> None:
    """Raises TypeError unless `optimizer` is an Optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(schedule).__name__} schedules an optimiser of mg.optim, and got {optimizer!r}")


def each_group(optimizer: Optimizer, name: str, given: Any) -> list[Any]:
    """One value for each group: those of the list `given`, or else `given` for all groups."""
    n = len(optimizer.param_groups)
    if not isinstance(given, list | tuple):
        return [given] * n
    if len(given) != n:
        raise ValueError(f"{name} needs one value, or one for each of the {n} groups, and got {len(given)}")
    return list(given)


def count(schedule: object, name: str, n: Any) -> int:
    """n. Raises ValueError unless n is a positive whole number."""
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"{type(schedule).__name__} needs {name} to be a positive whole number, and got {n!r}")
    return n


def plain(x: Any) -> bool:
    """Whether x is a number, a string, None, or a list of these."""
    return all(map(plain, x)) if isinstance(x, list | tuple) else isinstance(x, Real | str | type(None))


def settings(schedule: object) -> dict[str, Any]:
    """The kind of a schedule, and its options, without functions, which cannot be saved in files."""
    options = {name: x for name, x in vars(schedule).items() if name not in CHANGING and plain(x)}
    return {"schedule": type(schedule).__name__, **options}


def refuse_other(schedule: Any, state: Any, *changing: str) -> None:
    """Raises ValueError unless the state is of this kind of schedule with these options, and its values are valid."""
    own, name = settings(schedule), type(schedule).__name__
    if "schedule" not in state:  # states from PyTorch name no kind, and have the options of the constructor
        own = {option: x for option, x in own.items() if option in signature(type(schedule)).parameters}
    for option, x in own.items():
        if option not in state or (plain(state[option]) and state[option] != x):
            came = repr(state[option]) if option in state else "nothing"
            advice = "make the schedule with the saved options"
            raise ValueError(f"this {name} has {option}={x!r}, but the state has {came}: {advice}")
    if "schedule" in state and (unknown := state.keys() - own.keys() - CHANGING - {"schedulers"}):
        extra = f"it has {', '.join(sorted(unknown))}, which {name} does not have"
        raise ValueError(f"this state is of another schedule: {extra}")
    for each in changing:
        x = state.get(each)
        numbers = x if each in ("base_lrs", "_last_lr") and isinstance(x, list | tuple) else [x]
        least = -inf if each == "best" else -1 if each == "last_epoch" else 0
        whole = each in ("last_epoch", "num_bad_epochs", "cooldown_counter")
        if any(not isinstance(n, Real) or not float(n) >= least or (whole and float(n) % 1) for n in numbers):
            raise ValueError(f"{name} cannot continue from {each}={x!r}")
