"""A schedule that goes up and down, over and over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .cosine import momenta, set_momentum
from .scheduler import LRScheduler, each_group, whole

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
