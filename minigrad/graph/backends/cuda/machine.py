"""Machines launch kernels and multiply matrices: CuPy, or the simulated device, which follows CuPy's rules.

Recording uses CUDA's stream capture: nothing runs, and the launches are stored with their addresses. So the host must
not read anything meanwhile, and allocated memory must stay allocated: it comes from a pool that belongs to the
recording.

CuPy 14.2 refuses every call of cuBLAS, cuSOLVER and cuRAND while recording (cupy_backends/cuda/libs/cublas.pyx), so we
call cuBLAS ourselves for a matrix product. cuBLAS stores matrices by columns, so it sees each of our matrices
transposed: we request z = x y as zᵀ = yᵀ xᵀ, with the operands swapped, and nothing is copied. Operands that are
transposed in memory are passed with the transpose flag.

cuBLAS Library User's Guide, sections 2.7.1 (gemm) and 2.8.12 (GemmStridedBatchedEx).
https://docs.nvidia.com/cuda/cublas

The CuPy machine is written for CuPy 14.2, and tests check the names it uses. It has not run on a GPU yet.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from math import prod
from threading import RLock
from typing import Any

import numpy as np

from ....engine.base.device import GPU, SIMULATED, Device
from ....engine.base.errors import DeviceError
from ...compiler.passes.fuse import Fused
from .. import simulated_gpu
from ..simulated_gpu import FEW, as_one_kernel, count_sync, launch_kernel, recording
from .kernel import BLOCK, Kernel


@dataclass(frozen=True)
class Gemm:
    """C = op(A) op(B), `batch` times: the arguments of cublasGemmStridedBatchedEx, in its order.

    turned_a, turned_b    whether A, B are transposed before the product
    m, n, k               op(A) is m × k, op(B) is k × n, C is m × n
    lda, ldb, ldc         distance between columns, in elements
    step_a, …             distance between matrices of the batch, in elements
    """

    turned_a: bool
    turned_b: bool
    m: int
    n: int
    k: int
    lda: int
    step_a: int
    ldb: int
    step_b: int
    ldc: int
    step_c: int
    batch: int


def gemm(x: Any, y: Any) -> Gemm | None:
    """The arguments for z = x @ y: A is y, B is x, C is z, which is contiguous. None if cuBLAS cannot read x or y.

    x, y    arrays, or objects with shape, strides and itemsize
    """
    m, n, k = y.shape[-1], x.shape[-2], x.shape[-1]
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    a, b = side(y, batch), side(x, batch)
    if a is None or b is None:
        return None
    return Gemm(a[0], b[0], m, n, k, *a[1:], *b[1:], m, m * n, prod(batch))


def side(x: Any, batch: tuple[int, ...]) -> tuple[bool, int, int] | None:
    """For a batch of matrices: (whether they are transposed, leading dimension, step); None if cuBLAS cannot read x."""
    rows, columns = x.shape[-2:]
    *steps, down, right = (s // x.itemsize for s in x.strides)
    if (right == 1 or columns == 1) and (down >= columns or rows == 1):
        turned, leading = False, max(down, columns) if rows > 1 else columns
    elif (down == 1 or rows == 1) and (right >= rows or columns == 1):
        turned, leading = True, max(right, rows) if columns > 1 else rows
    else:
        return None
    lead = [0] * (len(batch) - len(steps)) + [s if n > 1 else 0 for s, n in zip(steps, x.shape[:-2])]
    runs = [(n, s) for n, s in zip(batch, lead) if n > 1]
    even = all(s == n_next * s_next for (_, s), (n_next, s_next) in pairwise(runs))
    return (turned, leading, runs[-1][1] if runs else 0) if even and all(s >= 0 for _, s in runs) else None


def emulate_gemm(call: Gemm, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """cuBLAS in NumPy, with the same arguments: matrices are addressed from an array's first element."""
    op_a = matrices(a, call.batch, call.m, call.k, call.turned_a, call.lda, call.step_a)
    op_b = matrices(b, call.batch, call.k, call.n, call.turned_b, call.ldb, call.step_b)
    matrices(c, call.batch, call.m, call.n, False, call.ldc, call.step_c)[...] = op_a @ op_b


def matrices(x: np.ndarray, batch: int, rows: int, count: int, turned: bool, leading: int, step: int) -> np.ndarray:
    """A batch of matrices, rows × count, with contiguous columns; if turned, with contiguous rows."""
    down, right = (leading, 1) if turned else (1, leading)
    strides = (step * x.itemsize, down * x.itemsize, right * x.itemsize)
    return np.lib.stride_tricks.as_strided(x, (batch, rows, count), strides)


DTYPES = {"f": 0, "d": 1, "e": 2}  # library_types.h: CUDA_R_32F, CUDA_R_64F, CUDA_R_16F
COMPUTE_32F, COMPUTE_64F = 68, 70  # cublas_api.h; half precision is summed in single
WORKSPACE = 32 << 20  # bytes; NVIDIA's advice for Hopper. Set in advance, so that no call allocates


