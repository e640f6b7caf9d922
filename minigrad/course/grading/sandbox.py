"""Where submissions run: without files, network, other processes, and with little memory, time and disk.

On Linux bubblewrap gives a process a world of its own: the system's libraries and this Python to read, three small
folders in memory to write, no network, no other process, no course; a user id (users.py), a filter of system calls
(seccomp.py) and a control group (cgroup.py) of its own besides. Elsewhere a container engine does. Where there is
neither, nothing is graded unless somebody says that it may be without, `unsafe`: then only the time is limited.
A cluster has such sandboxes on many machines.

docs/security.md says what that promises, and what not.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import cache_from_source, find_spec
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import Any

from minigrad.course.errors import CourseError

from . import cgroup, seccomp, users
from .cgroup import Limits as Limits
from .watch import HOME, IN_MEMORY, answer, first_inside, kill, stop

PACKAGE = Path(__file__).resolve().parents[2]
HIDDEN = ("course/answers", "course/quizzes", "_course")  # of the package: what no submission may read
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
INSIDE = str(PACKAGE / "course/grading/inside.py")
IMAGE = "minigrad-grading"
# What root keeps until it is a stranger, who can get no rights: that to become one, and to give the rest up for good.
RIGHTS = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
STRANGER = ["--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
PATIENCE = 30  # seconds for what a machine is asked, as to end a container
ENVIRONMENT = {
    "HOME": HOME, "LANG": "C.UTF-8", "MPLBACKEND": "agg", "MPLCONFIGDIR": HOME, "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1", "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore", "TQDM_DISABLE": "1",
}  # fmt: skip


class NoSandbox(Exception):
    """There is nothing on this machine to keep a submission in."""


@dataclass
class Reply:
    """What came out of a sandbox.

    data    what the inside says, read from JSON; None if nothing that can be read
    why     cpu, its processes used up their seconds; asleep, they had as many by the clock, and hardly worked; late,
            it ran for too long, perhaps as others kept the machine busy; memory, its processes had more than there is;
            files, it made too many; ended, it gave nothing by itself
    """

    data: Any = None
    why: str = ""
    seconds: float = 0.0


@dataclass
class Sandbox:
    """A way to run a job.

    kind       bubblewrap, container or none
    workers    how many jobs it can run at once
    running    what runs now; once it is `over`, nothing begins any more
    """

    kind: str
    limits: Limits = field(default_factory=Limits)
    workers: int = (os.cpu_count() or 1) + 1  # while one of them waits for the disk, another works
    running: set[subprocess.Popen[bytes]] = field(default_factory=set, repr=False, compare=False)
    over: bool = False

    def end(self) -> None:
        """End whatever runs, for good."""
        self.over = True
        for process in list(self.running):
            kill(process)

    def run(self, job: dict[str, Any]) -> Reply:
        """What came of a job, of which nothing is left then."""
        places, first = cgroup.places() if self.kind == "bubblewrap" else {}, None
        with (users.own() as user, cgroup.made(places, self.limits) as group, seccomp.file() as rules,
              tempfile.TemporaryFile() as asked):  # fmt: skip
            command, start = group.joined(COMMANDS[self.kind](self.limits, user, rules)), time.monotonic()
            asked.write(json.dumps(job | {"limits": vars(self.limits)}).encode())
            asked.seek(0)
            with subprocess.Popen(
                command, stdin=asked, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                env=None if self.kind == "container" else ENVIRONMENT, cwd="/",
                pass_fds=[rules] if self.kind == "bubblewrap" else [],
            ) as process:  # fmt: skip
                self.running.add(process)
                try:
                    if self.over:
                        kill(process)
                    first = first_inside(process) if self.kind == "bubblewrap" else None
                    out, why = answer(process, self.limits, group, first)
                finally:
                    self.running.discard(process)
                    stop(process, first)
                    if self.kind == "container":
                        end_container(command)
        seconds = time.monotonic() - start
        try:
            return Reply(json.loads(out), why, seconds)
        except (ValueError, RecursionError):
            return Reply(None, why or "ended", seconds)

    def missing(self) -> list[str]:
        """What is not enforced on this machine, each in words."""
        if self.kind == "none":
            return ["there is no sandbox: every submission can read and write all that you can, and use all there is"]
        shuffled = [] if unshuffled() else ["the order of sets: setarch -R may not keep addresses what they are"]
        return [*cgroup.missing(), *seccomp.missing(), *shuffled] if self.kind == "bubblewrap" else []


def found(unsafe: bool = False, limits: Limits | None = None) -> Sandbox:
    """The best sandbox of this machine. Raises NoSandbox saying what is missing, unless `unsafe`."""
    limits = limits or Limits()
    missing = []
    for kind, why_not in (("bubblewrap", no_bubblewrap), ("container", no_container)):
        if not (reason := why_not()):
            return Sandbox(kind, limits)
        missing.append(reason)
    if unsafe:
        return Sandbox("none", limits)
    raise NoSandbox(
        "submissions are programs of strangers, and there is nothing on this machine to keep them in: "
        f"{'; '.join(missing)}. On Debian or Ubuntu: apt install bubblewrap. On Windows use WSL 2, on a Mac a "
        "container engine. --unsafe grades without: every submission can then read and write all that you can"
    )


def no_bubblewrap() -> str:
    """Why bubblewrap cannot be used; "" if it can."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap is for Linux"
    programs = [name for name in ("bwrap", "prlimit", "setpriv") if shutil.which(name) is None]
    if programs:
        return f"bubblewrap needs {' and '.join(programs)}, which {'is' if len(programs) == 1 else 'are'} not installed"
    with users.own() as user, seccomp.file() as rules:
        command = bubblewrap(Limits(), user, rules, ["/bin/true"])
        tried = subprocess.run(
            command, check=False, capture_output=True, text=True, timeout=20, env=ENVIRONMENT, pass_fds=[rules]
        )
    if tried.returncode == 0:
        return ""
    way = " (Ubuntu 24.04 allows it after: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0)"
    return f"bubblewrap cannot make a sandbox here: {tried.stderr.strip()[-200:]}{way if os.geteuid() else ''}"


