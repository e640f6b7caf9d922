"""Mixed precision, with PyTorch's names: products in 16 bits, sums in float32, and a scale for the gradients.

In a block of autocast, each op runs in the precision that suits it:

    lower      products: matmul, linear, convolution, attention, recurrent cells         in float16 or bfloat16
    float32    exp, log, powers, sums, softmax, norms, losses, if operands are halves    in float32
    the rest                                                                             in their operands' dtypes

The lists are those of PyTorch's CUDA autocast; the class attribute `autocast` of an op (engine/core/op.py) selects one.
Parameters stay float32: they are the master weights. A cast is a recorded op, so gradients arrive at the parameters
in float32; backward itself casts nothing.

Micikevicius et al. 2018, “Mixed Precision Training”. https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from math import inf
from typing import Any

import numpy as np

from ..engine.base.damaged_state import refuse_by_name
from ..engine.base.device import NAMES, Device
from ..engine.base.device import device as device_called
from ..engine.base.dtypes import HALVES, bfloat16, float16
from ..engine.base.errors import DTypeError, GraphError
from ..engine.core.modes import current, in_mode, no_grad
from ..engine.core.op import Op
from ..engine.core.stateful import Stateful
from ..engine.core.versions import edits_of
from ..engine.methods import Operand
from ..engine.tensor.inplace import write
from ..engine.tensor.tensor import Tensor, tensor

LEAST, LARGEST = float(np.finfo(np.float32).tiny), float(np.finfo(np.float32).max)


class Casts:
    """Casts the operands of each op in an autocast block.

    dtype     the dtype of products
    device    only tensors on this device are cast; None for all
    cached    id of a parameter → (the parameter, its count of edits, its cast)
    """

    def __init__(self, dtype: np.dtype, device: Device | None, cache_enabled: bool):
        self.dtype, self.device, self.cache_enabled = dtype, device, cache_enabled
        self.key = "autocast", dtype, device
        self.cached: dict[int, tuple[Any, int, Any]] = {}

    def apply(self, op: Op, operands: tuple[Any, ...]) -> Any:
        """Cast the operands as the op specifies, and apply the op to them with autocast off."""
        mode = current.mode
        current.mode = replace(mode, autocast=None)
        try:
            x, *others = operands if op.autocast is None else [self.cast(x, op.autocast) for x in operands]
            return x.apply(op, *others)
        finally:
            current.mode = mode

    def cast(self, x: Any, to: str) -> Any:
        """x cast for the list `to`, "lower" or "float32". Python numbers and integer tensors stay unchanged."""
        if not isinstance(x, Operand) or not x.spec.is_float or self.device not in (None, x.spec.device):
            return x
        if to == "float32":
            return x.float() if x.spec.is_half else x
        mode = current.mode
        p: Any = x  # a parameter is read many times, so its cast is worth caching
        if not self.cache_enabled or mode.builder is not None or not mode.recording or not (p.tracked and p.is_leaf):
            return x.astype(self.dtype)
        edits, (_, before, y) = edits_of(p.value), self.cached.get(id(x), (None, -1, None))
        if before != edits:
            y = x.astype(self.dtype)
            self.cached[id(x)] = x, edits, y
        return y


class autocast(in_mode):
    """A block, or a function, whose products are computed in half precision.

    device_type      "cpu", "cuda", …: only tensors on it are cast; None for all. A dtype may be passed in its place
    dtype            the dtype of products; by default float16 on a GPU, else bfloat16
    enabled          False to cast nothing in a block inside another autocast block
    cache_enabled    whether a parameter is cast once in the block, instead of once for each op that reads it
    """

    def __init__(
        self, device_type: Any = None, dtype: Any = None, enabled: bool = True, cache_enabled: bool = True
    ) -> None:
        if not enabled:  # then device and dtype do not matter
            device_type = dtype = None
        is_device = device_type is None or isinstance(device_type, Device) or str(device_type) in NAMES
        if not is_device and dtype is None:
            device_type, dtype = None, device_type
        device = None if device_type is None else device_called(device_type)
        on_cpu = device is None or device.name == "cpu"
        try:
            self.dtype = np.dtype((bfloat16 if on_cpu else float16) if dtype is None else dtype)
        except TypeError:
            raise DTypeError(f"use @autocast(), or autocast of a device or a dtype; got {dtype!r}") from None
        if self.dtype not in HALVES:
            raise DTypeError(f"autocast computes products in float16 or bfloat16, and got {self.dtype}")
        self.device, self.enabled, self.cache_enabled = device, enabled, cache_enabled
        super().__init__(autocast=None)

    def __enter__(self) -> None:
        casts = Casts(self.dtype, self.device, self.cache_enabled) if self.enabled else None
        self.changes = {"autocast": casts}  # the cached casts live as long as the block
        super().__enter__()

    def again(self) -> autocast:
        return autocast(self.device, self.dtype, self.enabled, self.cache_enabled)


def is_autocast_enabled(device_type: Any = None) -> bool:
    """Whether an autocast block is active, for tensors on this device."""
    casts = current.mode.autocast
    return casts is not None and (device_type is None or casts.device in (None, device_called(device_type)))


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
    """A scale for the loss, adjusted after each step, for the gradients in float16; skips steps that overflow.

        scaler = mg.amp.GradScaler()
        with mg.autocast(dtype=mg.float16):
            loss = loss_of(model(x), y)
        scaler.scale(loss).backward()      # gradients times the scale
        scaler.step(optimizer)             # gradients divided by the scale; no step if one is infinite or NaN
        scaler.update()                    # halves the scale after an overflow, doubles it after many steps without one

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
