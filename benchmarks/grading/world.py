"""A machine to throw away: a grader runs in it as on a teacher's, and what it does not hold back ends at its walls.

It has a home, processes and a network of its own, all gone in the end. bubblewrap makes it. The two others run there as
a user with limits on memory and processes, so that no submission harms whoever measures; ours, which makes sandboxes of
its own, as root without any.
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
COURSE, FONTS = "/course", "/fonts"  # to be copied into the home
TEACHER = 61_000  # the first of the user ids that graders run under
DISK = 512 << 20  # bytes, of each folder in memory
MEMORY = 4 << 30  # bytes that one process may reserve, as one of ours may
PROCESSES = 200
SLACK = 60  # seconds beyond what the observer keeps by itself


def ran(job: dict[str, Any], course: Path, pythons: Sequence[str], as_root: bool, slot: int = 0) -> dict[str, Any]:
    """What the observer says of a job that ran in a new world; {"status": why} if the world ended before it could.

    course    a folder, of which the world gets a copy
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
    """bubblewrap's command, up to the program."""
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
    for file in ("hosts", "nsswitch.conf", "passwd"):  # where programs look up who and where they are
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
    """Matplotlib's list of fonts, made once and not anew in each world; and where it lies there."""
    import matplotlib

    return matplotlib.get_cachedir(), FONTS


def folders(pythons: Sequence[str]) -> list[Path]:
    """What is read there: this checkout, this Python, and the graders'."""
    found = {ROOT, *folders_to_bind(needed_folders()), *(Path(python).absolute().parents[1] for python in pythons)}
    return outermost(found)


def bounds() -> list[str]:
    return ["prlimit", f"--nproc={PROCESSES}", f"--as={MEMORY}", f"--fsize={64 << 20}", "--core=0", "--"]
