"""Everything that must hold before a change lands, all of it as tests.

    python scripts/check                      every check once: minutes (also as --default)
    python scripts/check --browser            the rest of tests/browser: every widget and lesson in JupyterLab, the book
    python scripts/check --all                everything, with more random trials: a night
    python scripts/check --changed [REF]      lint, types and the tests of changes since REF (default: HEAD)
    python scripts/check tests/repository/test_start.py  pytest alone, with these arguments

Options after these go to pytest, such as `--share 17` (tests/plugins/tiers.py).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from changes import ROOT, affected_tests

NOTEBOOKS = ["lessons", "solutions", "exercises"]
TIERS = {"default": [*NOTEBOOKS, "tests"], "browser": ["tests/browser"], "all": [*NOTEBOOKS, "tests"]}
SIDE_BY_SIDE = [
    *("-n", str(min(4, os.cpu_count() or 1))),
    *("--dist", "loadfile", "--no-loadscope-reorder"),  # a notebook's cells in one process
    "--max-worker-restart=0",  # after a crash, a restarted worker would hang the others
]
REPORT = ["--durations=10", "--durations-min=1"]


def main(arguments: list[str]) -> int:
    match arguments:
        case ["-h" | "--help", *_]:
            print(f"{__doc__}\nThe options of pytest: python -m pytest --help")
            return 0
        case ["--default" | "--browser" | "--all" as option, *options]:
            return run_tier(option.strip("-"), TIERS[option.strip("-")], options)
        case ["--changed", reference, *options] if not reference.startswith("-"):
            return run_tier("changed", affected_tests(reference), options)
        case ["--changed", *options]:
            return run_tier("changed", affected_tests("HEAD"), options)
        case [] | ["--share", *_]:
            return run_tier("default", TIERS["default"], arguments)
    return run(arguments)


def run_tier(tier: str, tests: list[str], options: list[str]) -> int:
    return run(["--tier", tier, *tests, *SIDE_BY_SIDE, *REPORT, *options])


def run(arguments: list[str]) -> int:
    """Run pytest in this Python, which its kernels use too, and away from the user's own IPython start-up files."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = os.environ | {
            "IPYTHONDIR": folder,
            "OMP_NUM_THREADS": "1",  # as in notebook builds: threaded sums vary in their order
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONHASHSEED": "0",
            "TQDM_DISABLE": "1",
            "JUPYTER_PREFER_ENV_PATH": "1",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "PYTHONUTF8": "1",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # hundreds of processes would compile every import again
        command = [sys.executable, "-m", "pytest", "--nbval", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
