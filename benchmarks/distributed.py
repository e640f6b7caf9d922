"""python -m benchmarks.distributed: mg.distributed.all_reduce against mpi4py's own Allreduce, on the same buffers.

In each round each runs once, after a barrier; figures are the median time, and the median ratio within a round. Times
are wall times: read the ratios. The goal applies from 1 MB on; below that, the ranks' agreement on the call dominates.
Ring and halving add up with NumPy, and send messages by MPI.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import minigrad as mg
from minigrad import distributed as dist

from . import report, rounds

SIZES = {8: 3000, 10**6: 600, 10**7: 100, 10**8: 14}  # bytes → rounds
BACKENDS = ("mpi", "ring", "halving")
GOAL = 1.1


def figures(nbytes: int, turns: int) -> dict[str, list[float]]:
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

    calls: dict[str, Any] = {"mpi4py": own}
    for backend, group in groups.items():
        calls[backend] = lambda group=group: dist.all_reduce(x, group=group)
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(turns):
        for name, call in calls.items():
            comm.Barrier()
            began = perf_counter()
            call()
            found[name].append(perf_counter() - began)
    for call in calls.values():
        array[...] = comm.Get_rank() + 1
        call()
        assert (array == sum(range(1, comm.Get_size() + 1))).all(), "a fast wrong answer is no figure"
    return found


def child() -> None:
    """In every process; the first one prints."""
    from mpi4py import MPI

    found = {f"{nbytes:,} bytes": figures(nbytes, turns) for nbytes, turns in SIZES.items()}
    if MPI.COMM_WORLD.Get_rank() == 0:
        print(json.dumps({size: summary(times) for size, times in found.items()}))


def summary(times: dict[str, list[float]]) -> dict[str, Any]:
    """Median and best µs of each, and the median ratio to mpi4py's time in the same round."""
    row: dict[str, Any] = {}
    for name, seconds in times.items():
        own = {} if name == "mpi4py" else {f"{name} x mpi4py": float(np.median(np.divide(seconds, times["mpi4py"])))}
        row |= {f"{name} median µs": 1e6 * float(np.median(seconds)), f"{name} best": 1e6 * min(seconds)} | own
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child()
    rows = rounds.told("benchmarks.distributed", "--child", ranks=options.ranks)
    for nbytes, row in zip(SIZES, rows.values()):
        if nbytes >= 10**6:
            row["goal"] = "met" if row["mpi x mpi4py"] <= GOAL else "missed"
    print(report.grid(f"{report.machine()}; {options.ranks} ranks, float64", rows))
    return report.write(options.json, {"rows": rows})


if __name__ == "__main__":
    main()
