"""The cost and saving of a checkpoint: a step through 64 layers, with and without it. Prints JSON.

The variants take turns; the fastest round of each counts. Peak bytes come from tracemalloc, or from a program's plan.
"""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import minigrad as mg
from minigrad.graph.function import TracedFunction
from minigrad.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, keep_products

LAYERS, PARTS, BATCH, WIDTH, ROUNDS = 64, 8, 1024, 128, 5


def figures() -> dict[str, dict[str, float]]:
    mg.manual_seed(0)
    x = mg.randn(BATCH, WIDTH)
    pairs = [(mg.nn.Linear(WIDTH, WIDTH), mg.nn.SiLU()) for _ in range(LAYERS)]
    size = LAYERS // PARTS
    parts = [
        mg.nn.Sequential(*(layer for pair in pairs[i : i + size] for layer in pair)) for i in range(0, LAYERS, size)
    ]
    weights = [p for part in parts for p in part.parameters()]

    def step(call: Callable[..., Any]) -> Callable[[], Any]:
        def net(x: Any) -> Any:
            for part in parts[:-1]:
                x = call(part, x)
            return mg.autograd.grad(parts[-1](x).sum(), weights)

        return lambda: net(x)

    def selective(part: Any, x: Any) -> Any:
        return checkpoint(part, x, context_fn=lambda: create_selective_checkpoint_contexts(keep_products))

    eager = {"plain": lambda f, x: f(x), "checkpoint": checkpoint, "products kept": selective}
    forms = {f"{name}, eager": step(call) for name, call in eager.items()}
    forms |= {f"{name}, traced": mg.function(step(call)) for name, call in eager.items()}
    peaks = {name: peak(run) for name, run in forms.items()}
    spent: dict[str, list[float]] = {name: [] for name in forms}
    for _ in range(ROUNDS):
        for name, run in forms.items():
            start = time.process_time()
            run()
            spent[name].append(time.process_time() - start)
    rows = {}
    for name in forms:
        plain = f"plain, {name.rpartition(', ')[2]}"
        rows[name] = {"time": min(spent[name]) / min(spent[plain]), "peak": peaks[name] / peaks[plain]}
    return rows


def peak(run: Any) -> int:
    """Peak bytes allocated in a step after the first; for a program, its planned bytes."""
    run()
    if isinstance(run, TracedFunction):
        return int(run.latest.run.latest.program.plan.peak_bytes)
    gc.collect()
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


if __name__ == "__main__":
    print(json.dumps(figures()))
