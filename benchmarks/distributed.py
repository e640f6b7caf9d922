"""python -m benchmarks.distributed: mg.distributed.all_reduce against mpi4py's own Allreduce, on the same buffers.

In each round each runs once, after a barrier; figures are the median time, and the median ratio within a round. Times
are wall times: read the ratios. The goal applies from 1 MB on; below that, the ranks' agreement on the call dominates.
Ring and halving add up with NumPy, and send messages by MPI.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import distributed as dist

SIZES = {8: 3000, 10**6: 600, 10**7: 100, 10**8: 14}  # bytes → rounds
BACKENDS = ("mpi", "ring", "halving")
GOAL = 1.1


def figures(nbytes: int, rounds: int) -> dict[str, list[float]]:
    """Seconds of each round, for mpi4py and each backend."""
    from mpi4py import MPI

    x, comm = mg.zeros(nbytes // 8), MPI.COMM_WORLD
    array, groups = x.numpy(), {}
    for backend in BACKENDS:
        dist.init_process_group(backend)
        groups[backend] = dist.new_group()
        dist.destroy_process_group()

    def own() -> None:
        comm.Allreduce(MPI.IN_PLACE, array)

    turns: dict[str, Any] = {"mpi4py": own}
    for backend, group in groups.items():
        turns[backend] = lambda group=group: dist.all_reduce(x, group=group)
    found: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(rounds):
        for name, turn in turns.items():
            comm.Barrier()
            began = perf_counter()
            turn()
            found[name].append(perf_counter() - began)
    for turn in turns.values():
        array[...] = comm.Get_rank() + 1
        turn()
        assert (array == sum(range(1, comm.Get_size() + 1))).all(), "a fast wrong answer is no figure"
    return found


def child() -> None:
    from mpi4py import MPI

    for nbytes, rounds in SIZES.items():
        found = figures(nbytes, rounds)
        if MPI.COMM_WORLD.Get_rank() == 0:
            print(json.dumps({"bytes": nbytes, **{name: summary(found, name) for name in found}}), flush=True)


def summary(found: dict[str, list[float]], name: str) -> dict[str, float]:
    own, times = np.array(found["mpi4py"]), np.array(found[name])
    return {"median": float(np.median(times)), "best": times.min(), "ratio": float(np.median(times / own))}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write the figures here, in seconds")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child()
    mpiexec = str(Path(sys.executable).with_name("mpiexec"))
    command = [mpiexec, "-n", str(options.ranks), sys.executable, "-m", "mpi4py", "-m", "benchmarks.distributed"]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}; {options.ranks} ranks, float64; µs, and times mpi4py's\n")
    print(f"{'bytes':>11} {'mpi4py':>9}", *(f"{name:>17}" for name in BACKENDS), " goal")
    rows = []
    with subprocess.Popen(
        [*command, "--child"], stdout=subprocess.PIPE, text=True, env={**os.environ, **threads}
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            rows.append(row := json.loads(line))
            cells = (f"{row[name]['median'] * 1e6:9.0f} ({row[name]['ratio']:5.2f})" for name in BACKENDS)
            met = "" if row["bytes"] < 10**6 else "met" if row["mpi"]["ratio"] <= GOAL else "missed"
            print(f"{row['bytes']:11,} {row['mpi4py']['median'] * 1e6:9.0f}", *cells, "", met, flush=True)
    if options.json:
        options.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=1), encoding="utf-8")
    return None


if __name__ == "__main__":
    main()
