"""python -m benchmarks.worker ENGINE WORKLOAD [wall|bytes|first]: one engine on one workload, in a process of its own.

So each engine has the memory, the garbage collector and the modules that its users have, without those of others. The
first line of output is the result of the check against the reference. After that, each line of input with a number n is
answered by the CPU seconds of n steps, or the wall seconds with `wall`. With `bytes` the only line is the peak of
memory (see peak.py); with `first`, the CPU seconds of the first call, in which an engine may trace and compile.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from . import engines, peak
from .first import first
from .reference import error, reference
from .workloads import WORKLOADS, Workload


def ready(engine: str, workload: Workload) -> tuple[dict[str, Any], engines.Run | None]:
    """The engine's status, and the run to time if its results are right."""
    try:
        run = engines.run(engine, workload)
        off = error(run.answer(), reference(workload))
    except (AttributeError, ImportError, NotImplementedError) as lack:
        return {"status": "lacks", "why": f"{type(lack).__name__}: {lack}"}, None
    except Exception as failure:
        traceback.print_exc()
        return {"status": "failed", "why": f"{type(failure).__name__}: {failure}"}, None
    if not off <= workload.tolerance:
        return {"status": "wrong", "why": f"relative error {off:.1e}, allowed {workload.tolerance:.0e}"}, None
    sample(run, 1)  # a warm-up step: the engine's one-time work is done in it
    return {"status": "ok", "error": off}, run


def sample(run: engines.Run, steps: int, clock: Callable[[], float] = time.process_time) -> dict[str, float]:
    """Stage → seconds of one step, the mean of `steps`."""
    gc.collect()
    spent = {}
    for name, stage in run.stages.items():
        run.finish()
        start = clock()
        for _ in range(steps):
            stage()
        run.finish()
        spent[name] = (clock() - start) / steps
    return spent


def main() -> None:
    engine, workload, what = sys.argv[1], WORKLOADS[sys.argv[2]], sys.argv[3:]
    if what in (["bytes"], ["first"]):
        print(json.dumps({"bytes": peak.peak, "first": first}[what[0]](engine, workload)), flush=True)
        return
    clock = time.perf_counter if what == ["wall"] else time.process_time
    status, run = ready(engine, workload)
    print(json.dumps(status), flush=True)
    if run is not None:
        for line in sys.stdin:
            print(json.dumps(sample(run, int(line), clock)), flush=True)


if __name__ == "__main__":
    main()
