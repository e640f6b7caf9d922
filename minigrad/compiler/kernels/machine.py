"""What launches: CuPy, or the simulated device behind CuPy's rules. A machine

    loads       a kernel                     → a function of (operands, results, partials)
    multiplies  by one call of cuBLAS
    records     what a function launches     → a function that launches it all again, in one go
    lends xp    its array module, whose matrix products are of our making, so that they can be recorded

Recording is CUDA's stream capture: nothing runs, what would run is written down, with the addresses it was given. So
nothing may be read by the host meanwhile, and memory that was allocated must stay allocated: it comes from a pool that
belongs to the recording.

CuPy 14.2 refuses every call of cuBLAS, cuSOLVER and cuRAND while recording (cupy_backends/cuda/libs/cublas.pyx), hence
product.py. The CuPy machine is written against CuPy 14.2 and its names are checked; it has not run on a GPU yet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property
from typing import Any, Protocol

import numpy as np

from ...device import GPU, SIMULATED, Device
from ...devices import simulated
from ...devices.counts import launched, recording, uncounted
from ...errors import DeviceError
from ..fuse import Fused
from .kernel import BLOCK, Kernel
from .product import Blas, Gemm, emulated, gemm

OPTIONS = ("--fmad=false", "--std=c++17")  # x y + z in two roundings, as everywhere else; memory is what takes the time

Arrays = Sequence[Any]
Run = Callable[[Arrays, Arrays, Arrays], None]


class Machine(Protocol):
    """See above."""

    @property
    def module(self) -> Any:
        """The array module as it is."""

    @property
    def xp(self) -> Any:
        """The same, for ops: its matrix products can be recorded."""

    def load(self, kernel: Kernel, fused: Fused) -> Run:
        """The kernel, ready to be launched."""

    def multiply(self, call: Gemm, a: Any, b: Any, c: Any) -> None:
        """C = op(A) op(B)."""

    def record(self, run: Callable[[], None], pool: Any) -> Callable[[], None]:
        """What `run` launches, to be launched again; nothing of it has run."""

    def pool(self) -> Any:
        """Memory for what a recording allocates."""

    def address(self, array: Any) -> int:
        """Where the array's first element is."""


# -- CuPy ---------------------------------------------------------------------------------------------


class CuPy:
    """A GPU."""

    def __init__(self) -> None:
        self.module = GPU.xp  # says what is missing where there is none
        self.stream = self.module.cuda.Stream(non_blocking=True)

    @cached_property
    def xp(self) -> Module:
        return Module(self)

    @cached_property
    def blas(self) -> Blas:
        return Blas(self.module)

    def load(self, kernel: Kernel, fused: Fused) -> Run:
        launches = [(self.module.RawKernel(kernel.text, each.name, options=OPTIONS), each) for each in kernel.launches]

        def run(operands: Arrays, results: Arrays, partials: Arrays) -> None:
            arrays = kernel.named(operands, results, partials)
            for raw, launch in launches:
                raw((launch.grid,), (BLOCK,), tuple(arrays[name] for name in launch.arguments))

        return run

    def multiply(self, call: Gemm, a: Any, b: Any, c: Any) -> None:
        self.blas.use(self.module.cuda.get_current_stream().ptr)
        self.blas.multiply(call, a, b, c)

    def record(self, run: Callable[[], None], pool: Any) -> Callable[[], None]:
        with self.stream, self.module.cuda.using_allocator(pool.malloc):
            self.stream.begin_capture()
            try:
                run()
            finally:
                graph = self.stream.end_capture()
        graph.upload(self.stream)
        replay: Callable[[], None] = graph.launch  # on the stream that is current then
        return replay

    def pool(self) -> Any:
        return self.module.cuda.MemoryPool()

    def address(self, array: Any) -> int:
        return int(array.data.ptr)


# -- the simulated device -----------------------------------------------------------------------------


