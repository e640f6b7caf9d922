"""A kernel on the CPU: its very text, compiled by a C++ compiler behind a few lines that stand for a GPU.

A block's threads run one after the other; where they wait for each other (__syncthreads) they are threads indeed. It
shows that the text computes the right thing, and which element it reads and writes; nothing of a GPU's speed.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import numpy as np

from minigrad.backends.c import FUNCTIONS
from minigrad.backends.cuda.kernel import BLOCK, Kernel, Launch
from minigrad.backends.cuda.machine import Arrays, Simulated
from minigrad.base.errors import MinigradError
from minigrad.compiler.passes.fuse import Fused

GPU = """\
#include <barrier>
#include <math.h>
#include <thread>
#include <vector>

struct Position { unsigned int x; };
static thread_local Position threadIdx;
static Position blockIdx, gridDim;
static std::barrier<>* meeting;

#define __global__
#define __device__ static
#define __restrict__ __restrict
#define __shared__ static
#define __syncthreads() meeting->arrive_and_wait()

typedef void (*Body)(void**);

struct Pointer {
    void* to;
    template <class T> operator T*() const { return (T*)to; }
};

extern "C" void run(Body body, void** arguments, unsigned int grid, unsigned int block, int together)
{
    gridDim = {grid};
    if (!together) {
        for (blockIdx = {0}; blockIdx.x < grid; blockIdx.x++)
            for (threadIdx = {0}; threadIdx.x < block; threadIdx.x++) body(arguments);
        return;
    }
    std::barrier<> all(block);
    meeting = &all;
    std::vector<std::thread> threads;
    for (unsigned int t = 0; t < block; t++)
        threads.emplace_back([=, &all] {
            threadIdx = {t};
            for (unsigned int b = 0; b < grid; b++) {
                if (t == 0) blockIdx = {b};
                all.arrive_and_wait();
                body(arguments);
                all.arrive_and_wait();
            }
        });
    for (std::thread& t : threads) t.join();
}

// Half precision: one sign, five bits of exponent, ten of fraction; to the nearest, ties to the even one.
static float from_half(unsigned short bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float size = exponent == 31 ? (fraction ? NAN : INFINITY)
                     : exponent ? std::ldexp(1024.0f + fraction, exponent - 25) : std::ldexp((float)fraction, -24);
    return bits >> 15 ? -size : size;
}
static unsigned short to_half(double x)
{
    const unsigned short sign = std::signbit(x) ? 0x8000 : 0;
    const double size = std::fabs(x);
    if (size != size) return sign | 0x7e00;
    if (size >= 65520) return sign | 0x7c00;
    if (size == 0) return sign;
    int exponent;
    std::frexp(size, &exponent);
    const int unit = exponent - 11 < -24 ? -24 : exponent - 11;
    const double steps = std::nearbyint(std::ldexp(size, -unit));
    return sign | (unsigned short)(steps + 1024.0 * (unit + 24));
}
"""
HALF = ("from_half", "to_half")  # on a GPU one instruction each
OPTIONS = ("-std=c++20", "-O1", "-ffp-contract=off", "-fwrapv", "-shared", "-fPIC", "-pthread", "-w")


@cache
def compiler() -> str | None:
    """The C++ compiler of this machine; None where there is none."""
    return next(filter(None, map(which, ("g++", "clang++", "c++"))), None)


class Library:
    """Kernels, compiled together for the CPU.

    Raises MinigradError where there is no compiler, or where it refuses the text.
    """

    def __init__(self, kernels: Sequence[Kernel]):
        self.kernels = {k.name: k for k in kernels}
        used = compiler()
        if used is None:
            raise MinigradError(
                "to run a kernel on the CPU takes a C++ compiler, and there is none: install g++ or clang++"
            )
        with TemporaryDirectory() as folder:
            source, library = Path(folder) / "kernels.cpp", Path(folder) / "kernels.so"
            source.write_text("\n".join([GPU, *map(translated, self.kernels.values())]), "utf-8")
            said = subprocess.run([used, *OPTIONS, "-o", library, source], capture_output=True, text=True, check=False)
            if said.returncode:
                raise MinigradError(f"{used} refuses the text of a kernel:\n{said.stderr[:2000]}")
            self.library = ctypes.CDLL(str(library))

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
        arrays = kernel.named(operands, results, partials)
        for launch in kernel.launches:
            given = [arrays[name].ctypes.data for name in launch.arguments]
            pointers = (ctypes.c_void_p * len(given))(*given)
            body = ctypes.cast(getattr(self.library, f"run_{launch.name}"), ctypes.c_void_p)
            self.library.run(body, pointers, launch.grid, BLOCK, int(bool(kernel.reduced)))


class Emulated(Simulated):
    """The simulated device, with these kernels executed as they are written: to see a whole program's."""

    def __init__(self, kernels: Sequence[Kernel]):
        self.library = Library(kernels)

    def compute(self, kernel: Kernel, fused: Fused, operands: Arrays, results: Arrays, partials: Arrays) -> None:
        self.library.launch(kernel, *([x.host for x in xs] for xs in (operands, results, partials)))


def translated(kernel: Kernel) -> str:
    """A kernel's text in a room of its own, and for each launch a function that takes its arguments as one array."""
    text = kernel.text
    for name in HALF:
        text = text.replace(FUNCTIONS[name], "")
    starts = (
        f'extern "C" void run_{launch.name}(void** a) {{ {launch.name}({", ".join(pointers(launch))}); }}'
        for launch in kernel.launches
    )
    return "\n".join([f"namespace room_{kernel.name} {{", text, *starts, "}"])


def pointers(launch: Launch) -> list[str]:
    return [f"Pointer{{a[{i}]}}" for i in range(len(launch.arguments))]
