"""Autocast: a block in which each op runs in the precision that suits it.

    lower      products: matmul, linear, convolution, attention, recurrent cells         in float16 or bfloat16
    float32    exp, log, powers, sums, softmax, norms, losses, if operands are halves    in float32
    the rest                                                                             in their operands' dtypes

The lists are those of PyTorch's CUDA autocast; the class attribute `autocast` of an op (engine/core/op.py) selects one.
Parameters stay float32: they are the master weights. A cast is a recorded op, so gradients arrive at the parameters
in float32; backward itself casts nothing.

Micikevicius et al. 2018, “Mixed Precision Training”. https://arxiv.org/abs/1710.03740
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...engine.base.device import NAMES, Device
from ...engine.base.device import device as device_called
from ...engine.base.dtypes import HALVES, bfloat16, float16
from ...engine.base.errors import DTypeError
from ...engine.core.modes import current, in_mode
from ...engine.core.op import Op
from ...engine.core.versions import edits_of
from ...engine.methods import Operand


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
