"""A kernel on the CPU: its very text, compiled by the compiler of native code behind a few lines that stand for a GPU.

One thread runs after the other, the last one first. In a reduction thread t takes in what thread t + half has gathered,
which is then complete: so nobody waits. That all threads would meet equally often, where they wait for each other, is
looked at. It shows that the text computes the right thing, and which element it reads and writes; nothing of a GPU's
speed.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Sequence

import numpy as np
import pytest

from minigrad.engine.base.errors import MinigradError
from minigrad.graph.backends.cuda.kernel import BLOCK, CUDA, Kernel, Launch
from minigrad.graph.backends.cuda.machine import Arrays, SimulatedMachine
from minigrad.graph.backends.native import toolchain
from minigrad.graph.backends.native.writer import HEAD, declare_function, library_of
from minigrad.graph.compiler.passes.fuse import Fused

GPU = """\
struct Position { unsigned int x; };
static Position threadIdx, blockIdx, gridDim;
static int meetings;

#define __global__
#define __restrict__ __restrict
#define __shared__ static
#define __syncthreads() meetings++

typedef void (*Body)(void**);

struct Pointer {
    void* to;
    template <class T> operator T*() const { return (T*)to; }
};

extern "C" int run(Body body, void** arguments, unsigned int grid, unsigned int block)
{
    gridDim = {grid};
    for (blockIdx = {0}; blockIdx.x < grid; blockIdx.x++) {
        int others = -1;
        for (threadIdx = {block}; threadIdx.x-- > 0; others = meetings) {
            meetings = 0;
            body(arguments);
            if (others >= 0 && meetings != others) return 0;
        }
    }
    return 1;
}
"""
OPTIONS = ("-O1", "-ffp-contract=off")


def compiler() -> tuple[str, ...] | None:
    """The command of the C++ compiler of this machine; None where there is none."""
    with warnings.catch_warnings(action="ignore"):
        return toolchain.compiler()


class Library:
    """Kernels, compiled together for the CPU: the test that asks for it is skipped where there is no compiler.

    Raises MinigradError where the compiler refuses the text.
    """

    def __init__(self, kernels: Sequence[Kernel]):
        if compiler() is None:
            pytest.skip("no C++ compiler: install g++ or clang++")
        self.kernels = {k.name: k for k in kernels}
        text = "\n".join(map(translated, self.kernels.values()))
        called = "".join(map(declare_function, library_of(text)))
        library = toolchain.library(f"#define OBJECT 0\n{HEAD}{GPU}{called}{text}", *OPTIONS)
        if library is None:
            raise MinigradError("the C++ compiler refuses the text of a kernel")
        self.library = library

    def __call__(self, kernel: Kernel, *operands: np.ndarray) -> tuple[np.ndarray, ...]:
        """The results of a kernel on these operands."""
        results = tuple(np.empty(s.shape, s.dtype) for s in kernel.results)
        partials = tuple(np.empty(s.shape, s.dtype) for s in kernel.partials)
        self.launch(kernel, operands, results, partials)
        return results

    def launch(
        self,
        kernel: Kernel,
        operands: Sequence[np.ndarray],
        results: Sequence[np.ndarray],
        partials: Sequence[np.ndarray] = (),
    ) -> None:
        """Runs a kernel on arrays, which lie in memory as it was told."""
        arrays = kernel.arrays_by_name(operands, results, partials)
        for launch in kernel.launches:
            given = [arrays[name].ctypes.data for name in launch.arguments]
            pointers = (ctypes.c_void_p * len(given))(*given)
            body = ctypes.cast(getattr(self.library, f"run_{launch.name}"), ctypes.c_void_p)
            assert self.library.run(body, pointers, launch.grid, BLOCK), "some threads wait for others that do not come"


class Emulated(SimulatedMachine):
    """The simulated device, with these kernels executed as they are written: to see a whole program's."""

    def __init__(self, kernels: Sequence[Kernel]):
        self.library = Library(kernels)

    def compute(self, kernel: Kernel, fused: Fused, operands: Arrays, results: Arrays, partials: Arrays) -> None:
        self.library.launch(kernel, *([x.host for x in xs] for xs in (operands, results, partials)))


def translated(kernel: Kernel) -> str:
    """A kernel's text in a room of its own, and for each launch a function that takes its arguments as one array."""
    text = kernel.text
    for definition in CUDA.values():
        text = text.replace(definition, "")
    starts = (
        f'extern "C" void run_{launch.name}(void** a) {{ {launch.name}({", ".join(pointers(launch))}); }}'
        for launch in kernel.launches
    )
    return "\n".join([f"namespace room_{kernel.name} {{", text, *starts, "}"])


def pointers(launch: Launch) -> list[str]:
    return [f"Pointer{{a[{i}]}}" for i in range(len(launch.arguments))]
