"""python -m benchmarks [profile WORKLOAD | gpu | growth | checks]: every workload on every engine, side by side.

Each figure is the best round, in CPU seconds of the engine's process, with one thread. Every engine is checked against
a float64 reference first. Read the ratios: they hold from machine to machine. `profile` shows where minigrad's own time
goes; `gpu` measures on a GPU (gpu.py), `growth` over sizes (growth.py), `checks` measures the tests (checks.py).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from . import checks, gpu, growth, report, rounds
from .costs import COSTS
from .engines import HOMES, PEERS
from .workloads import WORKLOADS


def chosen(only: str) -> tuple[list[str], list[str], list[str]]:
    """The workloads, engines and other costs that --only names; all of them by default."""
    names = set(filter(None, only.split(",")))
    known = [*WORKLOADS, *COSTS, *HOMES]
    if unknown := names - {*known}:
        raise SystemExit(f"--only takes {', '.join(known)}; not {', '.join(sorted(unknown))}")
    workloads, costs = ([n for n in table if n in names] for table in (WORKLOADS, COSTS))
    if not workloads and not costs:
        workloads, costs = [*WORKLOADS], [*COSTS]
    return workloads, [e for e in HOMES if e in names] or [*HOMES], costs


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all figures, and print each as soon as it is known."""
    workloads, engines, costs = chosen(options.only)
    found: dict[str, Any] = {}
    print(f"{report.machine()}; CPU time, one thread, best of {options.rounds} rounds", flush=True)
    for name in workloads:
        found[name] = rounds.figures(WORKLOADS[name], [e for e in PEERS[name] if e in engines], options.rounds)
        print("\n" + report.times(name, found[name]), flush=True)
    for cost in costs:
        for name, figures, table in COSTS[cost](engines, options.rounds):
            found[name] = figures
            print("\n" + table, flush=True)
    return found


def main() -> None:
    if others := {"gpu": gpu.main, "growth": growth.main, "checks": checks.main}.get(*sys.argv[1:2] or [""]):
        raise SystemExit(others(sys.argv[2:]))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("what", nargs="?", choices=["measure", "profile", "gpu", "growth", "checks"], default="measure")
    parser.add_argument("workload", nargs="?", choices=[*WORKLOADS], help="the workload to profile")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each engine; the best counts")
    parser.add_argument("--quick", action="store_true", help="three rounds")
    parser.add_argument("--only", default="", help="some workloads, engines or costs, as in mlp,torch,bytes")
    parser.add_argument("--json", type=Path, help="also write the figures here, in seconds and bytes")
    options = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    if options.what == "profile":
        if options.workload is None:
            parser.error(f"profile needs a workload: {', '.join(WORKLOADS)}")
        raise SystemExit(rounds.alone("benchmarks.profile", options.workload).wait())
    options.rounds = 3 if options.quick else options.rounds
    report.write(options.json, measure(options))


if __name__ == "__main__":
    main()
