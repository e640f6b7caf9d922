"""python -m benchmarks gpu [--tests]: minigrad on a GPU, compared with other engines on the same device.

With --tests all of tests/gpu runs first, its parts in parallel. Then each workload runs on each engine, every engine in
a process of its own, checked against the float64 reference before it is timed. Engines start in parallel and are timed
in turns: wall time of many steps and one wait for the device at the end, so that launches may run ahead as in training.
All is float32, without TF32. An engine that is missing, fails or takes too long gets a row that says so. Results are
written after every workload.

It needs NumPy, lazy_loader, CuPy and pytest, no network, and less than eight minutes; PyTorch and JAX are optional.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import minigrad as mg

from . import report, rounds
from .workloads import WORKLOADS

ROOT = Path(__file__).parents[1]
TIMED = ["mlp", "fused", "softmax", "layernorm", "transformer", "cnn"]  # most important first
ENGINES = {
    "minigrad": "eager",
    "minigrad-kernels": "mg.function(jit_compile=True), its kernels launched one by one",
    "minigrad-compiled": "mg.function(jit_compile=True), recorded as a CUDA graph and replayed",
    "torch": "PyTorch, eager",
    "torch-compile": "torch.compile",
    "torch-graphs": 'torch.compile(mode="reduce-overhead"), which replays CUDA graphs',
    "jax": "jax.jit",
}
PACKAGES = ["numpy", "cupy-cuda13x", "cupy-cuda12x", "torch", "triton", "jax", "jaxlib"]
TESTS, ALL = 140.0, 310.0  # seconds: for all tests, for all workloads
READY, TIMING = 55.0, 20.0  # seconds of one workload: for import, compilation and check; for timing
SETTINGS = rounds.THREADS | {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}  # by default JAX reserves most of the memory
SHARES = {  # processes: kernels are compiled
    "test_gpu_ops.py": 10,
    "test_gpu_programs.py": 4,
    "test_gpu_limits.py": 1,
    "test_gpu_distributed.py": 1,
}
PARTS = [[file, f"{k}/{count}"] for file, count in SHARES.items() for k in range(count)]


# -- the tests ------------------------------------------------------------------------------------------


def tested(parts: list[list[str]], seconds: float, log: Path) -> bool:
    """Whether the tests pass. Each part has a process: kernels compile in parallel, and a lost GPU affects only one.

    A part that exceeds the time is interrupted, and reports so far: all of it in the log, the end of it here.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    settings = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"}
    until, running = time.monotonic() + seconds, []
    for file, share in parts:
        told = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  read below, and closed
        what, own = [*command, str(ROOT / "tests" / "gpu" / file)], settings | {"SHARE": share}
        running.append((subprocess.Popen(what, cwd=ROOT, env=own, stdout=told, stderr=subprocess.STDOUT), told))
    for part, (process, told) in zip(parts, running, strict=True):
        end(process, until)
        told.seek(0)
        lines = [line for line in told.read().splitlines() if not re.fullmatch(r"[.sFExX]+ *\[ *\d+%\]", line)]
        told.close()
        title = f"== tests/gpu/{' '.join(part)}"
        print(title, *lines[-50:], sep="\n", flush=True)
        with log.open("a", encoding="utf-8") as file:
            file.write("\n".join([title, *lines, ""]))
    return all(process.returncode == 0 for process, _ in running)


def end(process: subprocess.Popen[Any], until: float) -> None:
    """Wait for a process; after `until` interrupt it, and kill it if it does not end."""
    interrupt = process.terminate if os.name == "nt" else partial(process.send_signal, signal.SIGINT)
    for patience, stop in ((until - time.monotonic(), interrupt), (10.0, process.kill)):
        try:
            process.wait(max(patience, 0.1))
            return
        except subprocess.TimeoutExpired:
            stop()
    process.wait()


# -- the workloads -----------------------------------------------------------------------------------------


