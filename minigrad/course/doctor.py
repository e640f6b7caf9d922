"""Report what this machine has and lacks for the course: one finding a line, each with advice; install its extras.

A finding is a problem only if the course needs the thing; a machine without a GPU is fine.
"""

from __future__ import annotations

import importlib.metadata as metadata
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from minigrad import __version__
from minigrad.course import CourseError
from minigrad.course.lessons import PACKAGE, checkout, rescue, shipped_names

DISTRIBUTION = "minigrad-course"
FREE_GB = 0.5  # room for a learner's notebooks, their outputs, and JupyterLab's own files
AGAIN = "run `python3 start.py` in the checkout, or `pip install --force-reinstall minigrad-course`"


@dataclass(frozen=True)
class Finding:
    """One check: what was found, and advice unless all is well."""

    about: str
    well: bool
    found: str
    advice: str = ""

    def __str__(self) -> str:
        line = f"{'ok' if self.well else 'PROBLEM':8}{self.about:14}{self.found}"
        return f"{line}\n{'':22}{self.advice}" if self.advice else line


def examination(folder: Path) -> Iterator[Finding]:
    """All findings on this Python, this installation and this course folder."""
    yield python()
    yield minigrad()
    yield foreign()
    yield packages()
    yield drawing()
    yield writable(folder)
    yield space(folder)
    yield notebooks(folder)
    yield gpu()
    yield native()


def python() -> Finding:
    return Finding("Python", True, f"{sys.version.split()[0]} at {sys.executable}")  # an older one fails on import


def minigrad() -> Finding:
    kind = "installed" if checkout() is None else "checkout"
    known = installed_version(DISTRIBUTION) is not None
    found = f"{__version__}, {kind} at {PACKAGE}, {len(shipped_names())} files for learners"
    well = known and bool(shipped_names())
    return Finding("minigrad", well, found if known else f"{found}; not installed", "" if well else AGAIN)


def foreign() -> Finding:
    """Check that no other distribution called minigrad is installed: it would be imported instead of this one."""
    other = installed_version("minigrad")
    if other is None:
        return Finding("its name", True, "no other minigrad is installed")
    found = f"another project's minigrad {other} is installed too"
    return Finding("its name", False, found, f"`pip uninstall minigrad`, then {AGAIN}")


def packages() -> Finding:
    """Compare the required packages with the installed ones."""
    if find_spec("packaging") is None:
        return Finding("packages", False, "`packaging` is missing, so JupyterLab probably is too", AGAIN)
    from packaging.requirements import Requirement

    required = metadata.requires(DISTRIBUTION) if installed_version(DISTRIBUTION) else ()
    needed = [Requirement(line) for line in required or ()]
    needed = [need for need in needed if need.marker is None or need.marker.evaluate({"extra": ""})]
    versions = {need: installed_version(need.name) for need in needed}
    wrong = [f"{need} (found {v})" for need, v in versions.items() if v is None or not need.specifier.contains(v, True)]
    if wrong:
        return Finding("packages", False, f"needed: {', '.join(wrong)}", AGAIN)
    return Finding("packages", True, ", ".join(f"{need.name} {version}" for need, version in versions.items()))


def installed_version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def drawing() -> Finding:
    """Lay out a graph of two nodes: this shows that a layout engine was found and runs."""
    try:
        from minigrad.draw.layout import engines, layout

        layout("digraph { x -> y }")
    except Exception as error:  # report any exception
        return Finding("drawing", False, f"no graph can be laid out: {error}", AGAIN)
    return Finding("drawing", True, f"graphs are laid out by {engines()[0]}")


def writable(folder: Path) -> Finding:
    place = nearest(folder)
    try:
        with tempfile.TemporaryFile(dir=place):
            return Finding("course folder", True, str(folder))
    except OSError as error:
        advice = "name a folder that you can write in with --dir FOLDER"
        return Finding("course folder", False, f"cannot write in {place} ({error.strerror})", advice)


def space(folder: Path) -> Finding:
    free = shutil.disk_usage(nearest(folder)).free / 1e9
    advice = "" if free >= FREE_GB else f"free at least {FREE_GB} GB, or choose another disk with --dir FOLDER"
    return Finding("free disk", not advice, f"{free:.1f} GB", advice)


def notebooks(folder: Path) -> Finding:
    """Restore damaged notebooks, and report whether all notebooks can be read now."""
    damaged = rescue(folder)
    found = " ".join(map(str, damaged)) or "none is damaged"
    return Finding("notebooks", all(each.well for each in damaged), found)


def nearest(folder: Path) -> Path:
    """The folder itself, or its nearest parent that exists."""
    return next(path for path in (folder.absolute(), *folder.absolute().parents) if path.is_dir())


def gpu() -> Finding:
    if find_spec("cupy") is None:
        card = "an NVIDIA driver, but no CuPy" if shutil.which("nvidia-smi") else "none"
        return Finding("GPU", True, f"{card}; the CPU is enough for every lesson")
    import cupy

    try:
        cards = range(cupy.cuda.runtime.getDeviceCount())
        names = [cupy.cuda.runtime.getDeviceProperties(card)["name"].decode() for card in cards]
    except Exception as error:  # CuPy has an exception class for each layer of the driver
        return Finding("GPU", True, f"none that CuPy {cupy.__version__} can use ({error}); the CPU is enough")
    return Finding("GPU", True, f"{', '.join(names)}, by CuPy {cupy.__version__}, on {os.cpu_count()} CPU cores")


def native() -> Finding:
    from minigrad.graph.backends.native import toolchain

    with warnings.catch_warnings(action="ignore"):
        command = toolchain.compiler()
    found = "no C++ compiler; NumPy runs native code instead" if command is None else f"C++ by {' '.join(command)}"
    return Finding("native code", True, found)


def install_command(extras: Sequence[str]) -> list[str]:
    """The command that installs these extras here. Raises CourseError for an unknown extra, or without an installer.

    In the environment that start.py made, start.py installs, so that the next update keeps the extras.
    """
    known = declared_extras()
    if unknown := [extra for extra in extras if extra not in known]:
        raise CourseError(f"there is no extra {unknown[0]!r}: choose from {', '.join(known)}")
    repository = checkout()
    if repository is not None and Path(sys.prefix).resolve() == (repository / ".venv").resolve():
        return [sys.executable, str(repository / "start.py"), "add", *extras]
    names = ",".join(extras)
    package = [f"{DISTRIBUTION}[{names}]"] if repository is None else ["--editable", f"{repository}[{names}]"]
    if uv := shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent)):
        return [uv, "pip", "install", "--python", sys.executable, *package]
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", *package]
    raise CourseError(f"{sys.executable} has neither pip nor uv: run `{sys.executable} -m ensurepip`, then this again")


def declared_extras() -> list[str]:
    """The extras that the package declares."""
    if not installed_version(DISTRIBUTION):  # a checkout on the path
        raise CourseError("this course is not installed: run `python3 start.py add` in its folder")
    return sorted(metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or [])
