"""The kernels that the benchmark's workloads become on a GPU, without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks import engines
from benchmarks.workloads import WORKLOADS, Workload
from minigrad.engine.base.device import SIMULATED
from minigrad.graph.backends.cuda.kernel import Kernel
from minigrad.graph.backends.cuda.machine import SimulatedMachine, machine_of


def cut(workload: Workload, rows: int) -> Workload:
    """So many rows of the large arrays."""

    def shorter(rng: Any) -> Any:
        batch, parameters = workload.data(rng)
        return {n: a[:rows] for n, a in batch.items()}, parameters | {"x": parameters["x"][:rows].copy()}

    return replace(workload, data=shorter) if workload.kind == "large" else workload


def smaller(workload: Workload) -> Workload:
    """Some rows of the large arrays: enough for blocks, and a last one that is not full where that can be."""
    return cut(workload, 200_000 if workload.name == "fused" else 256)


def small(name: str) -> Workload:
    """Enough for several blocks of threads."""
    return cut(WORKLOADS[name], 5000 if name == "fused" else 8)


def stepped(workload: Workload, compute: Callable[..., None], monkeypatch: Any) -> Any:
    """The loss and the gradients after two steps, where a kernel is what `compute` does."""
    with monkeypatch.context() as patch:
        patch.setattr(machine_of(SIMULATED), "compute", compute, raising=False)
        run = engines.run("minigrad-compiled@simulated", workload)
        run.answer()
        for _ in range(2):
            for stage in run.stages.values():
                stage()
        return run.answer()


def kernels_of(workload: Workload, monkeypatch: Any) -> list[Kernel]:
    """All that run in two steps."""
    seen: dict[Kernel, None] = {}
    machine = SimulatedMachine()

    def compute(kernel: Kernel, *given: Any) -> None:
        seen[kernel] = None
        machine.compute(kernel, *given)

    stepped(workload, compute, monkeypatch)
    return list(seen)
