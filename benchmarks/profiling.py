"""The cost of a profiler: a step of the chain with it and without it. Prints JSON.

Both take turns in one process; the best of many rounds counts, in CPU seconds.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from math import inf
from typing import Any

from minigrad.profiler import profile

from . import engines
from .workloads import CHAIN_OPS, WORKLOADS

ROUNDS = 40
WAYS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "off": nullcontext,
    "on": profile,
    "record_shapes": lambda: profile(record_shapes=True),
    "with_flops": lambda: profile(with_flops=True),
    "with_modules": lambda: profile(with_modules=True),
    "with_stack": lambda: profile(with_stack=True),
    "profile_memory": lambda: profile(profile_memory=True),
}


def figures(rounds: int = ROUNDS) -> dict[str, dict[str, float]]:
    stages = engines.run("minigrad", WORKLOADS["chain"]).stages.values()
    best = dict.fromkeys(WAYS, inf)
    for _ in range(rounds):
        for name, way in WAYS.items():
            gc.collect()
            with way():
                start = time.process_time()
                for stage in stages:
                    stage()
                spent = time.process_time() - start
            best[name] = min(best[name], spent)
    return {name: {"µs an op": 1e6 * s / CHAIN_OPS, "times off": s / best["off"]} for name, s in best.items()}


if __name__ == "__main__":
    print(json.dumps(figures()))
