"""jit_compile="auto": a graph runs as a NumPy program at first, and as native code once compiling pays off.

Native code saves a little at each call, and costs a compilation. Nobody knows how often a function will be called, as
nobody knows how often they will ski when they ask whether to rent skis or to buy them. The rule is the same: rent, and
buy when the rent has cost as much as the skis. It loses at most twice as much time as the better choice.

Both sides are estimated from the graph, not measured with a clock. So each run of a script switches at the same call,
and has the same results; so do the processes that train a model together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import ceil, inf
from threading import Lock
from typing import Any

import numpy as np

from ...engine.core.graph import Graph
from .blame import interrupts
from .control import Control, Scan
from .executable import Executable
from .passes.liveness import bytes_moved
from .passes.pipeline import NATIVE, optimised
from .program.buffer import ProgramStep, ReduceStep

# Seconds on one core; `python scripts/tiers` measures them.
COMPILE, COMPILE_NODE = 0.15, 2e-3  # a compilation takes; each node of the optimised graph adds
SAVED_CALL, SAVED_BYTE = 3e-7, 1.2e-11  # native code saves for a NumPy call that C++ replaces, and for a byte it moves


class TieredExecutable(Executable):
    """An Executable that runs a NumPy program for some calls, and then native code.

    compile_native    compiles the native program
    cost, gain        estimated seconds to compile, and estimated seconds that native code saves at each call
    numpy_calls       how many calls NumPy runs before native code is compiled
    calls             number of calls until now, or until the choice was made
    undecided         whether NumPy runs, but native code may follow
    obstacle          why NumPy runs all calls, if it does
    """

    def __init__(self, graph: Graph, program: Any, compile_native: Callable[[], Any]):
        super().__init__(graph, program)
        self.compile_native, self.lock, self.calls = compile_native, Lock(), 0
        self.replaced, self.moved = replaceable_calls(program.plan.steps)
        self.nodes = sum(bool(node.inputs) for node in program.graph.nodes)
        self.cost = COMPILE + COMPILE_NODE * self.nodes
        self.gain = SAVED_CALL * self.replaced + SAVED_BYTE * self.moved
        self.undecided = self.gain > 0
        self.numpy_calls = ceil(self.cost / self.gain) if self.undecided else inf
        self.obstacle = "" if self.undecided else "C++ can replace none of its steps"

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if self.undecided:
            self.calls += 1
            if self.calls > self.numpy_calls and self.lock.acquire(blocking=False):  # other threads go on with NumPy
                try:
                    self.switch()
                finally:
                    self.lock.release()
        return super().__call__(*arrays)

    def switch(self) -> None:
        """Compile native code for this call and all later ones. If that fails, NumPy goes on, and a warning says so."""
        from ..backends.native.toolchain import find_compiler, warn_no_compiler

        if not self.undecided:  # another thread was first
            return
        native = None
        try:
            native = self.compile_native() if find_compiler() else None
        except Exception as error:
            if interrupts(error):
                raise
            warn_no_compiler(f"{type(error).__name__}: {error}")
        if getattr(native, "library", None) is not None:
            self.program = native
        else:
            self.obstacle = "no native code was made" if find_compiler() else "there is no working C++ compiler"
        self.undecided = False

    def explain(self) -> str:
        """Which calls run which program, and why."""
        if self.obstacle:
            return f"NumPy runs all calls, because {self.obstacle}"
        if self.undecided:
            way = f"calls 1 to {self.numpy_calls:,} run NumPy, later ones native code if there is a C++ compiler"
            way += f" ({self.calls:,} call{'s' * (self.calls != 1)} until now)"
        else:
            way = f"calls 1 to {self.calls - 1:,} ran NumPy; from call {self.calls:,} on native code runs"
        return (
            f"{way}, because compiling takes about {self.cost:.2g} s ({self.nodes:,} nodes), and saves about "
            f"{1e3 * self.gain:.2g} ms a call ({self.replaced:,} NumPy calls, which move {self.moved / 1e6:,.3g} MB)"
        )


def compile_native(
    graph: Graph, threads: int | None, into: Mapping[int, int] | None, finish: Callable[[Graph], Graph]
) -> Any:
    """The native program of a graph, with the passes of jit_compile="native"."""
    from ..backends.native.program import native  # loaded only if it is used

    return native(finish(optimised(graph, NATIVE)), threads, into)


def replaceable_calls(steps: Iterable[ProgramStep]) -> tuple[int, int]:
    """The number of NumPy calls that C++ can replace in a run, and the bytes they read and write.

    Matrix products do not count: BLAS computes them in both programs. A body of a while loop counts as one turn.
    """
    calls = moved = 0
    for step in steps:
        op, times, inner = getattr(step.node, "op", None), 1, (0, 0)
        if step.loop is not None:
            times, inner = -(-step.loop.length // step.loop.rows), replaceable_calls(step.loop.plan.steps)
        elif isinstance(op, Control):
            times = op.steps([x.spec for x in step.node.inputs]) if isinstance(op, Scan) else 1
            inner = sum(len(g.nodes) for g in op.graphs), sum(map(bytes_moved, op.graphs))
        elif isinstance(step.does, np.ufunc | ReduceStep) or step.does is np.copyto:
            inner = 1, sum(v.nbytes for v in step.operands)
        calls, moved = calls + times * inner[0], moved + times * inner[1]
    return calls, moved
