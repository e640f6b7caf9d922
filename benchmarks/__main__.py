"""python -m benchmarks [profile WORKLOAD]: every workload on every engine that is installed, side by side.

A figure is the best round, in CPU seconds of the engine's process, one thread. Every engine is checked against a
float64 reference first. Read the ratios: they hold from machine to machine. `profile` shows where minigrad's own
time goes.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

import numpy as np

from . import report, rounds
from .engines import HOMES, PEERS
from .workloads import WORKLOADS

WEIGHED = ["mlp", "cnn", "transformer", "hvp"]  # whose arrays outweigh the records of an engine


def chosen(only: str) -> tuple[list[str], list[str], bool]:
    """The workloads and the engines asked for, all where none of them is named; and whether bytes are."""
    names = set(filter(None, only.split(",")))
    unknown = names - {*WORKLOADS, *HOMES, "bytes"}
    if unknown:
        raise SystemExit(f"--only knows {', '.join([*WORKLOADS, 'bytes', *HOMES])}; not {', '.join(sorted(unknown))}")
    workloads = [w for w in WORKLOADS if w in names]
    engines = [e for e in HOMES if e in names] or [*HOMES]
    return workloads or [*WORKLOADS] * ("bytes" not in names), engines, "bytes" in names or not workloads


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """All figures, printed as they come."""
    workloads, engines, weigh = chosen(options.only)
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}"
    found: dict[str, Any] = {"machine": f"{platform.system()} {platform.machine()}, {versions}"}
    print(f"{found['machine']}; CPU time, one thread, best of {options.rounds} rounds", flush=True)
    for name in workloads:
        names = [e for e in ["minigrad", *PEERS[name]] if e in engines]
        found[name] = rounds.figures(WORKLOADS[name], names, options.rounds)
        print("\n" + report.times(name, found[name]), flush=True)
    for name in (w for w in WEIGHED if weigh):
        names = [e for e in ["minigrad", *PEERS[name]] if e in engines]
        found[f"bytes {name}"] = rounds.peaks(WORKLOADS[name], names)
        print("\n" + report.bytes_alive(name, found[f"bytes {name}"]), flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("what", nargs="?", choices=["measure", "profile"], default="measure")
    parser.add_argument("workload", nargs="?", choices=[*WORKLOADS], help="the one to profile")
    parser.add_argument("--rounds", type=int, default=20, help="how often each engine has its turn; the best counts")
    parser.add_argument("--quick", action="store_true", help="three rounds")
    parser.add_argument("--only", default="", help="some workloads, engines or `bytes`, as in chain,mlp,torch,minigrad")
    parser.add_argument("--json", type=Path, help="also write the figures here, in seconds and bytes")
    options = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    if options.what == "profile":
        if options.workload is None:
            parser.error(f"profile needs a workload: {', '.join(WORKLOADS)}")
        raise SystemExit(rounds.alone("benchmarks.profile", options.workload).wait())
    options.rounds = 3 if options.quick else options.rounds
    found = measure(options)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
