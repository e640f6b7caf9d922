"""Where the checks spend their time: `python -m benchmarks checks [default | browser | changed ...]`.

Runs the checks in a clone of the last commit, as CI does, and prints for each the wall time and the seconds of its
tests by kind. `changed` edits one op in the clone first. Seconds of tests are summed over processes: two
busy processes add two seconds in one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = ("default", "browser", "changed")
OP, OLD, NEW = "minigrad/engine/ops/pointwise.py", "class Tanh(Elementwise):", "class Tanh(Elementwise):  # edited"
KINDS = {
    "notebooks under nbval": ("lessons", "solutions", "exercises"),
    "in a browser": ("tests.browser",),
    "graded submissions": ("tests.course.grading", "tests.course.test_exercises"),
    "compared with PyTorch": ("tests.torch_oracle", "tests.judges.test_judges"),
    "several processes": ("tests.distributed",),
    "lint, types, generated files": (
        "tests.repository.test_lint_types_and_generated",
        "tests.repository.test_layers",
        "tests.repository.test_addresses",
    ),
}


def main(names: list[str]) -> int:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        clone = Path(folder) / "minigrad"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        for name in names or RUNS:
            if name == "changed":
                edit(clone)
            status, minutes, seconds = measure(clone, name)
            print(f"\n{name}: {minutes:.1f} minutes{'' if status == 0 else ', RED'}")
            for kind, took in seconds.most_common():
                print(f"  {took:7.0f} s  {kind}", flush=True)
    return 0


def edit(clone: Path) -> None:
    path = clone / OP
    text = path.read_text("utf-8")
    if OLD not in text:
        raise SystemExit(f"{OP} has no line {OLD!r}: choose another op in {__file__}")
    path.write_text(text.replace(OLD, NEW, 1), "utf-8")


def measure(clone: Path, name: str) -> tuple[int, float, Counter[str]]:
    """The exit status of a check, its wall time in minutes, and the seconds of its tests by kind."""
    report = clone.parent / "report.xml"
    command = [sys.executable, "scripts/check", f"--{name}", f"--junitxml={report}"]
    began = time.perf_counter()
    status = subprocess.run(command, cwd=clone, env=os.environ | {"PYTHONPATH": str(clone)}, check=False)
    minutes = (time.perf_counter() - began) / 60
    seconds: Counter[str] = Counter()
    for case in xml.parse(report).iter("testcase"):
        seconds[kind_of(case.get("classname", ""))] += float(case.get("time", 0))
    return status.returncode, minutes, seconds


def kind_of(name: str) -> str:
    return next((kind for kind, beginnings in KINDS.items() if name.startswith(beginnings)), "engine and course")
