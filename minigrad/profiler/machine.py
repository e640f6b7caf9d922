"""The measured speeds of this machine: the roofs of a roofline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..draw.words import number, took
from ..engine.base.spec import Spec
from ..engine.core.graph import Graph
from ..engine.core.node import Node
from ..engine.ops import Add, Input
from ..graph.compiler.program.program import Program
from . import clock
from .clock import TICKS, calls_for, tick

SIDES = (256, 512, 1024)  # side lengths of the square matrices to multiply
LARGE, SMALL = 1 << 26, 1 << 17  # bytes to copy: more than a cache holds, and less
RUNS = 7  # of which the fastest counts
PATIENCE = 0.02  # seconds to repeat a short run for
LONG = 2.0  # seconds after which no run is repeated


@dataclass(frozen=True, repr=False)
class Machine:
    """Speeds of arithmetic and of memory.

    peak      FLOPs a second of the fastest matrix product
    memory    bytes a second read and written, of a copy in main memory
    cache     bytes a second read and written, of a copy that stays in the cache
    call      seconds of a compiled program that adds two numbers: the overhead of any call
    fits      bytes moved by the largest op whose arrays are known to fit in the cache
    """

    peak: float
    memory: float
    cache: float
    call: float
    fits: float = 2 * SMALL

    def __post_init__(self) -> None:
        if min(self.peak, self.memory, self.cache) <= 0 or self.call < 0:
            raise ValueError(f"a machine's speeds must be above 0, and got {self}")

    def __repr__(self) -> str:
        speeds = f"peak={rate(self.peak)}, memory={bandwidth(self.memory)}, cache={bandwidth(self.cache)}"
        return f"Machine({speeds}, call={took(self.call)})"

    ridge = property(lambda self: self.peak / self.memory, doc="FLOPs a byte above which main memory is no bottleneck.")

    def roof(self, intensity: float, cached: bool = False) -> float:
        """FLOPs a second attainable at this many FLOPs a byte, with arrays in main memory or in the cache."""
        return min(self.peak, (self.cache if cached else self.memory) * intensity)

    @property
    def summary(self) -> str:
        """Its speeds, in sentences."""
        return (
            f"This machine computes at {rate(self.peak)}; a copy moves {bandwidth(self.memory)} in main memory and "
            f"{bandwidth(self.cache)} in the cache. From {number(self.ridge, 3)} FLOPs a byte on, memory is no bound. "
            "Other load lowers all of these."
        )

    @classmethod
    def measured(cls, dtype: Any = np.float32) -> Machine:
        """Measure this machine for a dtype, with as many threads as NumPy may use."""
        dtype = np.dtype(dtype)
        return cls(max(product(n, dtype) for n in SIDES), copy(LARGE), copy(SMALL), fastest_of_many(adding(dtype)))


def rate(flops: float) -> str:
    """A speed of arithmetic, in words."""
    return f"{number(flops / 1e9, 3)} GFLOP/s"


def bandwidth(nbytes: float) -> str:
    """A speed of memory, in words."""
    return f"{number(nbytes / 1e9, 3)} GB/s"


def product(n: int, dtype: np.dtype) -> float:
    """FLOPs a second of a product of n × n matrices."""
    x, y, z = np.full((n, n), 0.5, dtype), np.full((n, n), 0.25, dtype), np.empty((n, n), dtype)
    return 2 * n**3 / fastest(lambda: np.matmul(x, y, out=z))


def copy(nbytes: int) -> float:
    """Bytes a second, read and written, of a copy of `nbytes` bytes."""
    x, y = np.ones(nbytes // 8), np.zeros(nbytes // 8)
    return 2 * nbytes / fastest_of_many(lambda: np.copyto(y, x))


def adding(dtype: np.dtype) -> Callable[[], Any]:
    """A function that runs a compiled program, which adds two numbers."""
    x = Node(Input("x0"), (), Spec((), dtype))
    program, one = Program(Graph((x,), (Node(Add(), (x, x)),))), np.ones((), dtype)
    return lambda: program(one)


def fastest_of_many(run: Callable[[], Any]) -> float:
    """Seconds of the fastest run; short runs are repeated."""
    run()
    return fastest(run, min(1000, max(5, int(PATIENCE / max(fastest(run, 2), 1e-7)))))


@np.errstate(all="ignore")  # a program that divides by 0 would warn at each run
def fastest(run: Callable[[], Any], runs: int = RUNS) -> float:
    """Seconds of the fastest of `runs` runs. Stops early if runs are slow, such as a matrix product in a browser."""
    took = [clock.seconds(run)]
    while len(took) < runs and sum(took) < LONG:
        took.append(clock.seconds(run))
    found = min(took)
    if found < TICKS * tick():
        calls = calls_for(run)
        found = min(clock.seconds(run, calls) for _ in range(runs))
    return found