def no_container() -> str:
    """Why no container engine can be used; "" if one can."""
    program = engine()
    if program is None:
        return "there is no docker and no podman"
    made = runs(program, "image", "inspect", IMAGE)
    return "" if made else f"{program} has no image {IMAGE}: docs/classroom.md says how it is made"


def engine() -> str | None:
    return shutil.which("podman") or shutil.which("docker")


# -- the commands -----------------------------------------------------------------------------------


def program(file: str) -> list[str]:
    return [sys.executable, "-s", "-P", file, str(PACKAGE.parent)]


@cache
def compile_program() -> list[str]:
    """The program, compiled as all that submissions load: a sandbox keeps nothing, and would do it for each anew."""
    for name in ("minigrad", "ml_dtypes", "numpy", "matplotlib"):
        for folder in getattr(find_spec(name), "submodule_search_locations", None) or []:
            compileall.compile_dir(folder, quiet=2, rx=re.compile(r"[\\/]tests[\\/]"))
    code = cache_from_source(INSIDE)
    return program(code if compileall.compile_file(INSIDE, quiet=2) and seen(Path(code)) else INSIDE)


def bubblewrap(limits: Limits, user: int, rules: int, program: Sequence[str] = ()) -> list[str]:
    """Ours, or another program, in bubblewrap's sandbox. Root becomes a stranger; others are one in their own world."""
    root = os.geteuid() == 0
    in_memory = ("--size", str(limits.disk), "--perms", "1777", "--tmpfs")
    return [
        shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session", "--unshare-ipc", "--unshare-pid",
        "--unshare-net", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "sandbox",
        *(RIGHTS if root else ["--unshare-user", *no_more_users()]),
        *([] if seccomp.missing() else ["--seccomp", str(rules)]),
        "--proc", "/proc", "--ro-bind-try", "/dev/null", "/proc/keys", "--dev", "/dev",
        *chain.from_iterable((*in_memory, folder) for folder in IN_MEMORY), *readable(*needed_folders()),
        "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", HOME, "--",
        *(["setpriv", f"--reuid={user}", f"--regid={user}", *STRANGER, "--"] if root else []),
        "prlimit", f"--nproc={limits.processes}", f"--as={2 * limits.memory}", f"--fsize={limits.disk}",
        f"--cpu={int(limits.all) + 5}", "--nofile=256", "--core=0", "--",
        *unshuffled(), *(program or compile_program()),
    ]  # fmt: skip


@cache
def unshuffled() -> list[str]:
    """Begin with the addresses of every other time, where the machine lets us: sets are in the order of addresses."""
    return ["setarch", "-R"] if runs("setarch", "-R", "true") else []


@cache
def no_more_users() -> list[str]:
    """That no process makes a world of users of its own again, where bubblewrap knows how: since 0.8."""
    return ["--disable-userns"] if runs("bwrap", "--disable-userns", "--version") else []


def runs(*command: str) -> bool:
    try:
        return not subprocess.run(command, check=False, capture_output=True, timeout=PATIENCE).returncode
    except OSError:
        return False


@cache
def readable(*needed: Path) -> list[str]:
    """The system's programs and libraries, this Python, its packages and minigrad, but for what nobody may read."""
    import matplotlib

    folders, found = folders_to_bind(needed), [*system()]
    found += [("--perms", "0755", "--dir", str(above))  # it can be entered, and holds nothing else
              for path in (*folders, *links(needed)) for above in reversed(path.parents[:-1])]  # fmt: skip
    found += map(bound, folders)
    found += [("--symlink", str(link.resolve()), str(link)) for link in links(needed)]
    hidden = [str(folder) for name in HIDDEN if (folder := PACKAGE / name).exists()]
    found += [("--tmpfs", folder, "--remount-ro", folder) for folder in hidden]
    # Its list of fonts would otherwise be made anew for seconds in each sandbox that plots.
    fonts = Path(matplotlib.get_cachedir()).glob("fontlist-*.json")
    return [*chain.from_iterable((*found, *(bound(file, f"{HOME}/{file.name}") for file in fonts)))]


