"""The devices that hold arrays. All differences between NumPy and CuPy are handled in this file.

CPU          NumPy
GPU          CuPy, imported when the first GPU tensor is made, so a machine without a GPU does not need it
SIMULATED    NumPy with CuPy's strict rules; counts what is expensive on a GPU (graph/backends/simulated_gpu.py)
META         arrays without elements, for models that are measured but not run (graph/backends/meta.py)

Each op is written once, for an array module `xp`. Where NumPy and CuPy behave differently, the op calls the
device instead: to check indices, to add at repeated indices, to read a value.
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


@dataclass(frozen=True, eq=False)  # devices compare by identity
class Device:
    """A place for arrays, and the name of the NumPy-like module that computes there.

    block      number of elements per step, in loops over cache-sized blocks
    programs   the class that compiles a graph for this device, as "module:class"
    doubts     checks not read yet: error message → (the error, a 0-d boolean array that is true if it must be raised)
    """

    name: str
    module: str
    block: int = 1 << 22
    programs: str = "minigrad.graph.backends.cuda.replay:Replay"
    doubts: dict[str, tuple[Exception, Any]] = field(default_factory=dict, repr=False)

    @cached_property
    def xp(self) -> Any:
        """The array module: `numpy`, or `cupy` with a usable GPU behind it.

        Raises DeviceError if the module or its hardware is missing.
        """
        from .hardware import gpu_status, keep_freed_memory

        if self is GPU and not (status := gpu_status())[0]:
            wanted = "Use device='cpu', or 'simulated' to see what a GPU would do"
            raise DeviceError(f"no gpu here: {status[1]}. {wanted}")
        if self is CPU:
            keep_freed_memory()
        module = importlib.import_module(self.module)
        return module.xp if self is SIMULATED else module

    def program(self, graph: Any, threads: int | None = None, into: Any = None) -> Any:
        """Compile the graph for this device: a function from the arrays of all inputs to the arrays of all outputs.

        into    maps an output to the input whose array receives it
        """
        module, name = self.programs.split(":")
        return getattr(importlib.import_module(module), name)(graph, threads, into)

    # -- in and out ---------------------------------------------------------------------------

    def array(self, data: Any, dtype: Any = None) -> Any:
        """`data` as an array on this device, copied only if it has to be."""
        home = device_of(data)
        if home is not self and home is not CPU:
            data = home.read(data)
        return self.xp.asarray(data, dtype)

    def read(self, array: Any) -> np.ndarray:
        """An array of this device as a NumPy array. On a GPU this waits for the result and copies it.

        Raises the error of any earlier `refuse` call whose check has failed.
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

        On a GPU, where reading the answer would stall the device, the error is raised when a value is next read, as
        with CUDA's own assertions.
        """
        found = wrong.any()
        if self is not CPU:
            known = self.doubts.get(str(error))
            self.doubts[str(error)] = error, found if known is None else known[1] | found
        elif found:
            raise error

    def check_range(self, x: Any, low: float, high: float, error: type[Exception], wanted: str) -> None:
        """Raises the error if an element lies outside low … high, or is NaN."""
        if self is not CPU:
            self.refuse(~((x >= low) & (x <= high)), error(wanted))
        elif x.size and not (low <= x.min() and x.max() <= high):
            raise error(f"{wanted}, and got {x.min()} to {x.max()}")

    def scatter_add(self, y: Any, index: Any, x: Any) -> None:
        """y[index] += x; repeated indices add up. Half precision is summed in float32."""
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

    # -- costs on the simulated GPU -----------------------------------------------------------------

    def counts(self) -> AbstractContextManager[Any]:
        """Count the simulated device's work in a block: `with device('simulated').counts() as n: …; n.launches`."""
        if self is not SIMULATED:
            raise DeviceError(f"counts() needs the simulated device, and this is {self}: use device('simulated')")
        return importlib.import_module(self.module).counting()  # type: ignore[no-any-return]

    def __enter__(self) -> Device:
        """A block in which new tensors are on this device by default."""
        blocks.devices = (*blocks.devices, self)
        return self

    def __exit__(self, *raised: object) -> None:
        blocks.devices = blocks.devices[:-1]

    type = property(lambda self: self.name, doc="The device's name.")

    def __reduce__(self) -> Any:  # copying and unpickling return the same object
        return device, (self.name,)

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"device({self.name!r})"


CPU = Device("cpu", "numpy", block=1 << 15, programs="minigrad.graph.compiler.program.program:Program")
GPU = Device("gpu", "cupy")
SIMULATED = Device("simulated", "minigrad.graph.backends.simulated_gpu")
META = Device("meta", "minigrad.graph.backends.meta")

NAMES = {"cpu": CPU, "gpu": GPU, "cuda": GPU, "cuda:0": GPU, "simulated": SIMULATED, "meta": META}
HOMES = {device.module: device for device in (GPU, SIMULATED, META)}  # the module of an array's type → its device


class DeviceStack(threading.local):
    """The devices of this thread's open `with device:` blocks, innermost last. The first entry is None: no block."""

    devices: tuple[Device | None, ...] = (None,)


blocks = DeviceStack()


@cache
def device(name: str | Device) -> Device:
    """The device with this name: 'cpu', 'gpu' (or 'cuda'), 'simulated', 'meta', or 'worker:1' for another process."""
    if isinstance(name, Device):
        return name
    if name not in NAMES and not (str(name)[:7] == "worker:" and str(name)[7:].isdecimal()):
        raise DeviceError(f"expected a device, one of {sorted(NAMES)}, and got {name!r}")
    return NAMES[name] if name in NAMES else importlib.import_module("minigrad.tracing.tracer").Worker(name, "")


def device_of(array: Any) -> Device:
    """The device of an array. Anything that is not an array of another device counts as on the CPU."""
    return HOMES.get(type(array).__module__, CPU)