class Blas:
    """cuBLAS, called through ctypes. It has not run on a GPU yet.

    Single precision is multiplied in single, never in TF32, which has ten bits of fraction.
    """

    def __init__(self, cupy: Any):
        pathfinder = importlib.import_module("cuda.pathfinder")  # comes with CuPy 14
        self.library = ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
        self.handle = ctypes.c_void_p()
        self.check_status(self.library.cublasCreate_v2(ctypes.byref(self.handle)), "cublasCreate")
        self.workspace = cupy.cuda.alloc(WORKSPACE)
        self.stream: int | None = None

    def use(self, stream: int) -> None:
        """Use this stream for the next calls. A change of stream resets the workspace, so this method sets it again."""
        if stream == self.stream:
            return
        self.check_status(self.library.cublasSetStream_v2(self.handle, ctypes.c_void_p(stream)), "cublasSetStream")
        memory = ctypes.c_void_p(self.workspace.ptr), ctypes.c_size_t(WORKSPACE)
        self.check_status(self.library.cublasSetWorkspace_v2(self.handle, *memory), "cublasSetWorkspace")
        self.stream = stream

    def multiply(self, call: Gemm, a: Any, b: Any, c: Any) -> None:
        """C = op(A) op(B), on the current stream."""
        double = c.dtype.char == "d"
        scalar = ctypes.c_double if double else ctypes.c_float
        kind, compute, long = DTYPES[c.dtype.char], COMPUTE_64F if double else COMPUTE_32F, ctypes.c_longlong
        status = self.library.cublasGemmStridedBatchedEx(
            *(self.handle, int(call.turned_a), int(call.turned_b), call.m, call.n, call.k),
            *(ctypes.byref(scalar(1)), ctypes.c_void_p(a.data.ptr), kind, call.lda, long(call.step_a)),
            *(ctypes.c_void_p(b.data.ptr), kind, call.ldb, long(call.step_b)),
            *(ctypes.byref(scalar(0)), ctypes.c_void_p(c.data.ptr), kind, call.ldc, long(call.step_c)),
            *(call.batch, compute, -1),
        )
        self.check_status(status, "cublasGemmStridedBatchedEx")

    def check_status(self, status: int, name: str) -> None:
        """Raises DeviceError if a cuBLAS call failed."""
        if status:
            raise DeviceError(f"{name} failed with status {status}: see cublasStatus_t in NVIDIA's manual")


# x y + z rounds twice, as on the CPU; memory is the bottleneck anyway. CuPy adds -ftz=true: singles below 1e-38 are 0.
OPTIONS = ("--fmad=false", "--std=c++17")

Arrays = Sequence[Any]
Run = Callable[[Arrays, Arrays, Arrays], None]


class GPUMachine:
    """The interface of a machine.

    module    the array module
    load      prepares a kernel for launching
    multiply  C = op(A) op(B)
    record    records what a function launches, without running it; returns a function that launches the recording
    pool      a memory pool for a recording's allocations
    address   the address of an array's first element
    wait      waits until everything launched is done
    """

    module: Any
    load: Callable[..., Run]
    multiply: Callable[..., None]
    record: Callable[..., Callable[[], None]]
    pool: Callable[..., Any]
    address: Callable[..., int]
    wait: Callable[[], None]

    @cached_property
    def xp(self) -> ArrayModule:
        """The array module for ops; its matrix products can be recorded."""
        return ArrayModule(self)


# -- CuPy ---------------------------------------------------------------------------------------------


class CuPy(GPUMachine):
    """A GPU, used through CuPy. Only one thread at a time can record or multiply, because cuBLAS uses one stream."""

    def __init__(self) -> None:
        self.module = GPU.xp  # raises an error that says what is missing
        self.stream = self.module.cuda.Stream(non_blocking=True)
        self.lock = RLock()

    @cached_property
    def blas(self) -> Blas:
        return Blas(self.module)

    def load(self, kernel: Kernel, fused: Fused) -> Run:
        launches = [(self.module.RawKernel(kernel.text, each.name, options=OPTIONS), each) for each in kernel.launches]

        def run(operands: Arrays, results: Arrays, partials: Arrays) -> None:
            arrays = kernel.arrays_by_name(operands, results, partials)
            for raw, launch in launches:
                raw((launch.grid,), (BLOCK,), tuple(arrays[name] for name in launch.arguments))

        return run

    def multiply(self, call: Gemm, a: Any, b: Any, c: Any) -> None:
        with self.lock:
            self.blas.use(self.module.cuda.get_current_stream().ptr)
            self.blas.multiply(call, a, b, c)

    def record(self, run: Callable[[], None], pool: Any) -> Callable[[], None]:
        with self.lock, self.stream, self.module.cuda.using_allocator(pool.malloc):
            self.stream.begin_capture()
            try:
                run()
            except BaseException:
                with suppress(Exception):  # CUDA would only report that the capture was aborted
                    self.stream.end_capture()
                raise
            graph = self.stream.end_capture()
        graph.upload(self.stream)
        replay: Callable[[], None] = graph.launch  # on the stream current at launch
        return replay

    def pool(self) -> Any:
        return self.module.cuda.MemoryPool()

    def address(self, array: Any) -> int:
        return int(array.data.ptr)

    def wait(self) -> None:
        self.module.cuda.get_current_stream().synchronize()


