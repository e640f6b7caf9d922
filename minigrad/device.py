"""Where arrays live. A device is a name, and the module `xp` that computes there.

CPU    NumPy
GPU    CuPy, imported when a GPU tensor is first asked for: a machine without one never needs it
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from .errors import DeviceError


@dataclass(frozen=True, eq=False)  # two devices are equal if they are the same one
class Device:
    """A place for arrays, and the name of the NumPy-like module that computes there."""

    name: str
    module: str

    @cached_property
    def xp(self) -> Any:
        """The array module: `numpy`, or `cupy` with a usable GPU behind it.

        Raises DeviceError where the module or its hardware is missing.
        """
        try:
            xp = importlib.import_module(self.module)
            xp.zeros(1)
        except Exception as reason:
            raise DeviceError(f"no {self.name} here: {self.module} says “{reason}”. Use device='cpu'") from reason
        return xp

    def array(self, data: Any, dtype: Any = None) -> Any:
        """`data` as an array on this device; the same memory where it already is one."""
        if self is CPU and device_of(data) is GPU:
            data = data.get()
        return self.xp.asarray(data, dtype)

    def __repr__(self) -> str:
        return f"device({self.name!r})"


CPU = Device("cpu", "numpy")
GPU = Device("gpu", "cupy")


@cache
def device(name: str | Device) -> Device:
    """The device of that name: 'cpu', or 'gpu' (also spelled 'cuda')."""
    if isinstance(name, Device):
        return name
    names = {"cpu": CPU, "gpu": GPU, "cuda": GPU}
    if name not in names:
        raise DeviceError(f"wanted a device, one of {sorted(names)}, and got {name!r}")
    return names[name]


def device_of(array: Any) -> Device:
    """The device an array lives on; whatever is no CuPy array is on the CPU."""
    return GPU if type(array).__module__.split(".")[0] == "cupy" else CPU
