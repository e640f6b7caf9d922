"""Run submissions without access to files, network or other processes, and with little memory, time and disk.

On Linux, bubblewrap makes the sandbox: it can read the system's libraries and this Python, write to three small folders
in memory, and has no network, no other processes and no course answers. It also has its own user id, filter
of system calls (seccomp.py) and control group (cgroup.py). Elsewhere a container engine does this. Without either,
nothing is graded unless the user passes `unsafe`: then only time is limited. A cluster has sandboxes on many machines.

docs/security.md states what this guarantees and what it does not.
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

from minigrad.course import CourseError
from minigrad.course.journal import try_lock

from . import cgroup, seccomp
from .cgroup import Limits as Limits
from .watch import HOME, IN_MEMORY, answer, first_inside, kill, stop

PACKAGE = Path(__file__).resolve().parents[2]
HIDDEN = ("course/answers", "course/quizzes", "course/recordings", "_course")  # no submission may read these
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/sbin")
INSIDE = str(PACKAGE / "course/grading/inside.py")
IMAGE = "minigrad-grading"
# The capabilities that root keeps until setpriv has changed the user and dropped all other capabilities for good.
RIGHTS = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
STRANGER = ["--clear-groups", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]
FOLDERS = (Path("/run/minigrad"), Path("/tmp/minigrad-users"))  # the second is used where the first is read-only
IDS = range(60_706, 61_184)  # systemd leaves these free: https://systemd.io/UIDS-GIDS
PATIENCE = 30  # seconds for a command on this machine, such as to kill a container
ENVIRONMENT = {
    "HOME": HOME, "LANG": "C.UTF-8", "MPLBACKEND": "agg", "MPLCONFIGDIR": HOME, "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1", "PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "ignore", "TQDM_DISABLE": "1",
}  # fmt: skip


class NoSandbox(Exception):
    """This machine has no sandbox."""


@dataclass
class Reply:
    """The reply of a sandbox.

    data    the reply of the program inside, parsed from JSON; None if it is not valid
    why     cpu: its processes used up their CPU time; asleep: as much wall time passed, but they hardly used any CPU;
            late: it ran too long, perhaps because the machine was busy; memory: its processes exceeded the limit;
            files: it made too many files; ended: it exited without a valid reply
    """

    data: Any = None
    why: str = ""
    seconds: float = 0.0


@dataclass
class Sandbox:
    """Runs jobs in one kind of sandbox.

    kind       bubblewrap, container or none
    workers    how many jobs to run at once
    running    the processes that run now; once `over` is set, new ones are killed at once
    """

    kind: str
    limits: Limits = field(default_factory=Limits)
    workers: int = (os.cpu_count() or 1) + 1  # while one job waits for the disk, another runs
    running: set[subprocess.Popen[bytes]] = field(default_factory=set, repr=False, compare=False)
    over: bool = False

    def end(self) -> None:
        """Kill all running processes and start no more."""
        self.over = True
        for process in list(self.running):
            kill(process)

    def run(self, job: dict[str, Any]) -> Reply:
        """Run a job. Returns its reply, after everything in the sandbox has been removed."""
        places, first = cgroup.places() if self.kind == "bubblewrap" else {}, None
        with (lock_user_id() as user, cgroup.make_group(places, self.limits) as group, seccomp.file() as rules,
              tempfile.TemporaryFile() as asked):  # fmt: skip
            command, start = group.wrap_command(COMMANDS[self.kind](self.limits, user, rules)), time.monotonic()
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
        """The limits that are not enforced on this machine, each in words."""
        if self.kind == "none":
            return ["there is no sandbox: every submission can read and write all that you can; only time is limited"]
        shuffled = [] if disable_aslr() else ["the order of sets: setarch -R is not allowed to keep addresses fixed"]
        return [*cgroup.missing(), *seccomp.missing(), *shuffled] if self.kind == "bubblewrap" else []


def find_sandbox(unsafe: bool = False, limits: Limits | None = None) -> Sandbox:
    """The best sandbox of this machine. Raises NoSandbox that names what is missing, unless `unsafe`."""
    limits = limits or Limits()
    missing = []
    for kind, why_not in (("bubblewrap", no_bubblewrap), ("container", no_container)):
        if not (reason := why_not()):
            return Sandbox(kind, limits)
        missing.append(reason)
    if unsafe:
        return Sandbox("none", limits)
    raise NoSandbox(
        "submissions are programs of strangers, and this machine has no sandbox for them: "
        f"{'; '.join(missing)}. On Debian or Ubuntu: apt install bubblewrap. On Windows use WSL 2, on a Mac a "
        "container engine. --unsafe uses no sandbox: every submission can then read and write all that you can"
    )


def no_bubblewrap() -> str:
    """Why bubblewrap cannot be used; "" if it can."""
    if not sys.platform.startswith("linux"):
        return "bubblewrap is for Linux"
    programs = [name for name in ("bwrap", "prlimit", "setpriv") if shutil.which(name) is None]
    if programs:
        return f"bubblewrap needs {' and '.join(programs)}, which {'is' if len(programs) == 1 else 'are'} not installed"
    with lock_user_id() as user, seccomp.file() as rules:
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
    return "" if made else f"{program} has no image {IMAGE}: docs/classroom.md explains how to make it"


def engine() -> str | None:
    return shutil.which("podman") or shutil.which("docker")


@contextlib.contextmanager
def lock_user_id() -> Iterator[int]:
    """Reserve a user id for one sandbox, by locking a file that only root can write to. Raises OSError if none is left.

    The kernel limits processes by user id. So graders in parallel, their threads and the workers of a cluster never
    share an id. The lock ends with its process.
    """
    if not sys.platform.startswith("linux") or os.geteuid():
        yield IDS[0]  # only root can change its user
        return
    folder = lock_folder()
    for user in IDS:
        with (folder / str(user)).open("ab") as file:
            if try_lock(file):
                yield user
                return
    raise OSError(f"{len(IDS)} submissions already run on this machine: use fewer --workers")


def lock_folder() -> Path:
    """A folder in which only root can hold a lock. Raises OSError if there is none."""
    for folder in FOLDERS:
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, exist_ok=True)
            if folder.lstat().st_uid == 0 and os.access(folder, os.W_OK):
                return folder
    raise OSError(f"no user ids can be locked: root can make neither {' nor '.join(map(str, FOLDERS))}")


# -- the commands -----------------------------------------------------------------------------------


def program(file: str) -> list[str]:
    return [sys.executable, "-s", "-P", file, str(PACKAGE.parent)]


@cache
def compile_program() -> list[str]:
    """Compile the program and all modules that submissions load, because a sandbox could not keep the bytecode."""
    for name in ("minigrad", "ml_dtypes", "numpy", "matplotlib"):
        for folder in getattr(find_spec(name), "submodule_search_locations", None) or []:
            compileall.compile_dir(folder, quiet=2, rx=re.compile(r"[\\/]tests[\\/]"))
    code = cache_from_source(INSIDE)
    return program(code if compileall.compile_file(INSIDE, quiet=2) and exposed_folder(Path(code)) else INSIDE)


def bubblewrap(limits: Limits, user: int, rules: int, program: Sequence[str] = ()) -> list[str]:
    """The bubblewrap command for a program, by default inside.py. Root changes its user; others use a namespace."""
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
        *disable_aslr(), *(program or compile_program()),
    ]  # fmt: skip


@cache
def disable_aslr() -> list[str]:
    """A command prefix that turns off address randomisation, if allowed: the order of sets depends on addresses."""
    return ["setarch", "-R"] if runs("setarch", "-R", "true") else []


@cache
def no_more_users() -> list[str]:
    """The bubblewrap option that forbids nested user namespaces; none before version 0.8."""
    return ["--disable-userns"] if runs("bwrap", "--disable-userns", "--version") else []


def runs(*command: str) -> bool:
    try:
        return not subprocess.run(command, check=False, capture_output=True, timeout=PATIENCE).returncode
    except OSError:
        return False


@cache
def readable(*needed: Path) -> list[str]:
    """The options that bind the system, this Python, its packages and minigrad, without the HIDDEN folders."""
    import matplotlib

    folders, found = folders_to_bind(needed), [*system()]
    found += [("--perms", "0755", "--dir", str(above))  # a parent folder, otherwise empty
              for path in (*folders, *links(needed)) for above in reversed(path.parents[:-1])]  # fmt: skip
    found += map(bind_readonly, folders)
    found += [("--symlink", str(link.resolve()), str(link)) for link in links(needed)]
    hidden = [str(folder) for name in HIDDEN if (folder := PACKAGE / name).exists()]
    found += [("--tmpfs", folder, "--remount-ro", folder) for folder in hidden]
    # Without this font list, Matplotlib would take seconds to build it in each sandbox that plots.
    fonts = Path(matplotlib.get_cachedir()).glob("fontlist-*.json")
    return [*chain.from_iterable((*found, *(bind_readonly(file, f"{HOME}/{file.name}") for file in fonts)))]


def system() -> Iterator[tuple[str, ...]]:
    for folder in map(Path, SYSTEM):
        yield ("--symlink", str(folder.readlink()), str(folder)) if folder.is_symlink() else bind_readonly(folder)
    yield from map(bind_readonly, (Path("/etc/ld.so.cache"), Path("/etc/alternatives")))


def bind_readonly(path: Path, place: str = "") -> tuple[str, str, str]:
    return "--ro-bind-try", str(path), place or str(path)


def folders_to_bind(needed: Iterable[Path]) -> list[Path]:
    """The folders to bind: this Python, its packages, and minigrad; none of them lies inside another.

    Links are resolved, so that no folder is bound twice: a link would show the files that are hidden in the folder.
    """
    return outermost({real for folder in needed if not (real := folder.resolve()).is_relative_to("/usr")})


def links(needed: Iterable[Path]) -> list[Path]:
    """The paths of this Python that lead through a link to a bound folder, except paths inside a bound folder."""
    bound = (*map(Path, SYSTEM), *folders_to_bind(needed))
    return outermost({way for way in needed if way != way.resolve() and not any(map(way.is_relative_to, bound))})


def outermost(folders: set[Path]) -> list[Path]:
    return sorted(folder for folder in folders if folders.isdisjoint(folder.parents))


def needed_folders() -> list[Path]:
    """The folders that a submission needs, by the paths that this Python uses."""
    stdlib = Path(sysconfig.get_path("stdlib")).parent
    return [Path(sys.prefix), Path(sys.base_prefix), PACKAGE, stdlib, Path(sys.executable).resolve().parents[1]]


def exposed_folder(place: Path) -> Path | None:
    """The folder that contains a place and that every submission can read, or None."""
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
    """Kill the container that a command has started, by name: killing the engine's client does not stop it."""
    name = next(part for part in command if part.startswith("--name=")).removeprefix("--name=")
    with contextlib.suppress(subprocess.TimeoutExpired):
        runs(command[0], "kill", name)


