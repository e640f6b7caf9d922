"""python -m benchmarks growth [FAMILY ...] [--quick] [--write]: time and memory over a range of sizes.

batch     a training step of the MLP, the CNN and the transformer, for batches of 1 to 4096
length    gradients of causal attention, 4 heads of 32, for sequences of 64 to 4096
nodes     graphs of 10 to 1,000,000 ops on three numbers: to build, differentiate, trace and compile them
ranks     data parallel training of the MLP on 2 to 8 ranks, with all-reduce in a ring

The number in brackets is the exponent of growth from the row above: 1 is linear, 2 quadratic. Time is CPU time
of one thread, the best of several runs. Bytes are those alive at the peak (tracemalloc, to which NumPy reports its
arrays); of a step, above those of the batch, the parameters and Adam's moments. Each engine has a process of its own.
"""

from __future__ import annotations

import argparse
import gc
import json
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
from minigrad.draw import charts
from minigrad.draw.charts import HEIGHT, LOOKS, WIDTH, across, chart, compact, decades, line, place_in_rows, upwards
from minigrad.draw.svg import STYLE, text, text_width
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
COMPILED = 100_000  # nodes compiled at most: 1,000,000 take minutes, as does measuring the memory of 100,000
UNITS = {"ms": 1e3, "µs": 1e6, "MB": 1e-6, "bytes": 1, "messages": 1}
COLOURS, LETTERS = (0, 1, 3, 5), "AB C D"  # of the lines: charts.css has nine colours
Columns = dict[str, dict[int, float]]  # column → size → seconds, bytes or messages


def workload_of(name: str, n: int) -> Workload:
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


def measure_steps(engine: str, name: str, sizes: list[int]) -> Iterator[tuple[str, int, float]]:
    """The peak bytes and the seconds of a step at each size."""
    for n in sizes:
        workload = workload_of(name, n)
        nbytes, run = numpy_peak(engine, workload, warm=2)
        yield f"{ENGINES[engine]}, MB", n, nbytes - staying(workload)
        once = sample(run, 1)["step"]
        turns = (sample(run, 1 + int(rounds.MOMENT / once))["step"] for _ in range(5 if once < 0.5 else 1))
        yield f"{ENGINES[engine]}, ms", n, min(once, *turns)


def measure_graphs(kind: str, sizes: list[int]) -> Iterator[tuple[str, int, float]]:
    """The seconds and the peak bytes of both stages of a graph of n nodes."""
    for n in sizes:
        rounds_of = [[*stage_costs(kind, n)] for _ in range(1 if n > 1000 else 5)]
        for stage, *figures in zip(STAGES[kind], *rounds_of):
            yield f"{stage}, µs", n, min(figures)
        yield from ((f"{stage}, bytes", n, most) for stage, most in zip(STAGES[kind], stage_costs(kind, n, True)))


def stage_costs(kind: str, n: int, memory: bool = False) -> Iterator[float]:
    """The cost of building or tracing a chain of n ops, then of its gradients or of compiling it."""
    a, b = (mg.Value(x) if kind == "Value" else mg.tensor([x] * 3, requires_grad=True) for x in (0.999, 0.01))
    f = mg.function(lambda: chain(n, a, b).sum(), autograph=False, jit_compile=True)
    cost, y = cost_of(memory, f.get_concrete_function if kind == "function" else lambda: chain(n, a, b))
    yield cost
    if kind != "function" or n <= COMPILED // (10 if memory else 1):
        yield cost_of(memory, f if kind == "function" else y.backward if kind == "Value" else y.sum().backward)[0]


def cost_of(memory: bool, call: Callable[[], Any]) -> tuple[float, Any]:
    """The CPU seconds of a call, or its peak bytes; and its result."""
    gc.collect()
    if memory:
        tracemalloc.start()
    start = time.process_time()
    y = call()
    cost = tracemalloc.get_traced_memory()[1] if memory else time.process_time() - start
    tracemalloc.stop()
    return cost, y


