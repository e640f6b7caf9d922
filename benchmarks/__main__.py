"""python -m benchmarks [--rounds N] [--json FILE]: every workload on every engine that is installed, side by side.

The engines take turns within each round, so that a busy machine is busy for all of them. A figure is the
best round, in CPU seconds of this process; read the ratios, which hold from machine to machine.
"""

from __future__ import annotations

import argparse
import gc
import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .engines import CHAIN_OPS, WORKLOADS, Workload, installed

UNITS = {"chain": (CHAIN_OPS, 1e6, "µs/op"), "scalars": (1, 1e3, "ms/step")}


def measure(engines: dict[str, Callable[[], Workload]], rounds: int) -> dict[str, float]:
    """Engine → its best CPU seconds for one run, after all have given the same gradient."""
    runs = {name: make() for name, make in engines.items() if installed(name)}
    answers = {name: run() for name, run in runs.items()}
    for name, answer in answers.items():
        np.testing.assert_allclose(answer, answers["minigrad"], rtol=1e-4, err_msg=f"{name} disagrees with minigrad")
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            gc.collect()
            start = time.process_time()
            run()
            best[name] = min(best[name], time.process_time() - start)
    return best


def table(workload: str, best: dict[str, float]) -> str:
    """The workload's figures, fastest first, each beside minigrad's."""
    count, scale, unit = UNITS[workload]
    lines = [f"{workload:<12}{unit:>12}{'x minigrad':>14}"]
    for name, seconds in sorted(best.items(), key=lambda pair: pair[1]):
        lines.append(f"  {name:<10}{seconds / count * scale:>12.3g}{seconds / best['minigrad']:>14.2f}")
    absent = [name for name in WORKLOADS[workload] if name not in best]
    return "\n".join(lines + [f"  {name:<10}{'not installed':>26}" for name in absent])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--rounds", type=int, default=30, help="how often each is run; the best counts")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    options = parser.parse_args()
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    figures: dict[str, Any] = {"machine": f"{platform.system()} {platform.machine()}, {versions}"}
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    print(figures["machine"])
    for workload, engines in WORKLOADS.items():
        figures[workload] = measure(engines, options.rounds)
        print("\n" + table(workload, figures[workload]))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
