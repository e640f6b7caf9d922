"""Where arrays live, and the one home of what differs between NumPy and CuPy.

CPU          NumPy
GPU          CuPy, imported when a GPU tensor is first asked for: a machine without one never needs it
SIMULATED    NumPy under CuPy's strict rules, counting what a GPU would make expensive (graph/backends/simulated.py)
META         arrays without elements, for models that are counted and not run (graph/backends/meta.py)

An op is written once, against `xp`. Where the two modules differ in meaning, not in name, the op asks
the device: how indices are checked, how repeated indices are added, how a value is read.
"""

from __future__ import annotations

import importlib
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np

from .dtypes import HALVES
from .errors import DeviceError


@dataclass(frozen=True, eq=False)  # two devices are equal if they are the same one
class Device:
    """A place for arrays, and the name of the NumPy-like module that computes there.

    block      how many elements a loop over cache-sized pieces takes at once
    programs   the class that makes a graph a program for it (compiler/)
    doubts     what may be wrong there and is not yet told: message → the error, and whether, a 0-d boolean array
    """

    name: str
    module: str
    block: int = 1 << 22
    programs: str = "minigrad.graph.backends.cuda.replay:Replay"
    doubts: dict[str, tuple[Exception, Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def xp(self) -> Any:
        """The array module: `numpy`, or `cupy` with a usable GPU behind it.

        Raises DeviceError where the module or its hardware is missing.
        """
        from .hardware import keep_freed_memory, require_gpu

        if self is GPU:
            require_gpu()
        if self is CPU:
            keep_freed_memory()
        module = importlib.import_module(self.module)
        return module.xp if self is SIMULATED else module

    def program(self, graph: Any, threads: int = 1, into: Any = None) -> Any:
        """A graph compiled for this device: (array of each input) → (array of each output).

        into    output → input, in whose own array it is written
        """
        module, name = self.programs.split(":")
        return getattr(importlib.import_module(module), name)(graph, threads, into)

    # -- in and out ---------------------------------------------------------------------------

    def array(self, data: Any, dtype: Any = None) -> Any:
        """`data` as an array on this device; the same memory where it already is one."""
        home = device_of(data)
        if home is not self and home is not CPU:
            data = home.read(data)
        return self.xp.asarray(data, dtype)

    def read(self, array: Any) -> np.ndarray:
        """An array of this device as a NumPy array: on a GPU a copy, which waits until it is computed.

        Raises what `refuse` was told to raise meanwhile.
        """
        if self is CPU:
            return np.asarray(array)
        host: np.ndarray = array.get()
        doubts = list(self.doubts.values())
        self.doubts.clear()
        for error, wrong in doubts:
            if wrong:
                raise error
        return host

    # -- what NumPy and CuPy do differently ---------------------------------------------------------

    def refuse(self, wrong: Any, error: Exception) -> None:
        """Raises the error if any element of the boolean array `wrong` is true.

        To ask would stop a GPU. There the question is put, and its answer heard when a value is next read,
        as CUDA's own assertions are.
        """
        found = wrong.any()
        if self is not CPU:
            known = self.doubts.get(str(error))
            self.doubts[str(error)] = error, found if known is None else known[1] | found
        elif found:
            raise error

    def check_range(self, x: Any, low: float, high: float, error: type[Exception], wanted: str) -> None:
        """Refuses an array that leaves low … high, or has what is no number in it."""
        if self is not CPU:
            self.refuse(~((x >= low) & (x <= high)), error(wanted))
        elif x.size and not (low <= x.min() and x.max() <= high):
            raise error(f"{wanted}, and got {x.min()} to {x.max()}")

    def scatter_add(self, y: Any, index: Any, x: Any) -> None:
        """y[index] += x, where a place named twice receives twice. Half precision is summed in single."""
        if y.dtype in HALVES:
            total = y.astype(np.float32)
            self.scatter_add(total, index, x.astype(np.float32))
            y[...] = total
        elif y.dtype.kind in "fiu" and y.dtype.itemsize >= 4:
            self.xp.add.at(y, index, x)
        else:  # CuPy adds atomically in words of four and eight bytes only
            total = y.astype(np.int64)
            self.scatter_add(total, index, x.astype(np.int64))
            y[...] = total

    # -- what it costs ------------------------------------------------------------------------------

    def counts(self) -> AbstractContextManager[Any]:
        """What a block makes the simulated device do: `with device('simulated').counts() as n: …; n.launches`."""
        if self is not SIMULATED:
            raise DeviceError(f"only the simulated device counts, and this is {self}: use device('simulated')")
        return importlib.import_module(self.module).counting()  # type: ignore[no-any-return]

    def __enter__(self) -> Device:
        """A block in which tensors are made here, where nothing else is said."""
        blocks.devices = (*blocks.devices, self)
        return self

    def __exit__(self, *raised: object) -> None:
        blocks.devices = blocks.devices[:-1]

    @property
    def type(self) -> str:
        """Its name."""
        return self.name

    def __reduce__(self) -> Any:  # copied or read back, a device is the one that there is
        return device, (self.name,)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"device({self.name!r})"


CPU = Device("cpu", "numpy", block=1 << 14, programs="minigrad.graph.compiler.program.program:Program")
GPU = Device("gpu", "cupy")
SIMULATED = Device("simulated", "minigrad.graph.backends.simulated")
META = Device("meta", "minigrad.graph.backends.meta")

NAMES = {"cpu": CPU, "gpu": GPU, "cuda": GPU, "cuda:0": GPU, "simulated": SIMULATED, "meta": META}
HOMES = {device.module: device for device in (GPU, SIMULATED, META)}  # by the module of an array's type


class DeviceStack(threading.local):
    """Of this thread: the devices whose blocks are open, the innermost last, behind one that says nothing."""

    devices: tuple[Device | None, ...] = (None,)


blocks = DeviceStack()


@cache
def device(name: str | Device) -> Device:
    """The device of that name: 'cpu', 'gpu' (also spelled 'cuda'), 'simulated' or 'meta'; 'worker:1' of a process."""
    if isinstance(name, Device):
        return name
    if name not in NAMES and not (str(name)[:7] == "worker:" and str(name)[7:].isdecimal()):
        raise DeviceError(f"wanted a device, one of {sorted(NAMES)}, and got {name!r}")
    return NAMES[name] if name in NAMES else importlib.import_module("minigrad.tracing.worker").Worker(name, "")


def device_of(array: Any) -> Device:
    """The device an array lives on; whatever is no array of another device is on the CPU."""
    return HOMES.get(type(array).__module__, CPU)