def measured(workloads: list[str], names: list[str], turns: int, seconds: float) -> Iterator[tuple[str, Any]]:
    """Workload → the figures of its engines, one workload after the other, until time is up."""
    until = time.monotonic() + seconds
    for name in workloads:
        if until - time.monotonic() < 10:
            yield name, {engine: {"status": "not run", "why": "out of time"} for engine in names}
            continue
        ready = min(time.monotonic() + READY, until - 5)
        times = {"ready": ready, "until": min(ready + TIMING, until)}
        yield name, rounds.figures(WORKLOADS[name], names, turns, "wall", env=SETTINGS, **times)


def table(name: str, found: dict[str, Any]) -> str:
    """The tables of a workload, with the engines' names as in ENGINES."""
    return report.times(name, {engine.partition("@")[0]: f for engine, f in found.items()}, targets=False)


def heading(device: str) -> dict[str, Any]:
    """The machine and the versions of the measurement."""
    versions = {}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    if device == "gpu":
        runtime = mg.device("gpu").xp.cuda.runtime
        versions |= {"CUDA driver": runtime.driverGetVersion(), "CUDA runtime": runtime.runtimeGetVersion()}
    return {
        "device": mg.gpu_status()[1] if device == "gpu" else device,
        "machine": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "versions": versions,
        "command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]]),
        "date": time.strftime("%Y-%m-%d"),
    }


def file_name(head: dict[str, Any]) -> str:
    """The device's name, fit for a file name."""
    return re.sub(r"\W+", "-", head["device"]).strip("-")


def write(folder: Path, head: dict[str, Any], found: dict[str, Any]) -> None:
    """Write the results so far, as JSON and as Markdown."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{file_name(head)}.json").write_text(json.dumps(head | {"workloads": found}, indent=1), encoding="utf-8")
    versions = ", ".join(f"{name} {number}" for name, number in head["versions"].items())
    lines = [f"# {head['device']}", f"{head['date']}, {head['machine']}; {versions}", f"    {head['command']}"]
    lines += ["float32 without TF32; the best of the rounds."]
    lines += ["\n".join(f"- {engine}: {about}" for engine, about in ENGINES.items())]
    lines += [f"## {table(name, figures)}" for name, figures in found.items()]
    (folder / f"{file_name(head)}.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """0 if all tests passed and minigrad has its figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks gpu", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--tests", action="store_true", help="first tests/gpu")
    parser.add_argument("--device", choices=["gpu", "simulated"], default="gpu", help="simulated: for a trial run")
    parser.add_argument("--only", default="", help="some workloads or engines, as in mlp,minigrad,torch")
    parser.add_argument("--rounds", type=int, default=20, help="rounds of each engine; the best counts")
    parser.add_argument("--seconds", type=float, default=ALL, help="for all workloads")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results", help="the folder for results")
    options = parser.parse_args(arguments)
    only = set(filter(None, options.only.split(",")))
    if unknown := only - {*TIMED, *ENGINES}:
        parser.error(f"--only knows {', '.join([*TIMED, *ENGINES])}; not {', '.join(sorted(unknown))}")
    works, reason = mg.gpu_status()
    if options.device == "gpu" and not works:
        parser.error(f"no GPU: {reason}. Use --device simulated for a trial run")
    head = heading(options.device)
    passed = not options.tests or tested(PARTS, TESTS, options.results / f"{file_name(head)}.tests.txt")
    workloads, names = ([n for n in known if n in only] or [*known] for known in (TIMED, ENGINES))
    found: dict[str, Any] = {}
    print(json.dumps(head), flush=True)
    for name, figures in measured(workloads, [f"{e}@{options.device}" for e in names], options.rounds, options.seconds):
        found[name] = figures
        print("\n" + table(name, figures), flush=True)
        for engine, f in figures.items():
            if "stderr" in f:
                print(f"\n{engine} failed:\n{f['stderr']}", flush=True)
        write(options.results, head, found)
    ours = [f for figures in found.values() for e, f in figures.items() if e.startswith("minigrad")]
    return int(not passed or any(f["status"] != "ok" for f in ours))