def system() -> Iterator[tuple[str, ...]]:
    for folder in map(Path, SYSTEM):
        yield ("--symlink", str(folder.readlink()), str(folder)) if folder.is_symlink() else bound(folder)
    yield from map(bound, (Path("/etc/ld.so.cache"), Path("/etc/alternatives")))


def bound(path: Path, place: str = "") -> tuple[str, str, str]:
    return "--ro-bind-try", str(path), place or str(path)


def folders_to_bind(needed: Iterable[Path]) -> list[Path]:
    """The folders to bind: this Python, its packages, and minigrad; none of them lies inside another.

    Links are resolved, so that no folder is bound twice: a link would show the files that are hidden in the folder.
    """
    return outermost({real for folder in needed if not (real := folder.resolve()).is_relative_to("/usr")})


def links(needed: Iterable[Path]) -> list[Path]:
    """The paths through links by which this Python refers to bound folders, except paths inside a bound folder."""
    bound = (*map(Path, SYSTEM), *folders_to_bind(needed))
    return outermost({way for way in needed if way != way.resolve() and not any(map(way.is_relative_to, bound))})


def outermost(folders: set[Path]) -> list[Path]:
    return sorted(folder for folder in folders if folders.isdisjoint(folder.parents))


def needed_folders() -> list[Path]:
    """The folders that a submission needs, by the paths that this Python uses."""
    stdlib = Path(sysconfig.get_path("stdlib")).parent
    return [Path(sys.prefix), Path(sys.base_prefix), PACKAGE, stdlib, Path(sys.executable).resolve().parents[1]]


def seen(place: Path) -> Path | None:
    """The folder in which a place lies, if it is one that every submission can read."""
    place = place.resolve()
    if any(place.is_relative_to(PACKAGE / name) for name in HIDDEN):
        return None
    folders = (*map(Path, SYSTEM), *folders_to_bind(needed_folders()))
    return next((folder for folder in folders if place.is_relative_to(folder.resolve())), None)


def in_container(limits: Limits, user: int, rules: int) -> list[str]:
    memory, disk = f"{limits.memory >> 20}m", f"{limits.disk >> 20}m"
    return [
        engine() or "docker", "run", "--rm", "--interactive", f"--name={IMAGE}-{token_hex(8)}", f"--user={user}",
        "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--cpus=1",
        f"--memory={memory}", f"--memory-swap={memory}", f"--pids-limit={limits.processes}", f"--shm-size={disk}",
        f"--tmpfs=/tmp:size={disk},mode=1777", f"--tmpfs={HOME}:size={disk},mode=1777", f"--workdir={HOME}",
        f"--env=HOME={HOME}", f"--ulimit=fsize={limits.disk}", "--ulimit=nofile=256", "--ulimit=core=0", IMAGE,
    ]  # fmt: skip


def end_container(command: list[str]) -> None:
    """End the container that a command has started, by its name: the end of an engine's client ends nothing in it."""
    name = next(part for part in command if part.startswith("--name=")).removeprefix("--name=")
    with contextlib.suppress(subprocess.TimeoutExpired):
        runs(command[0], "kill", name)


COMMANDS = {"bubblewrap": bubblewrap, "container": in_container, "none": lambda *_: program(INSIDE)}


# -- on other machines -------------------------------------------------------------------------------


class Cluster(Sandbox):
    """The sandboxes of dask's workers, by an address such as tcp://10.0.0.1:8786. Raises CourseError if none answers.

    If a worker dies, dask gives its job to another. Only plain data comes back: verdicts are reached, and results are
    written, by one process, so that nothing is lost and nothing counts twice.
    """

    def __init__(self, address: str, limits: Limits | None = None, unsafe: bool = False):
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            wanted = 'python -m pip install "minigrad-course[cluster]"'
            raise CourseError(f"a cluster is dask's, which is not installed: {wanted}") from error
        try:
            self.client = distributed.Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise CourseError(f"no dask scheduler answers at {address}: {error}") from error
        super().__init__("cluster", limits or Limits(), max(1, sum(self.client.nthreads().values())))
        self.asked = unsafe, self.limits

    def run(self, job: dict[str, Any]) -> Reply:
        asked = self.asked
        future = self.client.submit(lambda: sandbox_of(*asked).run(job), pure=False, retries=3)
        reply: Reply = future.result()
        return reply

    def missing(self) -> list[str]:
        asked = self.asked
        told = self.client.run(lambda: sandbox_of(*asked).missing(), on_error="ignore")
        nobody = "no worker is connected to the cluster, and nothing is graded until one is"
        return sorted({each for said in told.values() for each in said}) if self.client.nthreads() else [nobody]

    def end(self) -> None:
        """Wait for nothing any more; what runs on the workers is forgotten there."""
        self.client.close(timeout=1)


@cache
def sandbox_of(unsafe: bool, limits: Limits) -> Sandbox:
    return found(unsafe, limits)
