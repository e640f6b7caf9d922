"""The tables, in Markdown: each engine's figure, its ratios to other engines, and the targets."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from .workloads import WORKLOADS

LARGE = [f"{name} {stage}" for name in ("softmax", "layernorm") for stage in ("forward", "gradient")]
FUSED = ["fused forward", "fused gradient"]

# (table, our engine, peer) → target: the largest ratio of our figure to the peer's.
TARGETS = {
    ("chain", "minigrad", "torch"): 0.7,
    ("tiny", "minigrad", "torch"): 0.7,
    ("mlp", "minigrad", "torch"): 1.0,
    ("cnn", "minigrad", "torch"): 1.2,
    ("transformer", "minigrad", "torch"): 1.0,
    ("hvp", "minigrad", "torch"): 1.0,
    ("scalars", "minigrad", "micrograd"): 1 / 3,
    ("scalars", "replayed", "micrograd"): 1 / 100,
    ("scalars", "replayed-native", "replayed"): 1 / 5,
    **{(f"bytes {name}", "minigrad", "torch"): 1.0 for name in ("mlp", "cnn", "transformer")},
    **{(name, "minigrad-compiled", "numpy"): 1.1 for name in ("chain", "tiny", "mlp", "cnn", "transformer", *LARGE)},
    **{(name, "minigrad-compiled", "numpy-blocked"): 1.1 for name in FUSED},
    ("chain", "minigrad-native", "jax"): 1.0,
    ("tiny", "minigrad-native", "jax"): 0.6,
    ("mlp", "minigrad-native", "jax"): 1.05,
    ("hvp", "minigrad-native", "jax"): 0.8,
    **{(name, "minigrad-native", peer): 0.95 for name in ("cnn", "transformer") for peer in ("torch-compile", "jax")},
    ("fused forward", "minigrad-native", "jax"): 0.5,
    ("fused gradient", "minigrad-native", "jax"): 0.15,
    **{(name, "minigrad-native", "torch-compile"): 0.5 for name in LARGE if name.endswith("gradient")},
    ("bytes fused", "minigrad-compiled", "numpy-blocked"): 1.4,  # 1.2 × (x and its gradient, 80 MB), above x: 56 MB
}
COMPARED = {"minigrad": "minigrad", "PyTorch": "torch", "compile": "torch-compile", "JAX": "jax", "NumPy": "numpy"}
PER_SECOND = {"ms": 1e3, "µs": 1e6}
Figures = dict[str, dict[str, Any]]  # engine → its status, and its figures if it has some


def machine() -> str:
    """The computer and the versions of a measurement."""
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {versions}"


def write(path: Path | None, found: dict[str, Any]) -> None:
    """Write the figures with their machine as JSON, if there is a path."""
    if path is not None:
        path.write_text(json.dumps({"machine": machine(), **found}, indent=1), encoding="utf-8")


def times(name: str, found: Figures, how: str = "", targets: bool = True) -> str:
    """The tables of a workload, one for each stage timed by itself.

    how        the way of timing, if it differs
    targets    whether the targets are for this machine
    """
    workload = WORKLOADS[name]
    stages: dict[str, Any] = next((f["stages"] for f in found.values() if "stages" in f), {"": {}})
    scale = PER_SECOND[workload.unit] / workload.per
    tables = []
    for stage in stages:
        best, middle = (
            {engine: f["stages"][stage][which] * scale for engine, f in found.items() if "stages" in f}
            for which in ("best", "median")
        )
        more = {e: {"median": middle[e], "error": f"{found[e]['error']:.0e}"} for e in best}
        title = f"{name} {stage}" if len(stages) > 1 else name
        tables.append(compare(title, workload.about + how, workload.unit, best, found, more, targets))
    return "\n\n".join(tables)


def bytes_alive(name: str, found: Figures) -> str:
    """The table of a workload's peak of memory."""
    size = {engine: f["bytes"] / 1000 for engine, f in found.items() if "bytes" in f}
    return compare(f"bytes {name}", "alive at the peak of a step, above what stays", "kB", size, found, {})


def compare(
    title: str, about: str, unit: str, best: dict[str, float], found: Figures, more: Figures, targets: bool = True
) -> str:
    """Smallest first, with the ratios to the peers; below, the engines without a figure, and why."""
    rows = {}
    for engine, figure in sorted(best.items(), key=lambda pair: pair[1]):
        ratios = {f"x {shown}": figure / best[peer] for shown, peer in COMPARED.items() if peer in best}
        aim = {"target": target(title, engine, best)} if targets else {}
        rows[engine] = {unit: figure, **more.get(engine, {}), **ratios, **aim}
    return grid(f"{title}: {about}", rows, {e: hindrance(f) for e, f in found.items() if e not in best})


def grid(title: str, rows: Figures, without: dict[str, str] | None = None) -> str:
    """Figures by row and column, in Markdown; below, the rows without figures, and why."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = [["", *columns], *([name, *(short(row.get(c, "")) for c in columns)] for name, row in rows.items())]
    widths = [max(3, *map(len, column)) for column in zip(*cells)]
    cells.insert(1, ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])])
    lines = [[f"{row[0]:<{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(row[1:], widths[1:]))] for row in cells]
    lines += [[name, why.replace("|", "/")] for name, why in (without or {}).items()]
    return "\n".join([title, "", *(f"| {' | '.join(line)} |" for line in lines)])


def short(figure: Any) -> str:
    """Three digits, or all digits before the point; words stay."""
    if not isinstance(figure, int | float):
        return str(figure)
    return f"{figure:.3g}" if abs(figure) < 1000 else f"{figure:,.0f}"


def target(title: str, peer: str, best: dict[str, float]) -> str:
    """The target ratio to this peer's figure, and the measured ratio."""
    aims = []
    for (table, ours, of), aim in TARGETS.items():
        if (table, of) == (title, peer) and ours in best:
            ratio = best[ours] / best[peer]
            aims.append(f"{ours} ≤ {short(aim)}: {short(ratio)} {'met' if ratio <= aim else 'missed'}")
    return "; ".join(aims)


def hindrance(status: dict[str, Any]) -> str:
    """Why an engine has no figure, in one line."""
    return " ".join(f"{status['status']}: {status.get('why', '')}".split()).rstrip(": ")[:110]
