"""What minigrad alone is measured for: python -m benchmarks.own NAME prints JSON, row → column → figure.

session       the overhead of Session.run above its arithmetic, and its program alone: µs a call
profiler      the chain of small ops under a profiler, and without
checkpoint    a step through 64 layers with and without checkpoints: CPU time and peak bytes, relative to none
cores         large loops on two threads, relative to one

What is compared takes turns; the best round of each counts, in CPU seconds.
"""

from __future__ import annotations

import gc
import json
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from math import inf
from statistics import median
from typing import Any

import numpy as np

import minigrad as mg
from minigrad.engine.base.threads import share
from minigrad.graph.compiler.program import program
from minigrad.graph.function import TracedFunction
from minigrad.profiler import profile
from minigrad.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, keep_products

from . import engines
from .workloads import CHAIN_OPS, WORKLOADS

Rows = dict[str, dict[str, float]]
Way = Callable[[], AbstractContextManager[Any]]


def seconds(call: Callable[[], Any]) -> float:
    """The CPU seconds of a call."""
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


def repeat(call: Callable[[], Any], times: int) -> None:
    for _ in range(times):
        call()


def best(calls: dict[str, Callable[[], Any]], rounds: int, ways: dict[str, Way] | None = None) -> dict[str, float]:
    """The CPU seconds of each call in its best round, within the context of the same name if there is one."""
    found = dict.fromkeys(calls, inf)
    for _ in range(rounds):
        for name, call in calls.items():
            with (ways or {}).get(name, nullcontext)():
                found[name] = min(found[name], seconds(call))
    return found


def session(rounds: int = 20, calls: int = 500) -> Rows:
    with mg.Graph().as_default() as graph:
        x = mg.placeholder("float32", (3,))
        y = x + 1.0
        v = mg.Variable(np.zeros(3, "f4"))
        moved = v.assign_add(np.ones(3, "f4"))
    given = {x: np.zeros(3, "f4")}
    with mg.Session(graph) as session:
        session.run(v.initializer)
        session.run(y, given)
        compiled, array = session.last_run.run.program, given[x]
        once: dict[str, Callable[[], Any]] = {
            "y = x + 1, x fed": lambda: session.run(y, given),
            "[y, y], x fed": lambda: session.run([y, y], given),
            "{…} of a variable": lambda: session.run({"v": v}),
            "v ← v + 1": lambda: session.run(moved),
            "the first's program alone": lambda: compiled(array),
        }
        often = {name: partial(repeat, call, calls) for name, call in once.items()}
        return {name: {"µs": 1e6 * s / calls} for name, s in best(often, rounds).items()}


WAYS: dict[str, Way] = {
    "off": nullcontext,
    "on": profile,
    "record_shapes": lambda: profile(record_shapes=True),
    "with_flops": lambda: profile(with_flops=True),
    "with_modules": lambda: profile(with_modules=True),
    "with_stack": lambda: profile(with_stack=True),
    "profile_memory": lambda: profile(profile_memory=True),
}


def profiling(rounds: int = 40) -> Rows:
    [step] = engines.run("minigrad", WORKLOADS["chain"]).stages.values()
    found = best(dict.fromkeys(WAYS, step), rounds, WAYS)
    return {name: {"µs an op": 1e6 * s / CHAIN_OPS, "times off": s / found["off"]} for name, s in found.items()}


LAYERS, PARTS, BATCH, WIDTH, ROUNDS = 64, 8, 1024, 128, 5


def checkpointing() -> Rows:
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
    spent, rows = best(forms, ROUNDS), {}
    for name in forms:
        plain = f"plain, {name.rpartition(', ')[2]}"
        rows[name] = {"time": spent[name] / spent[plain], "peak": peaks[name] / peaks[plain]}
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


def deal(run: Callable[..., Any], count: int, threads: int, others: Any) -> None:
    """Like `share`, but two threads get equal shares: then the caller's CPU time is the wall time on idle cores."""
    ranges = [(count * i // 8, count * (i + 1) // 8) for i in range(8)]
    half = others.submit(lambda: [run(*ends, 1) for ends in ranges[1::2]])
    for ends in ranges[::2]:
        run(*ends, 0)
    half.result()


def cores(rounds: int = 7) -> Rows:
    rows: Rows = {}
    clocks = {"s": time.perf_counter, "CPU s": time.process_time, "caller's CPU s": time.thread_time}
    for name in ("fused", "softmax", "layernorm", "mlp", "hvp", "tiny"):
        for stage, step in engines.run("minigrad-native", WORKLOADS[name]).stages.items():
            found: dict[Any, list[float]] = {(clock, n): [] for clock in clocks for n in (1, 2)}
            for clock, n in [*found] * (rounds + 1):
                mg.set_num_threads(n)
                vars(program)["share"] = deal if clock.startswith("caller") else share
                start = clocks[clock]()
                repeat(step, 5)
                found[clock, n].append(clocks[clock]() - start)
            rows[f"{name} {stage}"] = {c: median(found[c, 2][1:]) / median(found[c, 1][1:]) for c in clocks}
    return rows


MEASURED = {"cores": cores, "session": session, "profiler": profiling, "checkpoint": checkpointing}

if __name__ == "__main__":
    print(json.dumps(MEASURED[sys.argv[1]]()))
