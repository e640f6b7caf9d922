"""Peak bytes of one training step, above those of the batch, the parameters and Adam's two moments.

Memory that an engine keeps between steps for its own use, such as buffers, counts for the step.

NumPy engines    tracemalloc, from before the engine is built. Before the step, the arrays alive (NumPy reports them
                 under a domain of its own). Within it, arrays and Python objects: the records of an
                 engine written in Python are counted, those of PyTorch, in C++, are not.
PyTorch          its profiler, which sees every allocation and release of a CPU tensor's storage, scratch included
"""

from __future__ import annotations

import gc
import tracemalloc
from itertools import accumulate
from typing import Any

import numpy as np

from . import engines
from .workloads import Workload

WARM = 3


def peak(engine: str, workload: Workload) -> dict[str, Any]:
    """The figure, or the engine's status without one."""
    try:
        total = torch_peak(workload) if engine == "torch" else numpy_peak(engine, workload)[0]
    except (AttributeError, ImportError, NotImplementedError) as lack:
        return {"status": "lacks", "why": f"{type(lack).__name__}: {lack}"}
    except Exception as failure:
        return {"status": "failed", "why": f"{type(failure).__name__}: {failure}"}
    return {"status": "ok", "bytes": total - staying(workload)}


def staying(workload: Workload) -> int:
    """Bytes that every engine must keep between two steps."""
    batch, parameters = workload.arrays()
    vectors = workload.vectors() if workload.kind == "hvp" else {}
    moments = 2 if workload.update == "adam" else 0
    given = [*batch.values(), *vectors.values(), *(1 + moments) * [*parameters.values()]]
    return sum(array.nbytes for array in given)


def step_of(run: engines.Run) -> None:
    for stage in run.stages.values():
        stage()


def numpy_peak(engine: str, workload: Workload, warm: int = WARM) -> tuple[int, engines.Run]:
    """The bytes of a step after the `warm` first ones, and the prepared workload."""
    tracemalloc.start()
    run = engines.run(engine, workload)
    for _ in range(warm):
        step_of(run)
    gc.collect()
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    held = sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces)
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    tracemalloc.reset_peak()
    step_of(run)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held + most - before, run


def torch_peak(workload: Workload) -> int:
    from torch.autograd.profiler import profile

    def changes(profiler: Any) -> list[int]:
        """Bytes allocated, or freed if negative, in order."""
        return [event.nbytes() for event in profiler.kineto_results.events() if event.name() == "[memory]"]

    with profile(profile_memory=True) as building:
        run = engines.run("torch", workload)
        for _ in range(WARM):
            step_of(run)
    with profile(profile_memory=True) as stepping:
        step_of(run)
    return sum(changes(building)) + max(accumulate(changes(stepping)))