def chain(n: int, a: Any, b: Any) -> Any:
    y = a
    for _ in range(n // 2):
        y = y * a + b
    return y


def rank() -> list[float]:
    """The bytes and the messages that this rank sends in a step; the peak bytes and the CPU seconds of a step."""
    dist.init_process_group("ring")
    mg.manual_seed(0)
    layers = (mg.nn.Linear(784, 256), mg.nn.ReLU(), mg.nn.Linear(256, 128), mg.nn.ReLU(), mg.nn.Linear(128, 10))
    net = dist.DistributedDataParallel(mg.nn.Sequential(*layers))
    optimizer = mg.optim.Adam(net.parameters())
    x, y = mg.randn(64, 784), mg.arange(64) % 10

    def train() -> None:
        optimizer.zero_grad()
        mg.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    train()
    with dist.CommDebugMode() as comm:
        train()
    sent = [nbytes for _, nbytes in comm.messages]
    return [sum(sent), len(sent), cost_of(True, train)[0], min(cost_of(False, train)[0] for _ in range(9))]


def measured(family: str, sizes: list[int]) -> dict[str, Columns]:
    """Title → its columns. Two processes run at once."""
    if family == "ranks":
        columns = ["sent by a rank, MB", "sent, messages", "peak of a rank, MB", "step, ms"]
        each = {n: np.max(dist.launch(rank, n), axis=0).tolist() for n in sizes}
        return {"data parallel": {column: {n: each[n][i] for n in sizes} for i, column in enumerate(columns)}}
    engines = [e for e in ENGINES if e != "minigrad-native" or compiler() is not None]
    steps_of = [(name, "steps", engine, name) for name in STEPS.get(family, ()) for engine in engines]
    jobs: list[tuple[str, ...]] = [*steps_of] or [(kind, "graphs", kind) for kind in STAGES]

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
        slopes = {b: log(figures[b] / figures[a]) / log(b / a) for a, b in pairwise(figures)}
        for n, figure in figures.items():
            shown = report.short(figure * UNITS[unit_of(column)] / (n if family == "nodes" else 1))
            cell = f"{shown} ({slopes[n]:.2f})" if n in slopes else shown
            rows.setdefault(f"{n:,}", {})[column + " a node" * (family == "nodes")] = cell
    return report.grid(f"{title}:", rows)


def unit_of(column: str) -> str:
    return column.rpartition(", ")[2]


def picture(family: str, found: dict[str, Columns]) -> str:
    """A chart of the times and one of the bytes for each title, on logarithmic axes, as one SVG."""
    rows = []
    for title, columns in found.items():
        units = ("ms", "µs"), ("MB", "bytes")
        times, sizes = ({c: f for c, f in columns.items() if unit_of(c) in some} for some in units)
        panels = panel(family, "CPU time", took, times), panel(family, "bytes", compact, sizes)
        rows.append([(title, each) for each in panels])
    return place_in_rows(f"Growth over {family}", STYLE + LOOKS, *rows)


def panel(family: str, label: str, words: Callable[[float], str], columns: Columns) -> str:
    """One line for each column, with its letter."""
    sizes = sorted({n for figures in columns.values() for n in figures})
    x = across(sizes[0], sizes[-1], family, log=True, marks=sizes, words="{:,}".format)
    y = decades([figure for figures in columns.values() for figure in figures.values()], upwards, label, words)
    parts, names = [], {}
    for k, (column, figures) in enumerate(columns.items()):
        points = [(x.at(n), y.at(figure)) for n, figure in figures.items()]
        at, drawn = points[-1 - k % len(points)], line("", points)
        parts += [f'<g class="mg-s{COLOURS[k]}" stroke="currentColor" fill="none">{drawn}</g>']
        parts += [text("mg-sign mg-halo", at[0], at[1] - 6, LETTERS[COLOURS[k]])]
        names[COLOURS[k]] = column.rpartition(", ")[0]
    key, height = legend(names, HEIGHT)
    return chart(f"{label} over {family}", x, y, *parts, *key, height=HEIGHT + height)


def legend(names: dict[int, str], top: int) -> tuple[list[str], int]:
    """The names of the lines with their letters, in rows from `top` down, and its height in pixels."""
    parts, x, y = [], 4.0, top
    for k, name in names.items():
        wide = 32 + text_width(name, 12)
        x, y = (4.0, y + 20) if x > 4 and x + wide > WIDTH else (x, y)
        parts += [charts.sample(k, x, y, LETTERS[k]), text("mg-dim", x + 23, y + 12, name)]
        x += wide
    return ["<g>", *parts, "</g>"], y + 20 - top


def write(family: str, tables: str, svg: str) -> None:
    """Replace the family's tables in docs/growth.md, between its two markers, and its picture."""
    page, begin, end = DOCS / "growth.md", f"<!-- {family} -->\n", "\n<!-- end -->"
    shown = f"![{family}: time and memory on logarithmic axes](pictures/growth_{family}.svg)"
    before, _, after = page.read_text("utf-8").partition(begin)
    page.write_text(f"{before}{begin}\n{tables}\n\n{shown}\n{end}{after.partition(end)[2]}", "utf-8")
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
    measure = {"steps": measure_steps, "graphs": measure_graphs}[what]
    print(json.dumps([*measure(*parameters, [int(n) for n in listed.split(",")])]))  # type: ignore[operator]
