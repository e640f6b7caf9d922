"""GradScaler: multiplies the loss by a large number, so that float16 can hold its gradients; skips steps that overflow.

    scaler = mg.amp.GradScaler()
    with mg.autocast(dtype=mg.float16):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()      # gradients times the scale
    scaler.step(optimizer)             # gradients divided by the scale; no step if one is infinite or NaN
    scaler.update()                    # halves the scale after an overflow, doubles it after many steps without one

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
class ScaleRule:
    """How the scale changes: it grows after growth_interval steps without overflow, and shrinks after an overflow."""

    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    growth_interval: int = 2000

    def __post_init__(self) -> None:
        waits = self.growth_interval >= 1 and self.growth_interval % 1 == 0
        if not 1 < self.growth_factor < inf or not 0 < self.backoff_factor < 1 or not waits:
            raise ValueError(f"a scale grows by > 1, backs off by < 1, and waits a whole number of steps, got {self}")

    def next_scale(self, scale: float, calm: int, overflow: bool) -> tuple[float, int]:
        """The next scale, and the steps since it changed. The scale stays if float32 cannot hold the new one."""
        calm = 0 if overflow else calm + 1
        is_due = calm >= self.growth_interval
        factor = self.backoff_factor if overflow else self.growth_factor if is_due else 1.0
        return scale * factor if LEAST <= scale * factor <= LARGEST else scale, 0 if is_due else calm


def rule_accessors(name: str) -> tuple[Callable[[Any], Any], Callable[[Any, Any], None]]:
    """A getter and a setter for a number of the rule, because PyTorch's GradScaler has them."""

    def change(self: Any, new: Any) -> None:
        self.rule = replace(self.rule, **{name: new})

    return lambda self: getattr(self.rule, name), change


class GradScaler(Stateful):
    """A scale for the loss, adjusted after each step.

    init_scale    the initial scale
    enabled       False makes the scaler do nothing: losses stay unscaled, and optimisers step as usual

    The scale is a tensor that a traced function reads in each call, so scale() and backward() may be traced.
    """

    def __init__(
        self, device: Any = None, init_scale: float = 65536.0, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ):  # fmt: skip
        self.factor: Tensor = tensor(1.0, np.float32, device=device if enabled and device is not None else "cpu")
        self.enabled, self.growth_tracker = enabled, 0
        self.rule = ScaleRule(growth_factor, backoff_factor, growth_interval)
        self.set_scale(init_scale)
        self.overflowed: dict[Any, bool] = {}  # optimiser with unscaled gradients → whether one is infinite or NaN
        self.stepped: set[Any] = set()

    def set_scale(self, scale: float) -> None:
        """Set the scale. Raises ValueError unless it is a positive, normal float32 number."""
        if not LEAST <= scale <= LARGEST:
            raise ValueError(f"a scale must be a float32 number from {LEAST:.1e} to {LARGEST:.1e}, got {scale}")
        write(self.factor, np.float32(scale))

    def scale(self, outputs: Any) -> Any:
        """The loss times the scale. A list or tuple of losses is scaled element by element."""
        if not self.enabled:
            return outputs
        if isinstance(outputs, Operand):
            return outputs * self.factor.to(outputs.spec.device)
        if isinstance(outputs, list | tuple):
            return type(outputs)(map(self.scale, outputs))
        raise TypeError(f"scale() takes a loss, or a list of losses, and got {outputs!r}")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimiser's parameters by the scale, in place. Call it before you clip gradients.

        Raises RuntimeError when called twice between two updates, DTypeError for gradients in float16.
        """
        if not self.enabled:
            return
        refuse_in_graph("unscale_()")
        if optimizer in self.stepped:
            raise RuntimeError("unscale_() came after step(): unscale, then step, then update()")
        if optimizer in self.overflowed:
            raise RuntimeError("unscale_() was already called on this optimizer: call update() first")
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
        """Unscale the gradients and take the optimiser's step; if a gradient is not finite, skip it and return None."""
        if not self.enabled:
            return optimizer.step(*args, **options)
        refuse_in_graph("step()")
        if args or "closure" in options:
            raise RuntimeError("step() takes no closure: the closure would compute gradients that are not unscaled")
        if optimizer in self.stepped:
            raise RuntimeError("step() was already called on this optimizer: call update() first")
        if optimizer not in self.overflowed:
            self.unscale_(optimizer)
        if optimizer not in self.overflowed:
            raise RuntimeError("no parameter of this optimizer has a gradient: scale(loss).backward() comes first")
        self.stepped.add(optimizer)
        return None if self.overflowed[optimizer] else optimizer.step(**options)

    def update(self, new_scale: Any = None) -> None:
        """Shrink the scale if a step since the last update overflowed, or let it grow; or set it to new_scale."""
        if not self.enabled:
            return
        refuse_in_graph("update()")
        if new_scale is None and not self.overflowed:
            raise RuntimeError("update() comes after step(), and step() was not called since the last update()")
        if new_scale is None:
            overflow = any(self.overflowed.values())
            new_scale, self.growth_tracker = self.rule.next_scale(self.factor.item(), self.growth_tracker, overflow)
        self.set_scale(float(new_scale))
        self.overflowed.clear()
        self.stepped.clear()

    # -- reading and saving --------------------------------------------------------------------------

    def get_scale(self) -> float:
        """The scale; 1 if not enabled."""
        return float(self.factor.item()) if self.enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether the scaler is enabled."""
        return self.enabled

    get_growth_factor, set_growth_factor = rule_accessors("growth_factor")
    get_backoff_factor, set_backoff_factor = rule_accessors("backoff_factor")
    get_growth_interval, set_growth_interval = rule_accessors("growth_interval")

    def state_dict(self) -> dict[str, Any]:
        """The state for load_state_dict(); empty if not enabled. Names are PyTorch's."""
        state = {"scale": self.get_scale(), **asdict(self.rule), "_growth_tracker": self.growth_tracker}
        return state if self.enabled else {}

    @refuse_by_name
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a saved state. Raises RuntimeError if it is not the state of an enabled GradScaler."""
        if not self.enabled:
            return
        if state_dict.keys() != self.state_dict().keys():
            came = ", ".join(state_dict) or "nothing, as from a GradScaler that is not enabled"
            raise RuntimeError(f"a GradScaler's state has {', '.join(self.state_dict())}; this state has {came}")
        scale, *options, calm = (state_dict[name] for name in self.state_dict())
        rule = ScaleRule(*options)
        if not isinstance(calm, int) or calm < 0:
            raise ValueError(f"_growth_tracker must be a non-negative integer, got {calm!r}")
        self.set_scale(scale)
        self.rule, self.growth_tracker = rule, calm


def refuse_in_graph(asked: str) -> None:
    """Raises GraphError while a graph is built."""
    if current.mode.builder is not None:
        raise GraphError(
            f"GradScaler.{asked} depends on the values of the gradients, which a graph does not have yet: trace the "
            f"loss and its backward(), and call {asked} outside"
        )