COMMANDS = {"bubblewrap": bubblewrap, "container": in_container, "none": lambda *_: program(INSIDE)}


# -- on other machines -------------------------------------------------------------------------------


class Cluster(Sandbox):
    """The sandboxes of dask's workers. Raises CourseError if no scheduler answers at an address like tcp://host:8786.

    If a worker dies, dask gives its job to another. Only plain data comes back: one process computes all verdicts and
    writes all results, so that nothing is lost and nothing counts twice.
    """

    def __init__(self, address: str, limits: Limits | None = None, unsafe: bool = False):
        try:
            distributed: Any = import_module("distributed")
        except ImportError as error:
            wanted = 'python -m pip install "minigrad-course[cluster]"'
            raise CourseError(f"a cluster needs dask, which is not installed: {wanted}") from error
        try:
            self.client = distributed.Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise CourseError(f"no dask scheduler answers at {address}: {error}") from error
        super().__init__("cluster", limits or Limits(), max(1, sum(self.client.nthreads().values())))
        self.asked = unsafe, self.limits

    def run(self, job: dict[str, Any]) -> Reply:
        reply: Reply = self.client.submit(on_worker, "run", *self.asked, job, pure=False, retries=3).result()
        return reply

    def missing(self) -> list[str]:
        told = self.client.run(on_worker, "missing", *self.asked, on_error="ignore")
        nobody = "no worker is connected to the cluster; grading starts when one is"
        return sorted({each for said in told.values() for each in said}) if self.client.nthreads() else [nobody]

    def end(self) -> None:
        """Close the connection without waiting; dask then drops the jobs on the workers."""
        self.client.close(timeout=1)


sandbox_of = cache(find_sandbox)


def on_worker(method: str, unsafe: bool, limits: Limits, *job: Any) -> Any:
    """Call a method of a worker's sandbox. A lambda would be sent as bytecode, which needs the same Python."""
    return getattr(sandbox_of(unsafe, limits), method)(*job)
