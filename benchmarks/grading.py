"""python -m benchmarks.grading 300: `minigrad grade` on a class, killed halfway, resumed, and run again.

The submissions are those of tests/course/grading/cases. No result may be lost, none graded twice, and each must get the
points that its kind deserves. Memory is measured for the process outside the sandboxes, CPU time for all processes.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from minigrad.course.grading.sandbox import no_bubblewrap

from . import report

ROOT = Path(__file__).resolve().parents[1]
NAME = "01_scalar_engine"
COMMAND = "from minigrad.course.cli import main; raise SystemExit(main())"
SHARES = {"right": 45, "wrong": 39, "files": 12, "cheats": 2, "without_end": 2}  # percent
LOOK = 0.1  # seconds between two polls
SUBREAPER = 36  # prctl's PR_SET_CHILD_SUBREAPER: orphans become our children, so that their CPU time counts
Figures = dict[str, Any]


def cases() -> dict[str, Any]:
    """Name → Case, with its points, status, data and family."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tests.course.grading.cases import CASES  # type: ignore[import-not-found]

    return {**CASES}


def submissions(n: int) -> dict[str, tuple[bytes, Any]]:
    """Student → (notebook, case): each family has its share; all files differ, and load NumPy."""
    every, found = cases(), {}
    for family, share in SHARES.items():
        mine = [case for case in every.values() if case.family == family]
        for case in islice(cycle(mine), round(n * share / 100)):
            found[f"s{len(found):04}"] = (with_numpy(case.data, len(found)), case)
    return found


def hand_in(folder: Path, submissions: dict[str, bytes]) -> None:
    """Write student → notebook in nbgrader's folder layout."""
    for student, data in submissions.items():
        path = folder / "submitted" / student / NAME / f"{NAME}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def with_numpy(data: bytes, number: int) -> bytes:
    """A notebook with one more, unique cell; other files stay unchanged."""
    try:
        nb = json.loads(data)
        source = [f"import numpy  # {number}"]
        more = {"cell_type": "code", "metadata": {}, "source": source, "outputs": [], "execution_count": None}
        nb["cells"].append({**more, "id": f"numpy-{number}"})
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return data
    return json.dumps(nb).encode()


def measure(n: int) -> Figures:
    """Three runs: one is killed halfway, one resumes, one finds everything done."""
    handed = submissions(n)
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="class-", ignore_cleanup_errors=True) as folder:
        hand_in(Path(folder), {student: data for student, (data, _) in handed.items()})
        results = Path(folder, "results", "results")
        killed = one_run(Path(folder), lambda: len(files(results)) >= len(handed) / 2)
        half = files(results)
        resumed = one_run(Path(folder))
        whole = files(results)
        again = one_run(Path(folder))
        results_read = json.loads(Path(folder, "results", "results.json").read_text("utf-8"))
        lost = [student for student in handed if student not in {r["student"] for r in results_read}]
        wrong = [(r["student"], r["points"], handed[r["student"]][1].points) for r in results_read
                 if r["points"] != handed[r["student"]][1].points]  # fmt: skip
        return {
            "submissions": len(handed),
            "runs": {"killed halfway": killed, "resumed": resumed, "again": again},
            "results when killed": len(half),
            "graded twice": sum(whole[name] != when for name, when in half.items())
            + sum(files(results)[name] != when for name, when in whole.items()),
            "lost": lost,
            "counted twice": len(results_read) - len({r["student"] for r in results_read}),
            "other points than deserved": wrong,
            "took more than 10 s": sum(r.get("seconds", 0) > 10 for r in results_read),
        }


def files(folder: Path) -> dict[str, int]:
    """Name of a result → when it was written."""
    found = {}
    for path in folder.glob("*.json"):
        with contextlib.suppress(FileNotFoundError):
            found[path.name] = path.stat().st_mtime_ns
    return found


def one_run(folder: Path, enough: Callable[[], bool] = lambda: False) -> Figures:
    """Run `minigrad grade`, and kill it once there are enough results."""
    command = [sys.executable, "-c", COMMAND, "grade", "submitted", "--out", "results", "--exercise", NAME]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    start, before, peak = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN), 0
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None:
        with contextlib.suppress(psutil.Error):
            peak = max(peak, psutil.Process(process.pid).memory_info().rss)
        if enough():
            process.send_signal(signal.SIGKILL)
            process.wait()
        time.sleep(LOOK)
    wall = time.monotonic() - start
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0)[0]:
            pass
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return {"wall": wall, "cpu": cpu, "peak": peak, "ended": process.returncode}


def format_figures(found: Figures) -> str:
    """The figures: a row for each run; above, those of the first two together, and what went wrong."""
    n, runs = found["submissions"], found["runs"]
    wall, cpu = (sum(runs[run][what] for run in ("killed halfway", "resumed")) for what in ("wall", "cpu"))
    lines = [f"{n} submissions, {60 * n / wall:.0f} a minute, {cpu / n:.2f} CPU seconds for each"]
    lines += [f"{word}: {count or 0}" for word, count in found.items() if word not in ("submissions", "runs")]
    rows = {
        name: {"s": r["wall"], "CPU s": r["cpu"], "MB outside sandboxes": r["peak"] / 1e6} for name, r in runs.items()
    }
    return report.grid("\n".join(lines), rows)


def main() -> None:
    if why := no_bubblewrap():
        raise SystemExit(f"submissions are hostile, and there is no sandbox for them: {why}")
    print(format_figures(measure(int(sys.argv[1]) if len(sys.argv) > 1 else 300)))


if __name__ == "__main__":
    main()
