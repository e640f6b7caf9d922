"""A control group for each sandbox, if this process may make groups: it limits a sandbox's processes together.

Version 2 of the kernel's interface is one tree; version 1 has a tree for each controller. A group is made in this
process's own group, or in the nearest parent group that this process may write to.
https://docs.kernel.org/admin-guide/cgroup-v2.html
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from secrets import token_hex

CONTROLLERS = {"memory", "pids", "cpu", "cpuacct"}
PERIOD = 100_000  # µs; a quota of the same length is one processor
OWN = 4  # processes of bubblewrap and the shell
JOIN = 'for door; do shift; [ "$door" = -- ] && break; echo $$ > "$door" || exit 1; done; exec "$@"'


@dataclass(frozen=True)
class Limits:
    """The limits of a submission, enforced by the kernel, bubblewrap, the watcher outside and the program inside.

    cell, part, all    CPU seconds: for one cell, for the probes of one part, for everything
    wall_factor        the wall-clock limit as a multiple of `all`, for a machine that other programs keep busy
    memory             bytes, of all the submission's processes together
    disk               bytes, in each of the three folders in memory
    processes          at once
    files              files and folders, in the three folders together
    """

    cell: float = 10.0
    part: float = 10.0
    all: float = 60.0
    wall_factor: float = 4.0
    memory: int = 2 << 30
    disk: int = 32 << 20
    processes: int = 64
    files: int = 20_000


@dataclass(frozen=True)
class ControlGroup:
    """The control group of one sandbox.

    folders    controller → the folder of the group
    """

    folders: dict[str, Path]

    def limit(self, limits: Limits) -> None:
        settings = {  # files of both versions; version 1 takes its two memory limits only in this order
            "memory.max": limits.memory, "memory.swap.max": 0,
            "memory.limit_in_bytes": limits.memory, "memory.memsw.limit_in_bytes": limits.memory,
            "pids.max": limits.processes + OWN, "cpu.max": PERIOD, "cpu.cfs_quota_us": PERIOD,
        }  # fmt: skip
        for name, value in settings.items():
            folder = self.folders.get(name.partition(".")[0])
            if folder and (folder / name).exists():
                (folder / name).write_text(str(value))

    def wrap_command(self, command: list[str]) -> list[str]:
        """The command wrapped to start in the group."""
        doors = sorted({str(folder / "cgroup.procs") for folder in self.folders.values()})
        return command if not doors else ["/bin/sh", "-c", JOIN, "sh", *doors, "--", *command]

    def seconds(self) -> float | None:
        """The CPU seconds of the group; None if they are not counted."""
        if "cpuacct" in self.folders:
            return int(read_or_empty(self.folders["cpuacct"] / "cpuacct.usage") or 0) / 1e9
        files = (read_or_empty(folder / "cpu.stat") for folder in self.folders.values())
        counts = (re.search(r"usage_usec (\d+)", file) for file in files)
        return next((int(count[1]) / 1e6 for count in counts if count), None)

    def processes(self) -> list[int]:
        """The ids of the processes in the group."""
        return [int(number) for folder in [*self.folders.values()][:1] for number in lines(folder / "cgroup.procs")]

    def out_of_memory(self) -> bool:
        """Whether the kernel has killed a process of the group for lack of memory."""
        files = (self.folders.get("memory", Path()) / name for name in ("memory.events", "memory.oom_control"))
        return any(re.search(r"^oom_kill [1-9]", read_or_empty(file), re.MULTILINE) for file in files)


def read_or_empty(file: Path) -> str:
    with contextlib.suppress(OSError):
        return file.read_text()
    return ""


@contextlib.contextmanager
def make_group(places: dict[str, Path], limits: Limits) -> Iterator[ControlGroup]:
    """Make a group for one sandbox; a group without folders if there are no places to make one."""
    name = f"minigrad-{os.getpid()}-{token_hex(4)}"
    group = ControlGroup({controller: place / name for controller, place in places.items()})
    try:
        for folder in group.folders.values():
            folder.mkdir(exist_ok=True)
        group.limit(limits)
        yield group
    finally:
        for folder in {*group.folders.values()}:
            for wait in (0.0, 0.001, 0.01, 0.1, 1.0):  # until the group's last process is gone
                time.sleep(wait)
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break


@cache
def places() -> dict[str, Path]:
    """Controller → the folder in which groups can be made and joined; {} if that fails here."""
    found = {controller: folder for tree in trees() for controller, folder in tree.items()}
    for left in (group for folder in {*found.values()} for group in folder.glob("minigrad-*-*")):
        if not Path("/proc", left.name.split("-")[1]).exists():  # the grader that made it was killed
            with contextlib.suppress(OSError):
                left.rmdir()
    try:
        with make_group(found, Limits()) as group:
            subprocess.run(group.wrap_command(["/bin/true"]), check=True, capture_output=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return {}
    return found


def trees() -> Iterator[dict[str, Path]]:
    """For each tree: controller → the nearest folder, from this process's group upwards, that allows new groups."""
    own = {names: path for _, names, path in (line.split(":", 2) for line in lines("/proc/self/cgroup"))}
    for line in lines("/proc/self/mountinfo"):
        place, _, kind = line.partition(" - ")
        root, (system, _, options) = Path(place.split()[4]), kind.split(" ", 2)
        controllers = {*options.split(",")} & CONTROLLERS if system == "cgroup" else set()
        if controllers or system == "cgroup2":
            names = next((names for names in own if controllers & {*names.split(",")}), "")
            group = Path(os.path.normpath(f"{root}/{own.get(names, '/')}"))
            above = (folder for folder in (group, *group.parents) if folder.is_relative_to(root))
            yield next(filter(None, (usable_controllers(folder, controllers) for folder in above)), {})


def usable_controllers(folder: Path, controllers: set[str]) -> dict[str, Path]:
    """Controller → the folder, if groups can be made in it. Version 2 lists controllers in cgroup.subtree_control."""
    able = os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK)
    given = controllers or {*read_or_empty(folder / "cgroup.subtree_control").split()} & CONTROLLERS
    return dict.fromkeys(given, folder) if able else {}


def lines(file: str | Path) -> list[str]:
    return read_or_empty(Path(file)).splitlines()


def missing() -> list[str]:
    """The limits that the kernel does not enforce here for a submission as a whole, in words."""
    limited = {"memory": "memory", "pids": "the number of processes", "cpu": "processor time"}
    lacking = ", ".join(what for controller, what in limited.items() if controller not in places())
    way = ": try systemd-run --user --scope minigrad grade ..." if os.geteuid() else ""
    return [f"{lacking}: no control group here limits them for a submission as a whole{way}"] if lacking else []
