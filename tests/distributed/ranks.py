"""Programs of several processes, started as mpiexec starts them. One start serves many checks: it takes a second.

A file in programs/ has functions named `check_…`, which every rank calls in the order of the file. `checked(file, n)`
runs it, and says of each check what went wrong on which rank.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from traceback import format_exc
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
CALLS = "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"
MPIEXEC = Path(sys.executable).with_name("mpiexec")
needs_mpi = pytest.mark.skipif(
    find_spec("mpi4py") is None or not MPIEXEC.exists(), reason="no MPI: pip install 'minigrad-course[mpi]'"
)


def mpiexec(n: int, *command: object, timeout: float = 120, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a Python command on n ranks, each with one thread."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [MPIEXEC, "-n", str(n), sys.executable, *map(str, command)],
        env={**os.environ, **threads, "PYTHONPATH": str(HERE.parents[1]), **environment},
        capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip


@contextmanager
def calls_of(group: Any) -> Iterator[list[tuple[str, int]]]:
    """What this rank says to a group in a block: (call, numbers in the whole)."""
    calls: list[tuple[str, int]] = []

    def counting(name: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            calls.append((name, max(x.size for x in given if isinstance(x, np.ndarray))))
            return getattr(type(group), name)(group, *given)

        return call

    for name in CALLS:
        setattr(group, name, counting(name))
    try:
        yield calls
    finally:
        for name in CALLS:
            delattr(group, name)


@cache
def checked(program: str, n: int) -> dict[str, list[str]]:
    """Of each check of programs/`program`, what each of n ranks says: "" where all is well, or a traceback."""
    run = mpiexec(n, "-m", "mpi4py", __file__, HERE / "programs" / program)
    assert run.stdout.strip(), run.stderr
    return json.loads(run.stdout.splitlines()[-1])


def names(program: str) -> list[str]:
    """The checks of a program, without running it."""
    text = (HERE / "programs" / program).read_text("utf-8")
    return [line.split("(")[0].removeprefix("def ") for line in text.splitlines() if line.startswith("def check_")]


def on_ranks(program: str, *counts: int) -> Callable[[str, int], None]:
    """A test of each check of a program, on as many ranks as each of the counts says: no rank finds fault."""

    @needs_mpi
    @pytest.mark.parametrize("check", names(program))
    @pytest.mark.parametrize("n", counts)
    def test(check: str, n: int) -> None:
        outcomes = checked(program, n)[check]
        assert outcomes == [""] * n, "\n".join(f"rank {rank}: {text}" for rank, text in enumerate(outcomes) if text)

    return test


def call_all(file: str) -> None:
    """On each rank: call the checks one after the other, and print on rank 0 what they said."""
    from mpi4py import MPI

    told: dict[str, Any] = {}
    for name, check in run_path(file).items():
        if name.startswith("check_"):
            try:
                said, _ = "", check()
            except (Exception, pytest.fail.Exception):
                said = format_exc()
            told[name] = MPI.COMM_WORLD.allgather(said)
    if MPI.COMM_WORLD.rank == 0:
        print(json.dumps(told))


if __name__ == "__main__":
    call_all(sys.argv[1])
