"""python -m benchmarks growth [FAMILY ...] [--quick] [--write]: figures over sizes instead of at one size.

batch     a training step of the MLP, the CNN and the transformer, for batches of 1 to 4096
length    gradients of causal attention, 4 heads of 32, for sequences of 64 to 4096
nodes     graphs of 10 to 1,000,000 ops on three numbers: to build, differentiate, trace and compile them
ranks     data parallel training of the MLP on 2 to 8 ranks, with all-reduce in a ring

In brackets after a figure is the exponent of its growth from the row above: 1 is linear, 2 quadratic. Time is CPU time
of one thread, the best of several runs. Bytes are those alive at the peak (tracemalloc, to which NumPy reports its
arrays); of a step, above those of the batch, the parameters and Adam's moments. Each engine has a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import json
import re
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import distributed as dist
from minigrad.draw.charts import LOOKS, across, chart, compact, decades, legend, line, place_in_rows, upwards
from minigrad.draw.svg import STYLE, text
from minigrad.draw.words import took
from minigrad.graph.backends.native.toolchain import compiler

from . import report, rounds
from .peak import numpy_peak, staying
from .worker import sample
from .workloads import WORKLOADS, Arrays, Workload, normal

DOCS = Path(__file__).parents[1] / "docs"
ENGINES = {"minigrad": "eager", "minigrad-compiled": "compiled", "minigrad-native": "native"}
STAGES = {"Value": ("build", "backward"), "Tensor": ("build", "backward"), "function": ("trace", "compile")}
STEPS = {"batch": ["mlp", "cnn", "transformer"], "length": ["attention"]}
SIZES = {
    "batch": [4**k for k in range(7)],
    "length": [2**k for k in range(6, 13)],
    "nodes": [10**k for k in range(1, 7)],
    "ranks": [2, 4, 6, 8],
}
COMPILED = 100_000  # nodes: to compile 1,000,000 takes minutes
UNITS = {"ms": 1e3, "µs": 1e6, "MB": 1e-6, "bytes": 1, "messages": 1}
Columns = dict[str, dict[int, float]]  # column → size → seconds, bytes or messages


# -- one column, in a process of its own --------------------------------------------------------------------


def sized(name: str, n: int) -> Workload:
    """A workload with a batch of n, or attention over n positions."""
    if name == "attention":
        return Workload(name, "", lambda rng: ({}, {x: normal(rng, 1, 4, n, 32, fan_in=1) for x in "qkv"}), attention)

    def data(rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        batch, parameters = WORKLOADS[name].data(rng)
        shapes = {key: (len(a) * n // len(batch["x"]), *a.shape[1:]) for key, a in batch.items()}
        return {key: np.resize(a, shapes[key]) for key, a in batch.items()}, parameters

    return replace(WORKLOADS[name], data=data)


def attention(e: Any, q: Any, k: Any, v: Any) -> Any:
    return e.sum(e.attention(q, k, v))


def steps(engine: str, name: str, sizes: list[int]) -> Iterator[tuple[str, int, float]]:
    """The peak bytes and the seconds of a step at each size."""
    for n in sizes:
        workload = sized(name, n)
        nbytes, run = numpy_peak(engine, workload, warm=2)
        yield f"{ENGINES[engine]}, MB", n, nbytes - staying(workload)
        once = sample(run, 1)["step"]
        repeats = max(1, round(rounds.MOMENT / once))
        more = [sample(run, repeats)["step"] for _ in range(5 if once < 0.5 else 0)]
        yield f"{ENGINES[engine]}, ms", n, min([once, *more])


def graphs(kind: str, sizes: list[int]) -> Iterator[tuple[str, int, float]]:
    """The seconds and the peak bytes of both stages of a graph of n nodes."""
    for n in sizes:
        best = [min(figures) for figures in zip(*(both(kind, n, seconds) for _ in range(1 if n > 10_000 else 5)))]
        for unit, found in (
            ("µs", best),
            ("bytes", both(kind, n, peak) if n <= COMPILED or kind != "function" else []),
        ):
            yield from ((f"{stage}, {unit}", n, figure) for stage, figure in zip(STAGES[kind], found))


def both(kind: str, n: int, measure: Callable[..., tuple[float, Any]]) -> Iterator[float]:
    """The cost of building or tracing a chain of n ops, and of its gradients or of compiling it."""
    a, b = (mg.Value(x) if kind == "Value" else mg.tensor([x] * 3, requires_grad=True) for x in (0.999, 0.01))
    f = mg.function(lambda: chain(n, a, b).sum(), autograph=False, jit_compile=True)
    cost, y = measure(f.get_concrete_function) if kind == "function" else measure(chain, n, a, b)
    yield cost
    if kind != "function" or n <= COMPILED:
        yield measure(f if kind == "function" else y.backward if kind == "Value" else y.sum().backward)[0]


def chain(n: int, a: Any, b: Any) -> Any:
    y = a
    for _ in range(n // 2):
        y = y * a + b
    return y


def seconds(call: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    gc.collect()
    start = time.process_time()
    y = call(*args)
    return time.process_time() - start, y


def peak(call: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    gc.collect()
    tracemalloc.start()
    y = call(*args)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most, y


def rank() -> list[float]:
    """The bytes and the messages that this rank sends in a step; the peak bytes and the CPU seconds of a step."""
    dist.init_process_group("ring")
    mg.manual_seed(0)
    layers = [mg.nn.Linear(784, 256), mg.nn.ReLU(), mg.nn.Linear(256, 128), mg.nn.ReLU(), mg.nn.Linear(128, 10)]
    net = dist.DistributedDataParallel(mg.nn.Sequential(*layers))
    optimizer = mg.optim.Adam(net.parameters())
    x, y = mg.randn(64, 784), mg.arange(64) % 10

    def train() -> None:
        optimizer.zero_grad()
        mg.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    for _ in range(2):
        train()
    with dist.CommDebugMode() as comm:
        train()
    sent = [nbytes for _, nbytes in comm.messages]
    return [sum(sent), len(sent), peak(train)[0], min(seconds(train)[0] for _ in range(9))]


# -- all columns --------------------------------------------------------------------------------------------


def measured(family: str, sizes: list[int]) -> dict[str, Columns]:
    """Title → its columns. Two processes run at once."""
    if family == "ranks":
        columns = ["sent by a rank, MB", "sent, messages", "peak of a rank, MB", "step, ms"]
        each = {n: np.max(dist.launch(rank, n), axis=0).tolist() for n in sizes}
        return {"data parallel": {column: {n: each[n][i] for n in sizes} for i, column in enumerate(columns)}}
    engines = [e for e in ENGINES if e != "minigrad-native" or compiler() is not None]
    jobs = [(name, "steps", engine, name) for name in STEPS.get(family, ()) for engine in engines]
    jobs = jobs or [(kind, "graphs", kind) for kind in STAGES]

    def child(job: tuple[str, ...]) -> Any:
        return rounds.told("benchmarks.growth", "--child", *job[1:], ",".join(map(str, sizes)))

    found: dict[str, Columns] = {}
    with ThreadPoolExecutor(2) as pool:
        for (title, *_), figures in zip(jobs, pool.map(child, jobs)):
            for column, n, figure in figures:
                found.setdefault(title, {}).setdefault(column, {})[n] = figure
    return found


def table(family: str, title: str, columns: Columns) -> str:
    """The figures with their exponents, in Markdown; for graphs divided by the number of nodes."""
    rows: dict[str, dict[str, str]] = {}
    for column, figures in sorted(columns.items(), key=lambda pair: [*UNITS].index(unit_of(pair[0]))):
        before = {b: a for a, b in pairwise(figures)}
        for n, figure in figures.items():
            shown = report.short(figure * UNITS[unit_of(column)] / (n if family == "nodes" else 1))
            if n in before:
                shown += f" ({log(figure / figures[before[n]]) / log(n / before[n]):.2f})"
            rows.setdefault(f"{n:,}", {})[column + " a node" * (family == "nodes")] = shown
    return report.grid(title, rows)


def unit_of(column: str) -> str:
    return column.rpartition(", ")[2]


def picture(family: str, found: dict[str, Columns]) -> str:
    """A chart of the times and one of the bytes for each title, on logarithmic axes, as one SVG."""
    rows = []
    for title, columns in found.items():
        halves = [
            {c: f for c, f in columns.items() if (unit_of(c) in ("ms", "µs")) == timed} for timed in (True, False)
        ]
        rows.append([(f"{title}: {what}", panel(family, half)) for what, half in zip(("time", "memory"), halves)])
    return place_in_rows(f"Growth over {family}", STYLE + LOOKS, *rows)


def panel(family: str, columns: Columns) -> str:
    """One line for each column, with a letter at its end."""
    sizes, figures = ([x for column in columns.values() for x in some(column)] for some in (dict.keys, dict.values))
    timed = unit_of(next(iter(columns))) in ("ms", "µs")
    x = across(min(sizes), max(sizes), family, log=True, marks=sorted({*sizes}), words=compact)
    y = decades(figures, upwards, "CPU time" if timed else "bytes", took if timed else compact)
    parts, names = [], {}
    for series, letter, (column, values) in zip((0, 1, 3, 5, 7, 8), "ABCDEF", columns.items()):
        points = [(x.at(n), y.at(figure)) for n, figure in values.items()]
        drawn = line("", points), text("mg-sign", points[-1][0] - 6, points[-1][1] - 6, letter)
        parts.append(f'<g class="mg-s{series}" stroke="currentColor" fill="none">{drawn[0]}</g>{drawn[1]}')
        names[series] = column.rpartition(", ")[0]
    below, height = legend(names, "AB C D EF", 300)
    return chart("growth", x, y, *parts, *below, below=height)


def write(family: str, tables: str, svg: str) -> None:
    """Replace the family's tables in docs/growth.md, between its two markers, and its picture."""
    page = DOCS / "growth.md"
    begin, end = f"<!-- {family} -->\n", "\n<!-- end -->"
    old = re.compile(f"(?s){re.escape(begin)}.*?{re.escape(end)}")
    shown = f"![{family}: time and memory on logarithmic axes](pictures/growth_{family}.svg)"
    said = page.read_text("utf-8")
    page.write_text(old.sub(lambda _: f"{begin}\n{tables}\n\n{shown}\n{end}", said), "utf-8")
    (DOCS / "pictures" / f"growth_{family}.svg").write_text(svg + "\n", "utf-8")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks growth", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(SIZES)}; all by default")
    parser.add_argument("--quick", action="store_true", help="the smaller half of the sizes")
    parser.add_argument("--write", action="store_true", help="update docs/growth.md and its pictures")
    options = parser.parse_args(arguments)
    if unknown := {*options.families} - {*SIZES}:
        parser.error(f"a family is one of {', '.join(SIZES)}, and not {', '.join(sorted(unknown))}")
    print(f"{report.machine()}; CPU time of one thread", flush=True)
    for family in options.families or SIZES:
        sizes = SIZES[family][: -(-len(SIZES[family]) // 2)] if options.quick else SIZES[family]
        found = measured(family, sizes)
        tables = "\n\n".join(table(family, title, columns) for title, columns in found.items())
        print(f"\n{tables}", flush=True)
        if options.write:
            write(family, tables, picture(family, found))


if __name__ == "__main__":
    _, _, what, *parameters, listed = sys.argv
    measure = {"steps": steps, "graphs": graphs}[what]
    print(json.dumps([*measure(*parameters, [int(n) for n in listed.split(",")])]))  # type: ignore[operator]