class Simulated:
    """The simulated device: a kernel is its group's own forward, counted as the launches it would take."""

    module = simulated.xp

    @cached_property
    def xp(self) -> Module:
        return Module(self)

    def load(self, kernel: Kernel, fused: Fused) -> Run:
        def run(operands: Arrays, results: Arrays, partials: Arrays) -> None:
            def again() -> None:
                self.compute(kernel, fused, operands, results, partials)

            for launch in kernel.launches:
                launched(again if launch is kernel.launches[-1] else nothing, run=True)

        return run

    def compute(self, kernel: Kernel, fused: Fused, operands: Arrays, results: Arrays, partials: Arrays) -> None:
        """The results, in place."""
        with np.errstate(all="ignore"), uncounted():
            ys = fused.forward(simulated.xp, *operands)
        for y, made in zip(results, ys if isinstance(ys, tuple) else (ys,), strict=True):
            y.host[...] = made.host

    def multiply(self, call: Gemm, a: Any, b: Any, c: Any) -> None:
        launched(lambda: emulated(call, a.host, b.host, c.host), run=True)

    def record(self, run: Callable[[], None], pool: Any) -> Callable[[], None]:
        with recording() as tape, np.errstate(all="ignore"):
            run()

        def replay() -> None:
            with np.errstate(all="ignore"):
                launched(lambda: [again() for again in tape], run=True)

        return replay

    def pool(self) -> None:
        return None

    def address(self, array: Any) -> int:
        return int(array.host.ctypes.data)


def nothing() -> None:
    """The first of two passes, where the second does it all."""


@cache
def machine_of(device: Device) -> Machine:
    """The machine of a device. Raises DeviceError for the CPU, whose programs are NumPy's (program.py)."""
    if device is GPU:
        return CuPy()
    if device is SIMULATED:
        return Simulated()
    raise DeviceError(f"kernels are launched on a GPU, or on the simulated one, and this graph is on {device}")


# -- the array module -------------------------------------------------------------------------------------


class Module:
    """The machine's array module, but for the functions that CuPy gives to cuBLAS."""

    def __init__(self, machine: Machine):
        self.machine = machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.machine.module, name)

    def matmul(self, x: Any, y: Any, out: Any = None) -> Any:
        """x @ y"""
        return matmul(self.machine, x, y, out)

    def dot(self, x: Any, y: Any) -> Any:
        """x @ y of two matrices"""
        return matmul(self.machine, x, y, None)

    def einsum(self, subscripts: str, *xs: Any) -> Any:
        """Sums of products of operands with the same letters: all that ops ask of einsum outside `Contract`."""
        letters, kept = subscripts.split("->")
        first, *rest = letters.split(",")
        if any(other != first for other in rest):
            return self.machine.module.einsum(subscripts, *xs)
        product = xs[0] if len(xs) == 1 else xs[0] * xs[1]
        return product.sum(tuple(i for i, letter in enumerate(first) if letter not in kept))


def matmul(machine: Machine, x: Any, y: Any, out: Any = None) -> Any:
    """x @ y by one call of cuBLAS; by CuPy's own kernel for integers. What lies otherwise in memory is copied first."""
    xp = machine.module
    dtype = np.result_type(x.dtype, y.dtype)
    shape = (*np.broadcast_shapes(x.shape[:-2], y.shape[:-2]), x.shape[-2], y.shape[-1])
    if dtype.char not in "fde":
        z = xp.matmul(x, y)
    elif out is None or not out.flags.c_contiguous or out.dtype != dtype:
        z = xp.empty(shape, dtype)
    else:
        z = out
    if dtype.char in "fde" and z.size:
        multiply(machine, x.astype(dtype, copy=False), y.astype(dtype, copy=False), z)
    if out is None or out is z:
        return z
    out[...] = z
    return out


def multiply(machine: Machine, x: Any, y: Any, z: Any) -> None:
    """z[...] = x @ y for three arrays of one floating dtype, z contiguous."""
    if not x.shape[-1]:
        z.fill(0)
        return
    if y.ndim == 2 and x.ndim > 2 and x.flags.c_contiguous:  # one product of many rows, not many of few
        x, z = x.reshape(-1, x.shape[-1]), z.reshape(-1, z.shape[-1])
    call = gemm(x, y)
    if call is None:
        xp, batch = machine.module, z.shape[:-2]
        x = xp.ascontiguousarray(xp.broadcast_to(x, (*batch, *x.shape[-2:])))
        y = xp.ascontiguousarray(xp.broadcast_to(y, (*batch, *y.shape[-2:])))
        call = gemm(x, y)
    assert call is not None, "contiguous matrices are cuBLAS's own"
    machine.multiply(call, y, x, z)
