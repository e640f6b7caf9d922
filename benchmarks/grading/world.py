"""A disposable sandbox: a grader runs in it as on a teacher's machine, and nothing that it lets through gets out.

It has its own home, processes and network, all removed at the end. bubblewrap makes it. The two other graders run there
as a user with limits on memory and processes, so that no submission harms this machine; ours, which makes sandboxes of
its own, runs as root without limits.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from minigrad.course.grading.sandbox import RIGHTS, STRANGER, folders_to_bind, needed_folders, outermost, system

from .suite import ROOT

HOME = "/home/teacher"
FOLDER = f"{HOME}/course"
COURSE, FONTS = "/course", "/fonts"  # copied into the home
TEACHER = 61_000  # the first of the user ids that graders run under
DISK = 512 << 20  # bytes of each folder in memory
MEMORY = 4 << 30  # bytes that one process may reserve, as in our own sandbox
PROCESSES = 200
SLACK = 60  # seconds beyond the observer's own limits


def ran(job: dict[str, Any], course: Path, pythons: Sequence[str], as_root: bool, slot: int = 0) -> dict[str, Any]:
    """The observer's report on a job in a new sandbox; {"status": why} if the sandbox ended before the report.

    course    a folder, copied into the sandbox
    """
    observer = [sys.executable, "-m", "benchmarks.grading.observer"]
    user = f"{TEACHER + slot}"
    become = ["setpriv", f"--reuid={user}", f"--regid={user}", *STRANGER, "--"]
    command = [*walls(course, pythons, as_root), *([] if as_root else [*become, *bounds()]), *observer]
    patience = sum(step["seconds"] for step in job["steps"]) + SLACK
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, cwd="/"
    )
    try:
        out, err = process.communicate(json.dumps(job).encode(), timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return {"status": "out of time"}
    try:
        said: dict[str, Any] = json.loads(out)
    except ValueError:
        return {"status": f"ended with {process.returncode}: {err.decode(errors='replace')[-300:]}"}
    return said


ENVIRONMENT = {
    "HOME": HOME, "LANG": "C.UTF-8", "MPLBACKEND": "agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore",
}  # fmt: skip


def walls(course: Path, pythons: Sequence[str], as_root: bool) -> list[str]:
    """bubblewrap's command line, before the program."""
    command = ["bwrap", "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid", "--as-pid-1"]
    command += ["--unshare-net", "--unshare-uts", "--hostname", "teacher"]
    if os.geteuid():
        command += ["--unshare-user"]
    else:
        command += ["--cap-add", "ALL"] if as_root else RIGHTS
    command += ["--proc", "/proc", "--dev", "/dev"]
    for folder in ("/dev/shm", "/tmp", HOME):
        command += ["--size", str(DISK), "--perms", "1777", "--tmpfs", folder]
    command += ["--perms", "0755", "--dir", "/etc", *chain.from_iterable(system())]
    for file in ("hosts", "nsswitch.conf", "passwd"):  # where programs look up users and hosts
        command += ["--ro-bind-try", f"/etc/{file}", f"/etc/{file}"]
    made: set[Path] = set()
    for each in folders(pythons):
        for above in reversed(each.parents[:-1]):
            if above not in made and above != Path("/tmp"):
                made.add(above)
                command += ["--perms", "0755", "--dir", str(above)]
        command += ["--ro-bind", str(each), str(each)]
    return [*command, "--ro-bind", str(course), COURSE, "--ro-bind-try", *fonts(), "--chdir", HOME, "--"]


def fonts() -> tuple[str, str]:
    """Matplotlib's font cache, made once for all sandboxes; and its place there."""
    import matplotlib

    return matplotlib.get_cachedir(), FONTS


def folders(pythons: Sequence[str]) -> list[Path]:
    """The readable folders: this checkout, this Python, and the graders' Pythons."""
    found = {ROOT, *folders_to_bind(needed_folders()), *(Path(python).absolute().parents[1] for python in pythons)}
    return outermost(found)


def bounds() -> list[str]:
    return ["prlimit", f"--nproc={PROCESSES}", f"--as={MEMORY}", f"--fsize={64 << 20}", "--core=0", "--"]
