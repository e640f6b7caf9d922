"""The first call, in a process that has built no graph yet: its time, and the time of its stages.

wall, CPU   the call, without `import`: wall seconds and CPU seconds
import      modules, and the arrays of the workload
trace       Python runs on symbols, once
passes      the graph is optimised
code        memory is planned, and the program is emitted; for native code the C++ text too
compiler    the C++ text is compiled, or an earlier build is found and loaded
run         the rest: the program's first run

Except `wall`, all are CPU seconds, of the process and of the compilers that it starts.
"""

from __future__ import annotations

import importlib
import time
from collections import defaultdict
from collections.abc import Callable
from os import times
from typing import Any

from . import engines
from .workloads import Workload

STAGES = {  # stage → the module and the name of its function
    "trace": ("minigrad.graph.function", "build_trace"),
    "passes": ("minigrad.graph.compiler.executable", "optimised"),
    "code": ("minigrad.graph.compiler.program.program", "Program.__init__"),
    "compiler": ("minigrad.graph.backends.native.program", "library"),
}


def seconds() -> float:
    """CPU seconds of this process, and of finished child processes."""
    return time.process_time() + times().children_user + times().children_system


class Stages:
    """Seconds of each stage, without those of the stages inside it."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self.inner = [0.0]

    def timed(self, stage: str, f: Callable[..., Any]) -> Callable[..., Any]:
        """The function, wrapped to count its time for the stage."""

        def run(*args: Any, **options: Any) -> Any:
            start = seconds()
            self.inner.append(0.0)
            try:
                return f(*args, **options)
            finally:
                whole = seconds() - start
                self.spent[stage] += whole - self.inner.pop()
                self.inner[-1] += whole

        return run

    def watch(self) -> None:
        """Time the engine's stages from now on."""
        for stage, (module, path) in STAGES.items():
            *owners, name = path.split(".")
            home: Any = importlib.import_module(module)
            for owner in owners:
                home = getattr(home, owner)
            setattr(home, name, self.timed(stage, getattr(home, name)))


def first(engine: str, workload: Workload) -> dict[str, Any]:
    """Seconds of a first call of everything timed, and of its stages."""
    stages = Stages()
    try:
        start = seconds()
        run = engines.run(engine, workload)
        if engines.HOMES[engine][0] == "minigrad":
            importlib.import_module("minigrad.graph.autograph.convert")  # loaded by the first trace
            stages.watch()
        stages.spent["import"] = seconds() - start
        begin, start = time.perf_counter(), seconds()
        for stage in run.stages.values():
            stages.timed("run", stage)()
    except (AttributeError, ImportError, NotImplementedError) as lack:
        return {"status": "lacks", "why": f"{type(lack).__name__}: {lack}"}
    spent = {"wall": time.perf_counter() - begin, "CPU": seconds() - start}
    return {"status": "ok", "seconds": spent | stages.spent}
