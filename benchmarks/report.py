"""The tables: each engine's figure, its ratios to minigrad, PyTorch, torch.compile, JAX and NumPy; the targets."""

from __future__ import annotations

from typing import Any

from .workloads import WORKLOADS

COMPILED = ("minigrad-compiled", "minigrad-program")
LARGE = [f"{name} {stage}" for name in ("softmax", "logsumexp", "layernorm") for stage in ("forward", "gradient")]
FUSED = ["fused forward", "fused gradient"]

# (table, our engine, peer) → target: the largest ratio of our figure to the peer's.
TARGETS = {
    ("chain", "minigrad", "torch"): 0.7,
    ("chain", "minigrad", "autograd"): 1 / 4,
    ("chain", "minigrad", "dezero"): 1 / 4,
    ("tiny", "minigrad", "torch"): 0.7,
    ("mlp", "minigrad", "torch"): 1.0,
    ("cnn", "minigrad", "torch"): 1.2,
    ("transformer", "minigrad", "torch"): 1.0,
    ("hvp", "minigrad", "torch"): 1.0,
    ("scalars", "minigrad", "micrograd"): 1 / 3,
    ("scalars", "replayed", "micrograd"): 1 / 100,
    ("scalars", "replayed-native", "replayed"): 1 / 5,
    **{(f"bytes {name}", "minigrad", "torch"): 1.0 for name in ("mlp", "cnn", "transformer")},
    **{
        (name, ours, "numpy"): 1.1
        for name in ("chain", "tiny", "mlp", "cnn", "transformer", "hvp", *LARGE)
        for ours in COMPILED
    },
    **{(name, ours, "numpy-blocked"): 1.1 for name in FUSED for ours in COMPILED},
    ("chain", "minigrad-native", "jax"): 1.0,
    ("tiny", "minigrad-native", "jax"): 0.6,
    ("mlp", "minigrad-native", "jax"): 1.05,
    ("hvp", "minigrad-native", "jax"): 0.8,
    **{(name, "minigrad-native", peer): 0.95 for name in ("cnn", "transformer") for peer in ("torch-compile", "jax")},
    **{(name, "minigrad-native", "c"): 1.2 for name in FUSED},
    ("fused forward", "minigrad-native", "jax"): 0.5,
    ("fused gradient", "minigrad-native", "jax"): 0.15,
    **{(name, "minigrad-native", "torch-compile"): 0.5 for name in LARGE if name.endswith("gradient")},
    ("bytes fused", "minigrad-program", "numpy-blocked"): 1.4,  # 1.2 × (x and its gradient, 80 MB), above x: 56 MB
    **{(name, "minigrad-threads", "minigrad-program"): 1 / 1.3 for name in FUSED},
}
COMPARED = {"minigrad": "minigrad", "PyTorch": "torch", "compile": "torch-compile", "JAX": "jax", "NumPy": "numpy"}
PER_SECOND = {"ms": 1e3, "µs": 1e6}


def times(name: str, found: dict[str, dict[str, Any]], how: str = "") -> str:
    """The tables of a workload, one for each stage timed by itself.

    how    the way of timing, if it differs
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
        title = f"{name} {stage}" if len(stages) > 1 else name
        tables.append(table(title, workload.about + how, workload.unit, best, found, middle))
    return "\n\n".join(tables)


def bytes_alive(name: str, found: dict[str, dict[str, Any]]) -> str:
    """The table of a workload's peak of memory."""
    size = {engine: f["bytes"] / 1000 for engine, f in found.items() if "bytes" in f}
    return table(f"bytes {name}", "alive at the peak of a step, above what stays", "kB", size, found)


def table(
    title: str,
    about: str,
    unit: str,
    best: dict[str, float],
    found: dict[str, dict[str, Any]],
    middle: dict[str, float] | None = None,
) -> str:
    """Smallest first; below, the engines without a figure, and why."""
    heading = "".join(f"{f'x {shown}':>12}" for shown in COMPARED)
    lines = [f"{title}: {about}", f"  {'':<18}{unit:>9}{'median':>9}{heading}   target"]
    for engine, figure in sorted(best.items(), key=lambda pair: pair[1]):
        median = short(middle[engine]) if middle else ""
        ratios = "".join(f"{short(figure / best[peer]) if peer in best else '':>12}" for peer in COMPARED.values())
        aim = target(title, engine, best)
        lines.append(f"  {engine:<18}{short(figure):>9}{median:>9}{ratios}   {aim}".rstrip())
    lines += [f"  {engine:<18}  {hindrance(f)}" for engine, f in found.items() if engine not in best]
    return "\n".join(lines)


def short(figure: float) -> str:
    """Three digits, or all digits before the point."""
    return f"{figure:.3g}" if figure < 1000 else f"{figure:,.0f}"


def target(title: str, peer: str, best: dict[str, float]) -> str:
    """The target ratio to this peer's figure, and the measured ratio."""
    aims = []
    for (table, ours, of), aim in TARGETS.items():
        if (table, of) == (title, peer) and ours in best:
            ratio = best[ours] / best[peer]
            aims.append(f"{ours} ≤ {short(aim)}: {short(ratio)} {'met' if ratio <= aim else 'missed'}")
    return "; ".join(aims)


def grid(title: str, rows: dict[str, dict[str, Any]]) -> str:
    """Figures by row and column."""
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    widths = [max(10, len(column) + 2) for column in columns]
    lines = [title, f"  {'':<24}" + "".join(f"{c:>{w}}" for c, w in zip(columns, widths))]
    for name, row in rows.items():
        cells = "".join(f"{short(row[c]) if c in row else '':>{w}}" for c, w in zip(columns, widths))
        lines.append(f"  {name:<24}{cells}".rstrip())
    return "\n".join(lines)


def hindrance(status: dict[str, Any]) -> str:
    """Why an engine has no figure, in one line."""
    return " ".join(f"{status['status']}: {status.get('why', '')}".split()).rstrip(": ")[:110]
