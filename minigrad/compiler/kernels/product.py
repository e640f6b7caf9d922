"""A matrix product as one call of cuBLAS, which CuPy would refuse to make while a graph is recorded.

cuBLAS counts along columns, so it sees each of our matrices transposed. z = x y is therefore asked for as zᵀ = yᵀ xᵀ,
with the operands in the other order, and nothing is moved. An operand that is itself transposed in memory is told to
be so.

cuBLAS Library User's Guide, sections 2.7.1 (gemm) and 2.8.12 (GemmStridedBatchedEx). https://docs.nvidia.com/cuda/cublas
"""

from __future__ import annotations

import ctypes
import importlib
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from ...errors import DeviceError


@dataclass(frozen=True)
class Gemm:
    """C = op(A) op(B), `batch` times: the arguments of cublasGemmStridedBatchedEx, in its order.

    turned_a, turned_b    whether A, B are transposed before they are multiplied
    m, n, k               op(A) is m × k, op(B) is k × n, C is m × n
    lda, ldb, ldc         from one column to the next, in elements
    step_a, …             from one matrix of the batch to the next
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
    """How to ask for z = x @ y: A is y, B is x, C is z, which is contiguous. None where x or y lies otherwise.

    x, y    arrays, or whatever has their shape, strides and itemsize
    """
    m, n, k = y.shape[-1], x.shape[-2], x.shape[-1]
    batch = np.broadcast_shapes(x.shape[:-2], y.shape[:-2])
    a, b = side(y, batch), side(x, batch)
    if a is None or b is None:
        return None
    return Gemm(a[0], b[0], m, n, k, *a[1:], *b[1:], m, m * n, prod(batch))


def side(x: Any, batch: tuple[int, ...]) -> tuple[bool, int, int] | None:
    """Of a batch of matrices: whether it is turned, its leading dimension, its step; None if cuBLAS cannot say it."""
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


def emulated(call: Gemm, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> None:
    """What cuBLAS does with these arguments, in NumPy: matrices are found from an array's first element."""
    op_a = matrices(a, call.batch, call.m, call.k, call.turned_a, call.lda, call.step_a)
    op_b = matrices(b, call.batch, call.k, call.n, call.turned_b, call.ldb, call.step_b)
    matrices(c, call.batch, call.m, call.n, False, call.ldc, call.step_c)[...] = op_a @ op_b


def matrices(x: np.ndarray, batch: int, rows: int, count: int, turned: bool, leading: int, step: int) -> np.ndarray:
    """A batch of matrices, rows × count, whose columns are contiguous; or, turned, whose rows are."""
    down, right = (leading, 1) if turned else (1, leading)
    strides = (step * x.itemsize, down * x.itemsize, right * x.itemsize)
    return np.lib.stride_tricks.as_strided(x, (batch, rows, count), strides)


DTYPES = {"f": 0, "d": 1, "e": 2}  # library_types.h: CUDA_R_32F, CUDA_R_64F, CUDA_R_16F
COMPUTE_32F, COMPUTE_64F = 68, 70  # cublas_api.h; of half precision the sums are of single
WORKSPACE = 32 << 20  # bytes; NVIDIA's advice for Hopper. Given beforehand, so that no call has to allocate


class Blas:
    """cuBLAS, called through ctypes: not run on a GPU yet.

    Singles are multiplied as singles, never as TF32, which has ten bits of fraction.
    """

    def __init__(self, cupy: Any):
        pathfinder = importlib.import_module("cuda.pathfinder")  # comes with CuPy 14
        self.library = ctypes.CDLL(pathfinder.load_nvidia_dynamic_lib("cublas").abs_path)
        self.handle = ctypes.c_void_p()
        self.done(self.library.cublasCreate_v2(ctypes.byref(self.handle)), "cublasCreate")
        self.workspace = cupy.cuda.alloc(WORKSPACE)
        self.stream: int | None = None

    def use(self, stream: int) -> None:
        """Sends what follows to that stream. Changing it takes the workspace away, so that is given anew."""
        if stream == self.stream:
            return
        self.done(self.library.cublasSetStream_v2(self.handle, ctypes.c_void_p(stream)), "cublasSetStream")
        memory = ctypes.c_void_p(self.workspace.ptr), ctypes.c_size_t(WORKSPACE)
        self.done(self.library.cublasSetWorkspace_v2(self.handle, *memory), "cublasSetWorkspace")
        self.stream = stream

    def multiply(self, call: Gemm, a: Any, b: Any, c: Any) -> None:
        """C = op(A) op(B), on the stream in use."""
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
        self.done(status, "cublasGemmStridedBatchedEx")

    def done(self, status: int, name: str) -> None:
        """Raises DeviceError where cuBLAS did not do it."""
        if status:
            raise DeviceError(f"{name} failed with status {status}: see cublasStatus_t in NVIDIA's manual")
