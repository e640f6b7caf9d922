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

from typing import Any

import numpy as np

from ..base.errors import DTypeError, GraphError
from ..core.modes import current, no_grad
from ..methods import Operand
from ..tensor.inplace import write
from ..tensor.tensor import Tensor, tensor

STATE = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")  # PyTorch's names


class GradScaler:
    """A scale for the loss, and what becomes of it.

    init_scale         to begin with
    growth_factor      what the scale is multiplied with after growth_interval steps in a row without an overflow
    backoff_factor     what it is multiplied with after a step with one
    enabled            False for one that does nothing, and lets optimisers step

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
        if not growth_factor > 1 or not 0 < backoff_factor < 1:
            raise ValueError(f"a scale grows by > 1 and backs off by < 1, and got {growth_factor} and {backoff_factor}")
        self.factor: Tensor = tensor(init_scale, np.float32, device="cpu" if device is None else device)
        self.growth_factor, self.backoff_factor = growth_factor, backoff_factor
        self.growth_interval, self.enabled = growth_interval, enabled
        self.growth_tracker = 0
        self.overflowed: dict[
            int, bool
        ] = {}  # id of an optimiser that was unscaled → whether a gradient was not finite
        self.stepped: set[int] = set()

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
        self.eager("unscale_()")
        if id(optimizer) in self.stepped:
            raise RuntimeError("unscale_() came after step(): unscale, then step, then update()")
        if id(optimizer) in self.overflowed:
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
                self.overflowed[id(optimizer)] = not all(bool(g.isfinite().all()) for g in grads)
                for g in grads:
                    g *= 1 / self.factor.item()

    def step(self, optimizer: Any, *args: Any, **options: Any) -> Any:
        """The optimiser's step, of unscaled gradients; None, and no step, where one of them is not finite."""
        if not self.enabled:
            return optimizer.step(*args, **options)
        self.eager("step()")
        if args or "closure" in options:
            raise RuntimeError("step() takes no closure: it computes gradients anew, which nobody would have unscaled")
        if id(optimizer) in self.stepped:
            raise RuntimeError("step() was called on this optimizer already, and update() not since then")
        if id(optimizer) not in self.overflowed:
            self.unscale_(optimizer)
        if id(optimizer) not in self.overflowed:
            raise RuntimeError("no parameter of this optimizer has a gradient: scale(loss).backward() comes first")
        self.stepped.add(id(optimizer))
        return None if self.overflowed[id(optimizer)] else optimizer.step(**options)

    def update(self, new_scale: Any = None) -> None:
        """Change the scale by what came of the steps since the last update; or to new_scale."""
        if not self.enabled:
            return
        self.eager("update()")
        if new_scale is not None:
            self.set_scale(float(new_scale))
        elif not self.overflowed:
            raise RuntimeError("update() comes after step(), and none was taken since the last one")
        elif any(self.overflowed.values()):
            self.set_scale(self.get_scale() * self.backoff_factor)
            self.growth_tracker = 0
        else:
            self.growth_tracker += 1
            if self.growth_tracker == self.growth_interval:
                self.set_scale(self.get_scale() * self.growth_factor)
                self.growth_tracker = 0
        self.overflowed.clear()
        self.stepped.clear()

    def set_scale(self, scale: float) -> None:
        """The scale, if float32 holds it."""
        if scale <= float(np.finfo(np.float32).max):
            write(self.factor, np.float32(scale))

    @staticmethod
    def eager(asked: str) -> None:
        if current.mode.builder is not None:
            raise GraphError(
                f"GradScaler.{asked} decides by values whether there is a step, and a graph has none yet: trace the "
                "loss and its backward(), and call it outside"
            )

    # -- to read, and to save ------------------------------------------------------------------------

    def get_scale(self) -> float:
        """The scale; 1 where it is not enabled."""
        return float(self.factor.item()) if self.enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether it does anything."""
        return self.enabled

    def get_growth_factor(self) -> float:
        return self.growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self.growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self.backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self.backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self.growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self.growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() takes; empty where it is not enabled."""
        values = (self.get_scale(), self.growth_factor, self.backoff_factor, self.growth_interval, self.growth_tracker)
        return dict(zip(STATE, values)) if self.enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on as the one that gave this state. Raises RuntimeError where it is another's."""
        if not self.enabled:
            return
        if {*state_dict} != {*STATE}:
            came = ", ".join(state_dict) or "nothing, as that of one that is not enabled"
            raise RuntimeError(f"a GradScaler's state has {', '.join(STATE)}, and this one {came}")
        self.set_scale(float(state_dict["scale"]))
        self.growth_factor, self.backoff_factor = state_dict["growth_factor"], state_dict["backoff_factor"]
        self.growth_interval, self.growth_tracker = state_dict["growth_interval"], state_dict["_growth_tracker"]
