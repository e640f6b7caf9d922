"""The tables: each engine's figure, as a ratio to minigrad's and to PyTorch's, beside what was aimed at."""

from __future__ import annotations

from typing import Any

from .workloads import WORKLOADS

# (table, peer) → minigrad's figure is to be at most this much of the peer's.
TARGETS = {
    ("chain", "torch"): 0.7,
    ("chain", "autograd"): 1 / 4,
    ("chain", "dezero"): 1 / 4,
    ("tiny", "torch"): 0.7,
    ("mlp", "torch"): 1.0,
    ("cnn", "torch"): 1.2,
    ("transformer", "torch"): 1.0,
    ("hvp", "torch"): 1.0,
    ("scalars", "micrograd"): 1 / 3,
    **{(f"bytes {name}", "torch"): 1.0 for name in ("mlp", "cnn", "transformer")},
}
PER_SECOND = {"ms": 1e3, "µs": 1e6}


def times(name: str, found: dict[str, dict[str, Any]]) -> str:
    """The tables of a workload, one for each stage that is timed by itself."""
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
        tables.append(table(title, workload.about, workload.unit, best, found, middle))
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
    """Smallest first; under them the engines without a figure, and why."""
    lines = [f"{title}: {about}", f"  {'':<10}{unit:>10}{'median':>10}{'x minigrad':>12}{'x PyTorch':>11}   target"]
    for engine, figure in sorted(best.items(), key=lambda pair: pair[1]):
        median = short(middle[engine]) if middle else ""
        ratios = [f"{figure / best[peer]:.2f}" if peer in best else "" for peer in ("minigrad", "torch")]
        aim = target(title, engine, best)
        lines.append(f"  {engine:<10}{short(figure):>10}{median:>10}{ratios[0]:>12}{ratios[1]:>11}   {aim}".rstrip())
    lines += [f"  {engine:<10}  {hindrance(f)}" for engine, f in found.items() if engine not in best]
    return "\n".join(lines)


def short(figure: float) -> str:
    """Three digits, or all that stand before the point."""
    return f"{figure:.3g}" if figure < 1000 else f"{figure:,.0f}"


def target(title: str, peer: str, best: dict[str, float]) -> str:
    """What minigrad was to need of this peer's figure, and what it needs."""
    aim = TARGETS.get((title, peer))
    if aim is None or "minigrad" not in best:
        return ""
    ratio = best["minigrad"] / best[peer]
    return f"minigrad at most {aim:.2f} of it: {ratio:.2f}, {'met' if ratio <= aim else 'missed'}"


def hindrance(status: dict[str, Any]) -> str:
    """Why an engine has no figure, in one line."""
    return " ".join(f"{status['status']}: {status.get('why', '')}".split()).rstrip(": ")[:110]
