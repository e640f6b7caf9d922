"""GradScaler: the loss times a large number, so that float16 holds its gradients; steps that overflow are left out.

    scaler = mg.amp.GradScaler()
    with mg.autocast(dtype=mg.float16):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()      # gradients times the scale
    scaler.step(optimizer)             # divided by it again; no step if one is infinite, or no number
    scaler.update()                    # half the scale after such a step, twice after many without one

Micikevicius et al. 2018, “Mixed Precision Training”, section 3.2. https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

import numpy as np

from ...engine.base.damaged_state import refuse_by_name
from ...engine.base.errors import DTypeError, GraphError
from ...engine.core.modes import current, no_grad
from ...engine.core.stateful import Stateful
from ...engine.methods import Operand
from ...engine.tensor.inplace import write
from ...engine.tensor.tensor import Tensor, tensor

LEAST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Rule:
    """How a scale changes: it grows after so many steps in a row without an overflow, and backs off after one with."""

    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    growth_interval: int = 2000

    def __post_init__(self) -> None:
        waits = self.growth_interval >= 1 and self.growth_interval % 1 == 0
        if not 1 < self.growth_factor < inf or not 0 < self.backoff_factor < 1 or not waits:
            raise ValueError(f"a scale grows by > 1, backs off by < 1, and waits 1 step, 2, or more, and got {self}")

    def applied(self, scale: float, calm: int, overflow: bool) -> tuple[float, int]:
        """The next scale, and for how many steps it has been calm. Where float32 would not hold it, it stays."""
        calm = 0 if overflow else calm + 1
        is_due = calm >= self.growth_interval
        factor = self.backoff_factor if overflow else self.growth_factor if is_due else 1.0
        return scale * factor if LEAST <= scale * factor <= LARGEST else scale, 0 if is_due else calm


def number(name: str) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """PyTorch's two methods for a number of the rule: to read it, and to change it."""

    def change(self: Any, new: Any) -> None:
        self.rule = replace(self.rule, **{name: new})

    return lambda self: getattr(self.rule, name), change


class GradScaler(Stateful):
    """A scale for the loss, and what becomes of it.

    init_scale    to begin with
    enabled       False for one that does nothing, and lets optimisers step

    The scale is a tensor, which a traced function reads anew in each call: scale() and backward() may be traced.
    """

    def __init__(
        self,
        device: Any = None,
        init_scale: float = 65536.0,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ):
        self.factor: Tensor = tensor(1.0, np.float32, device=device if enabled and device is not None else "cpu")
        self.enabled, self.growth_tracker = enabled, 0
        self.rule = Rule(growth_factor, backoff_factor, growth_interval)
        self.set_scale(init_scale)
        self.overflowed: dict[Any, bool] = {}  # optimiser that was unscaled → whether a gradient was not finite
        self.stepped: set[Any] = set()

    def set_scale(self, scale: float) -> None:
        """Scale by this. Raises ValueError if it is no positive number of float32."""
        if not LEAST <= scale <= LARGEST:
            raise ValueError(f"a scale is from {LEAST:.1e} to {LARGEST:.1e}, as float32 has it, and got {scale}")
        write(self.factor, np.float32(scale))

    def scale(self, outputs: Any) -> Any:
        """The loss times the scale; of several, each."""
        if not self.enabled:
            return outputs
        if isinstance(outputs, Operand):
            return outputs * self.factor.to(outputs.spec.device)
        if isinstance(outputs, list | tuple):
            return type(outputs)(map(self.scale, outputs))
        raise TypeError(f"scale() is of a loss, or of a list of them, and got {outputs!r}")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, in place: to look at them, or to clip them.

        Raises RuntimeError the second time, DTypeError for gradients in float16.
        """
        if not self.enabled:
            return
        eager("unscale_()")
        if optimizer in self.stepped:
            raise RuntimeError("unscale_() came after step(): unscale, then step, then update()")
        if optimizer in self.overflowed:
            raise RuntimeError("unscale_() was called on this optimizer already, and update() not since then")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for g in grads:
            if g.dtype == np.float16:
                raise DTypeError(
                    f"a gradient is {g.spec}, which cannot hold it unscaled: keep the parameters in float32, as master "
                    "weights, and call the model in a block of mg.autocast(dtype=mg.float16)"
                )
        if grads:
            with no_grad():
                self.overflowed[optimizer] = not all(bool(g.isfinite().all()) for g in grads)
                for g in grads:
                    g *= 1 / self.factor.item()

    def step(self, optimizer: Any, *args: Any, **options: Any) -> Any:
        """The optimiser's step, of unscaled gradients; None, and no step, where one of them is not finite."""
        if not self.enabled:
            return optimizer.step(*args, **options)
        eager("step()")
        if args or "closure" in options:
            raise RuntimeError("step() takes no closure: it computes gradients anew, which nobody would have unscaled")
        if optimizer in self.stepped:
            raise RuntimeError("step() was called on this optimizer already, and update() not since then")
        if optimizer not in self.overflowed:
            self.unscale_(optimizer)
        if optimizer not in self.overflowed:
            raise RuntimeError("no parameter of this optimizer has a gradient: scale(loss).backward() comes first")
        self.stepped.add(optimizer)
        return None if self.overflowed[optimizer] else optimizer.step(**options)

    def update(self, new_scale: Any = None) -> None:
        """Change the scale by what came of the steps since the last update; or to new_scale."""
        if not self.enabled:
            return
        eager("update()")
        if new_scale is None and not self.overflowed:
            raise RuntimeError("update() comes after step(), and none was taken since the last one")
        if new_scale is None:
            overflow = any(self.overflowed.values())
            new_scale, self.growth_tracker = self.rule.applied(self.factor.item(), self.growth_tracker, overflow)
        self.set_scale(float(new_scale))
        self.overflowed.clear()
        self.stepped.clear()

    # -- to read, and to save ------------------------------------------------------------------------

    def get_scale(self) -> float:
        """The scale; 1 where it is not enabled."""
        return float(self.factor.item()) if self.enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self.enabled

    get_growth_factor, set_growth_factor = number("growth_factor")
    get_backoff_factor, set_backoff_factor = number("backoff_factor")
    get_growth_interval, set_growth_interval = number("growth_interval")

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() takes; empty where it is not enabled. Names are PyTorch's."""
        state = {"scale": self.get_scale(), **asdict(self.rule), "_growth_tracker": self.growth_tracker}
        return state if self.enabled else {}

    @refuse_by_name
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on as the one that gave this state. Raises RuntimeError where it is another's."""
        if not self.enabled:
            return
        if state_dict.keys() != self.state_dict().keys():
            came = ", ".join(state_dict) or "nothing, as that of one that is not enabled"
            raise RuntimeError(f"a GradScaler's state has {', '.join(self.state_dict())}, and this one {came}")
        scale, *options, calm = (state_dict[name] for name in self.state_dict())
        rule = Rule(*options)
        if not isinstance(calm, int) or calm < 0:
            raise ValueError(f"_growth_tracker must be a non-negative integer, got {calm!r}")
        self.set_scale(scale)
        self.rule, self.growth_tracker = rule, calm


def eager(asked: str) -> None:
    """Raises GraphError while a graph is built."""
    if current.mode.builder is not None:
        raise GraphError(
            f"GradScaler.{asked} decides by values whether there is a step, and a graph has none yet: trace the "
            "loss and its backward(), and call it outside"
        )
