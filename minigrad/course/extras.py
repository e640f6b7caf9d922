"""How to install an extra of the course, such as `mpi`, into the Python that runs it, with or without pip."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, metadata
from importlib.util import find_spec
from pathlib import Path

from minigrad.course.errors import CourseError
from minigrad.course.lessons import checkout

NAME = "minigrad-course"


def command(extras: Sequence[str]) -> list[str]:
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
    package = [f"{NAME}[{names}]"] if repository is None else ["--editable", f"{repository}[{names}]"]
    if uv := shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent)):
        return [uv, "pip", "install", "--python", sys.executable, *package]
    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", *package]
    raise CourseError(f"{sys.executable} has neither pip nor uv: run `{sys.executable} -m ensurepip`, then this again")


def declared_extras() -> list[str]:
    """The extras that the package declares."""
    try:
        return sorted(metadata(NAME).get_all("Provides-Extra") or [])
    except PackageNotFoundError:  # a checkout on the path, not installed
        raise CourseError("this course is not installed: run `python3 start.py add` in its folder") from None