# -- the simulated device -----------------------------------------------------------------------------


class SimulatedMachine(GPUMachine):
    """The simulated device: a kernel runs its group's `forward`, and counts the launches that a GPU would need."""

    module = simulated_gpu.xp

    def load(self, kernel: Kernel, fused: Fused) -> Run:
        def run(operands: Arrays, results: Arrays, partials: Arrays) -> None:
            def again() -> None:
                self.compute(kernel, fused, operands, results, partials)

            for launch in kernel.launches:
                launch_kernel(again if launch is kernel.launches[-1] else nothing, run=True)

        return run

    def compute(self, kernel: Kernel, fused: Fused, operands: Arrays, results: Arrays, partials: Arrays) -> None:
        """Compute the results in place."""
        with np.errstate(all="ignore"), as_one_kernel():
            ys = fused.forward(simulated_gpu.xp, *operands)
        for y, made in zip(results, ys if isinstance(ys, tuple) else (ys,), strict=True):
            y.host[...] = made.host

    def multiply(self, call: Gemm, a: Any, b: Any, c: Any) -> None:
        launch_kernel(lambda: emulate_gemm(call, a.host, b.host, c.host), run=True)

    def record(self, run: Callable[[], None], pool: Any) -> Callable[[], None]:
        with recording() as tape, np.errstate(all="ignore"):
            run()

        def replay() -> None:
            with np.errstate(all="ignore"):
                launch_kernel(lambda: [again() for again in tape], run=True)

        return replay

    def pool(self) -> None:
        return None

    def address(self, array: Any) -> int:
        return int(array.host.ctypes.data)

    def wait(self) -> None:
        count_sync()


def nothing() -> None:
    """The launch of the first of two passes: it does nothing, because the second does all the work."""


@cache
def machine_of(device: Device) -> GPUMachine:
    """The machine of a device. Raises DeviceError for the CPU, whose programs use NumPy (compiler/program/)."""
    if device is GPU:
        return CuPy()
    if device is SIMULATED:
        return SimulatedMachine()
    raise DeviceError(f"kernels need a GPU or the simulated GPU, but this graph is on {device}")


# -- the array module -------------------------------------------------------------------------------------


class ArrayModule:
    """The machine's array module, with replacements for CuPy functions that ops need but that cannot be recorded."""

    def __init__(self, machine: GPUMachine):
        self.machine = machine

    def __getattr__(self, name: str) -> Any:
        return getattr(self.machine.module, name)

    def matmul(self, x: Any, y: Any, out: Any = None) -> Any:
        """x @ y"""
        return matmul(self.machine, x, y, out)

    def dot(self, x: Any, y: Any) -> Any:
        """x @ y of two matrices"""
        return matmul(self.machine, x, y, None)

    def concatenate(self, xs: Sequence[Any], axis: int = 0) -> Any:
        """Join eight arrays at a time: for more, CuPy copies addresses from the host, stale in a replay."""
        joined = self.machine.module.concatenate
        while len(xs) > FEW:
            xs = [joined(xs[i : i + FEW], axis) for i in range(0, len(xs), FEW)]
        return joined(xs, axis)

    def stack(self, xs: Sequence[Any], axis: int = 0) -> Any:
        """Join arrays along a new axis."""
        return self.concatenate([self.machine.module.expand_dims(x, axis) for x in xs], axis)

    def einsum(self, subscripts: str, *xs: Any) -> Any:
        """An einsum: a product and a sum if all operands have the same letters, as in every op except `Contract`."""
        letters, kept = subscripts.split("->")
        first, *rest = letters.split(",")
        if any(other != first for other in rest):
            return self.machine.module.einsum(subscripts, *xs)
        product = xs[0] if len(xs) == 1 else xs[0] * xs[1]
        return product.sum(tuple(i for i, letter in enumerate(first) if letter not in kept))


def matmul(machine: GPUMachine, x: Any, y: Any, out: Any = None) -> Any:
    """x @ y in one cuBLAS call; by CuPy's own kernel for integers. Operands cuBLAS cannot read are copied first."""
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


def multiply(machine: GPUMachine, x: Any, y: Any, z: Any) -> None:
    """z[...] = x @ y for three arrays of one floating dtype, z contiguous."""
    if not x.shape[-1]:
        z.fill(0)
        return
    if y.ndim == 2 and x.ndim > 2 and x.flags.c_contiguous:  # one product of many rows instead of a batch
        x, z = x.reshape(-1, x.shape[-1]), z.reshape(-1, z.shape[-1])
    call = gemm(x, y)
    if call is None:
        xp, batch = machine.module, z.shape[:-2]
        x = xp.ascontiguousarray(xp.broadcast_to(x, (*batch, *x.shape[-2:])))
        y = xp.ascontiguousarray(xp.broadcast_to(y, (*batch, *y.shape[-2:])))
        call = gemm(x, y)
    assert call is not None, "cuBLAS can read contiguous matrices"
    machine.multiply(call, y, x, z)
