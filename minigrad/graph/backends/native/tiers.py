"""jit_compile="auto": a graph runs as a NumPy program at first, and as native code once compiling pays off.

Compiling costs time once; then native code saves a little time at each call. How often a function will be called is not
known, so the rule is that of the ski rental problem: rent skis until the rent has cost as much as skis do, then buy.
The time lost is at most twice that of the better choice. Both times are estimated from the graph, not measured, so
every run of a script compiles at the same call and has the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil, inf
from typing import Any

import numpy as np

from ....engine.core.graph import Graph
from ...compiler.blame import interrupts
from ...compiler.control import Control, Scan
from ...compiler.executable import Executable
from ...compiler.passes.liveness import bytes_moved
from ...compiler.program.buffer import ProgramStep, ReduceStep
from .toolchain import compiler, warn_no_compiler

# Seconds on one core, as `python scripts/compiling` measures them.
COMPILE, COMPILE_NODE = 0.15, 2e-3  # to compile any graph; for each node of the optimised graph
SAVED_CALL, SAVED_BYTE = 3e-7, 1.2e-11  # saved for each NumPy call replaced; for each byte that it moves


class TieredExecutable(Executable):
    """An Executable that runs a NumPy program for some calls, and then native code.

    compile_native    compiles the native program
    cost, gain        estimated seconds to compile, and seconds that native code saves at each call
    numpy_calls       how many calls NumPy runs; infinite if native code saves nothing, or could not be compiled
    why               the reason for numpy_calls
    calls             number of calls while undecided, that is, while NumPy runs and native code may follow
    """

    def __init__(self, graph: Graph, program: Any, compile_native: Callable[[], Any]):
        super().__init__(graph, program)
        self.compile_native, self.calls, self.undecided = compile_native, 0, True
        nodes, (replaced, moved) = len(program.graph.nodes), replaceable_calls(program.plan.steps)
        self.cost, self.gain = COMPILE + COMPILE_NODE * nodes, SAVED_CALL * replaced + SAVED_BYTE * moved
        self.numpy_calls = ceil(self.cost / self.gain) if self.gain else inf
        self.why = (
            f"compiling takes about {format_digits(self.cost, 2)} s ({nodes:,} nodes), and saves about "
            f"{format_digits(1e3 * self.gain, 2)} ms a call ({replaced:,} NumPy calls, "
            f"which move {format_digits(moved / 1e6, 3)} MB)"
        )

    def __call__(self, *arrays: Any) -> tuple[Any, ...]:
        if self.undecided:
            self.calls += 1
            if self.calls > self.numpy_calls:
                self.switch()
        return super().__call__(*arrays)

    def switch(self) -> None:
        """Compile native code for this call and all later ones. If that fails, NumPy keeps running, with a warning."""
        native: Any = None
        failure = ""
        self.undecided = False  # other threads keep running NumPy
        try:
            native = self.compile_native() if compiler(quietly=True) else None
        except BaseException as error:
            if not isinstance(error, Exception) or interrupts(error):  # Ctrl-C or a time limit: the next call compiles
                self.undecided = True
                raise
            failure = f"{type(error).__name__}: {error}"
        if getattr(native, "library", None) is not None:
            self.program = native
            return
        self.numpy_calls, self.why = inf, "there is no working C++ compiler, or it could not compile this graph"
        if failure:
            warn_no_compiler(failure)  # an error, if the user turns warnings into errors

    @property
    def tiers(self) -> str:
        n, now = self.numpy_calls, f" if there is a C++ compiler (calls so far: {self.calls:,})"
        calls = "all calls" if n == inf else f"calls 1 to {n:,}, native code runs from call {n + 1:,} on"
        return f"NumPy runs {calls}{now if self.undecided and n < inf else ''}, because {self.why}"


def format_digits(x: float, digits: int) -> str:
    """x with this many significant digits, and without an exponent."""
    return np.format_float_positional(x, digits, fractional=False, trim="-")


def replaceable_calls(steps: Iterable[ProgramStep]) -> tuple[int, int]:
    """The number of NumPy calls in a run that C++ can replace, and the bytes that they read and write.

    Matrix products do not count: BLAS computes them in both programs. The body of a while loop counts once.
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
